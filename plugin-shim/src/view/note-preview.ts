/** A note in a dialog of the page, for a browser without Obsidian. */

import type { Connection } from "../connection";
import { Answer, Painter } from "./answer";
import { messageOf, structured, textOf } from "./agreed";
import { append, element } from "./dom";
import { folderOf, noteName, visible, wasDeleted } from "./format";
import { Scope } from "./scope";

/** The parts of the page that the preview uses. */
export interface Previewing {
  document: Document;
  connection: Connection;
  openExternal(url: string): void;
  copy(text: string): Promise<void>;
  icon(into: HTMLElement, name: string): void;
}

/** Shows a note, from the heading of the link on, until the person closes it. Rejects with the reason if the note cannot be read. */
export async function previewNote(page: Previewing, link: string): Promise<void> {
  const { document, connection } = page;
  const to = await connection.call("_vault/resolve_link", { link });
  if (to.deleted) throw new Error(wasDeleted(to.deleted));
  const given: Record<string, string | number> = { path: to.path ?? link };
  if (to.line !== null) given["start_line"] = to.line;
  const answer = await connection.call("tools/call", { name: "read_file", arguments: given });
  if (answer.isError) throw new Error(messageOf(answer));
  const { path, content, start_line, end_line, total_lines, image } = structured(answer) as {
    path: string;
    content: string;
    start_line: number;
    end_line: number;
    total_lines: number;
    image?: object;
  };
  const scope = new Scope(() => document.defaultView as Window);
  const close = element(document, "button", { class: "vs-button", text: "Close", attributes: { type: "button", autofocus: true } });
  const dialog = element(document, "dialog", { class: "page-dialog page-note vs-chat", attributes: { "aria-label": visible(path) } });
  const text = new Answer(dialog, new Painter(scope, () => performance.now(), undefined, (into, name) => page.icon(into, name)));
  const body = element(dialog, "div", { class: "page-note-text", attributes: { tabindex: 0, role: "group", "aria-label": "Text of the note" } }, text.root);
  append(
    dialog,
    element(dialog, "h2", { text: visible(noteName(path)), attributes: { dir: "auto" } }),
    element(dialog, "div", { class: "vs-aside", text: visible(folderOf(path)), attributes: { dir: "auto" } }),
    body,
  );
  if (start_line > 1 || end_line < total_lines) {
    const lines = `Lines ${start_line} to ${end_line} of ${total_lines}`;
    append(dialog, element(dialog, "div", { class: "vs-aside", text: lines }));
  }
  append(dialog, element(dialog, "div", { class: "page-dialog-buttons" }, close));
  // Properties are not Markdown: the line below them would turn the last one into a heading.
  text.set(image ? textOf(answer) : path.endsWith(".md") ? content.replace(/^---\n([\s\S]*?)\n---(?:\n|$)/, "```yaml\n$1\n```\n") : `\`\`\`\`\n${content}\n\`\`\`\``, true);
  const act = (target: Element): boolean => {
    const link = target.closest<HTMLElement>("[data-linkpath], [data-url]");
    const { linkpath, url } = link?.dataset ?? {};
    if (url !== undefined) page.openExternal(url);
    else if (linkpath !== undefined) {
      const failed = (error: unknown): void => append(body, element(body, "div", { class: "vs-card-problem", text: String(error), attributes: { role: "alert" } }));
      previewNote(page, linkpath).then(() => dialog.close(), failed);
    } else if (target.closest("[data-action='copy-code']")) {
      void page.copy(target.closest(".vs-code")?.querySelector("code")?.textContent ?? "").catch(() => undefined);
    } else return false;
    return true;
  };
  scope.listen(dialog, "click", ({ target }) => {
    // A click on the backdrop has the dialog itself as its target.
    if (target === dialog || target === close) dialog.close();
    else act(target as Element);
  });
  scope.listen(dialog, "keydown", (event) => {
    const target = event.target as Element;
    if (event.key === "Enter" && target.getAttribute("role") === "link" && act(target)) event.preventDefault();
  });
  scope.listen(dialog, "close", () => {
    scope.end();
    dialog.remove();
  });
  document.body.appendChild(dialog);
  dialog.showModal();
}
