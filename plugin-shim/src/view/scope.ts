/** The browser resources of a part of the view, so that all are released together. */

type Release = () => void;

/** Listeners, timers, frames and observers of one part; `end` releases them and those of all child scopes. */
export class Scope {
  readonly #held = new Set<Release>();
  #over = false;

  readonly #window: () => Window;
  /** Read on each use: a view may move to another window. */
  constructor(window: () => Window) {
    this.#window = window;
  }

  /** Whether the scope has ended. */
  get ended(): boolean {
    return this.#over;
  }

  /** The number of resources, including child scopes. */
  get size(): number {
    return this.#held.size;
  }

  /** Calls `release` at the end; the returned function calls it now. */
  add(release: Release): Release {
    if (this.#over) {
      release();
      return () => undefined;
    }
    const once = (): void => {
      if (this.#held.delete(once)) release();
    };
    this.#held.add(once);
    return once;
  }

  /** Creates a child scope. */
  child(): Scope {
    const child = new Scope(this.#window);
    const release = this.add(() => child.end());
    child.add(release);
    return child;
  }

  listen<K extends keyof HTMLElementEventMap>(
    target: EventTarget,
    type: K,
    handler: (event: HTMLElementEventMap[K]) => void,
    options?: AddEventListenerOptions,
  ): Release {
    const listener = (event: Event): void => handler(event as HTMLElementEventMap[K]);
    target.addEventListener(type, listener, options);
    return this.add(() => target.removeEventListener(type, listener, options));
  }

  /** Calls the function once after `milliseconds`. */
  after(milliseconds: number, call: () => void): Release {
    const window = this.#window();
    const timer = window.setTimeout(() => {
      release();
      call();
    }, milliseconds);
    const release = this.add(() => window.clearTimeout(timer));
    return release;
  }

  /** Calls the function once in the next frame. */
  frame(call: (now: number) => void): Release {
    const window = this.#window();
    const request = window.requestAnimationFrame((now) => {
      release();
      call(now);
    });
    const release = this.add(() => window.cancelAnimationFrame(request));
    return release;
  }

  /** Releases all resources. */
  end(): void {
    this.#over = true;
    for (const release of [...this.#held]) release();
    this.#held.clear();
  }
}
