/** What waits for the person's agreement: what would be done, why it is asked, and the answers. */

import type { Approval } from "./questions";
import { append, box, element, setText, show } from "./dom";
import { drawCounts, drawDiff } from "./diff-view";
import { iconOf, type Parts, setWords, textButton } from "./part";
import { actionIcon } from "./changes";
import { parseDiff } from "./diff";

/** Changes that are shown at first. */
const SHOWN = 6;

/** Milliseconds after which what is said of the time left is looked at again. */
const TICK = 1_000;

/** A card, and what ends it. */
interface Card {
  root: HTMLElement;
  remove(): void;
}

/** The cards of all that waits, above where the person writes. */
export function approvalsView(parts: Parts): { root: HTMLElement; update(): void } {
  const root = box(parts.root, "vs-approvals");
  const cards = new Map<number, Card>();
  return {
    root,
    update() {
      const { approvals } = parts.chat;
      for (const [id, card] of cards) {
        if (approvals.some((one) => one.id === id)) continue;
        const hadFocus = card.root.contains(root.ownerDocument.activeElement);
        card.remove();
        cards.delete(id);
        if (hadFocus) parts.root.querySelector<HTMLElement>(".vs-input")?.focus();
      }
      for (const approval of approvals) {
        if (cards.has(approval.id)) continue;
        const card = drawCard(parts, approval);
        cards.set(approval.id, card);
        root.appendChild(card.root);
        parts.announce(`Your agreement is needed: ${approval.params.toolCall.title}`);
      }
      show(root, cards.size > 0);
    },
  };
}

function drawCard(parts: Parts, approval: Approval): Card {
  const end = parts.now().getTime() + 1_000 * approval.params._meta.vault.seconds;
  const root = drawApproval(parts, approval);
  const scope = parts.scope.child();
  const left = box(root, "vs-approval-left");
  root.insertBefore(left, root.lastChild);
  const tick = (): void => {
    setText(left, timeLeft(end - parts.now().getTime()));
    scope.after(TICK, tick);
  };
  tick();
  return {
    root,
    remove() {
      scope.end();
      root.remove();
    },
  };
}

/** How long there is to answer, in words. */
function timeLeft(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1_000));
  const time = seconds > 60 ? `${Math.ceil(seconds / 60)} min` : `${seconds} s`;
  return `Counts as refused in ${time}`;
}

function drawApproval(parts: Parts, approval: Approval): HTMLElement {
  const { toolCall, _meta, sessionId } = approval.params;
  const { caller, reasons, changes } = _meta.vault;
  const heading = element(parts.root, "div", { class: "vs-card-title", attributes: { dir: "auto", id: `vs-approval-${approval.id}` } });
  setWords(heading, toolCall.title);
  const card = element(parts.root, "section", {
    class: "vs-approval",
    attributes: { role: "group", "aria-labelledby": heading.id },
  });
  card.appendChild(box(card, "vs-card-head", iconOf(parts, "hand"), heading));
  const isOurs = sessionId === parts.chat.sessionId;
  const who = isOurs ? [] : [`Asked by ${caller}${sessionId === "direct" ? "" : " in another conversation"}.`];
  const why = [...who, ...reasons.map(sentence)].join(" ");
  if (why !== "") {
    const words = element(card, "div", { class: "vs-approval-why", attributes: { dir: "auto" } });
    setWords(words, why);
    card.appendChild(words);
  }
  const list = box(card, "vs-approval-changes");
  const draw = (from: number, to: number): void => {
    for (const change of changes.slice(from, to)) {
      const where = change.from ? `${change.from} → ${change.path}` : change.path;
      const line = box(list, "vs-row-line");
      append(
        line,
        iconOf(parts, actionIcon(change.action), `vs-icon vs-action-${change.action.replace("_", "-")}`),
        element(list, "span", { class: "vs-row-name", text: where, attributes: { title: where, dir: "auto" } }),
      );
      list.appendChild(line);
      if (change.diff === "") continue;
      line.appendChild(drawCounts(list, parseDiff(change.diff)));
      list.appendChild(drawDiff(list, change.diff));
    }
  };
  draw(0, SHOWN);
  card.appendChild(list);
  if (changes.length > SHOWN) {
    const more = textButton(card, `Show ${changes.length - SHOWN} more`, "vs-more");
    more.addEventListener("click", () => {
      more.remove();
      draw(SHOWN, changes.length);
    }, { once: true });
    card.appendChild(more);
  }
  card.appendChild(answers(parts, approval));
  return card;
}

function answers(parts: Parts, approval: Approval): HTMLElement {
  const { options, _meta: { vault: { tool, folder } } } = approval.params;
  const row = box(parts.root, "vs-answers");
  const buttons = options.map((option) => {
    const lasts = option.kind === "allow_always" ? folder : null;
    // The vault's root has no name for the daemon to say.
    const text = lasts ? "Always for this folder" : lasts === "" ? `${option.name.trim()} the whole vault` : option.name;
    const class_ = option.kind === "allow_once" ? "mod-cta" : option.kind.startsWith("reject") ? "vs-reject" : "";
    const button = textButton(row, text, class_);
    if (lasts) {
      button.setAttribute("aria-label", `${text}: ${tool} in ${lasts}`);
      button.title = `From now on this is not asked for ${tool} in ${lasts} and the folders there`;
    }
    button.addEventListener("click", () => {
      buttons.forEach((one) => (one.disabled = true));
      approval.answer(option.optionId);
    });
    row.appendChild(button);
    return button;
  });
  row.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const at = buttons.findIndex((button) => button === row.ownerDocument.activeElement);
    buttons[(at + step + buttons.length) % buttons.length]?.focus();
    event.preventDefault();
  });
  return row;
}

function sentence(reason: string): string {
  const begun = reason.charAt(0).toUpperCase() + reason.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

