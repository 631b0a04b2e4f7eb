/** What the agent has proposed in the mode `plan`, above where the person writes. */

import { box, show } from "./dom";
import type { CallEntry, Entry } from "./timeline";
import type { Card } from "./lazy";
import { isProposed } from "./outputs";
import type { Parts } from "./part";
import { proposalsCard } from "./proposals-card";

/** The proposals of the last turn that wait for the person, in their order. */
export function waitingProposals(entries: Entry[]): CallEntry[] {
  const proposes = (entry: Entry): boolean => entry.kind === "call" && isProposed(entry.output);
  const at = entries.map(proposes).lastIndexOf(true);
  const turn = entries[at]?.turn;
  if (turn === undefined || turn === null) return [];
  // Where the turn has changed something they were applied; where something was said behind it, they were not.
  const isOver = (entry: Entry, index: number): boolean => (entry.turn === turn ? entry.kind === "changes" : index > at && entry.kind === "user");
  if (entries.some(isOver)) return [];
  return entries.filter((entry): entry is CallEntry => entry.kind === "call" && entry.turn === turn && isProposed(entry.output));
}

export function proposalsView(parts: Parts): { root: HTMLElement; update(): void } {
  const { chat } = parts;
  const root = box(parts.root, "vs-jobs vs-proposals");
  let card: Card | null = null;
  let shown = "";
  const update = (): void => {
    const waiting = chat.isWorking || chat.branch !== null ? [] : waitingProposals(chat.timeline.entries);
    const key = waiting.map((entry) => entry.key).join();
    if (key === shown) return;
    shown = key;
    card?.end();
    card?.root.remove();
    card = waiting.length === 0 ? null : proposalsCard(parts, waiting);
    if (card) root.append(card.root);
    show(root, card !== null);
  };
  show(root, false);
  return { root, update };
}
