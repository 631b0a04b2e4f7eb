// Who wants to hear of something.

import type { Unsubscribe } from "./connection";

/** Functions that hear of one thing. One that throws keeps no other from hearing. */
export class Listeners<T> {
  readonly #heard = new Set<(value: T) => void>();

  add(heard: (value: T) => void): Unsubscribe {
    // The same function may be added twice, and each is taken away by itself.
    const entry = (value: T): void => heard(value);
    this.#heard.add(entry);
    return () => void this.#heard.delete(entry);
  }

  tell(value: T): void {
    for (const heard of [...this.#heard]) {
      // Taken away by one that was told before it.
      if (!this.#heard.has(heard)) continue;
      try {
        heard(value);
      } catch (error) {
        console.error("vault-steward:", error);
      }
    }
  }

  get size(): number {
    return this.#heard.size;
  }
}
