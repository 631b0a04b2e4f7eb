/** Proposals as the person judges them: each with its diff, and one button that applies all. */

import { append, box, element, setText } from "./dom";
import { type Parts, textButton } from "./part";
import type { CallEntry } from "./timeline";
import type { Card } from "./lazy";
import { counted, sentence, visible } from "./format";
import { drawDiff } from "./diff-view";
import { isProposed } from "./outputs";
import { said } from "../call-error";

export function proposalsCard(parts: Parts, calls: CallEntry[]): Card {
  const { chat, connection, host } = parts;
  const root = element(parts.root, "section", { class: "vs-card vs-proposal", attributes: { "aria-label": "Proposed changes" } });
  const changes = calls.flatMap(({ output }) => (isProposed(output) ? output.changes : []));
  const title = element(root, "h3", { class: "vs-proposals-title", text: `${counted(changes.length, "proposed change")}` });
  const state = element(root, "span", { class: "vs-aside", text: "Nothing has been changed yet.", attributes: { role: "status" } });
  const list = box(root, "vs-proposals-list");
  for (const { action, path, from, diff } of changes) {
    const words = visible(`${sentence(action.replaceAll("_", " "))} ${from ? `${from} to ${path}` : path}`);
    if (diff === "") append(list, element(root, "div", { class: "vs-proposals-plain", text: words, attributes: { dir: "auto" } }));
    else append(list, element(root, "details", {}, element(root, "summary", { text: words, attributes: { dir: "auto" } }), drawDiff(root, diff)));
  }
  const apply = textButton(root, changes.length === 1 ? "Apply it" : "Apply all", "mod-cta");
  apply.addEventListener("click", () => {
    const { sessionId } = chat;
    if (sessionId === null) return;
    apply.disabled = true;
    const turn = calls[0]?.turn ?? undefined;
    connection.call("_vault/proposals/apply", { sessionId, turn }).then(
      ({ applied, total, failed }) => {
        if (failed !== undefined) host.notice(`${applied} of ${total} applied. ${failed}`);
        parts.announce(`${applied} of ${total} applied`);
        setText(state, `${applied} of ${total} applied.`);
      },
      (error: unknown) => {
        apply.disabled = false;
        host.notice(said(error));
      },
    );
  });
  append(root, box(root, "vs-card-head", title, state, apply), list);
  return { root, end: () => undefined };
}
