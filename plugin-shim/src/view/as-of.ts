/** A note, and the list of all files, before and after a change set. */

import type { AsOfResult, TimelineSet } from "../protocol";
import { append, box, clear, element } from "./dom";
import { sentence, visible } from "./format";
import { type Parts, textButton } from "./part";
import { errorText } from "../call-error";
import type { Scope } from "./scope";

/** The maximum number of files in one response. */
const FILES = 300;

export function asOf({ root, connection }: Pick<Parts, "root" | "connection">, set: TimelineSet, own: Scope): HTMLElement {
  const made = element(root, "form", { class: "vs-then" });
  const name = element(root, "input", { class: "vs-time-field", attributes: { type: "search", placeholder: "Note or folder; empty: all files", "aria-label": "Note or folder to show as it was", dir: "auto", value: set.paths[0] ?? "" } });
  const before = textButton(root, "Before this change", "vs-small");
  const after = textButton(root, "After it", "vs-small");
  const shown = element(root, "div", { class: "vs-then-shown", attributes: { role: "status" } });
  const look = async (isBefore: boolean): Promise<void> => {
    const at = isBefore ? { changeSet: set.id, before: true } : { changeSet: set.id };
    before.setAttribute("aria-pressed", String(isBefore));
    after.setAttribute("aria-pressed", String(!isBefore));
    try {
      const path = name.value.trim();
      const answer = await connection.call("_vault/as_of", path === "" ? { at } : { path, at });
      if (!own.ended) draw(shown, answer, (chosen) => {
        name.value = chosen;
        void look(isBefore);
      });
    } catch (error) {
      if (own.ended) return;
      clear(shown);
      shown.append(element(root, "p", { class: "vs-time-about", text: errorText(error) }));
    }
  };
  before.addEventListener("click", () => void look(true));
  after.addEventListener("click", () => void look(false));
  own.listen(made, "submit", (event) => {
    event.preventDefault();
    void look(false);
  });
  append(
    made,
    element(root, "h3", { class: "vs-time-about-title", text: "Any note as it was" }),
    box(root, "vs-time-filters", name, before, after),
    shown,
  );
  return made;
}

function draw(into: HTMLElement, answer: AsOfResult, choose: (path: string) => void): void {
  clear(into);
  if (answer.unsure) into.append(element(into, "p", { class: "vs-then-unsure", text: `Not certain: ${answer.unsure.said}` }));
  if (answer.kind !== "folder") {
    const moved = answer.now !== undefined && answer.now !== answer.path ? `, now ${answer.now}` : answer.now === undefined ? ", gone now" : "";
    into.append(element(into, "p", { class: "vs-time-about", text: visible(`${answer.path}${moved}`), attributes: { dir: "auto" } }));
    const text = answer.text ?? sentence(answer.reason ?? "it cannot be shown");
    into.append(element(into, "pre", { class: "vs-then-text", text: visible(text), attributes: { dir: "auto", tabindex: 0, role: "region", "aria-label": "The text then" } }));
    return;
  }
  const files = (answer.entries ?? []).filter(({ kind }) => kind !== "folder");
  const made = element(into, "ul", { class: "vs-then-files" });
  for (const { path, unsure } of files.slice(0, FILES)) {
    const button = textButton(into, visible(path), "vs-small");
    if (unsure === true) button.append(element(into, "span", { class: "vs-time-about", text: " changed outside since" }));
    button.addEventListener("click", () => choose(path));
    made.append(element(into, "li", {}, button));
  }
  into.append(made);
  const left = (answer.total ?? 0) - (answer.entries ?? []).length + Math.max(0, files.length - FILES);
  if (left > 0) into.append(element(into, "p", { class: "vs-time-about", text: `and ${left} more; name a folder to see them` }));
}
