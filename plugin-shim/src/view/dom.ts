/** Elements, made one by one: nothing here takes HTML. */

export type Child = Node | string | null | undefined | false;

/** What an element is made with. */
export interface Made {
  class?: string;
  text?: string;
  /** Attributes; one that is undefined or false is left out, true is the empty text. */
  attributes?: Record<string, string | number | boolean | undefined>;
}

/** Makes an element in the document that `near` is in. */
export function element<K extends keyof HTMLElementTagNameMap>(
  near: Document | Node,
  tag: K,
  made: Made = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made_ = documentOf(near).createElement(tag);
  if (made.class) made_.className = made.class;
  if (made.text !== undefined) made_.textContent = made.text;
  for (const [name, value] of Object.entries(made.attributes ?? {})) {
    if (value === undefined || value === false) continue;
    made_.setAttribute(name, value === true ? "" : String(value));
  }
  append(made_, ...children);
  return made_;
}

/** An element that is there to be laid out: a `div` with a class. */
export function box(near: Document | Node, class_: string, ...children: Child[]): HTMLDivElement {
  return element(near, "div", { class: class_ }, ...children);
}

/** The document that a node is in now. */
export function documentOf(near: Document | Node): Document {
  return near.ownerDocument ?? (near as Document);
}

export function append(parent: Node, ...children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.appendChild(typeof child === "string" ? documentOf(parent).createTextNode(child) : child);
  }
}

export function clear(parent: Node): void {
  while (parent.lastChild) parent.removeChild(parent.lastChild);
}

/** Has a class exactly where `on` says so. */
export function toggle(of: Element, name: string, on: boolean): void {
  if (of.classList.contains(name) !== on) of.classList.toggle(name, on);
}

/** Shows or hides. */
export function show(of: HTMLElement, on: boolean): void {
  if (of.hidden === on) of.hidden = !on;
}

/** Sets a text where it is another. */
export function setText(of: Node, text: string): void {
  if (of.textContent !== text) of.textContent = text;
}
