/** The button that puts the lines of a diff's hunk back, as a separate change that can be undone. */

import { box, element, setText, show } from "./dom";
import { callAgreed, messageOf, structured } from "./agreed";
import { type Parts, setWords, textButton } from "./part";
import { type Hunk, putBack } from "./hunks";
import { errorText } from "../call-error";

/** Where the lines stood. */
export interface Changed {
  changeSet: number;
  /** The file, as it was called after the change. */
  path: string;
}

/** How often a file is read again if it changes in the meantime. */
const TRIES = 3;

/** The line with the button. */
export function putBackLine(parts: Pick<Parts, "root" | "chat" | "connection" | "host" | "announce">, { changeSet, path }: Changed, hunk: Hunk): HTMLElement {
  const { root, chat, connection, host, announce } = parts;
  const button = textButton(root, "Put back", "vs-small");
  button.setAttribute("aria-label", `Put back these lines of ${path}`);
  const words = element(root, "span", { class: "vs-hunk-words", attributes: { role: "status", dir: "auto" } });
  const made = box(root, "vs-hunk", words, button);
  show(words, false);
  /** The change set that put them back; null where they are not. */
  let back: number | null = null;

  const say = (text: string): void => {
    setWords(words, text);
    show(words, true);
    announce(text);
  };

  const put = async (): Promise<void> => {
    const { now } = await connection.call("_vault/as_of", { path, at: { changeSet } });
    if (now === undefined) return say("The file is gone now. Undo its deletion first.");
    for (let tries = 1; ; tries++) {
      const read = await textOf(parts, now);
      if (typeof read === "string") return say(read);
      const edit = putBack(hunk, read.text);
      if (!edit) return say("These lines have changed since. Undo takes the whole file back.");
      const given = { path: now, expected_revision: read.revision, ...edit };
      const result = await callAgreed({ chat, host }, "edit_file", given, { question: `Put these lines of ${now} back?`, action: "Put back" });
      if (result === null) return;
      const { code, change_set } = structured(result);
      if (result.isError && code === "stale_revision" && tries < TRIES) continue;
      if (result.isError) return say(messageOf(result));
      back = typeof change_set === "number" ? change_set : null;
      return say("Put back");
    }
  };
  const undo = async (change_set: number): Promise<void> => {
    const result = await callAgreed({ chat, host }, "undo", { change_set }, { question: "Undo this?", action: "Undo" });
    if (result === null) return;
    if (result.isError) return say(messageOf(result));
    back = null;
    say("Undone");
  };
  button.addEventListener("click", () => {
    button.disabled = true;
    void (back === null ? put() : undo(back)).catch((error: unknown) => say(errorText(error))).finally(() => {
      button.disabled = false;
      setText(button, back === null ? "Put back" : "Undo");
      button.setAttribute("aria-label", back === null ? `Put back these lines of ${path}` : `Undo: put back these lines of ${path}`);
    });
  });
  return made;
}

/** The whole text of a file and its revision, or why it cannot be read. */
async function textOf({ chat }: Pick<Parts, "chat">, path: string): Promise<{ text: string; revision: string } | string> {
  let text = "";
  let first: string | null = null;
  for (let next: { start_line?: number } | null = {}; next !== null; ) {
    const answer = await chat.tool("read_file", { path, ...next });
    if (answer.isError) return messageOf(answer);
    const { content, revision, next_start_line } = structured(answer) as { content: string; revision: string; next_start_line: number | null };
    // The revision of the first page: an edit is refused if the file has changed by the last one.
    first ??= revision;
    text += content;
    next = next_start_line === null ? null : { start_line: next_start_line };
    if (next !== null && !text.endsWith("\n")) text += "\n";
  }
  return { text, revision: first ?? "" };
}
