/** What a part of the view holds of the browser, so that all of it is let go of at once. */

type Release = () => void;

/** Listeners, timers, frames and observers of one part; `end` lets go of all and of all below. */
export class Scope {
  readonly #held = new Set<Release>();
  #over = false;

  readonly #window: () => Window;
  /** The window is asked for each time: a view may move into a window of its own. */
  constructor(window: () => Window) {
    this.#window = window;
  }

  /** Whether nothing may be held any more. */
  get ended(): boolean {
    return this.#over;
  }

  /** How much is held, of this part and those below. */
  get size(): number {
    return this.#held.size;
  }

  /** Has `release` called at the end; the answer calls it now. */
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

  /** A part of this part. */
  child(): Scope {
    const child = new Scope(this.#window);
    const release = this.add(() => child.end());
    child.add(release);
    return child;
  }

  listen<K extends keyof HTMLElementEventMap>(
    target: EventTarget,
    type: K,
    heard: (event: HTMLElementEventMap[K]) => void,
    options?: AddEventListenerOptions,
  ): Release {
    const listener = (event: Event): void => heard(event as HTMLElementEventMap[K]);
    target.addEventListener(type, listener, options);
    return this.add(() => target.removeEventListener(type, listener, options));
  }

  /** Calls once after `milliseconds`. */
  after(milliseconds: number, call: () => void): Release {
    const window = this.#window();
    const timer = window.setTimeout(() => {
      release();
      call();
    }, milliseconds);
    const release = this.add(() => window.clearTimeout(timer));
    return release;
  }

  /** Calls once in the next frame. */
  frame(call: (now: number) => void): Release {
    const window = this.#window();
    const request = window.requestAnimationFrame((now) => {
      release();
      call(now);
    });
    const release = this.add(() => window.cancelAnimationFrame(request));
    return release;
  }

  /** Lets go of everything. */
  end(): void {
    this.#over = true;
    for (const release of [...this.#held]) release();
    this.#held.clear();
  }
}
