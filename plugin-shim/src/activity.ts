// The agent's activity over all conversations: the one place that knows which conversations have a running
// turn and which wait for the person. The chat, its list, the page's title and the status bar draw it.

import type { Connection, Unsubscribe } from "./connection";
import { Listeners } from "./listeners";
import { Proposals } from "./proposals";
import type { RequestPermissionParams, RequestPermissionResult, SmartHoleState } from "./protocol";

/**
 * The activity of a conversation: a running turn; a running turn that waits for an approval; or a question of
 * the agent after the turn has ended.
 */
export type Activeness = "working" | "asking" | "waiting";

/** An approval that the daemon requests from a person. */
export interface Approval {
  id: number;
  params: RequestPermissionParams;
  /** `words` are the person's comment, such as the reason of a refusal. */
  answer(optionId: string, words?: string): void;
}

/** Follows the agent's activity until `stop`. */
export class Activity {
  /** The pending approvals, oldest first. */
  readonly approvals: readonly Approval[];
  /** The agent's undecided proposals. */
  readonly proposals: Proposals;
  readonly #approvals: Approval[] = [];
  readonly #connection: Connection;
  readonly #changed = new Listeners<void>();
  readonly #waits = new Listeners<string>();
  readonly #ends: Unsubscribe[];
  readonly #activeness = new Map<string, Activeness>();
  #smarthole: SmartHoleState | null = null;
  /** Events that arrived while the list was loading are newer than the list. */
  #newer: Set<string> | null = null;
  #loading = 0;
  #next = 1;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.approvals = this.#approvals;
    this.proposals = new Proposals(connection, () => this.#changed.notify());
    this.#ends = [
      connection.onSnapshot(() => void this.#load()),
      connection.on("_vault/state", ({ sessionId, state, waiting }) => {
        this.#newer?.add(sessionId);
        if (state === "running") this.#set(sessionId, "working");
        else if (state === "requires_action") this.#set(sessionId, "asking");
        else {
          const isNew = waiting && this.#activeness.get(sessionId) !== "waiting";
          this.#set(sessionId, waiting ? "waiting" : null);
          if (isNew) this.#waits.notify("A question is waiting for your answer");
        }
      }),
      connection.on("_vault/conversation_changed", ({ sessionId, kind }) => {
        if (kind !== "ended" && kind !== "deleted") return;
        this.#newer?.add(sessionId);
        this.#set(sessionId, null);
      }),
      connection.on("_vault/smarthole", ({ smarthole }) => {
        this.#smarthole = smarthole;
        this.#changed.notify();
      }),
      connection.answer("session/request_permission", (params, signal) => this.#ask(params, signal)),
    ];
    if (connection.state.kind === "connected") void this.#load();
  }

  /** The activity of a conversation; null if it is idle or unknown to the daemon. */
  of(sessionId: string | null): Activeness | null {
    if (this.#approvals.some(({ params }) => params.sessionId === sessionId)) return "asking";
    return (sessionId !== null && this.#activeness.get(sessionId)) || null;
  }

  /** The number of conversations with a running turn. */
  get working(): number {
    return this.#atWork().length;
  }

  /** Whether the agent waits for a person: for an approval, or for the answer to a question. */
  get waiting(): boolean {
    return this.#approvals.length > 0 || [...this.#activeness.values()].some((activeness) => activeness !== "working");
  }

  /** The state of the connection to SmartHole; null before it is known. */
  get smarthole(): SmartHoleState | null {
    return this.#smarthole;
  }

  /** Calls the listener after every change. */
  onChange(listener: () => void): Unsubscribe {
    return this.#changed.add(listener);
  }

  /** Calls the listener with a text for the person when the agent begins to wait for them. */
  onWaiting(listener: (what: string) => void): Unsubscribe {
    return this.#waits.add(listener);
  }

  /** Stops every running turn. */
  cancelAll(): void {
    for (const sessionId of this.#atWork()) this.#connection.notify("session/cancel", { sessionId });
  }

  stop(): void {
    this.#loading += 1;
    this.proposals.stop();
    for (const end of this.#ends.splice(0)) end();
  }

  #ask(params: RequestPermissionParams, signal: AbortSignal): Promise<RequestPermissionResult> {
    return new Promise((resolve) => {
      const gone = (): void => {
        const at = this.#approvals.indexOf(approval);
        if (at < 0) return;
        this.#approvals.splice(at, 1);
        signal.removeEventListener("abort", given);
        this.#changed.notify();
      };
      const given = (): void => {
        gone();
        resolve({ outcome: { outcome: "cancelled" } });
      };
      const answer = (optionId: string, words = ""): void => {
        gone();
        const meta = words === "" ? {} : { _meta: { vault: { words } } };
        resolve({ outcome: { outcome: "selected", optionId }, ...meta });
      };
      const approval: Approval = { id: this.#next++, params, answer };
      if (signal.aborted) return given();
      signal.addEventListener("abort", given);
      this.#approvals.push(approval);
      this.#changed.notify();
      this.#waits.notify(`Waiting for your approval: ${params.toolCall.title}`);
    });
  }

  #atWork(): string[] {
    return [...this.#activeness].filter(([, activeness]) => activeness !== "waiting").map(([id]) => id);
  }

  #set(sessionId: string, activeness: Activeness | null): void {
    if (activeness === null) this.#activeness.delete(sessionId);
    else this.#activeness.set(sessionId, activeness);
    this.#changed.notify();
  }

  async #load(): Promise<void> {
    const loading = ++this.#loading;
    const newer = new Set<string>();
    this.#newer = newer;
    this.#activeness.clear();
    try {
      const [status, list] = await Promise.all([
        this.#connection.call("_vault/status", {}),
        this.#connection.call("session/list", {}),
      ]);
      if (loading !== this.#loading) return;
      this.#smarthole = status.smarthole;
      for (const { sessionId, _meta } of list.sessions) {
        if (newer.has(sessionId)) continue;
        const { shown } = _meta.vault;
        if (shown === "working") this.#activeness.set(sessionId, "working");
        if (shown === "waiting_for_you") this.#activeness.set(sessionId, "waiting");
      }
    } catch {
      // The next snapshot loads it.
      this.#connection.missed();
    } finally {
      if (loading === this.#loading) {
        this.#newer = null;
        this.#changed.notify();
      }
    }
  }
}
