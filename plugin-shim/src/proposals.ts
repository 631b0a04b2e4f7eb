// The agent's proposals of the mode Plan, and its plans, over all conversations: the one place that knows which of them
// wait for the person. The home, the cards and the hunks in an open note draw them.

import type { Connection, Unsubscribe } from "./connection";
import type { ProposalPart, ProposalsApplyResult, WaitingProposals } from "./protocol";

/** Follows the waiting proposals until `stop`. */
export class Proposals {
  /** The most recently active conversation comes first. */
  waiting: readonly WaitingProposals[] = [];
  readonly #connection: Connection;
  readonly #changed: () => void;
  readonly #ends: Unsubscribe[];
  /** Conversations with new proposals that are not loaded yet. */
  readonly #new = new Set<string>();
  #loading = 0;

  constructor(connection: Connection, changed: () => void) {
    this.#connection = connection;
    this.#changed = changed;
    this.#ends = [
      connection.onSnapshot(() => void this.load()),
      connection.on("session/update", ({ sessionId, update }) => {
        if (update.sessionUpdate !== "tool_call_update") return;
        const { proposed, plan } = (update.rawOutput ?? {}) as { proposed?: boolean; plan?: number };
        if (proposed || plan !== undefined) this.#new.add(sessionId);
      }),
      connection.on("_vault/state", ({ sessionId, state }) => {
        if (state === "idle") {
          if (this.#new.delete(sessionId)) void this.load();
        } else if (this.of(sessionId)) {
          // A new message decides the earlier proposals, unless its turn fails.
          this.#new.add(sessionId);
          this.#take(this.waiting.filter((one) => one.sessionId !== sessionId));
        }
      }),
      connection.on("_vault/conversation_changed", ({ sessionId, kind }) => {
        if (kind === "decided" || this.of(sessionId)) void this.load();
      }),
    ];
    if (connection.state.kind === "connected") void this.load();
  }

  /** The waiting proposals of a conversation. */
  of(sessionId: string | null): WaitingProposals | undefined {
    return this.waiting.find((one) => one.sessionId === sessionId);
  }

  /** Applies the waiting proposals of a conversation, or parts of them. Fails with the daemon's message. */
  apply({ sessionId, turn }: WaitingProposals, only?: ProposalPart[]): Promise<ProposalsApplyResult> {
    return this.#connection.call("_vault/proposals/apply", { sessionId, turn, only });
  }

  /** Rejects the waiting proposals, or parts of them. */
  async reject({ sessionId, turn }: WaitingProposals, only?: ProposalPart[]): Promise<void> {
    await this.#connection.call("_vault/proposals/reject", { sessionId, turn, only });
  }

  async load(): Promise<void> {
    const loading = ++this.#loading;
    // The next event or snapshot loads it again.
    const answer = await this.#connection.call("_vault/proposals/list", {}).catch(() => null);
    if (answer && loading === this.#loading) this.#take(answer.waiting);
  }

  stop(): void {
    this.#loading += 1;
    for (const end of this.#ends.splice(0)) end();
  }

  #take(waiting: readonly WaitingProposals[]): void {
    const isNone = waiting.length === 0 && this.waiting.length === 0;
    this.waiting = waiting;
    if (!isNone) this.#changed();
  }
}
