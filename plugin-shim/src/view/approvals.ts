/** Pending approvals: the change, the reason of the question, and the answers. */

import type { Approval } from "../activity";
import type { DiffChange, DiffResult } from "../protocol";
import { append, box, clear, element, setText, show } from "./dom";
import { counted, sentence, visible } from "./format";
import { drawCounts, drawDiff } from "./diff-view";
import { iconOf, type Parts, setWords, textButton } from "./part";
import { actionIcon } from "./changes";
import { structured } from "./agreed";

/** A change, from the approval request or from `_vault/diff`. */
type Shown = Pick<DiffChange, "action" | "path" | "added" | "removed"> & { from?: string | null; diff?: string };

/** The number of changes that are shown at first. */
const SHOWN = 6;

/** The number of a folder's files that are named at first, and the maximum. */
const NAMED = 6;
const MOST_NAMED = 1_000;

interface Card {
  root: HTMLElement;
  /** Updates the note that names its conversation, for the one that is shown now. */
  update(): void;
}

/** All pending approvals, above the input field. `open` shows a conversation. */
export function approvalsView(parts: Parts, open: (sessionId: string) => void): { root: HTMLElement; update(): void } {
  const { host, scope } = parts;
  const root = element(parts.root, "section", { class: "vs-approvals", attributes: { "aria-label": "Approvals" } });
  const count = element(root, "span", { class: "vs-card-title" });
  const none = textButton(root, "Reject all", "vs-small vs-reject");
  const alert = textButton(root, "Notify me when I am elsewhere", "vs-small");
  const head = box(root, "vs-approvals-head", count, alert, none);
  root.append(head);
  const cards = new Map<number, Card>();
  const update = (): void => {
    const { approvals } = parts.chat;
    for (const [id, { root: card }] of cards) {
      if (approvals.some((one) => one.id === id)) continue;
      const hadFocus = card.contains(root.ownerDocument.activeElement);
      card.remove();
      cards.delete(id);
      if (hadFocus) (root.querySelector<HTMLElement>(".vs-approval") ?? parts.root.querySelector<HTMLElement>(".vs-input"))?.focus();
    }
    for (const approval of approvals) {
      if (cards.has(approval.id)) continue;
      const card = drawApproval(parts, approval, open);
      cards.set(approval.id, card);
      root.append(card.root);
      parts.announce(`Waiting for your approval: ${approval.params.toolCall.title}`);
    }
    for (const card of cards.values()) card.update();
    setText(count, cards.size > 1 ? `${cards.size} approvals are waiting` : "");
    show(none, cards.size > 1);
    show(alert, host.mayAskToAlert?.() === true);
    show(head, !none.hidden || !alert.hidden);
    show(root, cards.size > 0);
  };
  scope.listen(none, "click", () => {
    for (const approval of [...parts.chat.approvals]) {
      const reject = approval.params.options.find(({ kind }) => kind.startsWith("reject"));
      if (reject) approval.answer(reject.optionId);
    }
  });
  scope.listen(alert, "click", () => void host.askToAlert?.().then(update));
  return { root, update };
}

function drawApproval(parts: Parts, approval: Approval, open: (sessionId: string) => void): Card {
  const { toolCall, _meta, sessionId } = approval.params;
  const { caller, reasons, changes, question, outline } = _meta.vault;
  const heading = element(parts.root, "div", { class: "vs-card-title", attributes: { dir: "auto", id: `vs-approval-${approval.id}` } });
  setWords(heading, sentence(toolCall.title));
  const card = element(parts.root, "section", {
    class: "vs-approval",
    attributes: { role: "group", "aria-labelledby": heading.id, tabindex: -1 },
  });
  card.appendChild(box(card, "vs-card-head", iconOf(parts, "hand"), heading));
  const place = element(card, "span", { attributes: { dir: "auto" } });
  const go = textButton(card, "Show", "vs-small");
  go.addEventListener("click", () => open(sessionId));
  const where = box(card, "vs-approval-where", iconOf(parts, "message-square"), place, go);
  const whys = element(card, "ul", { class: "vs-approval-why" });
  for (const why of reasons) {
    const line = element(whys, "li", { attributes: { dir: "auto" } });
    setWords(line, why === "the mode is `ask`" ? "You asked to confirm every change" : sentence(why));
    whys.appendChild(line);
  }
  append(card, where, whys);
  if (outline) card.append(element(card, "pre", { class: "vs-outline", text: visible(outline), attributes: { dir: "auto", tabindex: 0 } }));
  const list = box(card, "vs-approval-changes");
  for (const change of changes.slice(0, SHOWN)) list.append(...drawChange(parts, change));
  const files = Math.max(changes.length - SHOWN, 0);
  const lines = changes.reduce((sum, change) => sum + change.more, 0);
  if (files + lines > 0) {
    const hidden = [files > 0 && counted(files, "file"), lines > 0 && counted(lines, "line")].filter(Boolean).join(", ");
    card.append(whole(parts, question, list, hidden));
  }
  card.append(list, answers(parts, approval));
  let title: string | undefined;
  const update = (): void => {
    const isOurs = sessionId === parts.chat.sessionId;
    show(where, !isOurs);
    show(go, sessionId !== "direct");
    card.classList.toggle("is-elsewhere", !isOurs);
    if (isOurs) return;
    const other = title === undefined ? "another conversation" : `another conversation: ${title}`;
    setText(place, visible(sessionId === "direct" ? `Asked by ${caller}, not in a conversation` : `Asked by ${caller === "agent" ? "the agent" : caller} in ${other}`));
  };
  if (sessionId !== "direct") void parts.titles.load(sessionId).then((learnt) => {
    title = learnt;
    update();
  });
  return { root: card, update };
}

