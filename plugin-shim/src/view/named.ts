/** Notes that a text names. */

import { element } from "./dom";
import { noteName } from "./format";

/** A text in which the names of notes are links. */
export function drawWords(into: HTMLElement, text: string): void {
  const named = /\[\[([^[\]\n|]+)(?:\|([^[\]\n]*))?\]\]|\(the note `([^`\n]+)` is (?:meant|open)\)/g;
  let from = 0;
  for (const found of text.matchAll(named)) {
    if (found.index > from) into.append(text.slice(from, found.index));
    const path = found[1] ?? found[3] ?? "";
    into.appendChild(noteLink(into, path, found[2] ?? noteName(path)));
    from = found.index + found[0].length;
  }
  if (from < text.length) into.append(text.slice(from));
}

/** A link to a note; the view's listener opens it. */
export function noteLink(near: Node, path: string, text: string): HTMLElement {
  return element(near, "a", {
    class: "internal-link vs-link",
    text,
    attributes: { role: "link", tabindex: 0, dir: "auto", "data-linkpath": path, title: path },
  });
}
