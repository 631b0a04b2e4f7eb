// What the steward is doing, over all conversations: for the status bar and for stopping it.

import type { Connection, Unsubscribe } from "./connection";
import { Listeners } from "./listeners";
import type { SmartHoleState } from "./protocol";

/**
 * How a conversation stands that is not at rest: at work; at work and asking for an agreement; or
 * waiting for an answer, with no turn at work.
 */
type Standing = "working" | "asking" | "waiting";

/** Watches what the steward is doing from its making until `stop`. */
export class Activity {
  readonly #connection: Connection;
  readonly #changed = new Listeners<void>();
  readonly #questioned = new Listeners<string>();
  readonly #ends: Unsubscribe[];
  readonly #standing = new Map<string, Standing>();
  #questions = 0;
  #smarthole: SmartHoleState | null = null;
  /** What events told while the list was on its way, which is newer than the list. */
  #newer: Set<string> | null = null;
  #loading = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#ends = [
      connection.onSnapshot(() => void this.#load()),
      connection.on("_vault/state", ({ sessionId, state, waiting }) => {
        this.#newer?.add(sessionId);
        if (state === "running") this.#stand(sessionId, "working");
        else if (state === "requires_action") this.#stand(sessionId, "asking");
        else this.#stand(sessionId, waiting ? "waiting" : null);
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
      connection.answer("session/request_permission", ({ toolCall }, signal) => {
        // Only counted here; the chat view answers.
        this.#questions += 1;
        signal.addEventListener("abort", () => {
          this.#questions -= 1;
          this.#changed.tell();
        });
        this.#changed.tell();
        this.#questioned.tell(toolCall.title);
        return new Promise(() => undefined);
      }),
    ];
  }

  /** Conversations in which a turn is at work. */
  get working(): number {
    return this.#atWork().length;
  }

  /** Whether a person is waited for: an approval, or the answer to a question. */
  get waiting(): boolean {
    return this.#questions > 0 || [...this.#standing.values()].some((standing) => standing !== "working");
  }

  /** The connection to SmartHole; null before it is known. */
  get smarthole(): SmartHoleState | null {
    return this.#smarthole;
  }

  /** Hears of every change. */
  onChange(heard: () => void): Unsubscribe {
    return this.#changed.add(heard);
  }

  /** Hears what a person is asked to agree to. */
  onQuestion(heard: (title: string) => void): Unsubscribe {
    return this.#questioned.add(heard);
  }

  /** Stops every turn that is at work. */
  cancelAll(): void {
    for (const sessionId of this.#atWork()) this.#connection.notify("session/cancel", { sessionId });
  }

  stop(): void {
    this.#loading += 1;
    for (const end of this.#ends.splice(0)) end();
  }

  #atWork(): string[] {
    return [...this.#standing].filter(([, standing]) => standing !== "waiting").map(([id]) => id);
  }

  #stand(sessionId: string, standing: Standing | null): void {
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
