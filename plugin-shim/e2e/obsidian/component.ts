// Obsidian's events, and what is loaded and unloaded with all that it began.

/** One who hears; whoever has it can end that. */
export interface Ref {
  events: Events;
  name: string;
  heard: (...data: unknown[]) => unknown;
}

/** Every subscription that stands, over all that tells events. */
export const subscriptions = new Set<Ref>();

export class Events {
  on(name: string, heard: (...data: never[]) => unknown): Ref {
    const ref = { events: this, name, heard: heard as Ref["heard"] };
    subscriptions.add(ref);
    return ref;
  }

  off(name: string, heard: (...data: unknown[]) => unknown): void {
    for (const ref of subscriptions) {
      if (ref.events === this && ref.name === name && ref.heard === heard) subscriptions.delete(ref);
    }
  }

  offref(ref: Ref): void {
    subscriptions.delete(ref);
  }

  trigger(name: string, ...data: unknown[]): void {
    for (const ref of [...subscriptions]) {
      if (ref.events === this && ref.name === name) this.tryTrigger(ref, data);
    }
  }

  tryTrigger(ref: Ref, data: unknown[]): void {
    try {
      ref.heard(...data);
    } catch (error) {
      // What one of them does wrong keeps no other from hearing.
      window.setTimeout(() => {
        throw error;
      });
    }
  }
}

export class Component {
  #isLoaded = false;
  #children: Component[] = [];
  #ends: (() => unknown)[] = [];

  load(): void {
    if (this.#isLoaded) return;
    this.#isLoaded = true;
    this._loading = this.onload() ?? undefined;
    for (const child of [...this.#children]) child.load();
  }

  /** What loading comes to, where it takes time: a plugin's. */
  _loading: Promise<void> | undefined;

  onload(): Promise<void> | void {
    return undefined;
  }

  unload(): void {
    if (!this.#isLoaded) return;
    this.#isLoaded = false;
    for (const child of this.#children.splice(0)) child.unload();
    while (this.#ends.length > 0) this.#ends.pop()?.();
    this.onunload();
  }

  onunload(): void {
    return undefined;
  }

  addChild<T extends Component>(child: T): T {
    this.#children.push(child);
    if (this.#isLoaded) child.load();
    return child;
  }

  removeChild<T extends Component>(child: T): T {
    this.#children = this.#children.filter((one) => one !== child);
    child.unload();
    return child;
  }

  register(end: () => unknown): void {
    this.#ends.push(end);
  }

  registerEvent(ref: Ref): void {
    this.register(() => ref.events.offref(ref));
  }

  registerDomEvent(
    on: Window | Document | HTMLElement,
    type: string,
    heard: (event: Event) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void {
    on.addEventListener(type, heard, options);
    this.register(() => on.removeEventListener(type, heard, options));
  }

  registerInterval(id: number): number {
    this.register(() => window.clearInterval(id));
    return id;
  }
}
