/** The vault's days as bars above a slider. */

import { box, clear, element, setText, show } from "./dom";
import { counted } from "./format";
import type { Scope } from "./scope";
import type { TimelineDay } from "../protocol";

/** The maximum number of bars. */
const BARS = 90;

export interface Density {
  root: HTMLElement;
  set(days: TimelineDay[]): void;
  /** Selects a day by its last change set, or the present. */
  go(last: number | null): void;
}

/** `listener` is called with the last change set of the selected day; null for the present. */
export function density(near: Node, scope: Scope, listener: (last: number | null) => void): Density {
  const bars = box(near, "vs-strip-bars");
  bars.setAttribute("aria-hidden", "true");
  const slider = element(near, "input", { class: "vs-strip-moment", attributes: { type: "range", min: 0, max: 0, value: 0, "aria-label": "Day" } });
  const words = element(near, "div", { class: "vs-strip-words", attributes: { "aria-hidden": "true" } });
  const root = box(near, "vs-strip", bars, slider, words);
  let groups: TimelineDay[][] = [];
  let isNow = true;

  const draw = (): void => {
    const at = Number(slider.value);
    const group = groups[at] ?? [];
    const [first, last] = [group[0], group.at(-1)];
    const turns = counted(sum(group), "turn");
    const span = first && last ? (first === last ? dayWords(first.day) : `${dayWords(first.day)} to ${dayWords(last.day)}`) : "";
    const label = span === "" ? "" : `${isNow ? "Now" : span} · ${turns}`;
    slider.setAttribute("aria-valuetext", span === "" ? "" : `${span}, ${turns}`);
    setText(words, label);
    words.style.setProperty("--vs-at", String(groups.length > 1 ? at / (groups.length - 1) : 1));
    [...bars.children].forEach((bar, index) => bar.classList.toggle("is-later", index > at));
  };
  scope.listen(slider, "input", () => {
    isNow = slider.value === slider.max;
    draw();
    listener(isNow ? null : (groups[Number(slider.value)]?.at(-1)?.last ?? null));
  });
  show(root, false);
  return {
    root,
    set(days) {
      const size = Math.max(1, Math.ceil(days.length / BARS));
      const chosen = groups[Number(slider.value)]?.at(-1)?.last;
      groups = [];
      for (let at = 0; at < days.length; at += size) groups.push(days.slice(at, at + size));
      const most = Math.max(1, ...groups.map(sum));
      clear(bars);
      for (const group of groups) {
        const bar = box(near, "vs-strip-bar");
        bar.style.height = `${Math.max(8, Math.round((100 * sum(group)) / most))}%`;
        bars.append(bar);
      }
      slider.max = String(Math.max(0, groups.length - 1));
      const at = groups.findIndex((group) => group.some(({ last }) => last === chosen));
      slider.value = isNow || at < 0 ? slider.max : String(at);
      draw();
      show(root, days.length > 1);
    },
    go(last) {
      const at = groups.findIndex((group) => group.some((day) => day.last === last));
      isNow = at < 0;
      slider.value = isNow ? slider.max : String(at);
      draw();
    },
  };
}

function sum(days: TimelineDay[]): number {
  return days.reduce((all, { count }) => all + count, 0);
}

/** Formats `2026-11-21` for people. */
export function dayWords(day: string, options: Intl.DateTimeFormatOptions = { day: "numeric", month: "short" }): string {
  return new Date(`${day}T12:00`).toLocaleDateString([], options);
}
