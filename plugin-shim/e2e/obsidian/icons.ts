// Icons by the names that Obsidian and Lucide share.

import { createElement, icons } from "lucide";

/** Names that were asked for and that nobody knows; but for the one that means none. */
export const unknownIcons = new Set<string>();

/** Draws an icon into an element; an unknown name draws nothing. */
export function setIcon(into: HTMLElement, name: string): void {
  into.empty();
  const wanted = name.replace(/^lucide-/, "").replace(/(^|-)(\w)/g, (_all, _dash, letter: string) => letter.toUpperCase());
  const icon = icons[wanted as keyof typeof icons];
  if (icon === undefined) {
    if (name !== "blank") unknownIcons.add(name);
    return;
  }
  const drawn = createElement(icon, { class: `svg-icon lucide-${name}`, width: "24", height: "24" });
  into.appendChild(into.doc.importNode(drawn, true));
}
