/** The timeline as elements: all loaded entries, scrolled to the end unless the person looks elsewhere. */

import { agentView, callView, endView, type EntryActions, type EntryView, noticeView, thoughtView, userView } from "./entries";
import { box, element, setText, show, toggle } from "./dom";
import { type Card, cardsNow, lazyCard, lazyEntry, loadCards } from "./lazy";
import { iconOf, type Parts, textButton } from "./part";
import { counted } from "./format";
import type { Entry } from "./timeline";
import { notesFold } from "./notes-fold";
import type { Happened } from "./chat";
import type { HomeActions } from "./home";

/** The distance from the end, in pixels, that counts as the end. */
const NEAR = 48;
/** Milliseconds after an action of the person for which a scroll counts as theirs. */
const MEANT = 1_000;
/**
 * The distance from the first entry, in pixels, at which older entries are loaded: several screens, so that they exist
 * before the browser prepares the visible area. Otherwise it would draw them all in the frame that creates them.
 */
const AHEAD = 8_000;
/** Milliseconds of a frame for creating entries, and the minimum number of entries. */
const BUDGET = 3;
const AT_LEAST = 8;
/** The number of entries that the browser lays out, or skips, as a group: it watches each group. */
const RUN = 8;

export interface Messages {
  root: HTMLElement;
  update(happened: Happened): void;
  /** Follows the end from now on. */
  toEnd(): void;
  /** Whether a model is configured; if not, the empty view shows the setup. Returns whether the setup was removed. */
  setModel(isThere: boolean): boolean;
}

