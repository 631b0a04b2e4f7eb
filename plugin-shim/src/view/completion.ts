/** What is typed behind an `@` or `[[`, to be completed to a note or a folder. */

export interface Mention {
  /** Where the `@` or `[[` stands. */
  from: number;
  /** Where the cursor stands. */
  to: number;
  /** What was typed behind that. */
  text: string;
}

/** Names are no longer than this. */
const LONGEST = 80;

/** The mention that is being typed before the cursor; null where none is. */
export function mentionAt(text: string, cursor: number): Mention | null {
  const line = text.slice(Math.max(0, cursor - LONGEST - 1), cursor);
  const start = cursor - line.length;
  const link = line.lastIndexOf("[[");
  const linked = line.slice(link + 2);
  if (link >= 0 && !/[\]|#\n]/.test(linked)) return { from: start + link, to: cursor, text: linked };
  const at = line.lastIndexOf("@");
  if (at < 0) return null;
  const typed = line.slice(at + 1);
  // `name@example.org` is no mention, and what has ended with two blanks or a line is none either.
  const before = line[at - 1];
  if (before !== undefined && !/[\s([{"'“‘«]/.test(before)) return null;
  if (start > 0 && at === 0) return null;
  if (/\n| {2}|^ /.test(typed) || typed.includes("]]")) return null;
  return { from: start + at, to: cursor, text: typed };
}

/** The text with the mention replaced by a link to `path`, and where the cursor stands then. */
export function completed(text: string, mention: Mention, path: string): { text: string; cursor: number } {
  const linkpath = path.endsWith(".md") ? path.slice(0, -3) : path;
  // Brackets that an editor closed by itself are part of the link.
  const after = text.slice(mention.to).replace(/^\]\]/, "");
  const link = `[[${linkpath}]]${/^\s/.test(after) ? "" : " "}`;
  const before = text.slice(0, mention.from);
  return { text: before + link + after, cursor: before.length + link.length };
}

/** The vault paths in what was dragged from Obsidian, one in each line; none where a line is none. */
export function draggedPaths(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  const paths = lines.flatMap((line) => draggedPath(line) ?? []);
  return paths.length === lines.length ? paths : [];
}

/** The vault path in a line of that: its own address, a link, or a path. */
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
