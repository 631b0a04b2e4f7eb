// A list of listeners.

import type { Unsubscribe } from "./connection";

/** Listeners of one event. A listener that throws does not prevent the others from being called. */
export class Listeners<T> {
  readonly #listeners = new Set<(value: T) => void>();

  add(listener: (value: T) => void): Unsubscribe {
    // The same function may be added twice; each registration is removed separately.
    const entry = (value: T): void => listener(value);
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  notify(value: T): void {
    for (const listener of [...this.#listeners]) {
      // An earlier listener may have removed it.
      if (!this.#listeners.has(listener)) continue;
      try {
        listener(value);
      } catch (error) {
        console.error("vault-steward:", error);
      }
    }
  }

  get size(): number {
    return this.#listeners.size;
  }
}
