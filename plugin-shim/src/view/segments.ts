/**
 * Cuts Markdown that is still arriving into final pieces, so that each is parsed and drawn once. The last piece stays
 * open, and is small however long the text is.
 */

/** A piece of a text. */
export type Segment =
  | {
      kind: "markdown";
      text: string;
      /** Continues the block of the previous piece: a paragraph, a list. */
      continues: boolean;
      /** The column widths of a table that is cut, in characters: the same in each of its pieces. */
      columns?: number[];
    }
  | {
      kind: "code";
      /** The text after the fence. */
      info: string;
      text: string;
      /** Continues the code of the previous piece. */
      continues: boolean;
    };

/** The lines and characters from which a piece is cut at the next good position. */
const LINES = 16;
const CHARACTERS = 3_000;
/** The length from which a piece is cut at any character. */
const MOST = 12_000;
/** The lines of code in one piece. */
export const CODE_LINES = 100;

const FENCE = /^([ \t]*)(`{3,}|~{3,})[ \t]*(.*)$/;
const MARKER = /^([ \t]*)(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$)/;
const DELIMITER = /^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

const CALLOUT = /^ {0,3}> ?\[!/;

type Kind = "paragraph" | "list" | "table" | "callout" | "math";

/** The open code block. */
interface Fence {
  mark: string;
  indent: number;
  info: string;
  continues: boolean;
}

export class Segments {
  #lines: string[] = [];
  #size = 0;
  #kind: Kind | null = null;
  #indent = 0;
  #blank = false;
  #continues = false;
  #columns?: number[];
  /** The indentation of the previous code block. */
  #under = 0;
  #fence: Fence | null = null;
  /** The last line, which may be incomplete. */
  #partial = "";
  #settled: Segment[] = [];

  /** Appends text. */
  write(text: string): void {
    let from = 0;
    for (;;) {
      const end = text.indexOf("\n", from);
      if (end < 0) break;
      const line = this.#partial + text.slice(from, end);
      this.#partial = "";
      from = end + 1;
      this.#line(line.endsWith("\r") ? line.slice(0, -1) : line);
    }
    this.#partial += text.slice(from);
    while (this.#partial.length > MOST) this.#cutPartial();
  }

  /** Marks the text as complete. */
  finish(): void {
    if (this.#partial !== "") {
      const last = this.#partial;
      this.#partial = "";
      this.#line(last);
    }
    this.#settle(false);
    this.#fence = null;
  }

  /** Removes and returns final pieces, at most `most`. */
  take(most = Infinity): Segment[] {
    return this.#settled.splice(0, most);
  }

  /** Whether there are final pieces. */
  get hasSettled(): boolean {
    return this.#settled.length > 0;
  }

  /** The piece that may still change; null if it is empty. */
  open(): Segment | null {
    const lines = this.#partial === "" ? this.#lines : [...this.#lines, this.#partial];
    if (lines.every((line) => line.trim() === "")) return this.#fence && this.#openFence(lines);
    if (this.#fence) return this.#openFence(lines);
    const text = lines.join("\n");
    // An incomplete formula is drawn as a formula, without half of its end mark.
    if (this.#kind === "math" || (this.#kind === null && isMath(text))) {
      const formula = text.replace(/\$$/, "");
      return formula.replace("$", "").trim().length <= 1 ? null : { kind: "markdown", text: `${formula}$$`, continues: false };
    }
    return { kind: "markdown", text, continues: this.#continues, columns: this.#columns };
  }

  #openFence(lines: string[]): Segment | null {
    if (!this.#fence) return null;
    const { info, continues } = this.#fence;
    // A partial closing fence is not code.
    const shown = /^[ \t]*(`+|~+)$/.test(this.#partial) ? lines.slice(0, -1) : lines;
    return { kind: "code", info, text: shown.join("\n"), continues };
  }

  #line(line: string): void {
    if (this.#fence) this.#codeLine(line, this.#fence);
    else this.#textLine(line);
  }

  #codeLine(line: string, fence: Fence): void {
    const close = FENCE.exec(line);
    if (close?.[2]?.startsWith(fence.mark) && close[3]?.trim() === "") {
      this.#settle(false);
      this.#under = fence.indent;
      this.#fence = null;
      return;
    }
    this.#push(unindented(line, fence.indent));
    if (this.#lines.length >= CODE_LINES || this.#size >= CHARACTERS) this.#settle(true);
  }

  #textLine(line: string): void {
    if (this.#kind === "math" && this.#size + line.length < MOST) {
      this.#push(line);
      if (line.includes("$$")) this.#settle(false);
      return;
    }
    // A continuation after code in a list is indented like the code, and would become code itself.
    const blanks = /^[ \t]*/.exec(line)?.[0].length ?? 0;
    if (blanks < this.#under && blanks < line.length) this.#under = 0;
    line = unindented(line, this.#under);
    if (line.trim() === "") {
      this.#blank = true;
      if (this.#lines.length > 0) this.#push(line);
      return;
    }
    const fence = FENCE.exec(line);
    if (fence && this.#canBegin(fence)) {
      this.#settle(false);
      const [, indent = "", mark = "", info = ""] = fence;
      this.#fence = { mark, indent: indent.length, info: info.trim(), continues: false };
      return;
    }
    if (this.#blank && this.#lines.length > 0 && !this.#goesOn(line)) this.#settle(false);
    else if (this.#isFull(line)) this.#settle(true);
    this.#blank = false;
    this.#begin(line);
    this.#push(line);
    if (this.#kind === "paragraph" && this.#lines.length === 2 && this.#isTable(line)) this.#kind = "table";
  }

  /** Whether a fence may begin here: four blanks before it make it text, except in a list. */
  #canBegin([, indent = "", mark = "", info = ""]: RegExpExecArray): boolean {
    if (mark.startsWith("`") && info.includes("`")) return false;
    return indent.length < 4 || this.#kind === "list";
  }

  #begin(line: string): void {
    if (this.#kind !== null) return;
    const marker = MARKER.exec(line);
    this.#kind = marker ? "list" : CALLOUT.test(line) ? "callout" : isMath(line) ? "math" : "paragraph";
    this.#indent = marker?.[1]?.length ?? 0;
  }

  #isTable(delimiter: string): boolean {
    return delimiter.includes("-") && DELIMITER.test(delimiter) && (this.#lines[0]?.includes("|") ?? false);
  }

  /** Whether a line after a blank line belongs to the open block. */
  #goesOn(line: string): boolean {
    return this.#kind === "list" && (/^(?:[ \t]{2,}|\t)/.test(line) || MARKER.test(line));
  }

  /** Whether the open piece is long enough to cut it before this line. */
  #isFull(line: string): boolean {
    if (this.#lines.length < LINES && this.#size < CHARACTERS) return false;
    if (this.#size + line.length >= MOST) return true;
    // The rest would lose its meaning.
    if (this.#kind === "callout") return this.#size >= 2 * CHARACTERS;
    if (this.#kind !== "list") return true;
    const marker = MARKER.exec(line);
    return marker !== null && (marker[1]?.length ?? 0) <= this.#indent;
  }

  #push(line: string): void {
    this.#lines.push(line);
    this.#size += line.length + 1;
  }

  /** Makes the open piece final; `cut` if the following text continues it. */
  #settle(cut: boolean): void {
    const fence = this.#fence, continues = this.#continues, kind = this.#kind, lines = this.#lines;
    this.#lines = [];
    this.#size = 0;
    this.#blank = false;
    if (fence) {
      if (lines.length > 0 || !fence.continues) {
        const { info, continues: goesOn } = fence;
        this.#settled.push({ kind: "code", info, text: lines.join("\n"), continues: goesOn });
      }
      fence.continues = true;
      return;
    }
    this.#continues = cut;
    if (cut && kind === "table") this.#columns ??= widths(lines);
    if (lines.some((line) => line.trim() !== "")) {
      this.#settled.push({ kind: "markdown", text: lines.join("\n"), continues, columns: this.#columns });
    }
    if (!cut) {
      this.#kind = null;
      this.#columns = undefined;
    }
    if (cut && kind === "table") {
      // Rows of a table are meaningless without its head.
      const [head = "", delimiter = ""] = lines;
      this.#push(head);
      this.#push(delimiter);
    }
  }

  /** Cuts a line that is too long. */
  #cutPartial(): void {
    const blank = this.#partial.lastIndexOf(" ", MOST);
    let at = blank > MOST / 2 ? blank : MOST;
    const code = this.#partial.charCodeAt(at - 1);
    // Not within a surrogate pair.
    if (code >= 0xd800 && code < 0xdc00) at -= 1;
    const line = this.#partial.slice(0, at);
    this.#partial = this.#partial.slice(at);
    if (!this.#fence) this.#begin(line);
    this.#push(this.#fence ? unindented(line, this.#fence.indent) : line);
    this.#settle(true);
  }
}

/** The width of each column's widest cell in characters, limited. */
function widths([head = "", , ...rows]: string[]): number[] {
  const cells = (row: string): string[] => row.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/);
  const bounded = (most: number, row: string[], at: number): number => Math.min(40, Math.max(most, row[at]?.trim().length ?? 0));
  const all = [head, ...rows].map(cells);
  return cells(head).map((_, at) => all.reduce((most, row) => bounded(most, row, at), 4));
}

/** Whether a formula begins that ends on a later line. */
function isMath(line: string): boolean {
  return /^ {0,3}\$\$/.test(line) && line.indexOf("$$") === line.lastIndexOf("$$");
}

function unindented(line: string, columns: number): string {
  let at = 0;
  while (at < columns && (line[at] === " " || line[at] === "\t")) at += 1;
  return line.slice(at);
}
