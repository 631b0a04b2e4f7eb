/** Notes that a text names. */

import type { Connection } from "../connection";
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

/** The file that a link names, by its path or only its name; null if there is none. */
export async function findNote(connection: Connection, link: string): Promise<string | null> {
  // A link may name a heading; only the file is opened.
  const text = link.split("#")[0] ?? link;
  const wanted = text.toLowerCase();
  const { found } = await connection.call("_vault/complete", { text, limit: 20 });
  const isMeant = (path: string): boolean => path === wanted || path.endsWith(`/${wanted}`);
  const meant = found.find(({ path, kind }) => kind !== "folder" && [path.toLowerCase(), path.toLowerCase().replace(/\.md$/, "")].some(isMeant));
  return meant?.path ?? null;
}
