/** The current activity in a line: the action, its note, its duration, and its tokens. Pure. */

import { noteName, tokens } from "./format";
import type { Entry } from "./timeline";

const DOES: Record<string, string> = { read: "Reading", search: "Searching", edit: "Changing", move: "Moving", delete: "Deleting" };

/** The agent's current action, from the last open entry. */
export function doing(entries: Entry[]): string {
  for (let at = entries.length - 1; at >= 0 && entries[at]?.kind !== "user"; at--) {
    const entry = entries[at];
    if (entry?.kind === "call" && entry.status === "in_progress") {
      const path = entry.locations[0]?.path.replaceAll("\\", "/");
      const does = DOES[entry.does];
      return does === undefined ? entry.title : path === undefined ? does : `${does} ${noteName(path)}`;
    }
    if (entry?.kind === "agent" && entry.open) return "Writing";
    if (entry?.kind === "thought" && entry.open) return "Thinking";
  }
  return "Working";
}

/** The line; `since` is the start of the turn in milliseconds if it is known. */
export function liveLine(entries: Entry[], since: number | null, now: number, used: number): string {
  const seconds = since === null ? 0 : Math.max(0, Math.round((now - since) / 1000));
  const time = seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return [`${doing(entries)}…`, seconds > 0 && time, used > 0 && `${tokens(used)} tokens`].filter(Boolean).join(" · ");
}
