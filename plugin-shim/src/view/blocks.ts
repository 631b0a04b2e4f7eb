/** Markdown as elements. Every element is created by name; every text is a text node. */

import { box, element } from "./dom";
import type { Block, Inline, ListItem } from "./markdown";
import type { Link } from "./links";
import type { Segment } from "./segments";
import { readMarkdown } from "./markdown";

type Cut = Extract<Segment, { kind: "markdown" }>;

/** The element of one piece of a text. */
export function drawSegment(near: Node, segment: Segment): HTMLElement {
  const made = box(near, "vs-segment");
  if (segment.continues) made.classList.add("is-continued");
  if (segment.kind === "code") {
    made.classList.add("vs-segment-code");
    made.appendChild(code(near, segment.info, segment.text, !segment.continues));
  } else {
    const blocks = readMarkdown(segment.text);
    blocks.forEach((block, at) => made.appendChild(drawBlock(near, block, at === 0 ? segment : undefined)));
  }
  return made;
}

/** `begins` is the piece that contains the block's beginning. */
function drawBlock(near: Node, block: Block, begins?: Cut): HTMLElement {
  switch (block.kind) {
    case "paragraph":
      return withInlines(element(near, "p", { attributes: { dir: "auto" } }), block.children);
    case "heading": {
      const tag = (["h3", "h3", "h4", "h5", "h6", "h6"] as const)[block.depth - 1] ?? "h6";
      const made = element(near, tag, { attributes: { dir: "auto" } });
      made.classList.add(`vs-heading-${block.depth}`);
      return withInlines(made, block.children);
    }
    case "list":
      return list(near, block);
    case "quote": {
      const made = element(near, "blockquote", { attributes: { dir: "auto" } });
      block.blocks.forEach((one) => made.appendChild(drawBlock(near, one)));
      return made;
    }
    case "callout":
      return callout(near, block);
    case "footnote": {
      const attributes = { dir: "auto", tabindex: -1, "data-note": block.id };
      const made = element(near, "p", { class: "vs-note", attributes });
      made.appendChild(element(near, "sup", { text: block.id }));
      return withInlines(made, block.children);
    }
    case "code":
      return code(near, block.info, block.text, true);
    case "rule":
      return element(near, "hr");
    case "table":
      return table(near, block, begins);
  }
}

function list(near: Node, block: Extract<Block, { kind: "list" }>): HTMLElement {
  const made = element(near, block.ordered ? "ol" : "ul", { attributes: { dir: "auto" } });
  if (block.ordered && block.start !== 1) made.setAttribute("start", String(block.start));
  block.items.forEach((item) => made.appendChild(listItem(near, item)));
  return made;
}

function listItem(near: Node, item: ListItem): HTMLElement {
  const made = element(near, "li");
  if (item.checked !== undefined) {
    made.classList.add("task-list-item");
    const attributes = { type: "checkbox", disabled: true, checked: item.checked, "aria-label": item.checked ? "Done" : "To do" };
    made.appendChild(element(near, "input", { class: "task-list-item-checkbox", attributes }));
  }
  for (const block of item.blocks) {
    // The text of a list item is not wrapped in a paragraph.
    if (block.kind === "paragraph" && block === item.blocks[0]) withInlines(made, block.children);
    else made.appendChild(drawBlock(near, block));
  }
  return made;
}

/** Obsidian's class names, so that a theme's callouts look the same here. */
function callout(near: Node, { type, fold, title, blocks }: Extract<Block, { kind: "callout" }>): HTMLElement {
  const attributes = { "data-callout": type, dir: "auto", open: fold === "+" };
  const made = element(near, fold === "" ? "div" : "details", { class: "callout vs-callout", attributes });
  const icon = element(near, "div", { class: "callout-icon", attributes: { "aria-hidden": "true", "data-icon": calloutIcon(type) } });
  const words = withInlines(box(near, "callout-title-inner"), title);
  made.appendChild(element(near, fold === "" ? "div" : "summary", { class: "callout-title" }, icon, words));
  const content = box(near, "callout-content");
  blocks.forEach((block) => content.appendChild(drawBlock(near, block)));
  made.appendChild(content);
  return made;
}

/** Obsidian's icon for a callout, or a similar one. */
function calloutIcon(type: string): string {
  const icons = {
    "file-text": "abstract summary tldr example",
    info: "info question help faq",
    "circle-check": "todo",
    lightbulb: "tip hint important",
    check: "success check done",
    "triangle-alert": "warning caution attention",
    x: "failure fail missing",
    "shield-alert": "danger error bug",
    quote: "quote cite",
  };
  return Object.entries(icons).find(([, types]) => types.split(" ").includes(type))?.[0] ?? "pencil";
}

