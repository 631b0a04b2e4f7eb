/** The conversation that the view shows: its loaded part, its events, and the person's requests. */

import type { Activity, Approval } from "../activity";
import type { AttachmentsResult, BranchInfo, ConversationInfo, SessionUpdateParams, ToolsCallParams, ToolsCallResult } from "../protocol";
import { CallError, errorText } from "../call-error";
import { type Changed, entriesOf, Timeline, type UserEntry } from "./timeline";
import type { CallOptions, Connection, Unsubscribe } from "../connection";
import type { Draft } from "./draft";
import { Outbox } from "./outbox";
import { Pages } from "./pages";
import { type ShownState, shownState } from "./shown-state";

/**
 * The usage of the model's context window, known after the first request to a model, and the conversation's cost in US
 * dollars.
 */
export interface Usage {
  used: number;
  size: number;
  cost: number;
}

/** A message or event of another conversation that the view can open. */
export interface Elsewhere {
  sessionId: string;
  text: string;
  /** The source of the message; null if the message is unsent. */
  source: string | null;
}

/** The changed parts of the chat; an undefined part did not change. */
export interface Happened {
  timeline?: Changed;
  /** Another conversation, another loaded part of it, or none. */
  loaded?: boolean;
  info?: boolean;
  usage?: boolean;
  /** Pending approvals, or the activity of a conversation. */
  activity?: boolean;
  elsewhere?: boolean;
  /** A complete message of the agent, for screen readers. */
  announcement?: { text: string; isQuestion: boolean };
  problem?: string;
}

export type CallGiven = NonNullable<ToolsCallParams["arguments"]>;

/** The options of a tool call. */
export interface CallHow extends CallOptions {
  /** With the person's approval, */
  confirmed?: boolean;
  /** and the identity of the change that they saw. */
  agreed?: string;
}

export class Chat {
  readonly timeline = new Timeline();
  /** The conversation; null before it exists. */
  info: ConversationInfo | null = null;
  branches: BranchInfo[] = [];
  /** The branch that is only displayed; null if the live branch is shown. */
  branch: number | null = null;
  usage: Usage | null = null;
  elsewhere: Elsewhere | null = null;
  /** The person requested a new conversation: activity elsewhere must not replace it. */
  isNew = false;
  /** Settles when the pending load has succeeded or failed. */
  fetching: Promise<void> = Promise.resolve();
  /** Messages that the daemon may not have. */
  readonly outbox: Outbox;
  readonly pages: Pages;

  readonly #listeners = new Set<(happened: Happened) => void>();
  readonly #releases: Unsubscribe[] = [];
  /** Events that arrived during a load. */
  #held: (() => void)[] | null = null;
  /** A conversation that could not be opened yet, while no other one is shown. */
  #wanted: { sessionId: string; branch: number | null } | null = null;
  /** The conversation whose turn must be stopped after the reconnection. */
  #toStop: string | null = null;

  readonly #connection: Connection;
  readonly #activity: Activity;

  constructor(connection: Connection, activity: Activity) {
    this.#connection = connection;
    this.#activity = activity;
    this.outbox = new Outbox(this, connection);
    this.pages = new Pages(this, connection);
  }

  get sessionId(): string | null {
    return this.info?.sessionId ?? null;
  }

