/** The hunks of a diff, and how the lines of one are put back into the text of now. Pure. */

import type { DiffLine } from "./diff";

/** Some lines that a change made. */
export interface Hunk {
  /** The lines before and after the change, with those around them. */
  before: string[];
  after: string[];
  /** Where they begin in the text after the change, from 0. */
  start: number;
}

/** An edit of lines, as `edit_file` takes it. */
export type LineEdit =
  | { replace_lines: { start: number; end: number }; content: string }
  | { delete_lines: { start: number; end: number } }
  | { insert_before_line: number; content: string }
  | { insert_after_line: number; content: string };

/** The hunks of a diff, by the line of it that each begins with. One that left nothing is none: the file was emptied. */
export function hunksOf(lines: DiffLine[]): Map<DiffLine, Hunk> {
  const found = new Map<DiffLine, Hunk>();
  let first: DiffLine | null = null;
  let hunk: Hunk | null = null;
  const end = (): void => {
    if (first && hunk && hunk.after.length > 0) found.set(first, hunk);
    first = hunk = null;
  };
  for (const line of lines) {
    if (line.kind === "gap") end();
    if (line.kind === "gap" || line.kind === "note") continue;
    first ??= line;
    hunk ??= { before: [], after: [], start: 0 };
    const text = line.text.replace(/\r$/, "");
    if (line.kind !== "added") hunk.before.push(text);
    if (line.kind === "removed") continue;
    if (hunk.after.length === 0) hunk.start = (line.new ?? 1) - 1;
    hunk.after.push(text);
  }
  end();
  return found;
}

/** The edit that puts the lines of a hunk back into a text: at the match nearest to their old place; null if there is none. */
export function putBack(hunk: Hunk, text: string): LineEdit | null {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  const { before, after } = hunk;
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const whole = placesOf(after, lines).sort((one, other) => Math.abs(one - hunk.start) - Math.abs(other - hunk.start))[0];
  const own = after.slice(head, after.length - tail);
  // The surrounding lines have changed since: the old lines themselves give the place, if they occur once.
  const alone = whole === undefined && own.length > 0 ? placesOf(own, lines) : [];
  const start = whole !== undefined ? whole + head : alone.length === 1 ? alone[0] : undefined;
  if (start === undefined) return null;
  const back = before.slice(head, before.length - tail);
  const content = back.map((line) => `${line}\n`).join("");
  const range = { start: start + 1, end: start + own.length };
  if (own.length > 0) return back.length === 0 ? { delete_lines: range } : { replace_lines: range, content };
  return start < lines.length ? { insert_before_line: start + 1, content } : { insert_after_line: -1, content };
}

/** The line, from 0, at which a pending hunk begins in a text: the match nearest to its original line. Null if its lines have changed. */
export function placed(lines: DiffLine[], text: string[]): number | null {
  const before = lines.flatMap((line) => (line.kind === "same" || line.kind === "removed" ? [line] : []));
  const [first] = before;
  const wanted = (first?.old ?? 1) - 1;
  const near = (one: number, other: number): number => Math.abs(one - wanted) - Math.abs(other - wanted);
  return placesOf(before.map((line) => line.text), text).sort(near)[0] ?? null;
}

/** Where lines stand among others. */
function placesOf(wanted: string[], lines: string[]): number[] {
  const found: number[] = [];
  for (let at = 0; at + wanted.length <= lines.length; at++) {
    if (wanted.every((line, more) => line === lines[at + more])) found.push(at);
  }
  return found;
}
