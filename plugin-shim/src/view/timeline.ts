/**
 * The messages and activity of one conversation, in order. Pure: events and history go in, entries come out. Chunks
 * show an answer while it arrives; the complete text replaces them.
 */

import type { ChangeInfo, ChangeSetInfo, ItemInfo, MessageParams, SessionUpdate, StateParams } from "../protocol";
import { cardKey, cardOf } from "./plans";
import type { AgentEntry, CallEntry, Changed, ChangesEntry, Entry, ShownSet, ConversationStatus, UserEntry } from "./timeline-entry";

export type * from "./timeline-entry";

const IDLE: ConversationStatus = { state: "idle", turn: null, queued: 0, waiting: false };

export class Timeline {
  /** Oldest first. */
  entries: Entry[] = [];
  status: ConversationStatus = IDLE;
  readonly #byKey = new Map<string, Entry>();
  /** Turns that were running when their conversation was opened. */
  #joined: string | null = null;

  get(key: string): Entry | undefined {
    return this.#byKey.get(key);
  }

  /** The last entry of a kind. */
  last<K extends Entry["kind"]>(
    kind: K,
    is: (entry: Extract<Entry, { kind: K }>) => boolean = () => true,
  ): Extract<Entry, { kind: K }> | undefined {
    for (let at = this.entries.length - 1; at >= 0; at--) {
      const entry = this.entries[at];
      if (entry?.kind !== kind) continue;
      const found = entry as Extract<Entry, { kind: K }>;
      if (is(found)) return found;
    }
    return undefined;
  }

