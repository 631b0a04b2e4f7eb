/** The list of conversations, loaded when it is first opened. */

import type { ConversationList, ListActions } from "./conversations";
import { box } from "./dom";
import { loadCards } from "./lazy";
import type { Parts } from "./part";

/** The list, and a field for a title. */
export interface LazyList extends ConversationList {
  editTitle(at: HTMLElement, title: string, save: (title: string) => Promise<void>): void;
}

export function lazyList(parts: Parts, actions: ListActions): LazyList {
  const root = box(parts.root, "vs-lazy");
  let list: ConversationList | null = null;
  let isWanted = false;
  const loading = (then: (cards: Awaited<ReturnType<typeof loadCards>>) => void): void => {
    loadCards().then(
      (cards) => {
        if (!parts.scope.ended) then(cards);
      },
      () => parts.host.notice("The list could not be loaded. Reload the page."),
    );
  };
  return {
    root,
    get isOpen() {
      return list ? list.isOpen : isWanted;
    },
    open() {
      isWanted = true;
      if (list) return list.open();
      loading(({ conversationList }) => {
        list ??= conversationList(parts, actions);
        root.replaceChildren(list.root);
        if (isWanted) list.open();
      });
    },
    close() {
      isWanted = false;
      list?.close();
    },
    refresh: () => list?.refresh(),
    editTitle(at, title, save) {
      loading(({ editTitle }) => editTitle(parts, at, title, save));
    },
  };
}
