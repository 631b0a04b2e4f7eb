/** One conversation as the view has it before it: what is loaded of it, what happens, what is asked. */

import type { Activity, Approval } from "../activity";
import type { BranchInfo, ConversationInfo, SessionUpdateParams, ToolsCallParams, ToolsCallResult } from "../protocol";
import { CallError, said } from "../call-error";
import { type Changed, entriesOf, Timeline } from "./timeline";
import type { CallOptions, Connection, Unsubscribe } from "../connection";
import type { Draft } from "./draft";
import { Outbox } from "./outbox";
import { Pages } from "./pages";
import { type Stands, standsOf } from "./stands";

/** How full the model's window is, which is known once a model was asked, and what the conversation cost, in US dollars. */
export interface Usage {
  used: number;
  size: number;
  cost: number;
}

/** Something that happened elsewhere and can be shown. */
export interface Elsewhere {
  sessionId: string;
  text: string;
  /** Where it was said; null where it waits there and was not sent. */
  source: string | null;
}

/** What changed; what is left out did not. */
export interface Happened {
  timeline?: Changed;
  /** Another conversation, another piece of it, or none. */
  loaded?: boolean;
  /** Title, state, branches. */
  info?: boolean;
  usage?: boolean;
  /** What waits for an approval, or how a conversation stands. */
  activity?: boolean;
  elsewhere?: boolean;
  /** A message of the agent's is whole: for those who hear the view. */
  said?: { text: string; isQuestion: boolean };
  problem?: string;
}

/** The arguments of a tool. */
export type CallGiven = NonNullable<ToolsCallParams["arguments"]>;

/** How a tool is called. */
export interface CallHow extends CallOptions {
  /** With the person's agreement, */
  confirmed?: boolean;
  /** and the identity of what they were shown for it. */
  agreed?: string;
}

export class Chat {
  readonly timeline = new Timeline();
  /** The conversation; null where none has begun. */
  info: ConversationInfo | null = null;
  branches: BranchInfo[] = [];
  /** The branch that is only looked at; null where the live one is shown. */
  branch: number | null = null;
  usage: Usage | null = null;
  elsewhere: Elsewhere | null = null;
  /** The person wants a new one: what goes on elsewhere is not shown in its place. */
  isNew = false;
  /** Settles when what is being loaded is there, or cannot be. */
  fetching: Promise<void> = Promise.resolve();
  /** What the daemon may not have yet. */
  readonly outbox: Outbox;
  readonly pages: Pages;

  readonly #heard = new Set<(happened: Happened) => void>();
  readonly #releases: Unsubscribe[] = [];
  /** Events that came while a piece was loaded. */
  #held: (() => void)[] | null = null;
  /** What was to be opened and could not be yet, where nothing else is shown. */
  #wanted: { sessionId: string; branch: number | null } | null = null;
  /** The conversation whose turn is to be stopped once the connection is back. */
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

