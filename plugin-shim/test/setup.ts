// Web APIs that jsdom lacks: WebCrypto and ResizeObserver. WebCrypto works in other threads, so its pending
// operations are counted, and `settle` waits for them instead of for a fixed time.
import { webcrypto } from "node:crypto";

export const atWork = { count: 0 };

const subtle = new Proxy(webcrypto.subtle, {
  get(target, name) {
    const member: unknown = Reflect.get(target, name);
    if (typeof member !== "function") return member;
    return async (...parameters: unknown[]): Promise<unknown> => {
      atWork.count += 1;
      try {
        return await (Reflect.apply(member, target, parameters) as Promise<unknown>);
      } finally {
        atWork.count -= 1;
      }
    };
  },
});

Object.defineProperty(window, "crypto", {
  configurable: true,
  value: {
    subtle,
    getRandomValues: webcrypto.getRandomValues.bind(webcrypto),
    randomUUID: webcrypto.randomUUID.bind(webcrypto),
  },
});

/** The active observers; an unloaded part must leave none. */
export const observing = new Set<object>();

class Observer implements ResizeObserver {
  observe(): void {
    observing.add(this);
  }

  unobserve(): void {
    observing.delete(this);
  }

  disconnect(): void {
    observing.delete(this);
  }
}

Object.defineProperty(window, "ResizeObserver", { configurable: true, value: Observer });
