/** Proposals as the person judges them: each with its diff, one button that applies all, and others for its parts. */

import { append, box, element, setText } from "./dom";
import { type Parts, textButton } from "./part";
import type { ProposalPart, ProposedChange, WaitingProposals } from "../protocol";
import type { Card } from "./lazy";
import { counted, sentence, visible } from "./format";
import { drawDiff } from "./diff-view";
import { errorText } from "../call-error";

/** The card; `unfolded` has the changes that are open, and is changed with them. */
export function proposalsCard(parts: Parts, waiting: WaitingProposals, unfolded: Set<string>): Card {
  const { activity, host } = parts;
  const { proposals = [] } = waiting;
  const root = element(parts.root, "section", { class: "vs-card vs-proposal", attributes: { "aria-label": "Proposed changes" } });
  const count = proposals.reduce((sum, { changes }) => sum + changes.length, 0);
  const title = element(root, "h3", { class: "vs-proposals-title", text: counted(count, "proposed change") });
  const state = element(root, "span", { class: "vs-aside", text: "Nothing has been changed yet.", attributes: { role: "status" } });
  const list = box(root, "vs-proposals-list");

  /** The two buttons of a decision; `what` is appended to their labels. */
  const decide = (keep: string, drop: string, what: string, only?: ProposalPart[]): HTMLButtonElement[] => {
    const made = [
      { text: keep, act: async () => {
        const { applied, total, failed } = await activity.proposals.apply(waiting, only);
        if (failed !== undefined) host.notice(`${applied} of ${total} applied. ${failed}`);
        return `${applied} of ${total} applied`;
      } },
      { text: drop, act: () => activity.proposals.reject(waiting, only).then(() => "Rejected") },
    ].map(({ text, act }) => {
      const button = textButton(root, text, only ? "vs-small" : "");
      if (what !== "") button.setAttribute("aria-label", `${text}: ${what}`);
      button.addEventListener("click", () => {
        made.forEach((one) => (one.disabled = true));
        act().then(
          (done) => {
            parts.announce(done);
            setText(state, `${done}.`);
          },
          (error: unknown) => {
            made.forEach((one) => (one.disabled = false));
            host.notice(errorText(error));
          },
        );
      });
      return button;
    });
    return made;
  };

  const drawn = (change: ProposedChange, proposal: number, words: string, isAlone: boolean): HTMLElement => {
    const { hunks = [], diff = "" } = change;
    const text = element(root, "span", { text: words, attributes: { dir: "auto" } });
    const whole = (): HTMLElement => box(root, "vs-hunk", ...decide("Keep", "Undo", words, [{ proposal }]));
    if (hunks.length === 0 && diff === "") return box(root, "vs-proposals-plain", text, isAlone && whole());
    const made = element(root, "details", { attributes: { open: unfolded.has(words) } }, element(root, "summary", {}, text));
    made.addEventListener("toggle", () => (made.open ? unfolded.add(words) : unfolded.delete(words)));
    if (diff !== "") append(made, isAlone && whole(), drawDiff(root, diff));
    for (const hunk of hunks) {
      const buttons = decide("Keep", "Undo", words, [{ proposal, hunk: hunk.number }]);
      append(made, box(root, "vs-hunk", ...buttons), drawDiff(root, hunk.diff));
    }
    return made;
  };

  for (const { number, changes } of proposals) {
    changes.forEach((change, at) => {
      const { action, path, from } = change;
      const words = visible(`${sentence(action.replaceAll("_", " "))} ${from ? `${from} to ${path}` : path}`);
      // Changes that belong together are decided at the first of them.
      append(list, drawn(change, number, words, at === 0));
    });
  }
  const [apply, reject] = decide(count === 1 ? "Apply it" : "Apply all", count === 1 ? "Reject it" : "Reject all", "");
  apply?.classList.add("mod-cta");
  append(root, box(root, "vs-card-head", title, state, box(root, "vs-job-buttons", reject, apply)), list);
  return { root, end: () => undefined };
}
