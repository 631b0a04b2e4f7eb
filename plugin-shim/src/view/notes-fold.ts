/** The line below a conversation that unfolds the picture of the notes that it touched. */

import { type Card, lazyCard } from "./lazy";
import { element, setText, show } from "./dom";
import type { Parts } from "./part";
import { touched } from "./touched";

/** The smallest number of notes that is shown. */
const LEAST = 2;

export function notesFold(parts: Pick<Parts, "root" | "chat" | "scope">): { root: HTMLElement; update(): void } {
  const { root: near, chat, scope } = parts;
  const summary = element(near, "summary");
  const root = element(near, "details", { class: "vs-touched" }, summary);
  let card: Card | null = null;
  let drawn = "";
  const end = (): void => {
    card?.end();
    card?.root.remove();
    card = null;
  };
  const update = (): void => {
    // While something goes on the picture would change under the eyes of whoever looks at it.
    const notes = chat.isWorking ? new Map<string, boolean>() : touched(chat.timeline.entries);
    show(root, notes.size >= LEAST);
    setText(summary, `${notes.size} notes of this conversation`);
    if (root.hidden || !root.open) {
      end();
      return;
    }
    const now = JSON.stringify([...notes]);
    if (card && now === drawn) return;
    end();
    drawn = now;
    card = lazyCard(root, ({ noteGraph }) => noteGraph(parts, notes));
    root.append(card.root);
  };
  scope.listen(root, "toggle", update);
  scope.add(end);
  show(root, false);
  return { root, update };
}
