/** One conversation as the view has it before it: what is loaded of it, what happens, what is asked. */

import { CallError, type Connection, type Unsubscribe } from "../connection";
import type {
  BranchInfo,
  ConversationInfo,
  Cost,
  PromptContent,
  RequestPermissionParams,
  RequestPermissionResult,
  SessionUpdateParams,
  ToolsCallResult,
} from "../protocol";
import { type Changed, entriesOf, type Outcome, Timeline, type UserEntry } from "./timeline";

/** Items that are asked for at once, */
const PAGE = 40;
/** entries that are kept while older ones are looked at, */
const MOST = 500;
/** and that remain when more came at the end. */
const ENOUGH = 300;

/** How full the model's window is, and what the conversation cost. */
export interface Usage {
  used: number;
  size: number;
  cost?: Cost;
}

/** A question of the daemon's to the person. */
export interface Approval {
  id: number;
  params: RequestPermissionParams;
  answer(optionId: string): void;
}

/** Something that happened elsewhere and can be shown. */
export interface Elsewhere {
  sessionId: string;
  text: string;
  source: string;
}

/** What a message consists of. */
export interface Draft {
  text: string;
  attachments: { path: string; selection?: string }[];
  images: { data: string; mimeType: string; name: string }[];
}

/** What changed; what is left out did not. */
export interface Happened {
  timeline?: Changed;
  /** Another conversation, another piece of it, or none. */
  loaded?: boolean;
  /** Title, state, branches. */
  info?: boolean;
  usage?: boolean;
  approvals?: boolean;
  elsewhere?: boolean;
  /** A message of the agent's is whole: for those who hear the view. */
  said?: { text: string; isQuestion: boolean };
  problem?: string;
}

/** A message that the daemon may not have yet. */
export interface Pending {
  id: string;
  draft: Draft;
  /** The conversation that it was written in; null where that is not known yet, */
  sessionId: string | null;
  /** which a new one is, if it is meant to begin one. */
  isNew: boolean;
  sent: boolean;
  /** Whether the daemon has told it. */
  isHeard?: boolean;
  /** Why it was not taken. */
  error?: string;
}

export class Chat {
  readonly timeline = new Timeline();
  /** The conversation; null where none has begun. */
  info: ConversationInfo | null = null;
  branches: BranchInfo[] = [];
  /** The branch that is only looked at; null where the live one is shown. */
  branch: number | null = null;
  /** Whether there is more before, and after, what is loaded. */
  earlier = false;
  later = false;
  loading = false;
  usage: Usage | null = null;
  readonly approvals: Approval[] = [];
  elsewhere: Elsewhere | null = null;

  readonly #heard = new Set<(happened: Happened) => void>();
  readonly #releases: Unsubscribe[] = [];
  readonly #pending = new Map<string, Pending>();
  /** Events that came while a piece was loaded. */
  #held: (() => void)[] | null = null;
  #load = 0;
  /** What became of calls that stand before what is loaded. */
  #outcomes: Outcome[] = [];
  /** The person wants a new one: what goes on elsewhere is not shown in its place. */
  #isNew = false;
  /** What was to be opened and could not be yet, where nothing else is shown. */
  #wanted: { sessionId: string; branch: number | null } | null = null;
  /** The conversation whose turn is to be stopped once the connection is back. */
  #toStop: string | null = null;
  #nextApproval = 1;
  #fetching: Promise<void> = Promise.resolve();
  #beginning: Promise<string> | null = null;
  #over = false;

  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get sessionId(): string | null {
    return this.info?.sessionId ?? null;
  }

