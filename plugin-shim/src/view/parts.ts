/** Creates the context of a view's parts. */

import type { Activity } from "../activity";
import type { Connection } from "../connection";
import type { Host } from "../host";
import type { Parts } from "./part";
import { append, element, setText } from "./dom";
import { Chat } from "./chat";
import { Jobs } from "./jobs";
import { Painter } from "./answer";
import { loadCards } from "./lazy";
import { Scope } from "./scope";
import { Titles } from "./titles";

/** The length of an answer that is announced to screen readers; a person reads the rest. */
const HEARD = 2_000;

/** Creates the context of a view in `root`; its chat is not started. */
export function makeParts(root: HTMLElement, connection: Connection, activity: Activity, host: Host, compose: Parts["compose"]): Parts {
  const window = (): Window => {
    const view = root.ownerDocument.defaultView;
    if (!view) throw new Error("the view is in a document that no window shows");
    return view;
  };
  const scope = new Scope(window);
  const chat = new Chat(connection, activity);
  const live = element(root, "div", { class: "vs-hidden", attributes: { "aria-live": "polite", "aria-atomic": "true" } });
  append(root, live);
  root.classList.add("vs-chat");
  return {
    root,
    chat,
    connection,
    host,
    painter: new Painter(scope, () => window().performance.now(), host.math?.bind(host), host.icon.bind(host), (link) => {
      // An unchecked link can still be opened.
      void loadCards().then(({ checkLink }) => checkLink(connection, link), () => undefined);
    }, host.diagram?.bind(host)),
    scope,
    jobs: new Jobs({ chat, host, connection, scope }),
    activity,
    titles: new Titles(connection),
    now: () => new Date(),
    compose,
    announce: (text) => setText(live, text.length > HEARD ? `${text.slice(0, HEARD)}…` : text),
  };
}

/** Removes all of a view. */
export function unmake({ root, chat, scope }: Parts): void {
  chat.end();
  scope.end();
  root.classList.remove("vs-chat");
  while (root.lastChild) root.removeChild(root.lastChild);
}
