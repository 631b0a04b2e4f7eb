/** A unified diff as lines to display. */

export type DiffLine =
  | { kind: "same" | "added" | "removed"; text: string; old?: number; new?: number; words?: [number, number] }
  /** The number of omitted lines between two hunks. */
  | { kind: "gap" }
  /** A line that is not part of the text: a missing line end, or a truncated rest. */
  | { kind: "note"; text: string };

export interface Diff {
  lines: DiffLine[];
  added: number;
  removed: number;
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** Parses a unified diff. A line that it cannot parse becomes a note, so that nothing is omitted silently. */
export function parseDiff(text: string): Diff {
  const diff: Diff = { lines: [], added: 0, removed: 0 };
  if (text === "") return diff;
  const lines = text.split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  let old = 0;
  let new_ = 0;
  let inHunk = false;
  for (const line of lines) {
    const hunk = HUNK.exec(line);
    if (hunk) {
      old = Number(hunk[1]);
      new_ = Number(hunk[2]);
      if (inHunk || old > 1 || new_ > 1) diff.lines.push({ kind: "gap" });
      inHunk = true;
    } else if (!inHunk) {
      // The names of the two files.
      if (!/^(---|\+\+\+|diff |index )/.test(line)) diff.lines.push({ kind: "note", text: line });
    } else if (line.startsWith("+")) {
      diff.lines.push({ kind: "added", text: line.slice(1), new: new_++ });
      diff.added += 1;
    } else if (line.startsWith("-")) {
      diff.lines.push({ kind: "removed", text: line.slice(1), old: old++ });
      diff.removed += 1;
    } else if (line.startsWith(" ") || line === "") {
      diff.lines.push({ kind: "same", text: line.slice(1), old: old++, new: new_++ });
    } else {
      diff.lines.push({ kind: "note", text: line.startsWith("\\ ") ? line.slice(2) : line });
    }
  }
  markWords(diff.lines);
  return diff;
}

/** Marks the difference within lines that replace as many others: from the first to the last different word. */
function markWords(lines: DiffLine[]): void {
  for (let start = 0; start < lines.length; start++) {
    const run = (from: number, kind: DiffLine["kind"]): number => {
      let end = from;
      while (lines[end]?.kind === kind) end++;
      return end - from;
    };
    const removed = run(start, "removed");
    if (removed === 0) continue;
    if (run(start + removed, "added") === removed) {
      for (let at = start; at < start + removed; at++) markPair(lines[at], lines[at + removed]);
    }
    start += removed;
  }
}

function markPair(before: DiffLine | undefined, after: DiffLine | undefined): void {
  if (before?.kind !== "removed" || after?.kind !== "added") return;
  const words = (text: string): string[] => text.match(/[\p{L}\p{N}_]+|\s+|./gu) ?? [];
  const [old, new_] = [words(before.text), words(after.text)];
  const most = Math.min(old.length, new_.length);
  let head = 0;
  while (head < most && old[head] === new_[head]) head++;
  let tail = 0;
  while (tail < most - head && old.at(-1 - tail) === new_.at(-1 - tail)) tail++;
  if (head + tail === 0) return;
  const span = (all: string[]): [number, number] => {
    const start = all.slice(0, head).join("").length;
    return [start, start + all.slice(head, all.length - tail).join("").length];
  };
  before.words = span(old);
  after.words = span(new_);
}

/** The inverse of a diff: added lines are removed, and removed lines are added. */
export function reversed({ lines, added, removed }: Diff): Diff {
  const turned = lines.map((line): DiffLine => {
    if (line.kind !== "added" && line.kind !== "removed") return line;
    return { ...line, kind: line.kind === "added" ? "removed" : "added", old: line.new, new: line.old };
  });
  return { lines: turned, added: removed, removed: added };
}

/** `+3 −1` as text for screen readers. */
export function countsSaid(diff: { added: number; removed: number }): string {
  const lines = (count: number): string => (count === 1 ? "1 line" : `${count} lines`);
  return `${lines(diff.added)} added, ${lines(diff.removed)} removed`;
}
