// Icons by their names in Obsidian and Lucide.

import { createElement, icons } from "lucide";

/** Requested names that do not exist, except the one for no icon. */
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
