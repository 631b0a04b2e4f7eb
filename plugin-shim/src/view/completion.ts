/** Completion in the input field: `@` or `[[` begins a note or a folder, `#` a tag, and `/` a command. */

export interface Mention {
  kind: "note" | "tag" | "command";
  /** The offset of the sign that begins it. */
  from: number;
  /** The offset of the cursor. */
  to: number;
  /** The text between them. */
  text: string;
}

/** The maximum length of a name. */
const LONGEST = 80;

/** The mention before the cursor; null if there is none. */
export function mentionAt(text: string, cursor: number): Mention | null {
  // A message that consists of a command.
  const command = /^\/([\p{L}\p{N}-]*)$/u.exec(text);
  if (command && cursor === text.length) return { kind: "command", from: 0, to: cursor, text: command[1] ?? "" };
  const line = text.slice(Math.max(0, cursor - LONGEST - 1), cursor);
  const start = cursor - line.length;
  const link = line.lastIndexOf("[[");
  const linked = line.slice(link + 2);
  if (link >= 0 && !/[\]|#\n]/.test(linked)) return { kind: "note", from: start + link, to: cursor, text: linked };
  const tag = /(?:^|[\s([{"'])#([\p{L}\p{N}_/-]*)$/u.exec(line)?.[1];
  // A number is not a valid tag.
  if (tag !== undefined && !/^\d+$/.test(tag) && (start === 0 || tag.length + 1 < line.length)) return { kind: "tag", from: cursor - tag.length - 1, to: cursor, text: tag };
  const at = line.lastIndexOf("@");
  if (at < 0) return null;
  const typed = line.slice(at + 1);
  // `name@example.org` is not a mention, and two blanks or a line end close a mention.
  const before = line[at - 1];
  if (before !== undefined && !/[\s([{"'“‘«]/.test(before)) return null;
  if (start > 0 && at === 0) return null;
  if (/\n| {2}|^ /.test(typed) || typed.includes("]]")) return null;
  return { kind: "note", from: start + at, to: cursor, text: typed };
}

/**
 * Replaces the mention by a link to the path `name`, or by the tag `name`; returns the text and the new cursor
 * position. The link shows `alias` if it is given.
 */
export function completed(text: string, mention: Mention, name: string, alias?: string): { text: string; cursor: number } {
  const linkpath = name.endsWith(".md") ? name.slice(0, -3) : name;
  // These characters would end the link or begin another one.
  const shown = alias === undefined || /[[\]\n]/.test(alias) ? "" : `|${alias}`;
  // Brackets that an editor closed automatically are part of the link.
  const after = mention.kind === "note" ? text.slice(mention.to).replace(/^\]\]/, "") : text.slice(mention.to);
  const what = mention.kind === "tag" ? `#${name}` : `[[${linkpath}${shown}]]`;
  const whole = `${what}${/^\s/.test(after) ? "" : " "}`;
  const before = text.slice(0, mention.from);
  return { text: before + whole + after, cursor: before.length + whole.length };
}

/** The names that contain a text; those that begin with it come first. */
export function matching<T extends { name: string }>(all: T[], text: string, most: number): T[] {
  const wanted = text.toLowerCase();
  const begins = (one: T): boolean => one.name.toLowerCase().startsWith(wanted);
  const has = (one: T): boolean => !begins(one) && one.name.toLowerCase().includes(wanted);
  return [...all.filter(begins), ...all.filter(has)].slice(0, most);
}

/** The vault paths in text dragged from Obsidian, one per line; empty if a line contains none. */
export function draggedPaths(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  const paths = lines.flatMap((line) => draggedPath(line) ?? []);
  return paths.length === lines.length ? paths : [];
}

/** The vault path in such a line: an `obsidian://` address, a link, or a path. */
function draggedPath(line: string): string | null {
  if (/^obsidian:\/\/open\?/.test(line)) {
    const file = new URLSearchParams(line.slice(line.indexOf("?") + 1)).get("file");
    return file === null || file === "" ? null : file;
  }
  const link = /^!?\[\[([^[\]|#]+)(?:[#|][^\]]*)?\]\]$/.exec(line);
  if (link?.[1]) return link[1];
  const isPath = !/^[a-z][a-z0-9+.-]*:/i.test(line) && /^[^\\*?"<>|]+\.[A-Za-z0-9]{1,8}$/.test(line);
  return isPath && !line.startsWith("/") ? line : null;
}
