/** A tab per conversation, with its draft. The strip is shown if there are two or more. */

import { append, clear, element, setText, show, toggle } from "./dom";
import { iconButton, type Parts } from "./part";
import type { Draft } from "./draft";
import type { TabOf } from "./kept";
import { titleOf } from "./header";

/** The actions that the view provides. */
export interface TabActions {
  /** The displayed conversation and its draft. */
  current(): TabOf;
  /** Shows a conversation with its draft. */
  show(tab: TabOf): void;
}

export interface Tabs {
  root: HTMLElement;
  update(): void;
  /** Opens a new last tab, empty or with a conversation; selects the conversation's tab if it has one. */
  open(sessionId: string | null): void;
  /** Selects the tab of a conversation; false if it has none. */
  goTo(sessionId: string): boolean;
  /** The tabs, if there are several, and the selected one. */
  kept(): { tabs: TabOf[]; at: number } | undefined;
}

const EMPTY: Draft = { text: "", attachments: [], images: [] };

export function tabStrip(parts: Parts, actions: TabActions, kept?: { tabs: TabOf[]; at: number }): Tabs {
  const { chat, scope, activity, titles } = parts;
  const root = element(parts.root, "nav", { class: "vs-tabs", attributes: { "aria-label": "Open conversations" } });
  const list = element(root, "ul");
  const add = iconButton(parts, "square-pen", "New tab");
  root.append(list, add);
  let at = kept?.at ?? 0;
  let tabs: TabOf[] = kept?.tabs ?? [actions.current()];

  const save = (): void => {
    tabs[at] = actions.current();
  };
  const go = (to: number): void => {
    if (to === at || tabs[to] === undefined) return;
    save();
    at = to;
    actions.show(tabs[at] ?? { sessionId: null, draft: EMPTY });
    draw();
  };
  const close = (index: number): void => {
    if (index !== at) save();
    tabs = tabs.filter((_, other) => other !== index);
    if (index < at) at -= 1;
    else if (index === at) {
      at = Math.min(at, tabs.length - 1);
      actions.show(tabs[at] ?? { sessionId: null, draft: EMPTY });
    }
    draw();
    (list.querySelector<HTMLElement>("[aria-current]") ?? parts.root.querySelector<HTMLElement>(".vs-input"))?.focus();
  };

  const nameOf = ({ sessionId }: TabOf, isShown: boolean, into: HTMLElement): string => {
    if (isShown) return titleOf(parts);
    if (sessionId === null) return "New conversation";
    const known = titles.known({ sessionId });
    if (known === undefined) void titles.load(sessionId).then((title) => title !== undefined && setText(into, title));
    return known ?? "Conversation";
  };

  let drawn = "";
  const draw = (): void => {
    const key = JSON.stringify([at, tabs.map((tab, index) => [tab.sessionId, index === at && titleOf(parts), activity.of(tab.sessionId)])]);
    show(root, tabs.length > 1);
    if (key === drawn) return;
    drawn = key;
    const hadFocus = list.contains(root.ownerDocument.activeElement);
    clear(list);
    tabs.forEach((tab, index) => {
      const isShown = index === at;
      const text = element(list, "span", { class: "vs-tab-text", attributes: { dir: "auto" } });
      setText(text, nameOf(tab, isShown, text));
      const state = activity.of(tab.sessionId);
      const button = element(list, "button", { class: "vs-tab", attributes: { type: "button", "aria-current": isShown ? "true" : undefined } });
      append(button, state !== null && element(list, "span", { class: `vs-dot is-${state === "asking" ? "waiting" : "working"}` }), text);
      button.addEventListener("click", () => go(index));
      button.addEventListener("auxclick", (event) => event.button === 1 && close(index));
      const away = iconButton(parts, "x", `Close the tab ${text.textContent}`);
      away.addEventListener("click", () => close(index));
      const item = element(list, "li", {}, button, away);
      toggle(item, "is-shown", isShown);
      append(list, item);
    });
    if (hadFocus) list.querySelector<HTMLElement>("[aria-current]")?.focus();
  };

  const update = (): void => {
    const tab = tabs[at];
    if (tab) tab.sessionId = chat.wantedId;
    draw();
  };
  const goTo = (sessionId: string): boolean => {
    const to = tabs.findIndex((tab) => tab.sessionId === sessionId);
    go(to);
    return to >= 0;
  };
  const open = (sessionId: string | null): void => {
    if (sessionId !== null && goTo(sessionId)) return;
    save();
    tabs = [...tabs, { sessionId, draft: EMPTY }];
    go(tabs.length - 1);
  };
  scope.listen(add, "click", () => open(null));
  scope.listen(list, "keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const all = [...list.querySelectorAll<HTMLElement>(".vs-tab")];
    const now = all.indexOf(root.ownerDocument.activeElement as HTMLElement);
    all[(now + step + all.length) % all.length]?.focus();
  });
  draw();
  return {
    root,
    update,
    open,
    goTo,
    kept() {
      if (tabs.length < 2) return undefined;
      save();
      return { tabs, at };
    },
  };
}
