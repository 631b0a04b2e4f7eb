/** The time machine: the changes of the vault, their authors, and earlier states. */

import type { Actor, ChangeSetInfo, TimelineParams, TimelineSet } from "../protocol";
import { append, box, clear, element, setText, show } from "./dom";
import { clock, counted, noteName, sentence, visible } from "./format";
import { asOf } from "./as-of";
import { calendar } from "./calendar";
import { density } from "./density";
import { iconButton, iconOf, type Parts, textButton } from "./part";
import { changesView } from "./changes";
import type { ChangesEntry } from "./timeline";
import { rows } from "./rows";
import { errorText } from "../call-error";

/** The number of change sets in one request. */
const PAGE = 200;
/** The height of a row in pixels. */
const ROW = 46;
/** A height above that of any calendar, in pixels. */
const WIDE = 10_000;
/** Milliseconds between the last key and the search, */
const PAUSE = 250;
/** and between the last movement of the slider and the load of its day. */
const DRAG = 60;

/** The authors of changes, as labels. */
const ACTORS: [Actor, string][] = [
  ["person", "you"],
  ["agent", "the agent"],
  ["voice", "voice"],
  ["client", "a script"],
  ["mcp", "an MCP client"],
  ["acp", "an ACP client"],
  ["rule", "a rule"],
];

type Row = { day: string } | { set: TimelineSet };

