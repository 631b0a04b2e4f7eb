/** Messages that the daemon may not have yet: each waits, is sent, and is sent again. */

import { CallError, errorText } from "../call-error";
import { type Draft, promptOf, shownText } from "./draft";
import type { Chat } from "./chat";
import type { Connection } from "../connection";
import type { UserEntry } from "./timeline";

/** A message that the daemon may not have yet. */
export interface Pending {
  /** Its permanent id: the daemon accepts one message per id. */
  id: string;
  draft: Draft;
  /** The conversation in which it was written; null while that is unknown, */
  sessionId: string | null;
  /** and for a message that starts a new one. */
  isNew: boolean;
  sent: boolean;
  /** Whether the daemon has reported it. */
  isHeard?: boolean;
  /** The reason of the rejection. */
  error?: string;
}

export class Outbox {
  readonly #pending = new Map<string, Pending>();
  #beginning: Promise<string> | null = null;
  #over = false;

  readonly #chat: Chat;
  readonly #connection: Connection;

  constructor(chat: Chat, connection: Connection) {
    this.#chat = chat;
    this.#connection = connection;
  }

  end(): void {
    this.#over = true;
    this.#pending.clear();
  }

  get isEmpty(): boolean {
    return this.#pending.size === 0;
  }

  /** The unsent messages, for the view that replaces this one. */
  get unsent(): Pending[] {
    return [...this.#pending.values()].filter((one) => !one.isHeard);
  }

  /** Sends a message in a conversation, or in the current one if the view shows none. */
  send(draft: Draft, sessionId: string | null): void {
    const { timeline, branch, isNew } = this.#chat;
    const id = newId();
    this.#pending.set(id, { id, draft, sessionId, isNew: sessionId === null && isNew, sent: false });
    const isShown = sessionId === this.#chat.sessionId && branch === null;
    if (isShown) this.#chat.emit({ timeline: timeline.say(id, shownText(draft)) });
    void this.#deliver(id);
  }

  async #deliver(id: string): Promise<void> {
    const pending = this.#pending.get(id);
    if (!pending || pending.sent) return;
    const { timeline } = this.#chat;
    pending.sent = true;
    try {
      const sessionId = await this.#session(pending);
      await this.#connection.call("session/prompt", {
        sessionId,
        prompt: promptOf(pending.draft),
        _meta: { vault: { clientMessageId: id, source: "chat" } },
      });
      this.#pending.delete(id);
      this.#chat.emit({ timeline: timeline.setPending(id, undefined) });
    } catch (error) {
      if (this.#over || !this.#pending.has(id)) return;
      pending.sent = false;
      if (pending.isHeard) return void this.#pending.delete(id);
      if (error instanceof CallError && (error.kind === "not_connected" || error.kind === "disconnected")) {
        this.#chat.emit({ timeline: timeline.setPending(id, "waiting") });
        if (this.#connection.state.kind === "connected") void this.#deliver(id);
        return;
      }
      const why = (pending.error = errorText(error));
      const isSeen = timeline.get(`mine:${id}`) !== undefined;
      this.#chat.emit({ timeline: timeline.setPending(id, "failed", why), problem: isSeen ? undefined : why });
    }
  }

  /** The conversation of a message: the one in which it was written, or a new one. */
  async #session(pending: Pending): Promise<string> {
    // A message written before the current conversation is known belongs to it. The chat requests it right after all
    // listeners of the connection's state.
    if (pending.sessionId === null) {
      await Promise.resolve();
      await this.#chat.fetching;
    }
    const known = pending.sessionId ?? (pending.isNew ? null : this.#chat.sessionId);
    if (known !== null) return (pending.sessionId = known);
    this.#beginning ??= this.#connection.call("session/new", {}).then((answer) => answer.sessionId);
    try {
      const sessionId = await this.#beginning;
      for (const one of this.#pending.values()) one.sessionId ??= sessionId;
      await this.#chat.begun(sessionId);
      return sessionId;
    } finally {
      this.#beginning = null;
    }
  }

  /** Sends the waiting messages. */
  sendAll(): void {
    const { timeline } = this.#chat;
    for (const [id, { error }] of this.#pending) {
      if (error !== undefined) continue;
      this.#chat.emit({ timeline: timeline.setPending(id, "sending") });
      void this.#deliver(id);
    }
  }

  /** Sends a rejected message again. */
  again({ clientMessageId: id = "" }: UserEntry): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    pending.error = undefined;
    this.#chat.emit({ timeline: this.#chat.timeline.setPending(id, "sending") });
    void this.#deliver(id);
  }

  /** The images of a message that the daemon may not have. */
  images({ clientMessageId: id = "" }: UserEntry): Draft["images"] {
    return this.#pending.get(id)?.draft.images ?? [];
  }

  /** Removes a rejected message, to edit it. */
  takeBack({ clientMessageId: id = "", pending: how }: UserEntry): Draft | null {
    const pending = this.#pending.get(id);
    if (!pending || how !== "failed") return null;
    this.#pending.delete(id);
    this.#chat.emit({ timeline: this.#chat.timeline.setPending(id, undefined) });
    return pending.draft;
  }

  /**
   * Sends the unsent messages of another view, except rejected ones; the daemon ignores a message that arrives twice. A
   * rejected message of a conversation that will not be shown is reported.
   */
  take(unsent: Pending[], toShow?: string | null): void {
    const chat = this.#chat;
    for (const one of unsent) {
      if (!this.#pending.has(one.id)) this.#pending.set(one.id, { ...one, sent: false });
      const { sessionId, draft, error } = one;
      if (error === undefined || sessionId === null || sessionId === toShow) continue;
      chat.elsewhere = { sessionId, text: shownText(draft), source: null };
    }
    this.show(chat.sessionId);
    chat.emit({ timeline: { keys: new Set(), order: true, status: false }, elsewhere: true });
    this.sendAll();
  }

  /**
   * Shows this conversation's waiting messages in the timeline: for `null` those of a new conversation, and none for a
   * branch that is only displayed.
   */
  show(shown: string | null | undefined): void {
    const { timeline } = this.#chat;
    for (const one of this.#pending.values()) {
      const { id, error } = one;
      if (shown && !one.isNew) one.sessionId ??= shown;
      if (one.sessionId !== shown || one.isHeard) timeline.setPending(id, undefined);
      else if (!timeline.get(`mine:${id}`)) {
        timeline.say(id, shownText(one.draft));
        const how = one.sent ? "sending" : "waiting";
        timeline.setPending(id, error === undefined ? how : "failed", error);
      }
    }
  }

  /** The daemon reports a message; returns whether this outbox sent it. */
  hears(id: string): boolean {
    const mine = this.#pending.get(id);
    if (mine) mine.isHeard = true;
    return mine !== undefined;
  }

  /** The conversation no longer exists: its waiting messages start another one. */
  keep(sessionId: string | undefined): void {
    for (const one of this.#pending.values()) if (one.sessionId === sessionId) [one.sessionId, one.isNew] = [null, true];
  }

  /** The conversation was deleted with its waiting messages. */
  drop(sessionId: string): void {
    for (const [id, one] of this.#pending) if (one.sessionId === sessionId) this.#pending.delete(id);
  }
}

function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