  /**
   * Replaces all entries by these, except unread messages of the person. For the same conversation, the displayed part
   * of an answer that the daemon lost at its end stays, too.
   */
  replace(entries: Entry[], status: Partial<ConversationStatus> = {}, isSame = false): Changed {
    const lost = isSame && (status.state ?? "idle") === "idle" ? this.entries.filter(isUnfinished) : [];
    const known = new Set(this.#byKey.keys());
    const unheard = this.entries.filter((one) => one.kind === "user" && one.pending !== undefined);
    this.entries = [];
    this.#byKey.clear();
    for (const entry of entries) this.#place(entry);
    for (const entry of lost) this.#placeLost(entry);
    for (const entry of unheard) {
      if (entry.kind === "user" && !this.#wasHeard(entry, known)) this.#place(entry);
    }
    this.#giveCards();
    this.status = { ...IDLE, ...status };
    this.#joined = this.status.state === "idle" ? null : "any";
    return { keys: new Set(this.#byKey.keys()), order: true, status: true };
  }

  /** Whether a message of the person is in the stored history, which does not have its id. */
  #wasHeard(message: UserEntry, known: Set<string>): boolean {
    return this.entries.some((one) => {
      if (one.kind !== "user" || one.pending !== undefined) return false;
      if (one.clientMessageId !== undefined) return one.clientMessageId === message.clientMessageId;
      return !known.has(one.key) && one.text === message.text;
    });
  }

  /** Inserts older entries before all others. A page may overlap existing entries, which get its numbers. */
  prepend(older: Entry[]): Changed {
    const changed = this.annotate(older);
    const isKnown = (entry: Entry): boolean => this.#byKey.has(entry.key);
    const known = new Set(older.filter(isKnown).map((entry) => entry.item));
    // A thought has another key in the history; it is recognised by its item, which is that of the following message.
    const new_ = older.filter((entry) => !isKnown(entry) && !(entry.kind === "thought" && known.has(entry.item)));
    for (const entry of new_) {
      this.#byKey.set(entry.key, entry);
      changed.keys.add(entry.key);
    }
    this.entries = [...new_, ...this.entries];
    changed.order = new_.length > 0;
    return joined(changed, this.#giveCards());
  }

  /** Assigns the numbers and times of stored entries. */
  annotate(kept: Entry[]): Changed {
    const changed: Changed = { keys: new Set(), order: false, status: false };
    for (const one of kept) {
      const entry = this.#byKey.get(one.key);
      if (!entry) continue;
      if (entry.item !== one.item || entry.time !== one.time) changed.keys.add(entry.key);
      entry.item = one.item;
      entry.time = one.time;
    }
    return changed;
  }

  /**
   * Drops all but about `most` entries, from the oldest or the newest. Whole turns stay together, and unstored entries
   * stay. Returns whether any were dropped.
   */
  trim(most: number, side: "oldest" | "newest"): Changed {
    const changed: Changed = { keys: new Set(), order: false, status: false };
    if (this.entries.length <= most) return changed;
    let from = side === "oldest" ? this.entries.length - most : 0;
    let to = side === "oldest" ? this.entries.length : most;
    const turn = (at: number): string | null | undefined => this.entries[at]?.turn;
    while (from > 0 && turn(from) !== null && turn(from) === turn(from - 1)) from -= 1;
    while (to < this.entries.length && turn(to) !== null && turn(to) === turn(to - 1)) to += 1;
    const kept = this.entries.slice(from, to);
    if (kept.length === this.entries.length) return changed;
    this.entries = kept;
    this.#byKey.clear();
    for (const entry of kept) this.#byKey.set(entry.key, entry);
    changed.order = true;
    return changed;
  }

  /** Shows a new message of the person before an event reports it. */
  say(clientMessageId: string, text: string): Changed {
    const key = `mine:${clientMessageId}`;
    const pending = "sending";
    this.#place({ kind: "user", key, turn: null, text, source: "chat", pending, clientMessageId });
    return { keys: new Set([key]), order: true, status: false };
  }

  /** Updates the delivery of a message of the person; `undefined` removes the message. */
  setPending(clientMessageId: string, pending: UserEntry["pending"], error?: string): Changed {
    const entry = this.#byKey.get(`mine:${clientMessageId}`);
    if (entry?.kind !== "user" || entry.pending === undefined) return nothing();
    if (pending === undefined) return this.#remove(entry.key);
    entry.pending = pending;
    entry.error = error;
    return changedOne(entry.key);
  }

  /** Handles an event of the conversation. */
  update(update: SessionUpdate, turn: string | null): Changed {
    switch (update.sessionUpdate) {
      case "user_message_chunk":
        return this.#receive(update, turn);
      case "agent_message_chunk":
        return this.#chunk(update.messageId, textOf(update.content), turn);
      case "agent_thought_chunk":
        return this.#thought(update.messageId, textOf(update.content), turn);
      case "tool_call":
        return this.#place(callOf(update, turn));
      case "tool_call_update":
        return this.#called(update);
      case "notice":
        return this.#place({
          kind: "notice",
          // A message that is reported twice, or is in the history, is the same entry.
          key: `notice:${turn ?? ""}:${update.title}`,
          turn,
          severity: update.severity,
          title: update.title,
          description: update.description,
        });
      default:
        return nothing();
    }
  }

  /** A message of the agent is complete, or discarded. */
  message(params: Pick<MessageParams, "messageId" | "kind" | "text">, turn: string | null): Changed {
    const key = `message:${params.messageId}`;
    const thought = this.#close(`thought:${params.messageId}`);
    if (params.kind === "void") {
      const gone = this.#remove(key);
      return joined(gone, this.#remove(`thought:${params.messageId}`));
    }
    const entry = this.#byKey.get(key);
    if (entry?.kind === "agent") {
      entry.text = params.text;
      entry.message = params.kind;
      entry.open = false;
      entry.cutBefore = false;
      return joined(changedOne(key), thought);
    }
    if (params.text === "") return thought;
    const { kind: message, text } = params;
    const new_ = { key, turn, text, open: false, message, cutBefore: false };
    return joined(this.#place({ kind: "agent", ...new_ }), thought);
  }

  /** Updates the state of the conversation; the end of a turn closes all its entries. */
  state(params: Pick<StateParams, "state" | "queued" | "waiting" | "stopReason" | "error">, turn: string | null): Changed {
    const { state, queued, waiting, stopReason, error } = params;
    this.status = { state, turn: state === "idle" ? null : turn, queued, waiting };
    const changed: Changed = { keys: new Set(), order: false, status: true };
    if (state !== "idle") return changed;
    this.#joined = null;
    for (const entry of this.entries) {
      if ((entry.kind === "agent" || entry.kind === "thought") && entry.open) {
        entry.open = false;
        changed.keys.add(entry.key);
      }
      if (entry.kind === "call" && (entry.status === "pending" || entry.status === "in_progress")) {
        entry.status = "failed";
        entry.waitsFor = undefined;
        changed.keys.add(entry.key);
      }
    }
    const plain = error === undefined && (stopReason === undefined || stopReason === "end_turn");
    if (plain) return changed;
    return joined(changed, this.#place({ kind: "end", key: `end:${turn ?? ""}`, turn, stopReason, error }));
  }

  /** A change set of this conversation was applied, or one that undoes such a set. */
  changes(info: ChangeSetInfo, isOurs: boolean): Changed {
    const changed = this.#undone(info);
    if (!isOurs || info.undoes !== undefined) return changed;
    for (const entry of this.entries) {
      if (entry.kind !== "changes") continue;
      const set = entry.sets.find((one) => one.info.id === info.id);
      if (!set) continue;
      set.info = withMore(set.info, info);
      changed.keys.add(entry.key);
      return changed;
    }
    const turn = this.status.turn ?? this.entries[this.entries.length - 1]?.turn ?? null;
    return joined(changed, this.addSet(info.turn ?? turn, info));
  }

  /** A change set was applied in a displayed turn. */
  addSet(turn: string | null, info: ChangeSetInfo): Changed {
    if (info.undoes !== undefined) return nothing();
    const set: ShownSet = { info, undone: info.undone === true, undoneChanges: new Map() };
    const key = `changes:${turn ?? ""}`;
    const entry = this.#byKey.get(key);
    if (entry?.kind === "changes") {
      if (!entry.sets.some((one) => one.info.id === set.info.id)) entry.sets.push(set);
      return changedOne(key);
    }
    return this.#place({ kind: "changes", key, turn, sets: [set] });
  }

  #undone(by: ChangeSetInfo): Changed {
    const changed = nothing();
    for (const entry of this.entries) {
      if (entry.kind !== "changes") continue;
      for (const set of entry.sets) {
        const id = String(set.info.id);
        const before = set.undone;
        if (by.undoes === id) {
          set.undoneBy = by.id;
          set.undone = true;
        } else if (by.undoes !== undefined && by.undoes === String(set.undoneBy)) {
          set.undoneBy = undefined;
          set.undone = false;
        }
        let single = false;
        if (by.undoes?.startsWith(`${id}.`)) {
          set.undoneChanges.set(by.undoes, by.id);
          single = true;
        }
        for (const [change, undo] of set.undoneChanges) {
          if (by.undoes !== String(undo)) continue;
          set.undoneChanges.delete(change);
          single = true;
        }
        if (single || before !== set.undone) changed.keys.add(entry.key);
      }
    }
    return changed;
  }

  #receive(
    update: Extract<SessionUpdate, { sessionUpdate: "user_message_chunk" }>,
    turn: string | null,
  ): Changed {
    const { source = "chat", clientMessageId } = update._meta?.vault ?? {};
    const mine = clientMessageId === undefined ? nothing() : this.#remove(`mine:${clientMessageId}`);
    const key = `message:${update.messageId}`;
    const text = textOf(update.content);
    return joined(mine, this.#place({ kind: "user", key, turn, text, source, clientMessageId }));
  }

  #chunk(messageId: string, text: string, turn: string | null): Changed {
    const key = `message:${messageId}`;
    const entry = this.#byKey.get(key);
    if (entry?.kind === "agent") {
      // A complete entry accepts no more chunks: its text contains them.
      if (!entry.open) return nothing();
      entry.text += text;
      return changedOne(key);
    }
    const cutBefore = this.#joined !== null;
    this.#joined = null;
    const thought = this.#closeThoughts(turn);
    const new_ = { key, turn, text, open: true, message: "answer" as const, cutBefore };
    return joined(this.#place({ kind: "agent", ...new_ }), thought);
  }

  #thought(messageId: string, text: string, turn: string | null): Changed {
    const key = `thought:${messageId}`;
    const entry = this.#byKey.get(key);
    if (entry?.kind === "thought") {
      entry.text += text;
      return changedOne(key);
    }
    this.#joined = null;
    return this.#place({ kind: "thought", key, turn, text, open: true });
  }

  #closeThoughts(turn: string | null): Changed {
    const changed = nothing();
    for (const entry of this.entries) {
      if (entry.kind !== "thought" || !entry.open || entry.turn !== turn) continue;
      entry.open = false;
      changed.keys.add(entry.key);
    }
    return changed;
  }

  #close(key: string): Changed {
    const entry = this.#byKey.get(key);
    if (entry?.kind !== "thought" || !entry.open) return nothing();
    entry.open = false;
    return changedOne(key);
  }

  #called(update: Extract<SessionUpdate, { sessionUpdate: "tool_call_update" }>): Changed {
    const key = `call:${update.toolCallId}`;
    const entry = this.#byKey.get(key);
    if (entry?.kind !== "call") return nothing();
    entry.status = update.status;
    entry.waitsFor = update.status === "pending" ? update.title : undefined;
    if (update.content && update.content.length > 0) {
      entry.result = update.content.map((one) => textOf(one.content)).join("\n");
    }
    if (update.rawOutput !== undefined) entry.output = update.rawOutput;
    const changed = changedOne(key);
    return cardOf(entry) === null ? changed : joined(changed, this.#giveCards());
  }

  /** Assigns each plan's and job's card to its last call. */
  #giveCards(): Changed {
    const changed = nothing();
    const given = new Set<string>();
    for (const entry of [...this.entries].reverse()) {
      if (entry.kind !== "call") continue;
      const card = cardOf(entry);
      const key = card && cardKey(card);
      const shown = card && key !== null && !given.has(key) ? card : undefined;
      if (key !== null) given.add(key);
      if ((shown && cardKey(shown)) === (entry.card && cardKey(entry.card))) continue;
      entry.card = shown;
      changed.keys.add(entry.key);
    }
    return changed;
  }

