/** Cards whose code is loaded when the first of them is drawn. */

import type { Entry } from "./timeline";
import type { EntryView } from "./entries";
import { box, setText } from "./dom";

/** A card in the timeline, or above the input field. */
export interface Card {
  readonly root: HTMLElement;
  /** Ends its subscriptions. */
  end(): void;
}

/** A part that exists as long as the view. */
export interface Part {
  readonly root: HTMLElement;
  update(): void;
}

type Cards = typeof import("./cards");

let loaded: Cards | null = null;

/** Loads the code of the cards. Rejects if the daemon that serves it is not running. */
export async function loadCards(): Promise<Cards> {
  return (loaded ??= await import("./cards"));
}

/** The loaded code of the cards. */
export function cardsNow(): Cards | null {
  return loaded;
}

const FAILED = "This part could not be loaded. Reload the page.";

/** A card that exists at once if its code is loaded, and otherwise after the load. */
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
    () => setText(root, FAILED),
  );
  return {
    root,
    end() {
      isOver = true;
      card?.end();
    },
  };
}

/** An entry of the timeline, loaded in the same way. It is drawn in its current state after the load. */
export function lazyEntry<E extends Entry>(near: Node, make: (cards: Cards) => EntryView<E>): EntryView<E> {
  if (loaded) return make(loaded);
  let view: EntryView<E> | null = null;
  let last: E | null = null;
  const card = lazyCard(near, (cards) => {
    view = make(cards);
    if (last) view.update(last);
    return { root: view.root, end: () => view?.end?.() };
  });
  return {
    root: card.root,
    update(entry) {
      last = entry;
      view?.update(entry);
    },
    end: () => card.end(),
  };
}

/** A part that is created when it has content. */
export function lazyPart(near: Node, isWanted: () => boolean, make: (cards: Cards) => Part): Part {
  const root = box(near, "vs-lazy");
  let part: Part | null = null;
  let isLoading = false;
  const take = (cards: Cards): void => {
    isLoading = false;
    part ??= make(cards);
    root.replaceChildren(part.root);
    part.update();
  };
  return {
    root,
    update() {
      if (part) part.update();
      else if (isLoading || !isWanted()) return;
      else if (loaded) take(loaded);
      else {
        isLoading = true;
        loadCards().then(take, () => {
          isLoading = false;
          setText(root, FAILED);
        });
      }
    },
  };
}
