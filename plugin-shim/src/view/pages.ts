/** The loaded part of the conversation: first its end, then earlier pages as the person scrolls. */

import { type Changed, entriesOf, type Outcome, type ConversationStatus } from "./timeline";
import type { Chat } from "./chat";
import type { Connection } from "../connection";
import type { ConversationResult } from "../protocol";
import { errorText } from "../call-error";

/** The number of items in one request, */
const PAGE = 40;
/** the number of entries that stay while earlier pages are loaded, */
const MOST = 500;
/** and the number that remain after new ones arrived at the end. */
const ENOUGH = 300;

export class Pages {
  /** Whether there are items before, and after, the loaded ones. */
  earlier = false;
  later = false;
  loading = false;
  /** The number of the current reload: results of earlier ones are dropped. */
  load = 0;
  /** The results of calls that are before the loaded part. */
  #outcomes: Outcome[] = [];

  readonly #chat: Chat;
  readonly #connection: Connection;

  constructor(chat: Chat, connection: Connection) {
    this.#chat = chat;
    this.#connection = connection;
  }

  /** Requests a page: the last one, or the one before an item. */
  ask(sessionId: string | undefined, branch: number | null, before?: number): Promise<ConversationResult> {
    const params = { sessionId, branch: branch ?? undefined, before, last: PAGE, updates: true };
    return this.#connection.call("_vault/conversation", params);
  }

  /** Drops the loaded part and pending results. */
  clear(): void {
    this.load += 1;
    this.loading = this.earlier = this.later = false;
  }

  /** Shows only this page in the timeline; `isSame` if the conversation was shown before. */
  begin({ items, earlier, changes }: ConversationResult, status: Partial<ConversationStatus>, isSame: boolean): Changed {
    const { timeline } = this.#chat;
    this.earlier = earlier;
    this.later = false;
    this.#outcomes = [];
    const changed = timeline.replace(entriesOf(items, this.#outcomes), status, isSame);
    for (const set of changes ?? []) if (set.turn !== undefined) timeline.addSet(set.turn, set);
    timeline.entries.forEach((entry) => changed.keys.add(entry.key));
    return changed;
  }

  /** The number of the first entry that has one. */
  get #first(): number | undefined {
    return this.#chat.timeline.entries.find((entry) => entry.item !== undefined)?.item;
  }

  /** Loads the page before the first entry. */
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
      // An empty page is not requested again.
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
      this.#chat.emit({ timeline: changed, loaded: true });
    } catch (error) {
      if (load !== this.load) return;
      this.loading = false;
      this.#chat.emit({ problem: errorText(error), loaded: true });
    }
  }

  /** Drops entries at the end, out of view, after many have arrived. */
  letGo(side: "oldest" | "newest"): void {
    const { timeline } = this.#chat;
    if (timeline.entries.length <= (side === "oldest" ? MOST : 2 * MOST)) return;
    const changed = timeline.trim(side === "oldest" ? ENOUGH : MOST, side);
    if (!changed.order) return;
    if (side === "oldest") this.earlier = true;
    else this.later = true;
    this.#chat.emit({ timeline: changed });
  }
}
