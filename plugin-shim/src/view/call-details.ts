/** The arguments and the output of a tool call, drawn when the person opens the call. */

import { append, box, element, setText } from "./dom";
import { counted, sentence, visible } from "./format";
import { drawDiff } from "./diff-view";
import { noteLink } from "./named";
import { type Parts, textButton } from "./part";
import type { Card } from "./lazy";
import type { CallEntry } from "./timeline";

/** The maximum length of a text in its line; a longer or multi-line text gets a box. */
const SHORT = 200;
/** The maximum number of displayed list values. */
const LISTED = 50;
/** The maximum depth of displayed values; deeper ones are shown as JSON. */
const DEEP = 3;

/** Whether a text is the path of a file that the call affects. */
type IsPath = (text: string) => boolean;

export function callDetails(parts: Pick<Parts, "root">, entry: CallEntry): Card {
  const root = box(parts.root, "vs-call-body");
  const block = (name: string, ...content: Node[]): void => {
    append(root, element(root, "div", { class: "vs-call-label", text: name }), ...content);
  };
  if (entry.waitsFor) block("Waiting for your approval", element(root, "div", { text: entry.waitsFor }));
  const given = entry.input;
  if (typeof given === "string") block("Arguments", drawText(root, given));
  else if (isObject(given) && Object.keys(given).length > 0) {
    const paths = entry.locations.map(({ path }) => path.replaceAll("\\", "/"));
    const isPath = (text: string): boolean => paths.some((path) => path.endsWith(`/${text}`));
    block("Arguments", drawFields(root, given, isPath), asJson(root, given));
  }
  const { diff, rest } = diffOf(entry);
  if (diff !== "") block("Changes", drawDiff(root, diff));
  if (rest !== "") block(entry.status === "failed" ? "Error" : "Result", drawText(root, rest));
  else if (entry.status === "in_progress") root.append(element(root, "div", { class: "vs-aside", text: "Running…" }));
  return { root, end: () => undefined };
}

/** Named values, one per line: paths first, and a new value after the value that it replaces. */
function drawFields(near: Node, given: Record<string, unknown>, isPath: IsPath, depth = 0): HTMLElement {
  const list = element(near, "dl", { class: "vs-given" });
  const rank = ([name, value]: [string, unknown]): number => {
    if (typeof value === "string" && isPath(value)) return 0;
    return name.startsWith("new_") ? 2 : 1;
  };
  for (const [name, value] of Object.entries(given).sort((one, other) => rank(one) - rank(other))) {
    append(
      list,
      element(list, "dt", { text: visible(sentence(name.replaceAll("_", " "))), attributes: { dir: "auto" } }),
      element(list, "dd", { attributes: { dir: "auto" } }, drawValue(list, value, isPath, depth + 1)),
    );
  }
  return list;
}

function drawValue(near: Node, value: unknown, isPath: IsPath, depth: number): Node | string {
  if (typeof value === "string") return isPath(value) ? noteLink(near, value, visible(value)) : drawString(near, value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return "none";
  if (typeof value !== "object") return JSON.stringify(value);
  if (depth > DEEP) return drawText(near, JSON.stringify(value));
  if (!Array.isArray(value)) return drawFields(near, value as Record<string, unknown>, isPath, depth);
  const list = element(near, "ul");
  const line = (...content: (Node | string)[]): HTMLElement => element(list, "li", { attributes: { dir: "auto" } }, ...content);
  for (const one of value.slice(0, LISTED)) append(list, line(drawValue(list, one, isPath, depth + 1)));
  if (value.length > LISTED) append(list, line(`and ${counted(value.length - LISTED, "more", "more")}`));
  return list;
}

function drawString(near: Node, text: string): Node | string {
  if (text === "") return "empty";
  return text.length > SHORT || text.includes("\n") ? drawText(near, text) : visible(text);
}

function drawText(near: Node, text: string): HTMLElement {
  return element(near, "pre", { text, attributes: { dir: "auto", tabindex: 0 } });
}

/** A button that shows the arguments as JSON. */
function asJson(near: Node, given: unknown): HTMLElement {
  const root = box(near, "vs-call-json");
  const button = textButton(root, "Show as JSON", "vs-more");
  let text: HTMLElement | null = null;
  button.addEventListener("click", () => {
    if (text) {
      text.remove();
      text = null;
    } else append(root, (text = drawText(root, JSON.stringify(given, null, 2))));
    setText(button, text ? "Hide the JSON" : "Show as JSON");
  });
  root.append(button);
  return root;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The diff in a tool's output, structured or within its text, and the text without it. */
export function diffOf({ output, result }: Pick<CallEntry, "output" | "result">): { diff: string; rest: string } {
  const at = result.search(/^--- .*\n\+\+\+ /m);
  const rest = at < 0 ? result : result.slice(0, at).trimEnd();
  if (isObject(output) && typeof output["diff"] === "string") return { diff: output["diff"], rest };
  return { diff: at < 0 ? "" : result.slice(at), rest };
}
