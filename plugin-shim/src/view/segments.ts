/**
 * Cuts Markdown that is still arriving into pieces that are final, so that each is read and drawn
 * once. What is last stays open and is small, however long the whole is.
 */

/** A piece of a text. */
export type Segment =
  | {
      kind: "markdown";
      text: string;
      /** It goes on with what the piece before began: a paragraph, a list. */
      continues: boolean;
      /** How wide the columns of a table that is cut are, in characters: the same in each of its pieces. */
      columns?: number[];
    }
  | {
      kind: "code";
      /** What stands behind the fence. */
      info: string;
      text: string;
      /** It goes on with the code of the piece before. */
      continues: boolean;
    };

/** Lines and characters from which a piece is cut where it can be. */
const LINES = 16;
const CHARACTERS = 3_000;
/** Characters from which it is cut anywhere. */
const MOST = 12_000;
/** Lines of code in one piece. */
const CODE_LINES = 100;

const FENCE = /^([ \t]*)(`{3,}|~{3,})[ \t]*(.*)$/;
const MARKER = /^([ \t]*)(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$)/;
const DELIMITER = /^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

const CALLOUT = /^ {0,3}> ?\[!/;

type Kind = "paragraph" | "list" | "table" | "callout" | "math";

/** The code block that is open. */
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
  /** How far the code before was indented. */
  #under = 0;
  #fence: Fence | null = null;
  /** The last line, which may not be whole yet. */
  #partial = "";
  #settled: Segment[] = [];

  /** Takes more of the text. */
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

  /** Nothing more comes. */
  finish(): void {
    if (this.#partial !== "") {
      const last = this.#partial;
      this.#partial = "";
      this.#line(last);
    }
    this.#settle(false);
    this.#fence = null;
  }

  /** The pieces that became final since the last time, at most `most` of them. */
  take(most = Infinity): Segment[] {
    return this.#settled.splice(0, most);
  }

  /** Whether final pieces wait to be taken. */
  get hasSettled(): boolean {
    return this.#settled.length > 0;
  }

  /** What may still change; null where there is nothing. */
  open(): Segment | null {
    const lines = this.#partial === "" ? this.#lines : [...this.#lines, this.#partial];
    if (lines.every((line) => line.trim() === "")) return this.#fence && this.#openFence(lines);
    if (this.#fence) return this.#openFence(lines);
    const text = lines.join("\n");
    // A formula of which the end has not come is drawn as one, without half of the mark that ends it.
    if (this.#kind === "math" || (this.#kind === null && isMath(text))) {
      const formula = text.replace(/\$$/, "");
      return formula.replace("$", "").trim().length <= 1 ? null : { kind: "markdown", text: `${formula}$$`, continues: false };
    }
    return { kind: "markdown", text, continues: this.#continues, columns: this.#columns };
  }

  #openFence(lines: string[]): Segment | null {
    if (!this.#fence) return null;
    const { info, continues } = this.#fence;
    // The half of a closing fence is no code.
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
    // What goes on behind code in a list is indented like the code, and would be code itself.
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

  /** Whether a fence may begin here: four blanks before it make it text, but in a list. */
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

  /** Whether a line behind a blank one belongs to what is open. */
  #goesOn(line: string): boolean {
    return this.#kind === "list" && (/^(?:[ \t]{2,}|\t)/.test(line) || MARKER.test(line));
  }

  /** Whether enough is open to be cut before this line. */
  #isFull(line: string): boolean {
    if (this.#lines.length < LINES && this.#size < CHARACTERS) return false;
    if (this.#size + line.length >= MOST) return true;
    // What goes on would have lost what it is.
    if (this.#kind === "callout") return this.#size >= 2 * CHARACTERS;
    if (this.#kind !== "list") return true;
    const marker = MARKER.exec(line);
    return marker !== null && (marker[1]?.length ?? 0) <= this.#indent;
  }

  #push(line: string): void {
    this.#lines.push(line);
    this.#size += line.length + 1;
  }

  /** Makes what is open final; `cut` where what follows goes on with it. */
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
      // Rows mean nothing without the head.
      const [head = "", delimiter = ""] = lines;
      this.#push(head);
      this.#push(delimiter);
    }
  }

  /** Cuts a line that does not end. */
  #cutPartial(): void {
    const blank = this.#partial.lastIndexOf(" ", MOST);
    let at = blank > MOST / 2 ? blank : MOST;
    const code = this.#partial.charCodeAt(at - 1);
    // Not within a pair that is one character.
    if (code >= 0xd800 && code < 0xdc00) at -= 1;
    const line = this.#partial.slice(0, at);
    this.#partial = this.#partial.slice(at);
    if (!this.#fence) this.#begin(line);
    this.#push(this.#fence ? unindented(line, this.#fence.indent) : line);
    this.#settle(true);
  }
}

/** Characters of the widest cell of each column, within reason. */
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
