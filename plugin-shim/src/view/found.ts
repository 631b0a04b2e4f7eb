/** The display of search results. */

import { element } from "./dom";

/** A piece of Markdown as plain text: without the marks of links, emphasis, code and headings. */
export function plainText(markdown: string): string {
  return markdown
    .replace(/!?\[\[([^\]|\n]*)(?:\|([^\]\n]*))?\]\]/g, (_, target: string, alias?: string) => alias ?? target)
    .replace(/!?\[([^\]\n]*)\]\([^)\n]*\)/g, "$1")
    .replace(/(\*\*|__|==|~~|`+)(?=\S)(.*?\S)\1/g, "$2")
    .replace(/(?<![\w*])\*(?=\S)([^*\n]*[^*\s])\*(?![\w*])/g, "$1")
    .replace(/^\s*(?:#{1,6}|>|[-*+])\s+/gm, "");
}

/** A text with the search words highlighted. */
export function withMarks(into: HTMLElement, text: string, searched: string): void {
  const words = searched.split(/[\s"]+/).filter((word) => word !== "");
  if (words.length === 0) return into.append(text);
  // The longest word first; otherwise a shorter one would match only its beginning.
  const pattern = words.sort((one, other) => other.length - one.length).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  text.split(new RegExp(`(${pattern.join("|")})`, "iu")).forEach((part, at) => {
    if (part !== "") into.append(at % 2 === 1 ? element(into, "mark", { text: part }) : part);
  });
}
