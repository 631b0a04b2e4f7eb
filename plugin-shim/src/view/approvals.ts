/** What waits for the person's agreement: what would be done, why it is asked, and the answers. */

import type { Approval } from "./questions";
import type { DiffChange, DiffResult } from "../protocol";
import { append, box, clear, element, setText, show } from "./dom";
import { counted, visible } from "./format";
import { drawCounts, drawDiff } from "./diff-view";
import { iconOf, type Parts, setWords, textButton } from "./part";
import { actionIcon } from "./changes";

/** A change, as the question has it or as `_vault/diff` does. */
type Shown = Pick<DiffChange, "action" | "path" | "added" | "removed"> & { from?: string | null; diff?: string };

/** Changes that are shown at first. */
const SHOWN = 6;

/** The cards of all that waits, above where the person writes. */
export function approvalsView(parts: Parts): { root: HTMLElement; update(): void } {
  const root = box(parts.root, "vs-approvals");
  const cards = new Map<number, HTMLElement>();
  return {
    root,
    update() {
      const { approvals } = parts.chat;
      for (const [id, card] of cards) {
        if (approvals.some((one) => one.id === id)) continue;
        const hadFocus = card.contains(root.ownerDocument.activeElement);
        card.remove();
        cards.delete(id);
        if (hadFocus) parts.root.querySelector<HTMLElement>(".vs-input")?.focus();
      }
      for (const approval of approvals) {
        if (cards.has(approval.id)) continue;
        const card = drawApproval(parts, approval);
        cards.set(approval.id, card);
        root.appendChild(card);
        parts.announce(`Your agreement is needed: ${approval.params.toolCall.title}`);
      }
      show(root, cards.size > 0);
    },
  };
}

function drawApproval(parts: Parts, approval: Approval): HTMLElement {
  const { toolCall, _meta, sessionId } = approval.params;
  const { caller, reasons, changes, question } = _meta.vault;
  const heading = element(parts.root, "div", { class: "vs-card-title", attributes: { dir: "auto", id: `vs-approval-${approval.id}` } });
  setWords(heading, toolCall.title);
  const card = element(parts.root, "section", {
    class: "vs-approval",
    attributes: { role: "group", "aria-labelledby": heading.id },
  });
  card.appendChild(box(card, "vs-card-head", iconOf(parts, "hand"), heading));
  const isOurs = sessionId === parts.chat.sessionId;
  const who = isOurs ? [] : [`Asked by ${caller}${sessionId === "direct" ? "" : " in another conversation"}`];
  const whys = element(card, "ul", { class: "vs-approval-why" });
  for (const why of [...who, ...reasons]) {
    const line = element(whys, "li", { attributes: { dir: "auto" } });
    setWords(line, sentence(why));
    whys.appendChild(line);
  }
  card.appendChild(whys);
  const list = box(card, "vs-approval-changes");
  for (const change of changes.slice(0, SHOWN)) list.append(...drawChange(parts, change));
  const files = Math.max(changes.length - SHOWN, 0);
  const lines = changes.reduce((sum, change) => sum + change.more, 0);
  if (files + lines > 0) card.append(whole(parts, question, list, `${counted(files, "file")}, ${counted(lines, "line")}`));
  card.append(list, answers(parts, approval));
  return card;
}

/** What is done to a file, and as much of its diff as came. */
function drawChange(parts: Parts, change: Shown): HTMLElement[] {
  const { root } = parts;
  const where = visible(change.from ? `${change.from} → ${change.path}` : change.path);
  const line = box(root, "vs-row-line");
  append(
    line,
    actionIcon(parts, change.action),
    element(root, "span", { class: "vs-row-name", text: where, attributes: { dir: "auto" } }),
  );
  if (change.added + change.removed > 0) line.appendChild(drawCounts(root, change));
  return change.diff ? [line, drawDiff(root, change.diff)] : [line];
}

/** Says how much is not there, and brings it: all changes in the place of those that are shown. */
function whole(parts: Parts, question: number, list: HTMLElement, hidden: string): HTMLElement {
  const button = textButton(list, `Show all (${hidden} more)`, "vs-more");
  button.addEventListener("click", () => {
    void allOf(parts, question).then((changes) => {
      clear(list);
      for (const change of changes) list.append(...drawChange(parts, change));
      const missing = changes.find((change) => change.reason)?.reason;
      if (missing) setText(button, sentence(missing));
      else button.remove();
    });
  });
  return button;
}

/** All changes of a question, each with the whole of its diff. */
async function allOf(parts: Parts, question: number): Promise<DiffChange[]> {
  const all: DiffChange[] = [];
  let next: number | undefined = 1;
  let nextLine: number | undefined;
  while (next) {
    const answer: DiffResult = await parts.connection.call("_vault/diff", { question, first: next, line: nextLine });
    for (const change of answer.changes) {
      const last = all.at(-1);
      // A long diff comes in several parts.
      if (last?.id === change.id) last.diff = `${last.diff}${change.diff}`;
      else all.push(change);
    }
    ({ next, nextLine } = answer);
  }
  return all;
}

function answers(parts: Parts, approval: Approval): HTMLElement {
  const { options, _meta: { vault: { tool, folder } } } = approval.params;
  const row = box(parts.root, "vs-answers");
  const label = "Why not (optional)";
  const words = element(row, "input", {
    class: "vs-why-not",
    attributes: { type: "text", placeholder: label, "aria-label": label, maxlength: 1_000, dir: "auto" },
  });
  words.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) buttons.at(-1)?.click();
  });
  const buttons = options.map((option) => {
    const lasts = option.kind === "allow_always" ? folder : null;
    const text = lasts ? "Always for this folder" : option.name;
    const class_ = option.kind === "allow_once" ? "mod-cta" : option.kind.startsWith("reject") ? "vs-reject" : "";
    const button = textButton(row, text, class_);
    if (lasts) {
      button.setAttribute("aria-label", `${text}: ${tool} in ${lasts}`);
      button.title = `From now on this is not asked for ${tool} in ${lasts} and the folders there`;
    }
    button.addEventListener("click", () => {
      buttons.forEach((one) => (one.disabled = true));
      words.disabled = true;
      approval.answer(option.optionId, class_ === "vs-reject" ? words.value.trim() : "");
    });
    row.appendChild(button);
    return button;
  });
  row.appendChild(words);
  row.addEventListener("keydown", (event) => {
    if (event.target === words) return;
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const at = buttons.findIndex((button) => button === row.ownerDocument.activeElement);
    buttons[(at + step + buttons.length) % buttons.length]?.focus();
    event.preventDefault();
  });
  return row;
}

function sentence(reason: string): string {
  return reason.charAt(0).toUpperCase() + reason.slice(1);
}