  /** The conversation that is shown, or that is to be as soon as it can be. */
  get wantedId(): string | null {
    return (this.#wanted ?? this).sessionId;
  }

  get isWorking(): boolean {
    return this.timeline.standing.state !== "idle";
  }

  on(heard: (happened: Happened) => void): void {
    this.#heard.add(heard);
  }

  start(): void {
    const connection = this.#connection;
    this.#releases.push(
      connection.onSnapshot(() => void this.reload()),
      connection.onState((state) => {
        if (state.kind !== "connected") return;
        if (this.#toStop !== null) connection.notify("session/cancel", { sessionId: this.#toStop });
        this.#toStop = null;
        this.#sendAgain();
      }),
      connection.on("session/update", (params) => this.#inOrder(() => this.#update(params))),
      connection.on("_vault/message", (params) =>
        this.#inOrder(() => {
          if (!this.#isShown(params.sessionId)) return;
          const turn = params._meta.vault.turn ?? null;
          const said = params.kind === "void" || params.kind === "part" ? undefined : params;
          this.#tell({
            timeline: this.timeline.message(params, turn),
            said: said && { text: said.text, isQuestion: said.kind === "question" },
          });
        }),
      ),
      connection.on("_vault/state", (params) =>
        this.#inOrder(() => {
          if (params.sessionId !== this.sessionId || this.branch !== null) return;
          const turn = params._meta.vault.turn ?? null;
          this.#tell({ timeline: this.timeline.state(params, turn), info: true });
          if (params.state === "idle") void this.learn();
        }),
      ),
      connection.on("_vault/changes", (params) =>
        this.#inOrder(() => {
          const { changeSet } = params;
          const isOurs = this.branch === null && changeSet.conversation === this.sessionId;
          this.#tell({ timeline: this.timeline.changes(changeSet, isOurs && !this.later) });
        }),
      ),
      connection.on("_vault/conversation_changed", ({ sessionId, kind }) => {
        if (sessionId !== this.sessionId) return;
        if (kind !== "deleted") return void this.learn();
        for (const [id, one] of this.#pending) if (one.sessionId === sessionId) this.#pending.delete(id);
        this.begin();
      }),
      connection.answer("session/request_permission", (params, signal) => this.#ask(params, signal)),
    );
    if (connection.state.kind === "connected") void this.reload();
  }

  end(): void {
    this.#over = true;
    this.#load += 1;
    this.#releases.splice(0).forEach((release) => release());
    this.#heard.clear();
    this.approvals.length = 0;
    this.#pending.clear();
  }

  /** Shows an empty view; the conversation begins with its first message. */
  begin(): void {
    this.#isNew = true;
    this.#showNone();
  }

  #showNone(): void {
    this.#load += 1;
    this.#wanted = null;
    this.#showPending(null);
    this.#held = null;
    this.loading = false;
    this.info = null;
    this.branches = [];
    this.branch = null;
    this.earlier = this.later = false;
    this.usage = null;
    this.elsewhere = null;
    this.#tell({ timeline: this.timeline.replace([]), loaded: true, info: true, usage: true, elsewhere: true });
  }

  /** Shows a conversation, or a branch of it that is not gone on with. */
  async open(sessionId: string, branch: number | null = null): Promise<void> {
    if (sessionId !== this.sessionId) this.usage = null;
    if (this.info === null) this.#wanted = { sessionId, branch };
    this.#isNew = false;
    if (this.elsewhere?.sessionId === sessionId) this.elsewhere = null;
    await this.#fetch(sessionId, branch);
  }

  /** Loads anew what is shown; at first, the conversation that goes on. */
  async reload(): Promise<void> {
    if (this.#isNew && this.sessionId === null) return;
    const { sessionId, branch } = this.#wanted ?? this;
    await this.#fetch(sessionId ?? undefined, branch);
  }

  #fetch(sessionId: string | undefined, branch: number | null): Promise<void> {
    this.#fetching = this.#fetchNow(sessionId, branch);
    return this.#fetching;
  }

  async #fetchNow(sessionId: string | undefined, branch: number | null): Promise<void> {
    const load = ++this.#load;
    this.#held = [];
    this.loading = true;
    const params = { sessionId, branch: branch ?? undefined, last: PAGE, updates: true };
    try {
      const answer = await this.#connection.call("_vault/conversation", params);
      if (load !== this.#load) return;
      const { conversation, branches, items, earlier, changes } = answer;
      this.#wanted = null;
      this.info = conversation;
      this.branches = branches;
      this.branch = branch;
      this.earlier = earlier;
      this.later = false;
      const standing = {
        state: conversation.shown === "working" && branch === null ? ("running" as const) : ("idle" as const),
        waiting: conversation.state === "waiting",
      };
      this.#outcomes = [];
      this.#showPending(branch === null ? conversation.sessionId : undefined);
      const changed = this.timeline.replace(entriesOf(items, this.#outcomes), standing);
      for (const set of changes ?? []) if (set.turn !== undefined) this.timeline.addSet(set.turn, set);
      this.timeline.entries.forEach((entry) => changed.keys.add(entry.key));
      this.#afterLoad();
      this.#tell({ timeline: changed, loaded: true, info: true, usage: true, elsewhere: true });
    } catch (error) {
      if (load !== this.#load) return;
      this.#afterLoad();
      const kind = error instanceof CallError ? error.kind : "";
      if (kind === "unknown_session") return this.#showNone();
      this.#connection.missed();
      // It is loaded with the next connection, and that there is none is seen.
      if (this.info === null && kind === "not_connected") this.#tell({ loaded: true });
      else this.#tell({ problem: said(error), loaded: true });
    }
  }

  #afterLoad(): void {
    this.loading = false;
    const held = this.#held ?? [];
    this.#held = null;
    held.forEach((happen) => happen());
  }

  /** The number of the first entry that has one. */
  get #first(): number | undefined {
    return this.timeline.entries.find((entry) => entry.item !== undefined)?.item;
  }

  /** Loads what was said before the first entry. */
  async older(): Promise<void> {
    const first = this.#first;
    const { sessionId } = this;
    if (!this.earlier || this.loading || first === undefined || sessionId === null) return;
    const load = this.#load;
    this.loading = true;
    try {
      const branch = this.branch ?? undefined;
      const answer = await this.#connection.call("_vault/conversation", {
        sessionId,
        branch,
        before: first,
        last: PAGE,
        updates: true,
      });
      if (load !== this.#load) return;
      const changed = this.timeline.prepend(entriesOf(answer.items, this.#outcomes));
      // Nothing is asked for again that brought nothing.
      this.earlier = answer.earlier && (changed.order || this.#first !== first);
      for (const set of answer.changes ?? []) {
        if (set.turn === undefined) continue;
        this.timeline.addSet(set.turn, set).keys.forEach((key) => changed.keys.add(key));
      }
      if (!this.isWorking) {
        const cut = this.timeline.trim(MOST, "newest");
        this.later ||= cut.order;
      }
      this.loading = false;
      this.#tell({ timeline: changed, loaded: true });
    } catch (error) {
      if (load !== this.#load) return;
      this.loading = false;
      this.#tell({ problem: said(error), loaded: true });
    }
  }

  /** Lets go of the end that is not looked at, where much has come. */
  letGo(side: "oldest" | "newest"): void {
    if (this.timeline.entries.length <= (side === "oldest" ? MOST : 2 * MOST)) return;
    const changed = this.timeline.trim(side === "oldest" ? ENOUGH : MOST, side);
    if (!changed.order) return;
    if (side === "oldest") this.earlier = true;
    else this.later = true;
    this.#tell({ timeline: changed });
  }

  /** Learns the numbers of what was just said, and how the conversation is called by now. */
  async learn(): Promise<void> {
    const { sessionId } = this, load = this.#load;
    if (sessionId === null || this.branch !== null) return;
    try {
      const params = { sessionId, last: PAGE, updates: true };
      const answer = await this.#connection.call("_vault/conversation", params);
      if (load !== this.#load) return;
      this.info = answer.conversation;
      this.branches = answer.branches;
      this.#tell({ timeline: this.timeline.annotate(entriesOf(answer.items)), info: true });
    } catch {
      // It is learnt with the next turn, or when everything is loaded anew.
    }
  }

  // --- what the person does

  /** Says something. What cannot be sent now is sent when the connection is back. */
  send(draft: Draft): void {
    const id = newId();
    const text = shownText(draft);
    if (this.branch !== null) return;
    this.#pending.set(id, { id, draft, sessionId: this.sessionId, isNew: this.#isNew, sent: false });
    this.#tell({ timeline: this.timeline.say(id, text) });
    void this.#deliver(id);
  }

  async #deliver(id: string): Promise<void> {
    const pending = this.#pending.get(id);
    if (!pending || pending.sent) return;
    const { draft } = pending;
    pending.sent = true;
    try {
      const sessionId = await this.#session(pending);
      await this.#connection.call("session/prompt", {
        sessionId,
        prompt: promptOf(draft),
        _meta: { vault: { clientMessageId: id, source: "chat" } },
      });
      this.#pending.delete(id);
      this.#tell({ timeline: this.timeline.said(id, undefined) });
    } catch (error) {
      if (this.#over || !this.#pending.has(id)) return;
      pending.sent = false;
      if (pending.isHeard) return void this.#pending.delete(id);
      if (error instanceof CallError && (error.kind === "not_connected" || error.kind === "disconnected")) {
        this.#tell({ timeline: this.timeline.said(id, "waiting") });
        if (this.#connection.state.kind === "connected") void this.#deliver(id);
        return;
      }
      const why = (pending.error = said(error));
      const isSeen = this.timeline.get(`mine:${id}`) !== undefined;
      this.#tell({ timeline: this.timeline.said(id, "failed", why), problem: isSeen ? undefined : why });
    }
  }

  /** The conversation that a message goes to: the one it was written in, or a new one. */
  async #session(pending: Pending): Promise<string> {
    // What is written before it is known which conversation goes on belongs to that one.
    if (pending.sessionId === null) await this.#fetching;
    const known = pending.sessionId ?? (pending.isNew ? null : this.sessionId);
    if (known !== null) return (pending.sessionId = known);
    this.#beginning ??= this.#connection.call("session/new", {}).then((answer) => answer.sessionId);
    try {
      const sessionId = await this.#beginning;
      for (const one of this.#pending.values()) one.sessionId ??= sessionId;
      // Whatever was being loaded gives way: this is the one that is shown now.
      if (this.sessionId === null) {
        this.#isNew = false;
        await this.#fetch(sessionId, null);
      }
      return sessionId;
    } finally {
      this.#beginning = null;
    }
  }

  #sendAgain(): void {
    for (const [id, { error }] of this.#pending) if (error === undefined) void this.#deliver(id);
  }

  /** Sends once more what was not taken. */
  again(entry: UserEntry): void {
    const id = entry.clientMessageId;
    const pending = id === undefined ? undefined : this.#pending.get(id);
    if (id === undefined || !pending) return;
    pending.error = undefined;
    this.#tell({ timeline: this.timeline.said(id, "sending") });
    void this.#deliver(id);
  }

  /** Takes back what was not taken, to write it otherwise. */
  takeBack(entry: UserEntry): Draft | null {
    const id = entry.clientMessageId;
    const pending = id === undefined ? undefined : this.#pending.get(id);
    if (id === undefined || !pending || entry.pending !== "failed") return null;
    this.#pending.delete(id);
    this.#tell({ timeline: this.timeline.said(id, undefined) });
    return pending.draft;
  }

  /** What the daemon may not have yet, for another view to send when this one ends. */
  get unsent(): Pending[] {
    return [...this.#pending.values()].filter((one) => !one.isHeard);
  }

  /** Sends what another view had not sent; what arrived nevertheless is heard once. */
  take(unsent: Pending[]): void {
    for (const one of unsent) this.#pending.set(one.id, { ...one, sent: false });
    this.#showPending(this.sessionId);
    this.#tell({ timeline: { keys: new Set(), order: true, standing: false } });
    this.#sendAgain();
  }

  /**
   * Has the timeline show what waits for this conversation, and nothing that waits for another; for
   * `null` what waits for a new one, for a branch that is looked at nothing.
   */
  #showPending(shown: string | null | undefined): void {
    for (const one of this.#pending.values()) {
      const { id, error } = one;
      if (shown && !one.isNew) one.sessionId ??= shown;
      if (one.sessionId !== shown || one.isHeard) this.timeline.said(id, undefined);
      else if (!this.timeline.get(`mine:${id}`)) {
        this.timeline.say(id, shownText(one.draft));
        const how = one.sent ? "sending" : "waiting";
        this.timeline.said(id, error === undefined ? how : "failed", error);
      }
    }
  }

  /** Stops the turn. */
  stop(): void {
    const { sessionId } = this;
    if (sessionId === null) return;
    if (this.#connection.state.kind === "connected") this.#connection.notify("session/cancel", { sessionId });
    else {
      this.#toStop = sessionId;
      this.#tell({ problem: "It is stopped when the connection is back" });
    }
  }

  /** Goes on from before a message of the person's, with other words. */
  async fork(item: number, draft: Draft): Promise<void> {
    const { sessionId } = this;
    if (sessionId === null) return;
    await this.#connection.call("_vault/fork", { sessionId, item });
    this.branch = null;
    await this.#fetch(sessionId, null);
    this.send(draft);
  }

  /** Goes on with another branch. */
  async goOnWith(branch: number): Promise<void> {
    const { sessionId } = this;
    if (sessionId === null) return;
    await this.#connection.call("_vault/fork", { sessionId, branch });
    await this.#fetch(sessionId, null);
  }

  /** Calls a tool as the person, with their agreement and the identity of what they were shown for it. */
  tool(
    name: string,
    given: Record<string, string | number | boolean>,
    confirmed = false,
    agreed?: string,
  ): Promise<ToolsCallResult> {
    const meta = confirmed ? { _meta: { vault: { confirmed, agreed } } } : {};
    return this.#connection.call("tools/call", { name, arguments: given, ...meta });
  }

  // --- what happens

  /** Does now what an event says, or when what is being loaded is there. */
  #inOrder(happen: () => void): void {
    if (this.#held) this.#held.push(happen);
    else happen();
  }

  #isShown(sessionId: string): boolean {
    return sessionId === this.sessionId && this.branch === null && !this.later;
  }

  #update({ sessionId, update, _meta }: SessionUpdateParams): void {
    // A history that is told again for another client is not ours.
    if (_meta.vault.seq === 0) return;
    if (update.sessionUpdate === "user_message_chunk") {
      const mine = this.#pending.get(update._meta?.vault.clientMessageId ?? "");
      if (mine) mine.isHeard = true;
    }
    const isOurs = sessionId === this.sessionId;
    if (!isOurs) {
      if (update.sessionUpdate === "user_message_chunk") this.#notice(sessionId, update);
      return;
    }
    if (update.sessionUpdate === "usage_update") {
      const { used, size, cost } = update;
      this.usage = { used, size, cost };
      this.#tell({ usage: true });
    } else if (update.sessionUpdate === "session_info_update") {
      if (this.info && update.title !== undefined) this.info.title = update.title;
      this.#tell({ info: true });
    } else if (this.#isShown(sessionId)) {
      this.#tell({ timeline: this.timeline.update(update, _meta.vault.turn ?? null) });
    }
  }

  #notice(
    sessionId: string,
    update: Extract<SessionUpdateParams["update"], { sessionUpdate: "user_message_chunk" }>,
  ): void {
    const { source = "chat", clientMessageId } = update._meta?.vault ?? {};
    if (clientMessageId !== undefined && this.#pending.has(clientMessageId)) return;
    // Nothing is before the person that they would lose.
    if (this.info === null && !this.#isNew && this.#pending.size === 0) {
      void this.open(sessionId);
      return;
    }
    this.elsewhere = { sessionId, source, text: update.content.text };
    this.#tell({ elsewhere: true });
  }

  /** Forgets what happened elsewhere. */
  dismiss(): void {
    this.elsewhere = null;
    this.#tell({ elsewhere: true });
  }

  #ask(
    params: RequestPermissionParams,
    signal: AbortSignal,
  ): Promise<RequestPermissionResult> {
    return new Promise((resolve) => {
      const id = this.#nextApproval++;
      const gone = (): void => {
        const at = this.approvals.findIndex((one) => one.id === id);
        if (at >= 0) this.approvals.splice(at, 1);
        signal.removeEventListener("abort", given);
        this.#tell({ approvals: true });
      };
      const given = (): void => {
        gone();
        resolve({ outcome: { outcome: "cancelled" } });
      };
      const answer = (optionId: string): void => {
        gone();
        resolve({ outcome: { outcome: "selected", optionId } });
      };
      if (signal.aborted) return given();
      signal.addEventListener("abort", given);
      this.approvals.push({ id, params, answer });
      this.#tell({ approvals: true });
    });
  }

  #tell(happened: Happened): void {
    for (const heard of this.#heard) heard(happened);
  }
}

/** What an error says to a person. */
export function said(error: unknown): string {
  if (error instanceof CallError) return error.advice;
  return error instanceof Error ? error.message : String(error);
}

/** A message as the daemon takes it. */
export function promptOf(draft: Draft): PromptContent[] {
  const pieces: PromptContent[] = [];
  if (draft.text.trim() !== "") pieces.push({ type: "text", text: draft.text });
  for (const { path, selection } of draft.attachments) {
    if (selection === undefined) pieces.push({ type: "resource_link", uri: path, name: path });
    else pieces.push({ type: "resource", resource: { uri: path, text: selection } });
  }
  for (const { data, mimeType } of draft.images) pieces.push({ type: "image", data, mimeType });
  return pieces;
}

/** What the daemon puts behind a message's text for what went with it. */
const WENT_ALONG = /(?:^|\n)\((?:with a picture|(the|a part of the) note `(.+)` is meant)\)$/;

/**
 * A message that was said, to be said again; `lacks` where something went with it of which no more than
 * the name is known.
 */
export function draftOf(said: string): { draft: Draft; lacks: boolean } {
  const draft: Draft = { text: said, attachments: [], images: [] };
  let lacks = false;
  for (let found; (found = WENT_ALONG.exec(draft.text)); ) {
    const [, which, path] = found;
    draft.text = draft.text.slice(0, found.index);
    if (which === "the" && path !== undefined) draft.attachments.unshift({ path });
    else lacks = true;
  }
  return { draft, lacks };
}

/** What is shown of a message before the daemon tells it. */
function shownText(draft: Draft): string {
  const named = draft.attachments.map(({ path, selection }) =>
    selection === undefined ? `[[${path}]]` : `[[${path}]] (selection)`,
  );
  const images = draft.images.map(({ name }) => `(image: ${name})`);
  return [draft.text, ...named, ...images].filter((part) => part.trim() !== "").join("\n");
}

function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
