/** The state of the displayed conversation, for all parts that show it. Pure. */

import type { Activeness } from "../activity";
import type { Entry, ConversationStatus } from "./timeline";

export type Kind = "away" | "waiting" | "working" | "failed" | "stopped" | "ended" | "done" | "none";

export interface ShownState {
  kind: Kind;
  /** A word or two; empty if there is nothing to show. */
  text: string;
  /** The line below the conversation during activity; empty otherwise. */
  work: string;
}

/** The known facts about the conversation. */
export interface Known {
  isConnected: boolean;
  activeness: Activeness | null;
  status: ConversationStatus;
  entries: Entry[];
  isEnded: boolean;
}

export function shownState({ isConnected, activeness, status, entries, isEnded }: Known): ShownState {
  const { state, waiting } = status;
  if (!isConnected) return { kind: "away", text: "Disconnected", work: state === "idle" ? "" : "Interrupted: the daemon is not connected" };
  if (activeness === "asking" || state === "requires_action") return { kind: "waiting", text: "Waiting for you", work: "Waiting for your approval" };
  if (state === "running") return { kind: "working", text: "Working", work: "Working…" };
  if (waiting) return { kind: "waiting", text: "Waiting for you", work: "" };
  if (isEnded) return { kind: "ended", text: "Ended", work: "" };
  const kind = outcomeOf(entries);
  const text = { failed: "Failed", stopped: "Stopped", done: "Done", none: "" }[kind];
  return { kind, text, work: "" };
}

/** The end of the last turn. */
export function outcomeOf(entries: Entry[]): "failed" | "stopped" | "done" | "none" {
  for (const entry of [...entries].reverse()) {
    switch (entry.kind) {
      case "changes":
        continue;
      case "end":
        return entry.error === undefined && entry.stopReason === "cancelled" ? "stopped" : "failed";
      case "notice":
        // A turn that ended early also has a notice at its end.
        if (entry.severity === "error") return "failed";
        if (entry.severity === "warning" || entry.title === "stopped") return "stopped";
        continue;
      case "user":
        if (entry.pending !== undefined) continue;
        return "done";
      case "agent":
        return entry.message === "part" ? "stopped" : "done";
      default:
        return "done";
    }
  }
  return entries.length === 0 ? "none" : "done";
}
