/** The timeline as elements: as many as are loaded, the end in view unless the person looks elsewhere. */

import { agentView, callView, endView, type EntryActions, type EntryView, noticeView, thoughtView, userView } from "./entries";
import { box, element, setText, show, toggle } from "./dom";
import { type Card, cardsNow, lazyCard, lazyEntry, loadCards } from "./lazy";
import { iconOf, type Parts, textButton } from "./part";
import { counted } from "./format";
import type { Entry } from "./timeline";
import { notesFold } from "./notes-fold";
import type { Happened } from "./chat";
import type { HomeActions } from "./home";

/** Pixels from the end within which it counts as in view. */
const NEAR = 48;
/** Milliseconds for which what a person did explains a scroll. */
const MEANT = 1_000;
/**
 * Pixels before the first entry at which older ones are loaded: so many screens that they are there
 * before the browser reaches for what comes into view, or it would draw them all in the frame they are
 * made in.
 */
const AHEAD = 8_000;
/** Milliseconds of one frame that are spent on making entries, and how many are made at least. */
const BUDGET = 3;
const AT_LEAST = 8;
/** Entries that are laid out, or left out, together: the browser watches each run of them. */
const RUN = 8;

export interface Messages {
  root: HTMLElement;
  update(happened: Happened): void;
  /** Has the end in view from now on. */
  toEnd(): void;
  /** Whether a model is set up; if not, the empty view shows the way to one. */
  setModel(isThere: boolean): void;
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
  /** The way to a first model; none where one is set up. */
  let setup: Card | null = null;
  let hasModel = false;
  /** What an empty conversation begins with. */
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
  /** Until when a scroll is the person's: they turned a wheel, touched, or pressed a key. */
  let meantUntil = 0;
  let isHeld = false;
  /** Entries wait for their elements. */
  let ordering: (() => void) | null = null;

  const toEnd = (): void => {
    isPinned = true;
    if (chat.pages.later) void chat.reload();
    scroller.scrollTop = scroller.scrollHeight;
    drawJump();
  };

  const drawJump = (): void => show(jump, !isPinned || chat.pages.later);

  /** Whether the person scrolls; what goes on by its own swing is theirs too. */
  const isMeant = (): boolean => {
    const now = parts.now().getTime();
    if (!isHeld && now > meantUntil) return false;
    meantUntil = Math.max(meantUntil, now + MEANT / 4);
    return true;
  };

  const isNearStart = (): boolean => scroller.scrollTop < AHEAD;

  const mayLoad = (): void => {
    if (chat.pages.earlier && !chat.pages.loading && !ordering && isNearStart()) {
      // At the very top nothing holds the place while elements come before it.
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

  /** Puts an entry behind another, or before all. */
  const put = (entry: Element, behind: Element | null): void => {
    const old = entry.parentElement;
    let run = behind ? behind.parentElement : list.firstElementChild;
    if (!run || run.childElementCount >= RUN) {
      const next = behind?.nextElementSibling;
      const made = box(root, "vs-run");
      list.insertBefore(made, behind ? (run?.nextElementSibling ?? null) : run);
      // What stood behind it in the full run stays behind it.
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
   * Has the elements stand as the entries do, the newest first, as far as there is time; answers
   * whether all do. Those that stand right are not touched.
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

  /** Orders now what there is time for, and the rest in the frames that follow. */
  const orderAll = (): void => {
    ordering?.();
    ordering = order() ? null : scope.frame(() => {
      orderAll();
      if (!ordering) mayLoad();
    });
  };

  /** The turn at work, and when it was first seen so. */
  let begun: { turn: string | null; at: number } | null = null;
  let tick: (() => void) | null = null;
  const drawWork = (): void => {
    const { kind, work: stands } = chat.stands;
    const { queued, turn } = chat.timeline.standing;
    tick?.();
    tick = null;
    let words = stands;
    if (kind === "working") {
      const now = parts.now().getTime();
      if (begun?.turn !== turn) begun = { turn, at: now };
      // Until its code is there the word alone does.
      words = cardsNow()?.liveLine(chat.timeline.entries, begun.at, now, chat.usage?.used ?? 0) ?? stands;
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
      if (timeline && !isPinned && timeline.standing) isPinned = true;
    }
    if (timeline) {
      for (const key of timeline.keys) {
        const entry = chat.timeline.get(key);
        if (entry) views.get(key)?.update(entry);
      }
      if (timeline.order) orderAll();
      if (timeline.standing || chat.isWorking) drawWork();
      if (timeline.standing) {
        for (const entry of chat.timeline.entries) if (entry.kind === "user" && entry.pending !== undefined) views.get(entry.key)?.update(entry);
        // Whether a question still waits is seen on it.
        const question = chat.timeline.last("agent", (entry) => entry.message === "question");
        if (question) views.get(question.key)?.update(question);
      }
      if (!loaded) chat.pages.letGo(isPinned ? "oldest" : "newest");
    }
    if (activity || loaded) drawWork();
    if (loaded || timeline?.standing || timeline?.order) notes.update();
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
      // Only a person goes back; what grows or shrinks around the place does not.
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
    // An empty conversation is read from its beginning.
    if (isPinned && empty.hidden) scroller.scrollTop = scroller.scrollHeight;
    lastTop = scroller.scrollTop;
  });
  observer.observe(content);
  observer.observe(scroller);
  scope.add(() => observer.disconnect());
  scope.add(() => [...views.keys()].forEach(drop));
  const setModel = (isThere: boolean): void => {
    hasModel = isThere;
    if (isThere === (setup === null)) {
      placeHome();
      return;
    }
    setup?.end();
    setup?.root.remove();
    setup = isThere ? null : lazyCard(root, ({ setupCard }) => setupCard(parts));
    placeSetup();
    show(hints, isThere);
    placeHome();
  };
  /** Has the home in an empty view, as it is by then. */
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
  /** Has the way to a model in the middle of an empty view, and behind what was said elsewhere. */
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