export function messages(parts: Parts, actions: EntryActions, atHome: HomeActions): Messages {
  const { chat, scope } = parts;
  const root = box(parts.root, "vs-messages");
  const scroller = element(root, "div", {
    class: "vs-scroll",
    attributes: { role: "log", "aria-live": "off", "aria-label": "Conversation", tabindex: 0 },
  });
  const older = element(root, "div", { class: "vs-older", attributes: { role: "status" } });
  const list = box(root, "vs-list");
  const empty = box(root, "vs-empty");
  const hints = box(
    empty,
    "",
    element(empty, "div", { class: "vs-empty-title", text: "What would you like to do?" }),
    element(empty, "div", { class: "vs-empty-hint", text: "Ask about your notes, or have them written, moved and tidied. You can undo every change." }),
  );
  empty.append(hints);
  /** The setup of a first model; null if a model is configured. */
  let setup: Card | null = null;
  let hasModel = false;
  /** The content of an empty conversation. */
  let home: Card | null = null;
  const work = box(root, "vs-work");
  const dots = element(root, "span", { class: "vs-dots", attributes: { "aria-hidden": "true" } });
  for (let count = 0; count < 3; count++) dots.appendChild(element(dots, "span"));
  const workText = element(root, "span");
  work.append(dots, workText);
  const notes = notesFold(parts);
  const content = box(root, "vs-content", older, empty, list, notes.root, work);
  scroller.appendChild(content);
  const jump = textButton(root, "Latest", "vs-jump");
  jump.prepend(iconOf(parts, "arrow-down"));
  root.append(scroller, jump);

  const views = new Map<string, EntryView>();
  let isPinned = true;
  let lastTop = 0;
  /** The time until which a scroll counts as the person's: they turned the wheel, touched, or pressed a key. */
  let meantUntil = 0;
  let isHeld = false;
  /** Set while entries wait for their elements. */
  let ordering: (() => void) | null = null;

  const toEnd = (): void => {
    isPinned = true;
    if (chat.pages.later) void chat.reload();
    scroller.scrollTop = scroller.scrollHeight;
    drawJump();
  };

  const drawJump = (): void => show(jump, !isPinned || chat.pages.later);

  /** Whether the person scrolls, including the momentum after their gesture. */
  const isMeant = (): boolean => {
    const now = parts.now().getTime();
    if (!isHeld && now > meantUntil) return false;
    meantUntil = Math.max(meantUntil, now + MEANT / 4);
    return true;
  };

  const isNearStart = (): boolean => scroller.scrollTop < AHEAD;

  const mayLoad = (): void => {
    if (chat.pages.earlier && !chat.pages.loading && !ordering && isNearStart()) {
      // At the very top the browser does not keep the scroll position when elements are inserted above.
      if (scroller.scrollTop === 0 && !isPinned) scroller.scrollTop = 1;
      void chat.pages.older();
    }
  };

  const make = (entry: Entry): EntryView => {
    switch (entry.kind) {
      case "user":
        return userView(parts, actions);
      case "agent":
        return agentView(parts, actions);
      case "thought":
        return thoughtView(parts);
      case "call":
        return callView(parts);
      case "notice":
        return noticeView(parts);
      case "changes":
        return lazyEntry(root, ({ changesView }) => changesView(parts));
      case "end":
        return endView(parts, actions);
    }
  };

  const drop = (key: string): void => {
    const view = views.get(key);
    if (!view) return;
    const run = view.root.parentElement;
    view.end?.();
    view.root.remove();
    if (run?.childElementCount === 0) run.remove();
    views.delete(key);
  };

  const add = (entry: Entry): EntryView => {
    const view = make(entry);
    views.set(entry.key, view);
    view.update(entry);
    return view;
  };

  /** Puts an entry after another one, or first. */
  const put = (entry: Element, behind: Element | null): void => {
    const old = entry.parentElement;
    let run = behind ? behind.parentElement : list.firstElementChild;
    if (!run || run.childElementCount >= RUN) {
      const next = behind?.nextElementSibling;
      const made = box(root, "vs-run");
      list.insertBefore(made, behind ? (run?.nextElementSibling ?? null) : run);
      // The entries after it in the full group stay after it.
      for (let moved = next; moved; ) {
        const after: Element | null = moved.nextElementSibling;
        made.appendChild(moved);
        moved = after;
      }
      run = made;
      run.prepend(entry);
    } else run.insertBefore(entry, behind ? behind.nextElementSibling : run.firstElementChild);
    if (old?.childElementCount === 0) old.remove();
  };

  /**
   * Creates and orders the elements as the entries are, newest first, while there is time; returns whether all are in
   * place. Elements that are in place are not touched.
   */
  const order = (): boolean => {
    const { entries } = chat.timeline;
    const end = performance.now() + BUDGET;
    const keys = new Set(entries.map((entry) => entry.key));
    for (const key of [...views.keys()]) if (!keys.has(key)) drop(key);
    let placed = 0;
    let at: Element | null = list.lastElementChild?.lastElementChild ?? null;
    for (let left = entries.length - 1; left >= 0; left--) {
      const entry = entries[left];
      if (!entry) continue;
      const view = views.get(entry.key) ?? add(entry);
      if (view.root === at) at = at.previousElementSibling ?? at.parentElement?.previousElementSibling?.lastElementChild ?? null;
      else {
        put(view.root, at);
        placed += 1;
        if (placed >= AT_LEAST && performance.now() > end) return left === 0;
      }
    }
    return true;
  };

  /** Orders the elements for which there is time now, and the others in the next frames. */
  const orderAll = (): void => {
    ordering?.();
    ordering = order() ? null : scope.frame(() => {
      orderAll();
      if (!ordering) mayLoad();
    });
  };

  /** The running turn, and the time at which it was first seen. */
  let begun: { turn: string | null; at: number } | null = null;
  let tick: (() => void) | null = null;
  const drawWork = (): void => {
    const { kind, work: stateText } = chat.shownState;
    const { queued, turn } = chat.timeline.status;
    tick?.();
    tick = null;
    let words = stateText;
    if (kind === "working") {
      const now = parts.now().getTime();
      if (begun?.turn !== turn) begun = { turn, at: now };
      // Until the code is loaded, the line shows only the state.
      words = cardsNow()?.liveLine(chat.timeline.entries, begun.at, now, chat.usage?.used ?? 0) ?? stateText;
      if (!cardsNow()) loadCards().catch(() => undefined);
      tick = scope.after(1_000, drawWork);
    } else if (kind !== "waiting") begun = null;
    const queue = queued > 0 ? `${counted(queued, "message")} queued` : "";
    setText(workText, [words, queue].filter((part) => part !== "").join(" · "));
    show(work, words !== "" || queue !== "");
    show(dots, kind === "working");
  };

  const update = ({ timeline, loaded, info, activity }: Happened): void => {
    if (loaded) {
      setText(older, chat.pages.loading ? "Loading…" : "");
      if (timeline && !isPinned && timeline.status) isPinned = true;
    }
    if (timeline) {
      for (const key of timeline.keys) {
        const entry = chat.timeline.get(key);
        if (entry) views.get(key)?.update(entry);
      }
      if (timeline.order) orderAll();
      if (timeline.status || chat.isWorking) drawWork();
      if (timeline.status) {
        for (const entry of chat.timeline.entries) if (entry.kind === "user" && entry.pending !== undefined) views.get(entry.key)?.update(entry);
        // The entry shows whether a question is still open.
        const question = chat.timeline.last("agent", (entry) => entry.message === "question");
        if (question) views.get(question.key)?.update(question);
      }
      if (!loaded) chat.pages.letGo(isPinned ? "oldest" : "newest");
    }
    if (activity || loaded) drawWork();
    if (loaded || timeline?.status || timeline?.order) notes.update();
    if (info || timeline || loaded) {
      show(empty, chat.timeline.entries.length === 0 && !chat.pages.loading);
      placeSetup();
      placeHome();
      toggle(root, "is-read-only", chat.branch !== null);
      drawJump();
    }
    if (loaded) scope.frame(mayLoad);
  };

  scope.listen(
    scroller,
    "scroll",
    () => {
      const { scrollTop, scrollHeight, clientHeight } = scroller;
      const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR;
      if (isAtEnd) isPinned = true;
      // Only the person scrolls back; a layout change near the position does not.
      else if (scrollTop < lastTop - 2 && isMeant()) isPinned = false;
      lastTop = scrollTop;
      drawJump();
      mayLoad();
    },
    { passive: true },
  );
  for (const type of ["wheel", "touchmove", "keydown"] as const) {
    scope.listen(scroller, type, () => (meantUntil = parts.now().getTime() + MEANT), { passive: true });
  }
  scope.listen(scroller, "pointerdown", () => (isHeld = true));
  for (const type of ["pointerup", "pointercancel"] as const) {
    scope.listen(root.ownerDocument, type, () => {
      if (isHeld) meantUntil = parts.now().getTime() + MEANT;
      isHeld = false;
    });
  }
  scope.listen(jump, "click", () => {
    toEnd();
    scroller.focus({ preventScroll: true });
  });
  const observer = new ResizeObserver(() => {
    // An empty conversation starts at its top.
    if (isPinned && empty.hidden) scroller.scrollTop = scroller.scrollHeight;
    lastTop = scroller.scrollTop;
  });
  observer.observe(content);
  observer.observe(scroller);
  scope.add(() => observer.disconnect());
  scope.add(() => [...views.keys()].forEach(drop));
  const setModel = (isThere: boolean): boolean => {
    hasModel = isThere;
    if (isThere === (setup === null)) {
      placeHome();
      return false;
    }
    setup?.end();
    setup?.root.remove();
    setup = isThere ? null : lazyCard(root, ({ setupCard }) => setupCard(parts));
    placeSetup();
    show(hints, isThere);
    placeHome();
    return isThere;
  };
  /** Updates the home in an empty view. */
  const placeHome = (): void => {
    if (hasModel && !empty.hidden && !home) {
      home = lazyCard(root, ({ homeCard }) => homeCard(parts, atHome));
      empty.append(home.root);
    } else if (home && (empty.hidden || !hasModel)) {
      home.end();
      home.root.remove();
      home = null;
    }
  };
  /** Shows the setup of a model in the middle of an empty view, and after messages from elsewhere. */
  const placeSetup = (): void => {
    const isEmpty = chat.timeline.entries.length === 0;
    const place = isEmpty ? empty : content;
    if (setup && setup.root.parentElement !== place) place.insertBefore(setup.root, isEmpty ? null : work);
  };
  scope.add(() => {
    setup?.end();
    home?.end();
  });
  drawJump();
  drawWork();
  return { root, update, toEnd, setModel };
}
