/** The likely target of a broken link, and its line with that target. Pure. */

/** The most similar name; null if none is similar. */
export function mostLike(wanted: string, names: string[]): string | null {
  const folded = fold(wanted);
  let best: string | null = null;
  let least = Infinity;
  for (const name of names) {
    const other = fold(name);
    const isPart = other.length > 2 && folded.length > 2 && (other.includes(folded) || folded.includes(other));
    const far = distance(folded, other);
    if (far > Math.max(1, Math.floor(folded.length / 4)) && !isPart) continue;
    if (far >= least) continue;
    least = far;
    best = name;
  }
  return best;
}

function fold(name: string): string {
  return name.normalize("NFKC").toLowerCase();
}

/** The edit distance: letters to insert, delete or replace. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  [...one].forEach((letter, at) => {
    const next = [at + 1];
    [...other].forEach((against, index) => {
      const replaced = (row[index] ?? 0) + (letter === against ? 0 : 1);
      next.push(Math.min(replaced, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    });
    row = next;
  });
  return row.at(-1) ?? 0;
}

/**
 * A line with the wikilinks to one name redirected to another, including their headings and texts; null if it has none.
 */
export function relinked(line: string, from: string, to: string): string | null {
  const wanted = fold(from);
  const made = line.replace(/\[\[([^[\]|#^\n]+)((?:[#^|][^[\]\n]*)?)\]\]/g, (whole, target: string, rest: string) => (fold(target.trim()) === wanted ? `[[${to}${rest}]]` : whole));
  return made === line ? null : made;
}
