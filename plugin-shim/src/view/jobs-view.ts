/** The jobs above the input field. */

import { element, show } from "./dom";
import { type Job, jobWords } from "./plans";
import { type Card, lazyCard } from "./lazy";
import type { Parts } from "./part";

/**
 * Jobs that are running or wait for a person and have no card in the timeline. They are shown above the input field.
 */
export function jobsView(parts: Parts): { root: HTMLElement; update(): void } {
  const { jobs, chat } = parts;
  const root = element(parts.root, "div", { class: "vs-jobs", attributes: { role: "group", "aria-label": "Jobs" } });
  const cards = new Map<number, Card>();
  const isShownAbove = ({ job, plan }: Job): boolean =>
    chat.timeline.last("call", ({ card }) => (card?.kind === "plan" ? card.plan === plan : card?.job === job)) !== undefined;
  const update = (): void => {
    const open = jobs.all.filter((one) => one.state === "running" || (one.state === "interrupted" && !jobs.isLeft(one.job)));
    const wanted = new Set(open.filter((one) => !isShownAbove(one)).map((one) => one.job));
    for (const [job, card] of cards) {
      if (wanted.has(job)) continue;
      const hadFocus = card.root.contains(root.ownerDocument.activeElement);
      card.end();
      card.root.remove();
      cards.delete(job);
      if (hadFocus) parts.root.querySelector<HTMLElement>(".vs-input")?.focus();
    }
    for (const job of wanted) {
      if (cards.has(job)) continue;
      const card = lazyCard(root, ({ jobCard }) => jobCard(parts, job));
      cards.set(job, card);
      root.append(card.root);
      const known = jobs.get(job);
      if (known?.state === "interrupted") parts.announce(`Job ${job}: ${jobWords(known)}`);
    }
    show(root, cards.size > 0);
  };
  jobs.on(update);
  update();
  return { root, update };
}
