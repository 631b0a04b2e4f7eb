/** A list of rows of equal height; only the visible ones are in the page. */

import { box, element } from "./dom";
import type { Scope } from "./scope";

/** The number of rows drawn beyond each end of the visible part. */
const SPARE = 8;
/** The number of rows before the end at which more are requested. */
const AHEAD = 100;

export interface Rows<T> {
  root: HTMLElement;
  /** Shows these rows; the active row stays. */
  set(rows: T[]): void;
  /** Appends rows. */
  add(rows: T[]): void;
  /** Redraws the visible rows. */
  draw(): void;
  toStart(): void;
}

export interface RowsOf<T> {
  label: string;
  /** The height of a row in pixels. */
  height: number;
  /** The permanent key of a row. */
  key(row: T): string;
  /** Whether a row can be selected; others are headings. */
  isChoice(row: T): boolean;
  fill(into: HTMLElement, row: T): void;
  choose(row: T): void;
  /** Called near the end, to load more rows. */
  nearEnd(): void;
}

/** A listbox with arrow-key navigation. */
export function rows<T>(near: Node, scope: Scope, of: RowsOf<T>): Rows<T> {
  const attributes = { role: "listbox", tabindex: 0, "aria-label": of.label };
  const root = element(near, "div", { class: "vs-river", attributes });
  const whole = box(near, "vs-river-all");
  whole.setAttribute("role", "presentation");
  root.append(whole);
  const id = `vs-river-${Math.random().toString(36).slice(2)}`;
  let all: T[] = [];
  let active: string | null = null;
  let chosen: string | null = null;
  const drawn = new Map<string, HTMLElement>();
  let isWaiting = false;

  const at = (): number => (active === null ? -1 : all.findIndex((row) => of.isChoice(row) && of.key(row) === active));

  const draw = (): void => {
    isWaiting = false;
    whole.style.height = `${all.length * of.height}px`;
    const first = Math.max(0, Math.floor(root.scrollTop / of.height) - SPARE);
    const last = Math.min(all.length, Math.ceil((root.scrollTop + root.clientHeight) / of.height) + SPARE);
    const wanted = new Set<string>();
    for (let index = first; index < last; index++) {
      const row = all[index];
      if (row === undefined) continue;
      const key = of.key(row);
      wanted.add(key);
      let made = drawn.get(key);
      if (!made) {
        made = box(root, of.isChoice(row) ? "vs-river-row" : "vs-river-day");
        made.setAttribute("role", of.isChoice(row) ? "option" : "presentation");
        made.dataset["key"] = key;
        of.fill(made, row);
        drawn.set(key, made);
        whole.append(made);
      }
      made.style.transform = `translateY(${index * of.height}px)`;
      if (!of.isChoice(row)) continue;
      made.id = `${id}-${key}`;
      made.setAttribute("aria-selected", String(key === chosen));
      made.setAttribute("aria-posinset", String(index + 1));
      made.setAttribute("aria-setsize", String(all.length));
      made.classList.toggle("is-active", key === active);
    }
    for (const [key, made] of drawn) {
      if (wanted.has(key)) continue;
      made.remove();
      drawn.delete(key);
    }
    if (active !== null && drawn.has(active)) root.setAttribute("aria-activedescendant", `${id}-${active}`);
    else root.removeAttribute("aria-activedescendant");
    if (last >= all.length - AHEAD && all.length > 0) of.nearEnd();
  };

  const later = (): void => {
    if (isWaiting) return;
    isWaiting = true;
    scope.frame(draw);
  };

  const go = (index: number, step: 1 | -1): void => {
    let to = Math.max(0, Math.min(all.length - 1, index));
    for (let row = all[to]; row !== undefined && !of.isChoice(row); row = all[to]) to += step;
    const row = all[to];
    if (row === undefined) return;
    active = of.key(row);
    const top = to * of.height;
    if (top < root.scrollTop) root.scrollTop = Math.max(0, top - of.height);
    else if (top + of.height > root.scrollTop + root.clientHeight) root.scrollTop = top + of.height - root.clientHeight;
    draw();
  };

  const choose = (row: T | undefined): void => {
    if (row === undefined || !of.isChoice(row)) return;
    active = chosen = of.key(row);
    draw();
    of.choose(row);
  };

  scope.listen(root, "scroll", later);
  scope.listen(root, "focus", () => {
    if (at() < 0) go(0, 1);
  });
  scope.listen(root, "click", (event) => {
    const key = (event.target as Element).closest<HTMLElement>("[data-key]")?.dataset["key"];
    choose(all.find((row) => of.key(row) === key));
  });
  scope.listen(root, "keydown", (event) => {
    const page = Math.max(1, Math.floor(root.clientHeight / of.height) - 1);
    const now = at();
    if (event.key === "ArrowDown") go(now + 1, 1);
    else if (event.key === "ArrowUp") go(now - 1, now - 1 > 0 ? -1 : 1);
    else if (event.key === "PageDown") go(now + page, 1);
    else if (event.key === "PageUp") go(now - page, now - page > 0 ? -1 : 1);
    else if (event.key === "Home") go(0, 1);
    else if (event.key === "End") go(all.length - 1, -1);
    else if (event.key === "Enter" || event.key === " ") choose(all[now]);
    else return;
    event.preventDefault();
  });
  return {
    root,
    set(rows_) {
      all = [...rows_];
      for (const made of drawn.values()) made.remove();
      drawn.clear();
      draw();
    },
    add(rows_) {
      all.push(...rows_);
      draw();
    },
    draw,
    toStart() {
      root.scrollTop = 0;
    },
  };
}