function table(near: Node, block: Extract<Block, { kind: "table" }>, { continues, columns }: Partial<Cut> = {}): HTMLElement {
  const made = element(near, "table");
  if (columns) {
    made.classList.add("is-cut");
    made.style.minWidth = `${3.5 * columns.length}em`;
    const all = columns.reduce((one, other) => one + other);
    const group = element(near, "colgroup");
    for (const wide of columns) group.appendChild(element(near, "col", { attributes: { width: `${(100 * wide) / all}%` } }));
    made.appendChild(group);
  }
  const row = (cells: Inline[][], tag: "th" | "td"): HTMLElement => {
    const line = element(near, "tr");
    cells.forEach((cell, at) => {
      const made_ = element(near, tag, { attributes: { dir: "auto" } });
      const align = block.align[at];
      if (align) made_.classList.add(`vs-align-${align}`);
      line.appendChild(withInlines(made_, cell));
    });
    return line;
  };
  if (!continues) made.appendChild(element(near, "thead", {}, row(block.head, "th")));
  const body = element(near, "tbody");
  block.rows.forEach((cells) => body.appendChild(row(cells, "td")));
  made.appendChild(body);
  return element(near, "div", { class: "vs-table", attributes: scrolled("Table", continues) }, made);
}

/**
 * Content that may be too wide can be scrolled by keyboard, too. Of a long block only the first piece is a tab stop.
 */
function scrolled(name: string, continues = false): Record<string, string | number> {
  return continues ? {} : { role: "group", "aria-label": name, tabindex: 0 };
}

function code(near: Node, info: string, text: string, withHead: boolean): HTMLElement {
  const made = box(near, "vs-code");
  const language = info.split(/\s/)[0] ?? "";
  if (withHead) {
    const copy = element(near, "button", {
      class: "vs-code-copy clickable-icon",
      text: "Copy",
      attributes: { type: "button", "data-action": "copy-code", "aria-label": "Copy the code" },
    });
    made.appendChild(
      box(near, "vs-code-head", element(near, "span", { text: language }), copy),
    );
  }
  const attributes = { "data-language": language === "" ? undefined : language };
  made.appendChild(
    element(near, "pre", { attributes: { dir: "ltr", ...scrolled("Code", !withHead) } }, element(near, "code", { text, attributes })),
  );
  return made;
}

function withInlines<T extends HTMLElement>(parent: T, inlines: Inline[]): T {
  for (const inline of inlines) parent.appendChild(drawInline(parent, inline));
  return parent;
}

function drawInline(near: Node, inline: Inline): Node {
  switch (inline.kind) {
    case "text":
      return (near.ownerDocument as Document).createTextNode(inline.text);
    case "styled":
      return withInlines(element(near, inline.style), inline.children);
    case "code":
      return element(near, "code", { text: inline.text });
    case "break":
      return element(near, "br");
    case "math":
      return element(near, "code", { class: inline.block ? "vs-math is-block" : "vs-math", text: inline.text, attributes: { dir: "ltr" } });
    case "comment":
      return element(near, "span", { class: "vs-comment", text: inline.text });
    case "footnote": {
      const attributes = { role: "link", tabindex: 0, "data-footnote": inline.id, "aria-label": `Footnote ${inline.id}` };
      return element(near, "sup", {}, element(near, "a", { class: "vs-link", text: inline.id, attributes }));
    }
    case "link":
      return drawLink(near, inline.link, inline.children, inline.image);
  }
}

/** A link. It has no `href`: a browser would resolve its host's address, and could open it without a click. */
function drawLink(near: Node, link: Link, children: Inline[], image: boolean): HTMLElement {
  if (link.kind === "inert") return withInlines(element(near, "span", { class: "vs-link-inert" }), children);
  const attributes = { role: "link", tabindex: 0, dir: "auto" };
  if (link.kind === "note") {
    const made = element(near, "a", {
      class: "internal-link vs-link",
      attributes: { ...attributes, "data-linkpath": link.linkpath },
    });
    return withInlines(made, children);
  }
  const made = element(near, "a", {
    class: "external-link vs-link",
    attributes: { ...attributes, "data-url": link.url, "aria-label": undefined, title: link.url },
  });
  withInlines(made, children);
  // The destination is shown next to the link unless the link's text is the destination.
  const shownText = made.textContent ?? "";
  const says = shownText === link.url || shownText === link.host || shownText === link.url.replace(/^https?:\/\//, "");
  if (!says || image) {
    const host = image ? `image at ${link.host}` : link.host;
    made.appendChild(element(near, "span", { class: "vs-link-host", text: host }));
  }
  return made;
}
