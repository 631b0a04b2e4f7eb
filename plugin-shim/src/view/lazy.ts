/** Cards whose code is loaded when the first of them is drawn. */

import { box } from "./dom";

/** A card in the timeline, or above the field. */
export interface Card {
  readonly root: HTMLElement;
  /** Lets go of what it hears. */
  end(): void;
}

type Cards = typeof import("./cards");

let loaded: Cards | null = null;

/** Loads the code of the cards. Fails where the daemon that serves it is gone. */
export async function loadCards(): Promise<Cards> {
  return (loaded ??= await import("./cards"));
}

/** A card that is there at once where its code is loaded, and otherwise as soon as it is. */
export function lazyCard(near: Node, make: (cards: Cards) => Card): Card {
  if (loaded) return make(loaded);
  const root = box(near, "vs-lazy");
  let card: Card | null = null;
  let isOver = false;
  loadCards().then(
    (cards) => {
      if (isOver) return;
      card = make(cards);
      root.append(card.root);
    },
    () => root.append("This card could not be loaded. Reload the page."),
  );
  return {
    root,
    end() {
      isOver = true;
      card?.end();
    },
  };
}
