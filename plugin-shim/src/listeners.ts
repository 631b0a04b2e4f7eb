// A list of listeners.

import type { Unsubscribe } from "./connection";

/** Listeners of one event. A listener that throws does not prevent the others from being called. */
export class Listeners<T> {
  readonly #heard = new Set<(value: T) => void>();

  add(heard: (value: T) => void): Unsubscribe {
    // The same function may be added twice; each registration is removed separately.
    const entry = (value: T): void => heard(value);
    this.#heard.add(entry);
    return () => void this.#heard.delete(entry);
  }

  tell(value: T): void {
    for (const heard of [...this.#heard]) {
      // An earlier listener may have removed it.
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
