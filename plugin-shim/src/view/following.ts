/** One listener for all links and copy buttons of a view. */

import type { Parts } from "./part";
import { errorText } from "../call-error";
import { setText } from "./dom";
import { wasDeleted } from "./format";

/** Handles clicks on links of all kinds and on buttons that copy code; `history` shows the changes of a deleted file. */
export function followLinks({ root, host, connection, painter, scope, announce }: Pick<Parts, "root" | "host" | "connection" | "painter" | "scope" | "announce">, history: (path: string) => void): void {
  /** Opens the target of a link, or of a path, in a text that may be older than the note's place. */
  const open = async (link: string, isPath: boolean, newLeaf: boolean): Promise<void> => {
    const here = host.resolveLink?.(link, "");
    if (here && (!isPath || here.path === link)) return host.openNote(here.path, { newLeaf, subpath: here.subpath });
    // With a slash the daemon takes a file of this name in another folder only if the file has moved there.
    const to = await connection.call("_vault/resolve_link", { link: isPath ? `/${link}` : link }).catch(() => null);
    if (scope.ended) return;
    if (to?.deleted) {
      if (await host.confirm(`${wasDeleted(to.deleted)}.`, "Show in the time machine")) history(to.deleted.path);
    } else if (typeof to?.path === "string") {
      const subpath = isPath ? "" : /#.*/.exec(link)?.[0] ?? "";
      host.openNote(to.path, { newLeaf, subpath });
    } else host.openNote(link, { newLeaf });
  };
  const act = (target: Element, isModified: boolean): boolean => {
    const link = target.closest<HTMLElement>("[data-linkpath], [data-url], [data-path]");
    if (link && root.contains(link)) {
      const { linkpath, url, path } = link.dataset;
      if (url !== undefined) host.openExternal(url);
      else void open(path ?? linkpath ?? "", path !== undefined, isModified);
      return true;
    }
    const note = target.closest<HTMLElement>("[data-footnote]");
    if (note) {
      const answer = note.closest(".vs-markdown");
      if (answer) painter.finish(answer);
      const notes = [...(answer?.querySelectorAll<HTMLElement>("[data-note]") ?? [])];
      notes.find((one) => one.dataset["note"] === note.dataset["footnote"])?.focus();
      return true;
    }
    const button = target.closest("[data-action='copy-code']");
    if (button) {
      painter.finish(button);
      void host.copy(codeAt(button)).then(() => {
        announce("Copied");
        setText(button, "Copied");
        scope.after(1_500, () => setText(button, "Copy"));
      }, (error: unknown) => host.notice(errorText(error)));
      return true;
    }
    return false;
  };
  scope.listen(root, "click", (event) => {
    if (act(event.target as Element, event.ctrlKey || event.metaKey)) event.preventDefault();
  });
  scope.listen(root, "auxclick", (event) => {
    if (event.button === 1 && act(event.target as Element, true)) event.preventDefault();
  });
  scope.listen(root, "keydown", (event) => {
    const target = event.target as Element;
    if (event.key === "Enter" && target.getAttribute("role") === "link" && act(target, event.ctrlKey || event.metaKey)) event.preventDefault();
  });
}

/** The code that belongs to a button, including the pieces that continue it. */
function codeAt(button: Element): string {
  const block = button.closest(".vs-code");
  const text = [block?.querySelector("code")?.textContent ?? ""];
  const all = [...(button.closest(".vs-markdown")?.querySelectorAll(".vs-segment") ?? [])];
  const own = all.findIndex((segment) => segment.contains(button));
  for (const next of all.slice(own + 1)) {
    if (!next.matches(".vs-segment-code.is-continued")) break;
    text.push(next.querySelector("code")?.textContent ?? "");
  }
  return text.join("\n");
}
