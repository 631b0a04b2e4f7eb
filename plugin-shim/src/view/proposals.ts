/** The card of the agent's proposals of the mode `plan`, above the input field. */

import { box, show } from "./dom";
import type { Card } from "./lazy";
import type { Parts } from "./part";
import { proposalsCard } from "./proposals-card";

export function proposalsView(parts: Parts): { root: HTMLElement; update(): void } {
  const { activity, chat } = parts;
  const root = box(parts.root, "vs-jobs vs-proposals");
  let card: Card | null = null;
  let shown = "";
  /** The changes that a person has unfolded. */
  const unfolded = new Set<string>();
  const update = (): void => {
    const waiting = chat.isWorking || chat.branch !== null ? undefined : activity.proposals.of(chat.sessionId);
    const isNone = !waiting?.proposals?.length;
    const key = isNone ? "" : JSON.stringify(waiting);
    if (key === shown) return;
    shown = key;
    card?.end();
    card?.root.remove();
    card = waiting && !isNone ? proposalsCard(parts, waiting, unfolded) : null;
    if (card) root.append(card.root);
    else unfolded.clear();
    show(root, card !== null);
  };
  show(root, false);
  return { root, update };
}
