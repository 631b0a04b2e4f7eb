/** The notes that a conversation read or changed. Pure. */

import { changesOf, type Entry } from "./timeline";

/** Their paths, in the order in which they came up, and whether they were changed. */
export function touched(entries: Entry[]): Map<string, boolean> {
  const found = new Map<string, boolean>();
  const add = (path: unknown, isChanged: boolean): void => {
    if (typeof path !== "string" || !path.endsWith(".md")) return;
    found.set(path, isChanged || found.get(path) === true);
  };
  for (const entry of entries) {
    if (entry.kind === "changes") for (const { change, undone } of changesOf(entry)) add(change.path, !undone && change.action !== "deleted");
    if (entry.kind !== "call" || entry.status !== "completed") continue;
    // The answer has the real path; it may be missing if the conversation was reloaded.
    const { path = (entry.input as { path?: unknown } | null)?.path } = (entry.output ?? {}) as { path?: unknown };
    add(path, false);
  }
  return found;
}