  /**
   * Inserts an entry at its position: unread messages come last, and before them, within a turn, the turn's changes.
   */
  #place(entry: Entry): Changed {
    const known = this.#byKey.get(entry.key);
    if (known) {
      Object.assign(known, entry);
      return changedOne(entry.key);
    }
    this.#byKey.set(entry.key, entry);
    let at = this.entries.length;
    const isUnheard = (one: Entry | undefined): boolean => one?.kind === "user" && one.pending !== undefined;
    if (!isUnheard(entry)) while (at > 0 && isUnheard(this.entries[at - 1])) at -= 1;
    if (entry.kind === "changes" && entry.turn !== null) {
      // The history brings it after later turns.
      let end = at;
      while (end > 0 && this.entries[end - 1]?.turn !== entry.turn) end -= 1;
      if (end > 0) at = end;
    }
    const before = this.entries[at - 1];
    const isLast = entry.kind === "changes" || entry.kind === "end";
    if (!isLast && before?.kind === "changes" && before.turn === entry.turn) at -= 1;
    this.entries.splice(at, 0, entry);
    return { keys: new Set([entry.key]), order: true, status: false };
  }

  /** Moves an interrupted answer after the other messages of its turn. */
  #placeLost(entry: AgentEntry): void {
    const at = this.entries.findLastIndex(({ kind, turn }) => turn === entry.turn && !["notice", "changes", "end"].includes(kind));
    if (at < 0 || this.#byKey.has(entry.key)) return;
    const lost: AgentEntry = { ...entry, open: false, message: "part" };
    this.#byKey.set(lost.key, lost);
    this.entries.splice(at + 1, 0, lost);
  }

  #remove(key: string): Changed {
    if (!this.#byKey.delete(key)) return nothing();
    this.entries = this.entries.filter((entry) => entry.key !== key);
    return { keys: new Set(), order: true, status: false };
  }
}

