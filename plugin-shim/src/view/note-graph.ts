/** A picture of the notes that a conversation touched and of the links between them. */

import { append, box, documentOf, element } from "./dom";
import { counted, noteName, visible } from "./format";
import { type Point, layout } from "./graph-layout";
import type { Card } from "./lazy";
import type { Parts } from "./part";
import { structured } from "./agreed";

/** Notes that are drawn at most: the last ones. */
const MOST = 24;
/** Letters of a name that are drawn. */
const LETTERS = 20;
/** Pixels of the graph, and next to the marks for their names. */
const WIDTH = { least: 280, most: 640 };
const HEIGHT = { least: 140, most: 420 };
const ROOM = { x: 70, y: 20 };
const SVG = "http://www.w3.org/2000/svg";

export function noteGraph(parts: Pick<Parts, "root" | "chat">, notes: Map<string, boolean>): Card {
  const root = box(parts.root, "vs-graph");
  let isOver = false;
  const paths = [...notes.keys()].slice(-MOST);
  void Promise.all(paths.map((path) => linksOf(parts, path))).then((links) => {
    if (!isOver) append(root, draw(parts.root, paths, notes, links), legend(root, notes.size));
  });
  return {
    root,
    end() {
      isOver = true;
    },
  };
}

/** The notes that a note links to. */
async function linksOf({ chat }: Pick<Parts, "chat">, path: string): Promise<string[]> {
  const answer = await chat.tool("get_links", { path }).catch(() => null);
  if (answer === null || answer.isError) return [];
  const { outgoing = [] } = structured(answer) as { outgoing?: { target?: string | null }[] };
  return outgoing.flatMap(({ target }) => target ?? []);
}

function draw(near: HTMLElement, paths: string[], notes: Map<string, boolean>, links: string[][]): SVGElement {
  const width = within(WIDTH, near.clientWidth - 48);
  const height = within(HEIGHT, 60 + (8_000 * paths.length) / width);
  const svg = part(near, "svg", { viewBox: `0 0 ${Math.round(width)} ${Math.round(height)}`, role: "group", "aria-label": `Notes of this conversation and the links between them: ${counted(paths.length, "note")}` });
  const edges = links.flatMap((targets, from) =>
    [...new Set(targets)].flatMap((target): [number, number][] => {
      const to = paths.indexOf(target);
      return to < 0 || to === from ? [] : [[from, to]];
    }));
  const places = layout(paths.length, edges).map(({ x, y }): Point => ({ x: ROOM.x + x * (width - 2 * ROOM.x), y: ROOM.y + y * (height - 2 * ROOM.y - 16) }));
  for (const [from, to] of edges) {
    const [a, b] = [places[from], places[to]];
    if (a && b) svg.append(part(near, "line", { class: "vs-graph-link", x1: a.x, y1: a.y, x2: b.x, y2: b.y }));
  }
  paths.forEach((path, at) => {
    const { x, y } = places[at] ?? { x: 0, y: 0 };
    const isChanged = notes.get(path) === true;
    const to = edges.filter(([from]) => from === at).map(([, other]) => noteName(paths[other] ?? ""));
    const name = visible(noteName(path));
    const label = `${name}, ${isChanged ? "changed" : "read"}${to.length > 0 ? `, links to ${to.join(", ")}` : ""}`;
    const node = part(near, "g", { class: `vs-graph-note${isChanged ? " is-changed" : ""}`, role: "link", tabindex: 0, "data-path": path, "aria-label": label });
    const mark = isChanged ? part(near, "rect", { x: x - 7, y: y - 7, width: 14, height: 14, rx: 3 }) : part(near, "circle", { cx: x, cy: y, r: 7 });
    const text = part(near, "text", { x, y: y + 22, "text-anchor": "middle" });
    text.textContent = name.length > LETTERS ? `${name.slice(0, LETTERS - 1)}…` : name;
    const title = part(near, "title", {});
    title.textContent = path;
    node.append(title, mark, text);
    svg.append(node);
  });
  return svg;
}

/** The legend of the marks. */
function legend(near: Node, total: number): HTMLElement {
  const rest = total > MOST ? `, the last ${MOST} of ${total}` : "";
  return element(near, "div", { class: "vs-aside", text: `Square: changed. Circle: read. Lines: links${rest}.` });
}

function within({ least, most }: { least: number; most: number }, wanted: number): number {
  return Math.min(most, Math.max(least, wanted));
}

function part(near: Node, tag: string, attributes: Record<string, string | number>): SVGElement {
  const made = documentOf(near).createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, typeof value === "number" ? String(Math.round(value * 10) / 10) : value);
  return made;
}