  /** The conversation that is shown, or that is to be as soon as it can be. */
  get wantedId(): string | null {
    return (this.#wanted ?? this).sessionId;
  }

  get isWorking(): boolean {
    return this.timeline.standing.state !== "idle";
  }

  /** What waits for the person's approval, here and in other conversations. */
  get approvals(): readonly Approval[] {
    return this.#activity.approvals;
  }

  /** How the conversation stands. */
  get stands(): Stands {
    const { timeline, info, sessionId } = this;
    return standsOf({
      isConnected: this.#connection.state.kind === "connected",
      activeness: this.branch === null ? this.#activity.of(sessionId) : null,
      standing: timeline.standing,
      entries: timeline.entries,
      isEnded: info?.state === "ended",
    });
  }

  on(heard: (happened: Happened) => void): void {
    this.#heard.add(heard);
  }

  start(): void {
    const connection = this.#connection;
    this.#releases.push(
      connection.onSnapshot(() => void this.reload()),
      connection.onState((state) => {
        this.tell({ activity: true });
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
          const said = params.kind === "void" || params.kind === "part" ? undefined : params;
          this.tell({
            timeline: this.timeline.message(params, turn),
            said: said && { text: said.text, isQuestion: said.kind === "question" },
          });
        }),
      ),
      connection.on("_vault/state", (params) =>
        this.#inOrder(() => {
          if (params.sessionId !== this.sessionId || this.branch !== null) return;
          const turn = params._meta.vault.turn ?? null;
          this.tell({ timeline: this.timeline.state(params, turn), info: true });
          if (params.state === "idle") void this.learn();
        }),
      ),
      connection.on("_vault/changes", (params) =>
        this.#inOrder(() => {
          const { changeSet } = params;
          const isOurs = this.branch === null && changeSet.conversation === this.sessionId;
          this.tell({ timeline: this.timeline.changes(changeSet, isOurs && !this.pages.later) });
        }),
      ),
      connection.on("_vault/conversation_changed", ({ sessionId, kind }) => {
        if (sessionId !== this.sessionId) return;
        if (kind !== "deleted") return void this.learn();
        this.outbox.drop(sessionId);
        this.begin();
      }),
      this.#activity.onChange(() => this.tell({ activity: true })),
    );
    if (connection.state.kind === "connected") void this.reload();
  }

  end(): void {
    this.pages.clear();
    this.#releases.splice(0).forEach((release) => release());
    this.#heard.clear();
    this.outbox.end();
  }

  /** Shows an empty view; the conversation begins with its first message. */
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
    this.tell({ timeline: this.timeline.replace([]), loaded: true, info: true, usage: true, elsewhere: true });
  }

  /** Shows a conversation, or a branch of it that is not gone on with. */
  async open(sessionId: string, branch: number | null = null): Promise<void> {
    if (sessionId !== this.sessionId) this.usage = null;
    if (this.info === null) this.#wanted = { sessionId, branch };
    this.isNew = false;
    await this.#fetch(sessionId, branch);
  }

  /** A conversation has begun with its first message: where nothing else is shown it is shown now. */
  async begun(sessionId: string): Promise<void> {
    // Whatever was being loaded gives way.
    if (this.sessionId !== null) return;
    this.isNew = false;
    await this.#fetch(sessionId, null);
  }

  /** Loads anew what is shown; at first, the conversation that goes on. */
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
      const standing = {
        state: conversation.shown === "working" && branch === null ? ("running" as const) : ("idle" as const),
        waiting: conversation.state === "waiting",
      };
      this.outbox.show(branch === null ? conversation.sessionId : undefined);
      const changed = pages.begin(answer, standing, isSame);
      this.#afterLoad();
      this.tell({ timeline: changed, loaded: true, info: true, usage: true, elsewhere: true });
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
      // It is loaded with the next connection, and that there is none is seen.
      if (this.info === null && kind === "not_connected") this.tell({ loaded: true });
      else this.tell({ problem: said(error), loaded: true });
    }
  }

  #afterLoad(): void {
    this.pages.loading = false;
    const held = this.#held ?? [];
    this.#held = null;
    held.forEach((happen) => happen());
  }

  /** Learns the numbers of what was just said, and how the conversation is called by now. */
  async learn(): Promise<void> {
    const { sessionId, pages } = this;
    const { load } = pages;
    if (sessionId === null || this.branch !== null) return;
    try {
      const answer = await pages.ask(sessionId, null);
      if (load !== pages.load) return;
      this.info = answer.conversation;
      this.branches = answer.branches;
      this.tell({ timeline: this.timeline.annotate(entriesOf(answer.items)), info: true });
    } catch {
      // It is learnt with the next turn, or when everything is loaded anew.
    }
  }

  /** Learns what the conversation cost: events tell it of this run of the daemon alone. */
  async #count(): Promise<void> {
    const { sessionId } = this;
    if (sessionId === null) return;
    try {
      const { total } = await this.#connection.call("_vault/usage", { sessionId });
      if (sessionId !== this.sessionId) return;
      this.usage = { used: 0, size: 0, ...this.usage, cost: total.costMillionths / 1e6 };
      this.tell({ usage: true });
    } catch {
      // It is learnt with the next request, or when everything is loaded anew.
    }
  }

  // --- what the person does

  /** Stops the turn. */
  stop(): void {
    const { sessionId } = this;
    if (sessionId === null) return;
    if (this.#connection.state.kind === "connected") this.#connection.notify("session/cancel", { sessionId });
    else {
      this.#toStop = sessionId;
      this.tell({ problem: "The turn will be stopped when the connection is back" });
    }
  }

  /** Says something. What cannot be sent now is sent when the connection is back. */
  send(draft: Draft, sessionId = this.sessionId): void {
    this.outbox.send(draft, sessionId);
  }

  /** Goes on from before a message of the person's, with other words, whatever is shown by then. */
  async fork({ sessionId, item }: { sessionId: string; item: number }, draft: Draft): Promise<void> {
    const { load } = this.pages;
    await this.#connection.call("_vault/fork", { sessionId, item });
    if (sessionId === this.sessionId && load === this.pages.load) {
      this.branch = null;
      await this.#fetch(sessionId, null);
    }
    this.send(draft, sessionId);
  }

  /** Goes on with another branch. */
  async goOnWith(branch: number): Promise<void> {
    const { sessionId } = this;
    if (sessionId === null) return;
    await this.#connection.call("_vault/fork", { sessionId, branch });
    await this.#fetch(sessionId, null);
  }

  /** Calls a tool as the person. */
  tool(name: string, given: CallGiven, { confirmed = false, agreed, ...options }: CallHow = {}): Promise<ToolsCallResult> {
    const meta = confirmed ? { _meta: { vault: { confirmed, agreed } } } : {};
    return this.#connection.call("tools/call", { name, arguments: given, ...meta }, options);
  }

  // --- what happens

  /** Does now what an event says, or when what is being loaded is there. */
  #inOrder(happen: () => void): void {
    if (this.#held) this.#held.push(happen);
    else happen();
  }

  #isShown(sessionId: string): boolean {
    return sessionId === this.sessionId && this.branch === null && !this.pages.later;
  }

  #update({ sessionId, update, _meta }: SessionUpdateParams): void {
    // A history that is told again for another client is not ours.
    if (_meta.vault.seq === 0) return;
    if (update.sessionUpdate === "user_message_chunk") {
      const isMine = this.outbox.hears(update._meta?.vault.clientMessageId ?? "");
      if (sessionId !== this.sessionId && !isMine) this.#notice(sessionId, update);
    }
    if (sessionId !== this.sessionId) return;
    if (update.sessionUpdate === "usage_update") {
      const { used, size } = update;
      this.usage = { used, size, cost: this.usage?.cost ?? 0 };
      this.tell({ usage: true });
      void this.#count();
    } else if (update.sessionUpdate === "session_info_update") {
      if (this.info && update.title !== undefined) this.info.title = update.title;
      this.tell({ info: true });
    } else if (this.#isShown(sessionId)) {
      this.tell({ timeline: this.timeline.update(update, _meta.vault.turn ?? null) });
    }
  }

  #notice(
    sessionId: string,
    update: Extract<SessionUpdateParams["update"], { sessionUpdate: "user_message_chunk" }>,
  ): void {
    const { source = "chat" } = update._meta?.vault ?? {};
    // It is seen where it is done.
    if (source === "inline") return;
    // Nothing is before the person that they would lose.
    if (this.info === null && !this.isNew && this.outbox.isEmpty) {
      void this.open(sessionId);
      return;
    }
    this.elsewhere = { sessionId, source, text: update.content.text };
    this.tell({ elsewhere: true });
  }

  /** Forgets what happened elsewhere. */
  dismiss(): void {
    this.elsewhere = null;
    this.tell({ elsewhere: true });
  }

  /** Has everybody hear what changed. */
  tell(happened: Happened): void {
    for (const heard of this.#heard) heard(happened);
  }
}
