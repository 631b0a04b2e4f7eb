/** How much of the conversation is loaded: its end at first, what was said before it as far as it is looked at. */

import { type Changed, entriesOf, type Outcome, type Standing } from "./timeline";
import type { Chat } from "./chat";
import type { Connection } from "../connection";
import type { ConversationResult } from "../protocol";
import { said } from "../call-error";

/** Items that are asked for at once, */
const PAGE = 40;
/** entries that are kept while older ones are looked at, */
const MOST = 500;
/** and that remain when more came at the end. */
const ENOUGH = 300;

export class Pages {
  /** Whether there is more before, and after, what is loaded. */
  earlier = false;
  later = false;
  loading = false;
  /** Which time it is that all is loaded anew: what an earlier one brings counts for nothing. */
  load = 0;
  /** What became of calls that stand before what is loaded. */
  #outcomes: Outcome[] = [];

  readonly #chat: Chat;
  readonly #connection: Connection;

  constructor(chat: Chat, connection: Connection) {
    this.#chat = chat;
    this.#connection = connection;
  }

  /** Asks for a piece: the last one, or the one before an item. */
  ask(sessionId: string | undefined, branch: number | null, before?: number): Promise<ConversationResult> {
    const params = { sessionId, branch: branch ?? undefined, before, last: PAGE, updates: true };
    return this.#connection.call("_vault/conversation", params);
  }

  /** Nothing is loaded, and nothing that is on its way counts. */
  clear(): void {
    this.load += 1;
    this.loading = this.earlier = this.later = false;
  }

  /** Has the timeline show this piece and no other; `isSame` where the conversation was shown before. */
  begin({ items, earlier, changes }: ConversationResult, standing: Partial<Standing>, isSame: boolean): Changed {
    const { timeline } = this.#chat;
    this.earlier = earlier;
    this.later = false;
    this.#outcomes = [];
    const changed = timeline.replace(entriesOf(items, this.#outcomes), standing, isSame);
    for (const set of changes ?? []) if (set.turn !== undefined) timeline.addSet(set.turn, set);
    timeline.entries.forEach((entry) => changed.keys.add(entry.key));
    return changed;
  }

  /** The number of the first entry that has one. */
  get #first(): number | undefined {
    return this.#chat.timeline.entries.find((entry) => entry.item !== undefined)?.item;
  }

  /** Loads what was said before the first entry. */
  async older(): Promise<void> {
    const first = this.#first;
    const { sessionId, branch, timeline } = this.#chat;
    if (!this.earlier || this.loading || first === undefined || sessionId === null) return;
    const { load } = this;
    this.loading = true;
    try {
      const answer = await this.ask(sessionId, branch, first);
      if (load !== this.load) return;
      const changed = timeline.prepend(entriesOf(answer.items, this.#outcomes));
      // Nothing is asked for again that brought nothing.
      this.earlier = answer.earlier && (changed.order || this.#first !== first);
      for (const set of answer.changes ?? []) {
        if (set.turn === undefined) continue;
        timeline.addSet(set.turn, set).keys.forEach((key) => changed.keys.add(key));
      }
      if (!this.#chat.isWorking) {
        const cut = timeline.trim(MOST, "newest");
        this.later ||= cut.order;
      }
      this.loading = false;
      this.#chat.tell({ timeline: changed, loaded: true });
    } catch (error) {
      if (load !== this.load) return;
      this.loading = false;
      this.#chat.tell({ problem: said(error), loaded: true });
    }
  }

  /** Lets go of the end that is not looked at, where much has come. */
  letGo(side: "oldest" | "newest"): void {
    const { timeline } = this.#chat;
    if (timeline.entries.length <= (side === "oldest" ? MOST : 2 * MOST)) return;
    const changed = timeline.trim(side === "oldest" ? ENOUGH : MOST, side);
    if (!changed.order) return;
    if (side === "oldest") this.earlier = true;
    else this.later = true;
    this.#chat.tell({ timeline: changed });
  }
}