  /** The conversation that is shown, or will be shown as soon as possible. */
  get wantedId(): string | null {
    return (this.#wanted ?? this).sessionId;
  }

  get isWorking(): boolean {
    return this.timeline.status.state !== "idle";
  }

  /** The pending approvals of this and other conversations. */
  get approvals(): readonly Approval[] {
    return this.#activity.approvals;
  }

  /** The state of the conversation. */
  get shownState(): ShownState {
    const { timeline, info, sessionId } = this;
    return shownState({
      isConnected: this.#connection.state.kind === "connected",
      activeness: this.branch === null ? this.#activity.of(sessionId) : null,
      status: timeline.status,
      entries: timeline.entries,
      isEnded: info?.state === "ended",
    });
  }

  on(listener: (happened: Happened) => void): void {
    this.#listeners.add(listener);
  }

  start(): void {
    const connection = this.#connection;
    this.#releases.push(
      connection.onSnapshot(() => void this.reload()),
      connection.onState((state) => {
        this.emit({ activity: true });
        if (state.kind !== "connected") return;
        if (this.#toStop !== null) connection.notify("session/cancel", { sessionId: this.#toStop });
        this.#toStop = null;
        this.outbox.sendAll();
      }),
      connection.on("session/update", (params) => this.#inOrder(() => this.#update(params))),
      connection.on("_vault/message", (params) =>
        this.#inOrder(() => {
          if (!this.#isShown(params.sessionId)) return;
          const turn = params._meta.vault.turn ?? null;
          const message = params.kind === "void" || params.kind === "part" ? undefined : params;
          this.emit({
            timeline: this.timeline.message(params, turn),
            announcement: message && { text: message.text, isQuestion: message.kind === "question" },
          });
        }),
      ),
      connection.on("_vault/state", (params) =>
        this.#inOrder(() => {
          if (params.sessionId !== this.sessionId || this.branch !== null) return;
          const turn = params._meta.vault.turn ?? null;
          this.emit({ timeline: this.timeline.state(params, turn), info: true });
          if (params.state === "idle") void this.refresh();
        }),
      ),
      connection.on("_vault/changes", (params) =>
        this.#inOrder(() => {
          const { changeSet } = params;
          const isOurs = this.branch === null && changeSet.conversation === this.sessionId;
          this.emit({ timeline: this.timeline.changes(changeSet, isOurs && !this.pages.later) });
        }),
      ),
      connection.on("_vault/conversation_changed", ({ sessionId, kind }) => {
        if (sessionId !== this.sessionId) return;
        if (kind !== "deleted") return void this.refresh();
        this.outbox.drop(sessionId);
        this.begin();
      }),
      this.#activity.onChange(() => this.emit({ activity: true })),
    );
    if (connection.state.kind === "connected") void this.reload();
  }

  end(): void {
    this.pages.clear();
    this.#releases.splice(0).forEach((release) => release());
    this.#listeners.clear();
    this.outbox.end();
  }

  /** Shows an empty view; the first message starts the conversation. */
  begin(): void {
    this.isNew = true;
    this.#showNone();
  }

  #showNone(): void {
    this.pages.clear();
    this.#wanted = null;
    this.outbox.show(null);
    this.#held = null;
    this.info = null;
    this.branches = [];
    this.branch = null;
    this.usage = null;
    this.elsewhere = null;
    this.emit({ timeline: this.timeline.replace([]), loaded: true, info: true, usage: true, elsewhere: true });
  }

  /** Shows a conversation, or a branch of it without continuing it. */
  async open(sessionId: string, branch: number | null = null): Promise<void> {
    if (sessionId !== this.sessionId) this.usage = null;
    if (this.info === null) this.#wanted = { sessionId, branch };
    this.isNew = false;
    await this.#fetch(sessionId, branch);
  }

  /** The first message has started a conversation, which is shown unless another one is. */
  async begun(sessionId: string): Promise<void> {
    // The fetch below supersedes a pending load.
    if (this.sessionId !== null) return;
    this.isNew = false;
    await this.#fetch(sessionId, null);
  }

  /** Reloads the displayed conversation; at first, loads the current one. */
  async reload(): Promise<void> {
    if (this.isNew && this.sessionId === null) return;
    const { sessionId, branch } = this.#wanted ?? this;
    await this.#fetch(sessionId ?? undefined, branch);
  }

  #fetch(sessionId: string | undefined, branch: number | null): Promise<void> {
    this.fetching = this.#fetchNow(sessionId, branch);
    return this.fetching;
  }

  async #fetchNow(sessionId: string | undefined, branch: number | null): Promise<void> {
    const { pages } = this;
    const load = ++pages.load;
    this.#held = [];
    pages.loading = true;
    try {
      const answer = await pages.ask(sessionId, branch);
      if (load !== pages.load) return;
      const { conversation, branches } = answer;
      const isSame = conversation.sessionId === this.sessionId && branch === this.branch;
      this.#wanted = null;
      this.info = conversation;
      this.branches = branches;
      this.branch = branch;
      if (this.elsewhere?.sessionId === conversation.sessionId) this.elsewhere = null;
      const status = {
        state: conversation.shown === "working" && branch === null ? ("running" as const) : ("idle" as const),
        waiting: conversation.state === "waiting",
      };
      this.outbox.show(branch === null ? conversation.sessionId : undefined);
      const changed = pages.begin(answer, status, isSame);
      this.#afterLoad();
      this.emit({ timeline: changed, loaded: true, info: true, usage: true, elsewhere: true });
      void this.#count();
    } catch (error) {
      if (load !== pages.load) return;
      this.#afterLoad();
      const kind = error instanceof CallError ? error.kind : "";
      if (kind === "unknown_session") {
        this.outbox.keep(sessionId);
        return this.#showNone();
      }
      this.#connection.missed();
      // The next connection loads it. The missing connection is visible.
      if (this.info === null && kind === "not_connected") this.emit({ loaded: true });
      else this.emit({ problem: errorText(error), loaded: true });
    }
  }

  #afterLoad(): void {
    this.pages.loading = false;
    const held = this.#held ?? [];
    this.#held = null;
    held.forEach((happen) => happen());
  }

  /** Loads the numbers of new messages, and the conversation's title. */
  async refresh(): Promise<void> {
    const { sessionId, pages } = this;
    const { load } = pages;
    if (sessionId === null || this.branch !== null) return;
    try {
      const answer = await pages.ask(sessionId, null);
      if (load !== pages.load) return;
      this.info = answer.conversation;
      this.branches = answer.branches;
      this.emit({ timeline: this.timeline.annotate(entriesOf(answer.items)), info: true });
    } catch {
      // The next turn or reload brings them.
    }
  }

  /** Loads the conversation's cost: events report only the cost since the daemon's start. */
  async #count(): Promise<void> {
    const { sessionId } = this;
    if (sessionId === null) return;
    try {
      const { total } = await this.#connection.call("_vault/usage", { sessionId });
      if (sessionId !== this.sessionId) return;
      this.usage = { used: 0, size: 0, ...this.usage, cost: total.costMillionths / 1e6 };
      this.emit({ usage: true });
    } catch {
      // The next request or reload brings it.
    }
  }

  // --- requests of the person

  /** Stops the running turn. */
  stop(): void {
    const { sessionId } = this;
    if (sessionId === null) return;
    if (this.#connection.state.kind === "connected") this.#connection.notify("session/cancel", { sessionId });
    else {
      this.#toStop = sessionId;
      this.emit({ problem: "The turn will be stopped when the connection is back" });
    }
  }

  /** The attachments of a user's message; null after an error. */
  attached({ key }: UserEntry, thumbnails = false): Promise<AttachmentsResult | null> {
    const { sessionId } = this;
    const messageId = key.replace(/^message:/, "");
    return sessionId === null ? Promise.resolve(null) : this.#connection.call("_vault/attachments", { sessionId, messageId, thumbnails }).catch(() => null);
  }

  /** Sends a message. Without a connection it is sent after the reconnection. */
  send(draft: Draft, sessionId = this.sessionId): void {
    this.outbox.send(draft, sessionId);
  }

  /** Edits an earlier message: continues before it with a new text, whichever conversation is shown by then. */
  async fork({ sessionId, item }: { sessionId: string; item: number }, draft: Draft): Promise<void> {
    const { load } = this.pages;
    await this.#connection.call("_vault/fork", { sessionId, item });
    if (sessionId === this.sessionId && load === this.pages.load) {
      this.branch = null;
      await this.#fetch(sessionId, null);
    }
    this.send(draft, sessionId);
  }

  /** Continues another branch. */
  async goOnWith(branch: number): Promise<void> {
    const { sessionId } = this;
    if (sessionId === null) return;
    await this.#connection.call("_vault/fork", { sessionId, branch });
    await this.#fetch(sessionId, null);
  }

  /** Calls a tool with the person's permissions. */
  tool(name: string, given: CallGiven, { confirmed = false, agreed, ...options }: CallHow = {}): Promise<ToolsCallResult> {
    const meta = confirmed ? { _meta: { vault: { confirmed, agreed } } } : {};
    return this.#connection.call("tools/call", { name, arguments: given, ...meta }, options);
  }

  // --- events

  /** Handles an event now, or after a pending load. */
  #inOrder(happen: () => void): void {
    if (this.#held) this.#held.push(happen);
    else happen();
  }

  #isShown(sessionId: string): boolean {
    return sessionId === this.sessionId && this.branch === null && !this.pages.later;
  }

  #update({ sessionId, update, _meta }: SessionUpdateParams): void {
    // The event replays history for another client.
    if (_meta.vault.seq === 0) return;
    if (update.sessionUpdate === "user_message_chunk") {
      const isMine = this.outbox.hears(update._meta?.vault.clientMessageId ?? "");
      if (sessionId !== this.sessionId && !isMine) this.#notice(sessionId, update);
    }
    if (sessionId !== this.sessionId) return;
    if (update.sessionUpdate === "usage_update") {
      const { used, size } = update;
      this.usage = { used, size, cost: this.usage?.cost ?? 0 };
      this.emit({ usage: true });
      void this.#count();
    } else if (update.sessionUpdate === "session_info_update") {
      if (this.info && update.title !== undefined) this.info.title = update.title;
      this.emit({ info: true });
    } else if (this.#isShown(sessionId)) {
      this.emit({ timeline: this.timeline.update(update, _meta.vault.turn ?? null) });
    }
  }

  #notice(
    sessionId: string,
    update: Extract<SessionUpdateParams["update"], { sessionUpdate: "user_message_chunk" }>,
  ): void {
    const { source = "chat" } = update._meta?.vault ?? {};
    // An inline edit is shown in its note.
    if (source === "inline") return;
    // Nothing is shown that would be replaced.
    if (this.info === null && !this.isNew && this.outbox.isEmpty) {
      void this.open(sessionId);
      return;
    }
    this.elsewhere = { sessionId, source, text: update.content.text };
    this.emit({ elsewhere: true });
  }

  /** Clears the reference to another conversation. */
  dismiss(): void {
    this.elsewhere = null;
    this.emit({ elsewhere: true });
  }

  /** Notifies all listeners of a change. */
  emit(happened: Happened): void {
    for (const listener of this.#listeners) listener(happened);
  }
}
