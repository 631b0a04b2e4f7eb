/**
 * The activity of the last half year as a calendar with a column per week. A day's mark grows with its number of turns.
 */

import { append, box, element } from "./dom";
import { counted } from "./format";
import { dayWords } from "./density";
import type { TimelineDay } from "../protocol";

/** The number of weeks. */
const WEEKS = 26;
const DAY = 86_400_000;
/** The numbers of turns at which a mark gets its next size. */
const SIZES = [1, 4, 10, 25];

/** A day as `2026-11-21`. */
export function dayOf(date: Date): string {
  const two = (number: number): string => String(number).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** The days of whole weeks, from a Monday to the day of `now`. */
export function weeksUntil(now: Date, weeks: number): string[][] {
  const noon = new Date(now.getFullYear(), now.getMonth(), now.getDate(), 12);
  const monday = noon.getTime() - ((noon.getDay() + 6) % 7) * DAY;
  return Array.from({ length: weeks }, (_, week) =>
    Array.from({ length: 7 }, (_, day) => dayOf(new Date(monday + (7 * (week - weeks + 1) + day) * DAY))));
}

/** The size of a day's mark, from 0 to 4. */
export function sizeOf(count: number): number {
  return SIZES.filter((from) => count >= from).length;
}

/** Draws the calendar. A day with turns is a button, reachable with the arrow keys; `choose` is called with the day. */
export function calendar(near: Node, days: TimelineDay[], now: Date, choose: (day: TimelineDay) => void): HTMLElement {
  const known = new Map(days.map((day) => [day.day, day]));
  const today = dayOf(now);
  const grid = box(near, "vs-calendar");
  grid.setAttribute("role", "group");
  const buttons: HTMLButtonElement[][] = [];
  let month = "";
  const weeks = weeksUntil(now, WEEKS);
  const all = weeks.flat().reduce((sum, day) => sum + (known.get(day)?.count ?? 0), 0);
  grid.setAttribute("aria-label", `Activity, last ${WEEKS} weeks: ${counted(all, "turn")}`);
  for (const week of weeks) {
    const name = dayWords(week[0] ?? today, { month: "short" });
    const column = box(near, "vs-calendar-week", element(near, "span", { class: "vs-calendar-month", text: name === month ? "" : name, attributes: { "aria-hidden": "true" } }));
    month = name;
    const own: HTMLButtonElement[] = [];
    for (const day of week) {
      const found = known.get(day);
      if (!found || day > today) {
        column.append(element(near, "span", { class: `vs-calendar-day${day > today ? " is-later" : ""}` }));
        continue;
      }
      const label = `${dayWords(day, { weekday: "long", day: "numeric", month: "long" })}: ${counted(found.count, "turn")}`;
      const button = element(near, "button", { class: `vs-calendar-day is-${sizeOf(found.count)}`, attributes: { type: "button", title: label, "aria-label": label, tabindex: -1 } });
      button.addEventListener("click", () => choose(found));
      own.push(button);
      column.append(button);
    }
    buttons.push(own);
    append(grid, column);
  }
  const last = buttons.flat().at(-1);
  if (last) last.tabIndex = 0;
  grid.addEventListener("keydown", (event) => {
    const flat = buttons.flat();
    const at = flat.indexOf(event.target as HTMLButtonElement);
    const step = { ArrowUp: -1, ArrowDown: 1, Home: -at, End: flat.length - 1 - at }[event.key];
    const week = buttons.findIndex((own) => own.includes(event.target as HTMLButtonElement));
    let to = step === undefined ? undefined : flat[at + step];
    if (event.key === "ArrowLeft") to = buttons.slice(0, Math.max(0, week)).flat().at(-1);
    if (event.key === "ArrowRight") to = week < 0 ? undefined : buttons.slice(week + 1).flat()[0];
    if (at < 0 || !/^(Arrow|Home|End)/.test(event.key)) return;
    event.preventDefault();
    if (!to) return;
    for (const one of flat) one.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  });
  return grid;
}
