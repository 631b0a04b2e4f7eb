// Obsidian's events and components: unloading a component releases everything that it registered.

/** A subscription, which its holder can end. */
export interface Ref {
  events: Events;
  name: string;
  heard: (...data: unknown[]) => unknown;
}

/** All active subscriptions of all event sources. */
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
      // A listener that throws does not prevent the others from being called.
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

  /** The result of an asynchronous load: a plugin's. */
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
