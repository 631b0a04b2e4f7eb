/** Functions that create elements one by one: none of them takes HTML. */

export type Child = Node | string | null | undefined | false;

/** Options of a new element. */
export interface Made {
  class?: string;
  text?: string;
  /** Attributes; undefined or false omits one, true sets the empty text. */
  attributes?: Record<string, string | number | boolean | undefined>;
}

/** Creates an element in `near`'s document. */
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

/** A `div` with a class, for layout. */
export function box(near: Document | Node, class_: string, ...children: Child[]): HTMLDivElement {
  return element(near, "div", { class: class_ }, ...children);
}

/** A node's current document. */
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

/** Adds a class if `on` is true, and removes it otherwise. */
export function toggle(of: Element, name: string, on: boolean): void {
  if (of.classList.contains(name) !== on) of.classList.toggle(name, on);
}

/** Shows or hides an element. */
export function show(of: HTMLElement, on: boolean): void {
  if (of.hidden === on) of.hidden = !on;
}

/** Sets a text if it differs. */
export function setText(of: Node, text: string): void {
  if (of.textContent !== text) of.textContent = text;
}
