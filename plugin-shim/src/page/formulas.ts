/** Formulas as MathML, which browsers draw without fonts of their own. Loaded when the first one is drawn. */

import temml from "temml";

/** Ems that a rule or a space may be long, and macros that a formula may expand. */
const LARGEST: [number, number] = [20, 200];
const MOST_EXPANSIONS = 200;

/** Draws a formula. Throws where the TeX is not understood. */
export function draw(document: Document, tex: string, isBlock: boolean): HTMLElement {
  const root = document.createElement(isBlock ? "div" : "span");
  temml.render(tex, root, {
    displayMode: isBlock,
    throwOnError: true,
    trust: false,
    strict: true,
    maxSize: LARGEST,
    maxExpand: MOST_EXPANSIONS,
    // Macros of one formula must not change the next.
    macros: {},
  });
  // Its classes for other browsers and fonts mean nothing here.
  for (const one of root.querySelectorAll("[class]")) {
    const ours = [...one.classList].filter((name) => name.startsWith("tml-"));
    if (ours.length > 0) one.setAttribute("class", ours.join(" "));
    else one.removeAttribute("class");
  }
  return root;
}
