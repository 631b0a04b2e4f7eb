/** A diff as numbered lines. */

import { append, box, element } from "./dom";
import { countsSaid, type Diff, type DiffLine, parseDiff, reversed } from "./diff";
import { type Hunk, hunksOf } from "./hunks";
import { visible } from "./format";

/** The number of lines that are drawn at first; a button shows the others. */
const SHOWN = 400;

/** Options of a drawn diff. */
interface Drawn {
  /** Whether the diff's changes are undone. */
  isTaken?: boolean;
  /** Draws the element above a hunk. */
  above?: (hunk: Hunk) => HTMLElement;
}

/** Draws a unified diff. */
export function drawDiff(near: Node, text: string, { isTaken = false, above }: Drawn = {}): HTMLElement {
  const diff = isTaken ? reversed(parseDiff(text)) : parseDiff(text);
  const made = element(near, "div", {
    class: "vs-diff",
    attributes: { role: "group", tabindex: 0, dir: "ltr", "aria-label": `Changes: ${countsSaid(diff)}` },
  });
  const hunks = hunksOf(above ? diff.lines : []);
  drawLines(made, diff.lines, (line) => {
    const hunk = hunks.get(line);
    return hunk && above?.(hunk);
  });
  return made;
}

function drawLines(made: HTMLElement, lines: DiffLine[], above: (line: DiffLine) => HTMLElement | undefined): void {
  for (const line of lines.slice(0, SHOWN)) append(made, above(line), drawLine(made, line));
  const rest = lines.slice(SHOWN);
  if (rest.length === 0) return;
  const attributes = { type: "button" };
  const more = element(made, "button", { class: "vs-button", text: `Show ${rest.length} more lines`, attributes });
  more.addEventListener("click", () => {
    more.remove();
    drawLines(made, rest, above);
  }, { once: true });
  made.appendChild(more);
}

function drawLine(near: Node, line: DiffLine): HTMLElement {
  if (line.kind === "gap") return element(near, "div", { class: "vs-diff-gap", text: "⋯" });
  if (line.kind === "note") return element(near, "div", { class: "vs-diff-note", text: line.text });
  const sign = line.kind === "added" ? "+" : line.kind === "removed" ? "−" : " ";
  const made = box(near, `vs-diff-line is-${line.kind}`);
  const [start, end] = line.words ?? [0, 0];
  const text = element(near, "span", { class: "vs-diff-text", attributes: { dir: "auto" } });
  const changed = element(near, "span", { class: "vs-diff-word", text: visible(line.text.slice(start, end)) });
  append(text, visible(line.text.slice(0, start)), end > start && changed, visible(line.text.slice(end)));
  made.append(
    element(near, "span", { class: "vs-diff-number", text: String(line.new ?? line.old ?? "") }),
    element(near, "span", { class: "vs-diff-sign", text: sign }),
    text,
  );
  return made;
}

/** `+3 −1` as elements. */
export function drawCounts(near: Node, diff: Pick<Diff, "added" | "removed">): HTMLElement {
  const made = element(near, "span", { class: "vs-counts", attributes: { "aria-label": countsSaid(diff) } });
  if (diff.added > 0) made.appendChild(element(near, "span", { class: "vs-added", text: `+${diff.added}` }));
  if (diff.removed > 0) made.appendChild(element(near, "span", { class: "vs-removed", text: `−${diff.removed}` }));
  return made;
}
