/** The time machine: what changed the vault, who did it, and how everything was then. */

import type { Actor, AsOfResult, ChangeSetInfo, TimelineDay, TimelineParams, TimelineSet } from "../protocol";
import { append, box, clear, element, setText, show } from "./dom";
import { counted, noteName, sentence, visible } from "./format";
import { iconButton, iconOf, type Parts, textButton } from "./part";
import { changesView } from "./changes";
import type { ChangesEntry } from "./timeline";
import { rows } from "./rows";
import { said } from "../call-error";

/** Change sets that are asked for at once. */
const PAGE = 200;
/** Pixels of a row. */
const ROW = 46;
/** Bars of the strip at most. */
const BARS = 90;
/** Files that are listed of the vault at one time. */
const FILES = 300;
/** Milliseconds without a key until it is searched. */
const PAUSE = 250;

/** Who can have changed something, in words. */
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

/** The panel over the conversation; `closed` hears when it has gone. */
export function timeMachine(parts: Parts, closed: () => void): { root: HTMLElement; close(): void } {
  const scope = parts.scope.child();
  const { connection } = parts;
  const root = element(parts.root, "section", { class: "vs-list-panel vs-machine", attributes: { "aria-label": "Time machine" } });
  const away = iconButton(parts, "x", "Close the time machine");
  const title = element(root, "h2", { class: "vs-time-title", text: "Time machine" });
  const note = element(root, "input", { class: "vs-time-field", attributes: { type: "search", placeholder: "Note or folder", "aria-label": "Only changes of this note or folder", dir: "auto" } });
  const by = element(root, "select", { class: "dropdown vs-time-field", attributes: { "aria-label": "Only changes made by" } });
  by.append(element(root, "option", { text: "By anybody", attributes: { value: "" } }));
  for (const [actor, words] of ACTORS) by.append(element(root, "option", { text: `By ${words}`, attributes: { value: actor } }));
  const tool = element(root, "input", { class: "vs-time-field", attributes: { type: "search", placeholder: "Tool", "aria-label": "Only changes made with this tool", dir: "auto" } });
  const strip = box(root, "vs-strip");
  const bars = box(root, "vs-strip-bars");
  bars.setAttribute("aria-hidden", "true");
  const moment = element(root, "input", { class: "vs-strip-moment", attributes: { type: "range", min: 0, max: 0, value: 0, "aria-label": "Day" } });
  strip.append(bars, moment);
  const present = textButton(root, "Back to now", "vs-small");
  const status = element(root, "div", { class: "vs-list-note", attributes: { role: "status" } });
  const detail = element(root, "div", { class: "vs-time-detail", attributes: { role: "region", "aria-label": "The chosen change", tabindex: -1 } });

  let sets: TimelineSet[] = [];
  let days: TimelineDay[] = [];
  let next: number | undefined;
  /** The change set before which the list begins, where it does not begin now. */
  let from: number | undefined;
  let request = 0;
  let isLoading = false;
  let wait: (() => void) | null = null;
  /** Ends what the shown change set holds. */
  let shown: { id: number; end(): void } | null = null;

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
    box(root, "vs-list-head", iconOf(parts, "rotate-ccw"), title, present, away),
    box(root, "vs-time-filters", note, by, tool),
    strip,
    box(root, "vs-time-body", box(root, "vs-time-list", list.root, status), detail),
  );
  show(present, false);
  show(detail, false);

  const fillRow = (into: HTMLElement, set: TimelineSet): void => {
    const actor = ACTORS.find(([one]) => one === set.by)?.[1] ?? set.by;
    into.classList.add(`is-by-${set.by}`);
    into.classList.toggle("is-undone", set.undone);
    const files = set.paths.map(noteName).join(", ");
    const rest = [clock(set.time), actor, counted(set.total, "change"), set.undone ? "undone" : ""];
    append(
      into,
      element(root, "span", { class: "vs-river-title", text: visible(files === "" ? set.title : files), attributes: { dir: "auto" } }),
      element(root, "span", { class: "vs-river-about", text: rest.filter((one) => one !== "").join(" · ") }),
    );
    into.title = set.title;
  };

  const rowsOf = (): Row[] => {
    let last = "";
    return sets.flatMap((set): Row[] => {
      const day = dayName(set.time, parts.now());
      const isNew = day !== last;
      last = day;
      return isNew ? [{ day }, { set }] : [{ set }];
    });
  };

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
      sets = more ? [...sets, ...answer.sets] : answer.sets;
      next = answer.next;
      if (answer.days) {
        days = answer.days;
        drawStrip();
      }
      list.set(rowsOf());
      setText(status, sets.length === 0 ? "No changes match" : "");
    } catch (error) {
      if (now === request) setText(status, said(error));
    }
    if (now === request) isLoading = false;
    show(status, status.textContent !== "");
  };

  /** The days in groups, as bars over a slider. */
  const groups = (): TimelineDay[][] => {
    const size = Math.max(1, Math.ceil(days.length / BARS));
    const made: TimelineDay[][] = [];
    for (let at = 0; at < days.length; at += size) made.push(days.slice(at, at + size));
    return made;
  };
  const drawStrip = (): void => {
    const all = groups();
    const most = Math.max(1, ...all.map(sum));
    clear(bars);
    for (const group of all) {
      const bar = box(root, "vs-strip-bar");
      bar.style.height = `${Math.max(8, Math.round((100 * sum(group)) / most))}%`;
      bars.append(bar);
    }
    moment.max = String(Math.max(0, all.length - 1));
    if (from === undefined) moment.value = moment.max;
    sayMoment();
    show(strip, days.length > 1);
  };
  const sayMoment = (): void => {
    const group = groups()[Number(moment.value)];
    const last = group?.at(-1);
    moment.setAttribute("aria-valuetext", last === undefined ? "" : `${last.day}, ${counted(sum(group ?? []), "turn")}`);
    [...bars.children].forEach((bar, at) => bar.classList.toggle("is-later", at > Number(moment.value)));
  };

  const choose = async (set: TimelineSet): Promise<void> => {
    shown?.end();
    const own = scope.child();
    shown = { id: set.id, end: () => own.end() };
    clear(detail);
    show(detail, true);
    root.classList.add("has-detail");
    const back = textButton(root, "Back to the list", "vs-small vs-time-back");
    back.addEventListener("click", leave);
    const actor = ACTORS.find(([one]) => one === set.by)?.[1] ?? set.by;
    const who = set.caller === "" ? sentence(actor) : `${sentence(actor)} (${set.caller})`;
    const when = new Date(set.time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
    const about = [who, when, set.tools.join(", "), set.undoes === undefined ? "" : `undoes ${set.undoes}`];
    append(
      detail,
      back,
      element(root, "h3", { class: "vs-time-about-title", text: visible(set.title.replace(/`/g, "")), attributes: { dir: "auto" } }),
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
      const undoneChanges = new Map<string, number>();
      for (const { id, undoneBy } of answer.changes) if (undoneBy !== undefined) undoneChanges.set(id, undoneBy);
      const sole = new Set(undoneChanges.values());
      const undoneBy = set.undone && sole.size === 1 ? [...sole][0] : undefined;
      const entry: ChangesEntry = {
        kind: "changes",
        key: `time:${set.id}`,
        turn: null,
        sets: [{ info, undone: set.undone, undoneChanges, ...(undoneBy === undefined ? {} : { undoneBy }) }],
      };
      const card = changesView(parts);
      own.add(() => card.end?.());
      card.update?.(entry);
      append(detail, card.root, then(set, own));
    } catch (error) {
      if (!own.ended) append(detail, element(root, "p", { class: "vs-list-note", text: said(error), attributes: { role: "alert" } }));
    }
  };

  /** How any note, and the list of all files, was before and after a change set. */
  const then = (set: TimelineSet, own: typeof scope): HTMLElement => {
    const made = element(root, "form", { class: "vs-then" });
    const name = element(root, "input", { class: "vs-time-field", attributes: { type: "search", placeholder: "Note or folder; empty: all files", "aria-label": "Note or folder to show as it was", dir: "auto", value: set.paths[0] ?? "" } });
    const before = textButton(root, "Before", "vs-small");
    const after = textButton(root, "After", "vs-small");
    const shown_ = element(root, "div", { class: "vs-then-shown", attributes: { role: "status" } });
    const look = async (isBefore: boolean): Promise<void> => {
      const at = isBefore ? { changeSet: set.id, before: true } : { changeSet: set.id };
      before.setAttribute("aria-pressed", String(isBefore));
      after.setAttribute("aria-pressed", String(!isBefore));
      try {
        const path = name.value.trim();
        const answer = await connection.call("_vault/as_of", path === "" ? { at } : { path, at });
        if (!own.ended) drawThen(shown_, answer, (chosen) => {
          name.value = chosen;
          void look(isBefore);
        });
      } catch (error) {
        if (own.ended) return;
        clear(shown_);
        shown_.append(element(root, "p", { class: "vs-time-about", text: said(error) }));
      }
    };
    before.addEventListener("click", () => void look(true));
    after.addEventListener("click", () => void look(false));
    own.listen(made, "submit", (event) => {
      event.preventDefault();
      void look(false);
    });
    append(
      made,
      element(root, "h3", { class: "vs-time-about-title", text: `The vault at ${clock(set.time)}` }),
      box(root, "vs-time-filters", name, before, after),
      shown_,
    );
    return made;
  };

  const drawThen = (into: HTMLElement, answer: AsOfResult, choose_: (path: string) => void): void => {
    clear(into);
    if (answer.unsure) into.append(element(root, "p", { class: "vs-then-unsure", text: `Not certain: ${answer.unsure.said}` }));
    if (answer.kind !== "folder") {
      const moved = answer.now !== undefined && answer.now !== answer.path ? `, now ${answer.now}` : answer.now === undefined ? ", gone now" : "";
      into.append(element(root, "p", { class: "vs-time-about", text: visible(`${answer.path}${moved}`), attributes: { dir: "auto" } }));
      const text = answer.text ?? sentence(answer.reason ?? "it cannot be shown");
      into.append(element(root, "pre", { class: "vs-then-text", text: visible(text), attributes: { dir: "auto", tabindex: 0, role: "region", "aria-label": "The text then" } }));
      return;
    }
    const files = (answer.entries ?? []).filter(({ kind }) => kind !== "folder");
    const made = element(root, "ul", { class: "vs-then-files" });
    for (const { path, unsure } of files.slice(0, FILES)) {
      const button = textButton(root, visible(path), "vs-small");
      if (unsure === true) button.append(element(root, "span", { class: "vs-time-about", text: " changed outside since" }));
      button.addEventListener("click", () => choose_(path));
      made.append(element(root, "li", {}, button));
    }
    into.append(made);
    const left = (answer.total ?? 0) - (answer.entries ?? []).length + Math.max(0, files.length - FILES);
    if (left > 0) into.append(element(root, "p", { class: "vs-time-about", text: `and ${left} more; name a folder to see them` }));
  };

  /** Shows a change set anew: it was taken back, or again. */
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

  const again = (): void => {
    wait?.();
    wait = scope.after(PAUSE, () => {
      list.toStart();
      void load();
    });
  };
  scope.listen(note, "input", again);
  scope.listen(tool, "input", again);
  scope.listen(by, "change", again);
  scope.listen(away, "click", close);
  scope.listen(present, "click", () => {
    from = undefined;
    show(present, false);
    again();
    list.root.focus({ preventScroll: true });
  });
  scope.listen(moment, "input", () => {
    const last = groups()[Number(moment.value)]?.at(-1)?.last;
    const isNow = moment.value === moment.max;
    from = isNow || last === undefined ? undefined : last + 1;
    show(present, !isNow);
    sayMoment();
    again();
  });
  scope.listen(root, "keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    if (shown) leave();
    else close();
  });
  scope.add(connection.on("_vault/changes", ({ changeSet }) => {
    // What is read stays where it is; what is new is at the top.
    if (from === undefined && list.root.scrollTop === 0) again();
    if (shown && changeSet.undoes !== undefined) void refresh(shown.id);
  }));
  const resized = (): void => list.draw();
  const window = root.ownerDocument.defaultView;
  if (window) scope.listen(window, "resize", resized);
  void load();
  return { root, close };
}

function sum(days: TimelineDay[]): number {
  return days.reduce((all, { count }) => all + count, 0);
}

function clock(time: string): string {
  return new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

/** `Today`, `Yesterday`, else the date. */
function dayName(time: string, now: Date): string {
  const date = new Date(time);
  const yesterday = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
  if (date.toDateString() === now.toDateString()) return "Today";
  if (date.toDateString() === yesterday.toDateString()) return "Yesterday";
  const year = date.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return date.toLocaleDateString([], { weekday: "short", day: "numeric", month: "long", year });
}
