// The entries of a conversation's timeline, and the changes that an event makes to them.

import type { ChangeSetInfo, PermissionLocation, StopReason, ToolCallStatus } from "../protocol";
import type { CardOf } from "./plans";

interface Base {
  /** The key of the entry; stays the same while the entry is shown. */
  key: string;
  turn: string | null;
  /** Its number in the stored history; undefined until it is known. */
  item?: number;
  /** The local time; undefined until it is known. */
  time?: string;
}

/** A message of the person. */
export interface UserEntry extends Base {
  kind: "user";
  text: string;
  source: string;
  /** Its delivery: being sent, stored but not read, rejected; undefined once it is read. */
  pending?: "sending" | "waiting" | "failed";
  /** The reason of the rejection. */
  error?: string;
  clientMessageId?: string;
}

/** A message of the agent. */
export interface AgentEntry extends Base {
  kind: "agent";
  text: string;
  /** Whether more text may arrive. */
  open: boolean;
  /** `answer`, `part`, `sent` or `question`. */
  message: "answer" | "part" | "sent" | "question";
  /** Its beginning was missed; the entry is shown when it is complete. */
  cutBefore: boolean;
}

/** A thought of the model. */
export interface ThoughtEntry extends Base {
  kind: "thought";
  text: string;
  open: boolean;
}

/** A tool call. */
export interface CallEntry extends Base {
  kind: "call";
  tool: string;
  title: string;
  /** `read`, `edit`, `delete`, `move`, `search` or `other`. */
  does: string;
  status: ToolCallStatus;
  /** The approval that it waits for. */
  waitsFor?: string;
  locations: PermissionLocation[];
  input: unknown;
  result: string;
  output: unknown;
  /** The plan or job of its card; undefined if a later call has that card. */
  card?: CardOf;
}

export interface NoticeEntry extends Base {
  kind: "notice";
  severity: string;
  title: string;
  description?: string;
}

/** A change set and its current state. */
export interface ShownSet {
  info: ChangeSetInfo;
  /** Whether all of it is undone, */
  undone: boolean;
  /** and the change set that undid it, if it is known. */
  undoneBy?: number;
  /** Single changes that were undone, each with the change set that did. */
  undoneChanges: Map<string, number>;
}

/** The changes of a turn. */
export interface ChangesEntry extends Base {
  kind: "changes";
  sets: ShownSet[];
}

/** The end of a turn without an answer. */
export interface EndEntry extends Base {
  kind: "end";
  stopReason?: StopReason;
  error?: string;
}

export type Entry =
  | UserEntry
  | AgentEntry
  | ThoughtEntry
  | CallEntry
  | NoticeEntry
  | ChangesEntry
  | EndEntry;

/** The state of the conversation. */
export interface ConversationStatus {
  state: "idle" | "running" | "requires_action";
  turn: string | null;
  queued: number;
  /** Whether the agent waits for an answer to its question. */
  waiting: boolean;
}

/** The effect of an event. */
export interface Changed {
  /** New or changed entries. */
  keys: Set<string>;
  /** Whether entries were added, removed or moved. */
  order: boolean;
  status: boolean;
}
