// The helpers that Obsidian adds to elements. Every window has its own constructors, so each window gets the
// helpers. `instanceof` across windows fails here as in Obsidian.

type Realm = Window & typeof globalThis;

/** Callbacks for elements that move to another window. */
const migrated = new WeakMap<Node, Set<(win: Window) => void>>();

function define(on: object, members: object): void {
  for (const [name, member] of Object.entries(Object.getOwnPropertyDescriptors(members))) {
    Object.defineProperty(on, name, { ...member, configurable: true, enumerable: false });
  }
}

function make(owner: Document, tag: string, given?: DomElementInfo | string): HTMLElement {
  const made = owner.createElement(tag);
  const info = typeof given === "string" ? { cls: given } : (given ?? {});
  const classes = typeof info.cls === "string" ? info.cls.split(" ") : (info.cls ?? []);
  made.classList.add(...classes.filter((name) => name !== ""));
  if (info.text !== undefined) setText(made, info.text);
  for (const [name, value] of Object.entries(info.attr ?? {})) {
    if (value !== null && value !== false) made.setAttribute(name, String(value));
  }
  for (const name of ["title", "type", "value", "placeholder", "href"] as const) {
    if (info[name] !== undefined) made.setAttribute(name, info[name]);
  }
  if (info.parent !== undefined) info.parent.insertBefore(made, info.prepend === true ? info.parent.firstChild : null);
  return made;
}

function setText(of: Element, text: string | DocumentFragment): void {
  if (typeof text === "string") of.textContent = text;
  else of.replaceChildren(text);
}

/** Adds the helpers to a window. */
export function augment(win: Realm): void {
  define(win.Node.prototype, {
    get doc(): Document {
      const node = this as unknown as Node;
      return node.ownerDocument ?? win.document;
    },
    get win(): Window {
      return (this as unknown as Node).doc.defaultView ?? win;
    },
    empty(this: Node) {
      while (this.lastChild !== null) this.removeChild(this.lastChild);
    },
    detach(this: ChildNode) {
      this.remove();
    },
    appendText(this: Node, text: string) {
      this.appendChild(this.doc.createTextNode(text));
    },
    instanceOf(this: Node, type: { name: string }) {
      const kind = (this.win as unknown as Record<string, unknown>)[type.name];
      return typeof kind === "function" && this instanceof kind;
    },
    createEl(this: Node, tag: string, info?: DomElementInfo | string, made?: (el: HTMLElement) => void) {
      const given = typeof info === "string" ? { cls: info } : info;
      const element = make(this.doc, tag, { ...given, parent: this });
      made?.(element);
      return element;
    },
    createDiv(this: Node, info?: DomElementInfo | string, made?: (el: HTMLDivElement) => void) {
      return this.createEl("div", info, made);
    },
    createSpan(this: Node, info?: DomElementInfo | string, made?: (el: HTMLSpanElement) => void) {
      return this.createEl("span", info, made);
    },
  });
  define(win.Element.prototype, {
    setText(this: Element, text: string | DocumentFragment) {
      setText(this, text);
    },
    getText(this: Element) {
      return this.textContent;
    },
    addClass(this: Element, ...names: string[]) {
      this.classList.add(...names);
    },
    removeClass(this: Element, ...names: string[]) {
      this.classList.remove(...names);
    },
    toggleClass(this: Element, names: string | string[], on: boolean) {
      for (const name of [names].flat()) this.classList.toggle(name, on);
    },
    hasClass(this: Element, name: string) {
      return this.classList.contains(name);
    },
    setAttr(this: Element, name: string, value: string | number | boolean | null) {
      if (value === null) this.removeAttribute(name);
      else this.setAttribute(name, String(value));
    },
    getAttr(this: Element, name: string) {
      return this.getAttribute(name);
    },
    find(this: Element, selector: string) {
      return this.querySelector(selector);
    },
    findAll(this: Element, selector: string) {
      return [...this.querySelectorAll(selector)];
    },
  });
  define(win.HTMLElement.prototype, {
    show(this: HTMLElement) {
      this.classList.remove("is-hidden");
    },
    hide(this: HTMLElement) {
      this.classList.add("is-hidden");
    },
    toggle(this: HTMLElement, on: boolean) {
      this.classList.toggle("is-hidden", !on);
    },
    isShown(this: HTMLElement) {
      return this.offsetParent !== null;
    },
    onWindowMigrated(this: HTMLElement, heard: (win: Window) => void) {
      const all = migrated.get(this) ?? new Set();
      migrated.set(this, all.add(heard));
      return () => void all.delete(heard);
    },
  });
  const { document } = win;
  define(win, {
    createEl: (tag: string, info?: DomElementInfo | string) => make(document, tag, info),
    createDiv: (info?: DomElementInfo | string) => make(document, "div", info),
    createSpan: (info?: DomElementInfo | string) => make(document, "span", info),
    createFragment: () => document.createDocumentFragment(),
    sleep: (milliseconds: number) => new Promise((resolve) => win.setTimeout(resolve, milliseconds)),
    nextFrame: () => new Promise((resolve) => win.requestAnimationFrame(resolve)),
  });
}

/** Calls the waiting callbacks: the moved elements are in another window now. */
export function tellMigrated(root: Node): void {
  const all = [root, ...(root as Element).querySelectorAll("*")];
  for (const node of all) {
    for (const heard of [...(migrated.get(node) ?? [])]) heard(node.win);
  }
}

/** The callbacks for a document's elements; a removed part must leave none. */
export function waitsForMove(root: Node): number {
  const all = [root, ...(root as Element).querySelectorAll("*")];
  return all.reduce((sum, node) => sum + (migrated.get(node)?.size ?? 0), 0);
}
