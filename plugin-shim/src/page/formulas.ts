/** Formulas as MathML, which browsers draw without extra fonts. Loaded when the first formula is drawn. */

import temml from "temml";

/** The maximum length of a rule or space in ems, and the maximum number of macro expansions of a formula. */
const LARGEST: [number, number] = [20, 200];
const MOST_EXPANSIONS = 200;

/** Draws a formula. Throws if the TeX is invalid. */
export function draw(document: Document, tex: string, isBlock: boolean): HTMLElement {
  const root = document.createElement(isBlock ? "div" : "span");
  temml.render(tex, root, {
    displayMode: isBlock,
    throwOnError: true,
    trust: false,
    strict: true,
    maxSize: LARGEST,
    maxExpand: MOST_EXPANSIONS,
    // Macros of one formula must not affect the next one.
    macros: {},
  });
  // Its classes, for other browsers and fonts, have no styles here.
  for (const one of root.querySelectorAll("[class]")) {
    const ours = [...one.classList].filter((name) => name.startsWith("tml-"));
    if (ours.length > 0) one.setAttribute("class", ours.join(" "));
    else one.removeAttribute("class");
  }
  return root;
}
