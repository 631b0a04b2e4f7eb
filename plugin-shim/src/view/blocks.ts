/** Markdown as elements. Every element is made by name, every text is a text node. */

import { element } from "./dom";
import type { Block, Inline, ListItem } from "./markdown";
import type { Link } from "./links";
import type { Segment } from "./segments";
import { readMarkdown } from "./markdown";

/** The element of one piece of a text. */
export function drawSegment(near: Node, segment: Segment): HTMLElement {
  const made = element(near, "div", { class: "vs-segment" });
  if (segment.continues) made.classList.add("is-continued");
  if (segment.kind === "code") {
    made.classList.add("vs-segment-code");
    made.appendChild(code(near, segment.info, segment.text, !segment.continues));
  } else {
    const blocks = readMarkdown(segment.text);
    blocks.forEach((block, at) => made.appendChild(drawBlock(near, block, segment.continues && at === 0)));
  }
  return made;
}

function drawBlock(near: Node, block: Block, continues: boolean): HTMLElement {
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
      block.blocks.forEach((one) => made.appendChild(drawBlock(near, one, false)));
      return made;
    }
    case "code":
      return code(near, block.info, block.text, true);
    case "rule":
      return element(near, "hr");
    case "table":
      return table(near, block, continues);
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
    const attributes = { type: "checkbox", disabled: true, checked: item.checked };
    made.appendChild(element(near, "input", { class: "task-list-item-checkbox", attributes }));
  }
  for (const block of item.blocks) {
    // The words of an item stand in it and not in a paragraph of their own.
    if (block.kind === "paragraph" && block === item.blocks[0]) withInlines(made, block.children);
    else made.appendChild(drawBlock(near, block, false));
  }
  return made;
}

function table(near: Node, block: Extract<Block, { kind: "table" }>, continues: boolean): HTMLElement {
  const made = element(near, "table");
  if (continues) made.classList.add("is-continued");
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
  return element(near, "div", { class: "vs-table", attributes: { tabindex: 0 } }, made);
}

function code(near: Node, info: string, text: string, withHead: boolean): HTMLElement {
  const made = element(near, "div", { class: "vs-code" });
  const language = info.split(/\s/)[0] ?? "";
  if (withHead) {
    const copy = element(near, "button", {
      class: "vs-code-copy clickable-icon",
      text: "Copy",
      attributes: { type: "button", "data-action": "copy-code", "aria-label": "Copy the code" },
    });
    made.appendChild(
      element(near, "div", { class: "vs-code-head" }, element(near, "span", { text: language }), copy),
    );
  }
  made.appendChild(
    element(near, "pre", { attributes: { dir: "ltr", tabindex: 0 } }, element(near, "code", { text })),
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
    case "link":
      return drawLink(near, inline.link, inline.children, inline.image);
  }
}

/**
 * A link. It has no `href`: a browser would look up its host's address, and open it by other ways
 * than a click.
 */
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
  // Where it leads stands beside it, unless its words say just that.
  const said = made.textContent ?? "";
  const says = said === link.url || said === link.host || said === link.url.replace(/^https?:\/\//, "");
  if (!says || image) {
    const host = image ? `image at ${link.host}` : link.host;
    made.appendChild(element(near, "span", { class: "vs-link-host", text: host }));
  }
  return made;
}
