/** The person's prompts, and examples that are previewed before they are added. */

import { append, box, clear, element, setText } from "./dom";
import { callAgreed, messageOf } from "./agreed";
import { iconButton, iconOf, type Parts, textButton } from "./part";
import type { PromptExample } from "../protocol";
import { errorText } from "../call-error";

/** The panel over the conversation; `closed` is called when it is closed. */
export function promptsPanel(parts: Parts, closed: () => void): { root: HTMLElement; close(): void } {
  const scope = parts.scope.child();
  const { connection, host } = parts;
  const root = element(parts.root, "section", { class: "vs-list-panel vs-prompts", attributes: { "aria-label": "Prompts" } });
  const away = iconButton(parts, "x", "Close the prompts");
  const title = element(root, "h2", { class: "vs-time-title", text: "Prompts" });
  const body = element(root, "div", { class: "vs-prompts-body", attributes: { tabindex: -1 } });
  append(root, box(root, "vs-list-head", iconOf(parts, "file-text"), title, away), body);

  const close = (): void => {
    scope.end();
    root.remove();
    closed();
  };

  /** Writes examples as notes, and reports the ones that failed. */
  const add = async (examples: PromptExample[]): Promise<void> => {
    for (const { path, text, title } of examples) {
      const given = { path, content: text, if_exists: "fail", create: true };
      const result = await callAgreed(parts, "write_file", given, { question: `Add ${title}?`, action: "Add" });
      if (result === null) break;
      if (result.isError) host.notice(messageOf(result));
    }
    await draw();
    body.focus();
  };
  const adder = (button: HTMLButtonElement, examples: PromptExample[]): HTMLButtonElement => {
    scope.listen(button, "click", () => {
      button.disabled = true;
      add(examples).catch((error: unknown) => host.notice(errorText(error)));
    });
    return button;
  };

  const row = (name: string, about: string, ...rest: Node[]): HTMLElement =>
    box(root, "vs-prompt", box(root, "vs-prompt-head", element(root, "code", { text: `/${name}` }), element(root, "span", { text: about, attributes: { dir: "auto" } }), ...rest));

  const draw = async (): Promise<void> => {
    const { folder, prompts, examples } = await connection.call("_vault/prompts", {});
    if (scope.ended) return;
    clear(body);
    if (folder === "") {
      setText(body, "No folder of prompts is set. The setting agent.prompts_folder names one.");
      return;
    }
    const words = prompts.length === 0 ? `No prompts yet. Each note in the folder ${folder} is one: type / and its name.` : `Each note in the folder ${folder} is one: type / and its name.`;
    append(body, element(root, "p", { class: "vs-list-note", text: words }));
    for (const { name, hint, description, path } of prompts) {
      const open = textButton(root, "Open the note", "vs-small");
      open.setAttribute("aria-label", `Open the note of /${name}`);
      scope.listen(open, "click", () => host.openNote(path));
      append(body, row(hint === undefined ? name : `${name} ${hint}`, description, open));
    }
    if (examples.length === 0) return;
    const all = adder(textButton(root, "Add all", "vs-small mod-cta"), examples);
    append(body, box(root, "vs-prompt-head vs-prompt-examples", element(root, "h3", { text: "Examples" }), all));
    for (const example of examples) {
      const button = adder(textButton(root, "Add", "vs-small"), [example]);
      button.setAttribute("aria-label", `Add /${example.name}`);
      const text = element(root, "pre", { text: example.text.replace(/^---\n[\s\S]*?\n---\n+/, "").trim(), attributes: { dir: "auto" } });
      const made = row(example.name, example.description, button);
      append(made, text);
      append(body, made);
    }
  };

  scope.listen(away, "click", close);
  scope.listen(root, "keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
  });
  draw().catch((error: unknown) => setText(body, errorText(error)));
  return { root, close };
}
