// A clock that only a test advances.
import type { Clock } from "../src/connection";
import { atWork } from "./setup";

interface Timer {
  at: number;
  run: () => void;
}

export class FakeClock implements Clock {
  #now = 1_000_000;
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#now;
  }

  setTimeout(run: () => void, milliseconds: number): unknown {
    const timer = { at: this.#now + milliseconds, run };
    this.#timers.add(timer);
    return timer;
  }

  clearTimeout(timer: unknown): void {
    this.#timers.delete(timer as Timer);
  }

  /** The number of active timers. */
  get timers(): number {
    return this.#timers.size;
  }

  /** Advances the time, timer by timer, including timers that these start. */
  async pass(milliseconds: number): Promise<void> {
    const until = this.#now + milliseconds;
    for (;;) {
      const next = [...this.#timers].sort((a, b) => a.at - b.at)[0];
      if (next === undefined || next.at > until) break;
      this.#now = next.at;
      this.#timers.delete(next);
      next.run();
      await settle();
    }
    this.#now = until;
    await settle();
  }
}

/** Runs all pending microtasks, and waits for WebCrypto. */
export async function settle(): Promise<void> {
  for (let quiet = 0; quiet < 4; quiet = atWork.count === 0 ? quiet + 1 : 0) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}