/** The names of the files of a folder that is deleted or moved; empty for a file. */
async function nameFiles(parts: Parts, folder: string, into: HTMLElement): Promise<void> {
  const given = { path: folder, pattern: "**", type: "file", max_results: MOST_NAMED };
  const { entries, total } = structured(await parts.chat.tool("list_files", given)) as { entries?: { path: string }[]; total?: number };
  if (!Array.isArray(entries) || typeof total !== "number") return;
  const rows = element(into, "ul", { class: "vs-files" });
  const name = ({ path }: { path: string }): HTMLElement =>
    element(rows, "li", { text: visible(path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path), attributes: { dir: "auto" } });
  rows.append(...entries.slice(0, NAMED).map(name));
  append(into, element(into, "div", { class: "vs-aside", text: counted(total, "file") }), rows);
  if (total <= NAMED) return;
  const more = textButton(into, `Show all ${total} files`, "vs-more");
  more.addEventListener("click", () => {
    rows.append(...entries.slice(NAMED).map(name));
    more.remove();
    if (total > entries.length) append(into, element(into, "div", { class: "vs-aside", text: `and ${total - entries.length} more` }));
  });
  into.append(more);
}

/** The change of a file, and as much of its diff as the request contains. */
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
  if (change.diff) return [line, drawDiff(root, change.diff)];
  if (change.action !== "delete" && change.action !== "move") return [line];
  const files = box(root, "vs-approval-files");
  // The folder and the number of files are among the reasons anyway.
  nameFiles(parts, change.from ?? change.path, files).catch(() => undefined);
  return [line, files];
}

/** Shows how many changes are missing, with a button that loads them all. */
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

/** Requests all changes of an approval with their complete diffs. */
async function allOf(parts: Parts, question: number): Promise<DiffChange[]> {
  const all: DiffChange[] = [];
  let next: number | undefined = 1;
  let nextLine: number | undefined;
  while (next) {
    const answer: DiffResult = await parts.connection.call("_vault/diff", { question, first: next, line: nextLine });
    for (const change of answer.changes) {
      const last = all.at(-1);
      // A long diff arrives in several parts.
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
  // A server's question is answered by the same words that say why not.
  const asks = tool === "server_question";
  const label = asks ? "Your answer (optional)" : "Why not (optional)";
  const words = element(row, "input", {
    class: "vs-why-not",
    attributes: { type: "text", placeholder: label, "aria-label": label, maxlength: 1_000, dir: "auto" },
  });
  words.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) buttons.at(asks ? 0 : -1)?.click();
  });
  const buttons = options.map((option) => {
    const lasts = option.kind === "allow_always" ? folder : null;
    const text = lasts ? "Always for this folder" : asks && option.kind === "allow_once" ? "Answer" : option.name;
    const class_ = option.kind === "allow_once" ? "mod-cta" : option.kind.startsWith("reject") ? "vs-reject" : "";
    const button = textButton(row, text, class_);
    if (lasts) {
      button.setAttribute("aria-label", `${text}: ${tool} in ${lasts}`);
      button.title = `From now on this is not asked for ${tool} in ${lasts} and the folders there`;
    }
    button.addEventListener("click", () => {
      buttons.forEach((one) => (one.disabled = true));
      words.disabled = true;
      approval.answer(option.optionId, asks || class_ === "vs-reject" ? words.value.trim() : "");
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
