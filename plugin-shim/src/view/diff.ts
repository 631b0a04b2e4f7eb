/** A unified diff as lines to show. */

export type DiffLine =
  | { kind: "same" | "added" | "removed"; text: string; old?: number; new?: number }
  /** Lines that are left out between two places. */
  | { kind: "gap" }
  /** What is no line of the text: that there is no line end, or that the rest is cut. */
  | { kind: "note"; text: string };

export interface Diff {
  lines: DiffLine[];
  added: number;
  removed: number;
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** Reads a unified diff; what it cannot read is a note, so that nothing is left out silently. */
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
      // Names of the two files.
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
  return diff;
}

/** What taking the changes of a diff back does: what was added is lost, and what was removed comes back. */
export function reversed({ lines, added, removed }: Diff): Diff {
  const turned = lines.map((line): DiffLine => {
    if (line.kind !== "added" && line.kind !== "removed") return line;
    return { kind: line.kind === "added" ? "removed" : "added", text: line.text, old: line.new, new: line.old };
  });
  return { lines: turned, added: removed, removed: added };
}

/** `+3 −1`, as it is said. */
export function countsSaid(diff: { added: number; removed: number }): string {
  const lines = (count: number): string => (count === 1 ? "1 line" : `${count} lines`);
  return `${lines(diff.added)} added, ${lines(diff.removed)} removed`;
}
