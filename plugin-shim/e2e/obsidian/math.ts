// The output of MathJax 3 for the commands of hostile answers, as in Obsidian: with all its packages and
// without its `safe` extension. Other text is drawn character by character.

/** The commands that `\DeclareMathOperator` defined: they apply to every later formula. */
const operators = new Map<string, string>();

/** A formula as Obsidian returns it: drawn, but not in a document yet. */
export function renderMath(source: string, display: boolean): HTMLElement {
  const root = createSpan({ cls: display ? "math math-block is-loaded" : "math math-inline is-loaded" });
  const container = part(root, "mjx-container", { class: "MathJax", jax: "CHTML" });
  draw(part(container, "mjx-math", { class: "MJX-TEX" }), source);
  return root;
}

function part(into: Element, name: string, attributes: Record<string, string> = {}): HTMLElement {
  const made = into.ownerDocument.createElement(name);
  // By the element's own style API, as MathJax does: an invalid style is ignored.
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "style") made.style.cssText = value;
    else made.setAttribute(key, value);
  }
  into.appendChild(made);
  return made;
}

/** The content of braces, which may be nested. */
const GROUP = String.raw`\{((?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})*)\}`;
const TOKEN = new RegExp(String.raw`^\\mmlToken\{(\w+)\}\[([^\]]*)\]${GROUP}`);
const BOX = new RegExp(String.raw`^\\bbox\[([^\]]*)\]${GROUP}`);
const WITH = new RegExp(String.raw`^\\(href|style|class|cssId|colorbox|color|raise)${GROUP}${GROUP}`);
const OPERATOR = new RegExp(String.raw`^\\DeclareMathOperator\{\\(\w+)\}${GROUP}`);
const AROUND = new RegExp(String.raw`^\\(?:smash|rlap|llap|text)${GROUP}`);
const COMMAND = /^\\(\w+) ?/;

function draw(into: Element, tex: string): void {
  let rest = tex;
  let found: RegExpExecArray | null;
  while (rest !== "") {
    if ((found = TOKEN.exec(rest))) {
      const [, name = "", given = "", text = ""] = found;
      const attributes: Record<string, string> = {};
      for (const [, key = "", value = ""] of given.matchAll(/([\w:-]+)="([^"]*)"/g)) attributes[key] = value;
      token(into, name, attributes, text);
    } else if ((found = BOX.exec(rest))) {
      draw(part(into, "mjx-mstyle", { style: found[1] ?? "" }), found[2] ?? "");
    } else if ((found = WITH.exec(rest))) {
      const [, command = "", given = "", inner = ""] = found;
      draw(around(into, command, given), inner);
    } else if ((found = OPERATOR.exec(rest))) {
      operators.set(found[1] ?? "", found[2] ?? "");
    } else if ((found = AROUND.exec(rest))) {
      draw(part(into, "mjx-mpadded"), found[1] ?? "");
    } else if ((found = COMMAND.exec(rest))) {
      const [, name = ""] = found;
      sign(into, operators.get(name) ?? name);
    } else {
      sign(into, rest.charAt(0));
    }
    rest = rest.slice(found?.[0].length ?? 1);
  }
}

function token(into: Element, name: string, given: Record<string, string>, text: string): void {
  const { href, src, mathbackground, ...attributes } = given;
  const parent = href === undefined ? into : part(into, "a", { href });
  const made = part(parent, `mjx-${name}`, attributes);
  if (mathbackground !== undefined) made.style.backgroundColor = mathbackground;
  if (src !== undefined) part(made, "img", { src });
  else made.textContent = text;
}

function around(into: Element, command: string, given: string): Element {
  switch (command) {
    case "href":
      return part(into, "a", { href: given });
    case "class":
      return part(into, "mjx-mrow", { class: given });
    case "cssId":
      return part(into, "mjx-mrow", { id: given });
    case "raise":
      return part(part(into, "mjx-block", { style: `margin: ${given} 0 -${given}; position: relative` }), "mjx-rbox", { style: `position: relative; top: -${given}` });
    case "style":
      return part(into, "mjx-mstyle", { style: given });
    default: {
      const made = part(into, "mjx-mstyle");
      made.style.setProperty(command === "color" ? "color" : "background-color", given);
      return made;
    }
  }
}

function sign(into: Element, text: string): void {
  part(into, "mjx-mi", { class: "mjx-i" }).textContent = text;
}