/** The panel over the conversation, or `alone` in a view; `closed` is called when it is closed. */
export function timeMachine(parts: Parts, closed: () => void, isAlone = false): { root: HTMLElement; close(): void; only: (path: string) => void } {
  const scope = parts.scope.child();
  const { connection } = parts;
  const root = element(parts.root, "section", { class: "vs-list-panel vs-machine", attributes: { "aria-label": "Time machine" } });
  const away = iconButton(parts, "x", "Close the time machine");
  const title = element(root, "h2", { class: "vs-time-title", text: "Time machine" });
  const note = element(root, "input", { class: "vs-time-field", attributes: { type: "search", placeholder: "Note or folder", "aria-label": "Only changes of this note or folder", dir: "auto" } });
  const by = element(root, "select", { class: "dropdown vs-time-field", attributes: { "aria-label": "Only changes made by" } });
  by.append(element(root, "option", { text: "By anyone", attributes: { value: "" } }));
  for (const [actor, words] of ACTORS) by.append(element(root, "option", { text: `By ${words}`, attributes: { value: actor } }));
  const tool = element(root, "input", { class: "vs-time-field", attributes: { type: "search", placeholder: "Tool", "aria-label": "Only changes made with this tool", dir: "auto" } });
  const strip = density(root, scope, (last) => goTo(last, DRAG));
  const days = element(root, "details", { class: "vs-calendar-fold", attributes: { open: isAlone } }, element(root, "summary", { text: "Calendar" }));
  /** Scrolls to the last week if not all weeks are visible. */
  const lastWeek = (): void => {
    const weeks = days.querySelector(".vs-calendar");
    if (weeks) weeks.scrollLeft = WIDE;
  };
  scope.listen(days, "toggle", lastWeek);
  const present = textButton(root, "Back to now", "vs-small");
  const tab = element(root, "a", { class: "vs-time-tab", text: "Open in a tab", attributes: { href: "#view=time-machine", target: "_blank", rel: "opener" } });
  const status = element(root, "div", { class: "vs-list-note", attributes: { role: "status" } });
  const detail = element(root, "div", { class: "vs-time-detail", attributes: { role: "region", "aria-label": "The chosen change", tabindex: -1 } });

  const hint = element(root, "p", { class: "vs-time-hint", text: "Choose a change to see what it did and to undo it." });

  let lastDay = "";
  let next: number | undefined;
  /** The list begins before this change set; null if it begins now. */
  let from: number | undefined;
  let request = 0;
  let isLoading = false;
  let wait: (() => void) | null = null;
  /** The displayed change set and the one that undid it, and a function that releases its resources. */
  let shown: { id: number; undoing: Set<number>; end(): void } | null = null;

  const list = rows<Row>(root, scope, {
    label: "Changes, newest first",
    height: ROW,
    key: (row) => ("set" in row ? `set-${row.set.id}` : `day-${row.day}`),
    isChoice: (row) => "set" in row,
    fill(into, row) {
      if ("day" in row) into.append(element(root, "span", { text: row.day }));
      else fillRow(into, row.set);
    },
    choose: (row) => void ("set" in row && choose(row.set)),
    nearEnd: () => void (next !== undefined && !isLoading && load(true)),
  });
  append(
    root,
    box(root, "vs-list-head", iconOf(parts, "rotate-ccw"), title, present, tab, away),
    box(root, "vs-time-filters", note, by, tool),
    strip.root,
    days,
    box(root, "vs-time-body", box(root, "vs-time-list", list.root, status), detail, hint),
  );
  show(present, false);
  show(detail, false);
  show(days, false);
  show(away, !isAlone);
  // With its opener, so that the new tab gets this tab's credentials.
  show(tab, !isAlone && parts.host.kind === "browser");

  const fillRow = (into: HTMLElement, set: TimelineSet): void => {
    const actor = ACTORS.find(([one]) => one === set.by)?.[1] ?? set.by;
    into.classList.add(`is-by-${set.by}`);
    into.classList.toggle("is-undone", set.undone);
    // A job's first files may be those in which a link was updated.
    const files = /\(job \d+\)/.test(set.title) ? "" : set.paths.map(noteName).join(", ");
    const rest = [clock(set.time), actor, counted(set.total, "change"), set.undoes === undefined ? "" : "an undo", set.undone ? "undone" : ""];
    append(
      into,
      element(root, "span", { class: "vs-river-title", text: visible(files === "" ? sentence(set.title) : files), attributes: { dir: "auto" } }),
      element(root, "span", { class: "vs-river-about", text: rest.filter((one) => one !== "").join(" · ") }),
    );
    into.title = set.title;
  };

  /** Appends rows of change sets grouped by day. */
  const rowsOf = (more: TimelineSet[]): Row[] =>
    more.flatMap((set): Row[] => {
      const date = new Date(set.time).toDateString();
      const isNew = date !== lastDay;
      lastDay = date;
      return isNew ? [{ day: dayName(set.time, parts.now()) }, { set }] : [{ set }];
    });

  const load = async (more = false): Promise<void> => {
    const now = ++request;
    isLoading = true;
    const params: TimelineParams = { limit: PAGE };
    const before = more ? next : from;
    if (before !== undefined) params.before = before;
    if (note.value.trim() !== "") params.path = note.value.trim();
    const actor = ACTORS.find(([one]) => one === by.value)?.[0];
    if (actor !== undefined) params.by = actor;
    if (tool.value.trim() !== "") params.tool = tool.value.trim();
    try {
      const answer = await connection.call("_vault/timeline", params);
      if (now !== request || scope.ended) return;
      next = answer.next;
      if (answer.days) {
        strip.set(answer.days);
        const drawn = calendar(root, answer.days, parts.now(), ({ last }) => {
          strip.go(last);
          goTo(last, 0);
        });
        days.querySelector(".vs-calendar")?.remove();
        days.append(drawn);
        show(days, answer.days.length > 0);
        lastWeek();
      }
      if (!more) lastDay = "";
      const made = rowsOf(answer.sets);
      if (more) list.add(made);
      else list.set(made);
      setText(status, !more && made.length === 0 ? "No changes match" : "");
    } catch (error) {
      if (now === request) setText(status, errorText(error));
    }
    if (now === request) isLoading = false;
    show(status, status.textContent !== "");
  };

  /** Moves the beginning of the list to the end of a day, or to now. */
  const goTo = (last: number | null, pause: number): void => {
    from = last === null ? undefined : last + 1;
    show(present, last !== null);
    again(pause);
  };

  const choose = async (set: TimelineSet): Promise<void> => {
    shown?.end();
    const own = scope.child();
    const undoing = new Set([set.id]);
    shown = { id: set.id, undoing, end: () => own.end() };
    clear(detail);
    show(detail, true);
    root.classList.add("has-detail");
    const back = textButton(root, "Back to the list", "vs-small vs-time-back");
    back.addEventListener("click", leave);
    const actor = ACTORS.find(([one]) => one === set.by)?.[1] ?? set.by;
    const who = set.caller === "" || set.caller === set.by ? sentence(actor) : `${sentence(actor)} (${set.caller})`;
    const when = new Date(set.time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
    const about = [who, when, set.tools.join(", "), set.undoes === undefined ? "" : `undoes ${set.undoes}`];
    append(
      detail,
      back,
      element(root, "h3", { class: "vs-time-about-title", text: visible(sentence(set.title.replace(/`/g, ""))), attributes: { dir: "auto" } }),
      element(root, "p", { class: "vs-time-about", text: about.filter((one) => one !== "").join(" · ") }),
    );
    detail.focus({ preventScroll: true });
    try {
      const answer = await connection.call("_vault/diff", { changeSet: set.id });
      if (own.ended) return;
      const info: ChangeSetInfo = {
        id: set.id,
        title: answer.title,
        time: set.time,
        caller: set.caller,
        changes: answer.changes.map(({ id, action, path, from: was }) => ({ id, action, path, ...(was === undefined ? {} : { from: was }) })),
        total: answer.total,
      };
      for (const { undoneBy } of answer.changes) if (undoneBy !== undefined) undoing.add(undoneBy);
      const entry: ChangesEntry = {
        kind: "changes",
        key: `time:${set.id}`,
        turn: null,
        sets: [{ info, undone: set.undone, undoneChanges: new Map() }],
      };
      const card = changesView(parts);
      own.add(() => card.end?.());
      card.update?.(entry);
      append(detail, card.root, asOf(parts, set, own));
    } catch (error) {
      if (!own.ended) append(detail, element(root, "p", { class: "vs-list-note", text: errorText(error), attributes: { role: "alert" } }));
    }
  };

  /** Redraws a change set after its undo or redo. */
  const refresh = async (id: number): Promise<void> => {
    const answer = await connection.call("_vault/timeline", { before: id + 1, limit: 1 }).catch(() => null);
    const set = answer?.sets[0];
    if (set?.id === id && shown?.id === id) await choose(set);
  };

  const leave = (): void => {
    shown?.end();
    shown = null;
    root.classList.remove("has-detail");
    show(detail, false);
    list.root.focus({ preventScroll: true });
  };
  const close = (): void => {
    if (scope.ended) return;
    shown?.end();
    scope.end();
    root.remove();
    closed();
  };

  const again = (pause: number): void => {
    wait?.();
    wait = scope.after(pause, () => {
      list.toStart();
      void load();
    });
  };
  scope.listen(note, "input", () => again(PAUSE));
  scope.listen(tool, "input", () => again(PAUSE));
  scope.listen(by, "change", () => again(0));
  scope.listen(away, "click", close);
  scope.listen(present, "click", () => {
    strip.go(null);
    goTo(null, 0);
    list.root.focus({ preventScroll: true });
  });
  scope.listen(root, "keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    if (shown) leave();
    else if (!isAlone) close();
  });
  scope.add(connection.on("_vault/changes", ({ changeSet }) => {
    // The scroll position stays; new rows are at the top.
    if (from === undefined && list.root.scrollTop === 0) again(PAUSE);
    if (shown?.undoing.has(parseInt(changeSet.undoes ?? "", 10))) void refresh(shown.id);
  }));
  const resized = (): void => list.draw();
  const window = root.ownerDocument.defaultView;
  if (window) scope.listen(window, "resize", resized);
  // The next connection brings the changes that happened without one.
  scope.add(connection.onSnapshot(() => again(0)));
  if (connection.state.kind === "connected") void load();
  return {
    root,
    close,
    only(path) {
      note.value = path;
      if (shown) leave();
      again(0);
    },
  };
}

/** `Today`, `Yesterday`, otherwise the date. */
function dayName(time: string, now: Date): string {
  const date = new Date(time);
  const yesterday = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
  if (date.toDateString() === now.toDateString()) return "Today";
  if (date.toDateString() === yesterday.toDateString()) return "Yesterday";
  const year = date.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return date.toLocaleDateString([], { weekday: "short", day: "numeric", month: "long", year });
}
