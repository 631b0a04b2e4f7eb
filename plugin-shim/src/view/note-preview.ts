/** A note in a dialog of the page, for a browser without Obsidian. */

import type { Connection } from "../connection";
import { Answer, Painter } from "./answer";
import { messageOf, structured, textOf } from "./agreed";
import { append, element } from "./dom";
import { counted, folderOf, noteName, visible } from "./format";
import { Scope } from "./scope";

/** The parts of the page that the preview uses. */
export interface Previewing {
  document: Document;
  connection: Connection;
  /** The file that a link names. */
  pathOf(link: string): Promise<string>;
  openExternal(url: string): void;
  copy(text: string): Promise<void>;
  icon(into: HTMLElement, name: string): void;
}

/** Shows a note until the person closes it. Rejects with the reason if the note cannot be read. */
export async function previewNote(page: Previewing, link: string): Promise<void> {
  const { document, connection } = page;
  const answer = await connection.call("tools/call", { name: "read_file", arguments: { path: await page.pathOf(link) } });
  if (answer.isError) throw new Error(messageOf(answer));
  const { path, content, total_lines, next_start_line, image } = structured(answer) as {
    path: string;
    content: string;
    total_lines: number;
    next_start_line: number | null;
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
  if (next_start_line !== null) {
    const lines = `The first ${next_start_line - 1} of ${counted(total_lines, "line")}`;
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