/** Whether an entry is an answer that is neither stored nor complete. */
function isUnfinished(entry: Entry): entry is AgentEntry {
  return entry.kind === "agent" && entry.item === undefined && (entry.open || entry.message === "part") && entry.text !== "";
}

/** The result of a call. */
export type Outcome = Extract<SessionUpdate, { sessionUpdate: "tool_call_update" }>;

/**
 * The entries of a page of history, in which each item comes with its `updates`. A page may begin between a call and
 * its result: the result goes into `outcomes`, and the earlier page takes it from there.
 */
export function entriesOf(items: ItemInfo[], outcomes: Outcome[] = []): Entry[] {
  const timeline = new Timeline();
  const later = outcomes.splice(0);
  for (const item of items) {
    const turn = item.turn === null ? null : String(item.turn);
    for (const update of item.updates ?? []) {
      const { keys } = timeline.update(update, turn);
      if (update.sessionUpdate === "tool_call_update" && keys.size === 0) outcomes.push(update);
      for (const key of keys) {
        const entry = timeline.get(key);
        if (!entry || entry.item !== undefined) continue;
        entry.item = item.item;
        entry.time = item.time;
        if (entry.kind === "thought") entry.open = false;
        if (entry.kind !== "agent") continue;
        entry.open = false;
        entry.cutBefore = false;
        entry.message = messageKind(item.kind);
      }
    }
  }
  outcomes.push(...later.filter((outcome) => timeline.update(outcome, null).keys.size === 0));
  return timeline.entries;
}

