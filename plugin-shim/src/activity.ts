// What the steward is doing, over all conversations: the one place that knows which of them work and
// which wait for the person. The chat, its list, the page's title and the status bar are drawn from it.

import type { Connection, Unsubscribe } from "./connection";
import { Listeners } from "./listeners";
import { Proposals } from "./proposals";
import type { RequestPermissionParams, RequestPermissionResult, SmartHoleState } from "./protocol";

/**
 * How a conversation stands that is not at rest: at work; at work and waiting for an approval; or
 * waiting for an answer, with no turn at work.
 */
export type Activeness = "working" | "asking" | "waiting";

/** An approval that the daemon asks a person for. */
export interface Approval {
  id: number;
  params: RequestPermissionParams;
  /** With what the person says of it, such as why not. */
  answer(optionId: string, words?: string): void;
}

/** Watches what the steward is doing from its making until `stop`. */
export class Activity {
  /** What waits for the person's approval, the oldest first, until it is answered here or elsewhere. */
  readonly approvals: readonly Approval[];
  /** What the agent proposed and nobody has decided on. */
  readonly proposals: Proposals;
  readonly #approvals: Approval[] = [];
  readonly #connection: Connection;
  readonly #changed = new Listeners<void>();
  readonly #waits = new Listeners<string>();
  readonly #ends: Unsubscribe[];
  readonly #standing = new Map<string, Activeness>();
  #smarthole: SmartHoleState | null = null;
  /** What events told while the list was on its way, which is newer than the list. */
  #newer: Set<string> | null = null;
  #loading = 0;
  #next = 1;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.approvals = this.#approvals;
    this.proposals = new Proposals(connection, () => this.#changed.tell());
    this.#ends = [
      connection.onSnapshot(() => void this.#load()),
      connection.on("_vault/state", ({ sessionId, state, waiting }) => {
        this.#newer?.add(sessionId);
        if (state === "running") this.#stand(sessionId, "working");
        else if (state === "requires_action") this.#stand(sessionId, "asking");
        else {
          const isNew = waiting && this.#standing.get(sessionId) !== "waiting";
          this.#stand(sessionId, waiting ? "waiting" : null);
          if (isNew) this.#waits.tell("A question is waiting for your answer");
        }
      }),
      connection.on("_vault/conversation_changed", ({ sessionId, kind }) => {
        if (kind !== "ended" && kind !== "deleted") return;
        this.#newer?.add(sessionId);
        this.#stand(sessionId, null);
      }),
      connection.on("_vault/smarthole", ({ smarthole }) => {
        this.#smarthole = smarthole;
        this.#changed.tell();
      }),
      connection.answer("session/request_permission", (params, signal) => this.#ask(params, signal)),
    ];
    if (connection.state.kind === "connected") void this.#load();
  }

  /** How a conversation stands; null where it is at rest, or is not known to the daemon. */
  of(sessionId: string | null): Activeness | null {
    if (this.#approvals.some(({ params }) => params.sessionId === sessionId)) return "asking";
    return (sessionId !== null && this.#standing.get(sessionId)) || null;
  }

  /** Conversations in which a turn is at work. */
  get working(): number {
    return this.#atWork().length;
  }

  /** Whether a person is waited for: an approval, or the answer to a question. */
  get waiting(): boolean {
    return this.#approvals.length > 0 || [...this.#standing.values()].some((standing) => standing !== "working");
  }

  /** The connection to SmartHole; null before it is known. */
  get smarthole(): SmartHoleState | null {
    return this.#smarthole;
  }

  /** Hears of every change. */
  onChange(heard: () => void): Unsubscribe {
    return this.#changed.add(heard);
  }

  /** Hears what begins to wait for the person, in words for them. */
  onWaiting(heard: (what: string) => void): Unsubscribe {
    return this.#waits.add(heard);
  }

  /** Stops every turn that is at work. */
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
        this.#changed.tell();
      };
      const given = (): void => {
        gone();
        resolve({ outcome: { outcome: "cancelled" } });
      };
      const answer = (optionId: string, words = ""): void => {
        gone();
        const said = words === "" ? {} : { _meta: { vault: { words } } };
        resolve({ outcome: { outcome: "selected", optionId }, ...said });
      };
      const approval: Approval = { id: this.#next++, params, answer };
      if (signal.aborted) return given();
      signal.addEventListener("abort", given);
      this.#approvals.push(approval);
      this.#changed.tell();
      this.#waits.tell(`Waiting for your approval: ${params.toolCall.title}`);
    });
  }

  #atWork(): string[] {
    return [...this.#standing].filter(([, standing]) => standing !== "waiting").map(([id]) => id);
  }

  #stand(sessionId: string, standing: Activeness | null): void {
    if (standing === null) this.#standing.delete(sessionId);
    else this.#standing.set(sessionId, standing);
    this.#changed.tell();
  }

  async #load(): Promise<void> {
    const loading = ++this.#loading;
    const newer = new Set<string>();
    this.#newer = newer;
    this.#standing.clear();
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
        if (shown === "working") this.#standing.set(sessionId, "working");
        if (shown === "waiting_for_you") this.#standing.set(sessionId, "waiting");
      }
    } catch {
      // The next snapshot loads it anew.
      this.#connection.missed();
    } finally {
      if (loading === this.#loading) {
        this.#newer = null;
        this.#changed.tell();
      }
    }
  }
}
