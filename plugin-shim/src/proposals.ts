// What the agent proposed in the mode Plan, and the plans it made, over all conversations: the one place that knows what of it
// waits for the person. The home, the cards and the hunks in an open note are drawn from it.

import type { Connection, Unsubscribe } from "./connection";
import type { ProposalPart, ProposalsApplyResult, WaitingProposals } from "./protocol";

/** Watches what waits from its making until `stop`. */
export class Proposals {
  /** The conversation that was active last comes first. */
  waiting: readonly WaitingProposals[] = [];
  readonly #connection: Connection;
  readonly #changed: () => void;
  readonly #ends: Unsubscribe[];
  /** Conversations in which something was proposed that is not loaded yet. */
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
          // Whoever says something else has decided, unless the turn fails.
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

  /** What waits in a conversation. */
  of(sessionId: string | null): WaitingProposals | undefined {
    return this.waiting.find((one) => one.sessionId === sessionId);
  }

  /** Applies what waits in a conversation, or parts of it. Fails with the daemon's words. */
  apply({ sessionId, turn }: WaitingProposals, only?: ProposalPart[]): Promise<ProposalsApplyResult> {
    return this.#connection.call("_vault/proposals/apply", { sessionId, turn, only });
  }

  /** Rejects it. */
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