function messageKind(kind: string): AgentEntry["message"] {
  if (kind === "question") return "question";
  return kind === "message" ? "sent" : "answer";
}

/** The single changes of an entry, with their sets and whether they are undone. */
export function changesOf(
  entry: ChangesEntry,
): { set: ShownSet; change: ChangeInfo; undone: boolean }[] {
  return entry.sets.flatMap((set) =>
    set.info.changes.map((change) => ({
      set,
      change,
      undone: set.undone || set.undoneChanges.has(change.id),
    })),
  );
}

/** A change set that a later call of its turn has extended: an event has only the new changes. */
function withMore(known: ChangeSetInfo, info: ChangeSetInfo): ChangeSetInfo {
  const ids = new Set(info.changes.map((change) => change.id));
  const before = known.changes.filter((change) => !ids.has(change.id));
  const untold = (one: ChangeSetInfo): number => one.total - one.changes.length;
  const changes = [...before, ...info.changes];
  return { ...info, title: known.title, changes, total: changes.length + untold(known) + untold(info) };
}

function callOf(
  update: Extract<SessionUpdate, { sessionUpdate: "tool_call" }>,
  turn: string | null,
): CallEntry {
  return {
    kind: "call",
    key: `call:${update.toolCallId}`,
    turn,
    tool: update._meta.vault.tool,
    title: update.title,
    does: update.kind,
    status: update.status,
    locations: update.locations,
    input: update.rawInput,
    result: "",
    output: undefined,
  };
}

function textOf(content: { type: string; text?: string }): string {
  return content.text ?? "";
}

function nothing(): Changed {
  return { keys: new Set(), order: false, status: false };
}

function changedOne(key: string): Changed {
  return { keys: new Set([key]), order: false, status: false };
}

function joined(one: Changed, other: Changed): Changed {
  other.keys.forEach((key) => one.keys.add(key));
  one.order ||= other.order;
  one.status ||= other.status;
  return one;
}
