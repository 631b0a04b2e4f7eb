/** The state of a view that moves to another place, or is restored after a restart from a file without images. */

import type { Draft } from "./draft";
import type { Pending } from "./outbox";

/** A conversation in a tab, and its draft. */
export interface TabOf {
  /** Null before the conversation exists. */
  sessionId: string | null;
  draft: Draft;
}

/** The state of a view that moves to another place. */
export interface Kept {
  /** The conversation; null before it exists; undefined means the current one. */
  sessionId?: string | null;
  /** The draft, and the number of the message that it edits. */
  draft: Draft;
  item: number | null;
  /** Messages that the daemon may not have. */
  unsent: Pending[];
  /** The tabs if there are several, and the selected one. */
  tabs?: { tabs: TabOf[]; at: number };
}

type Value = Record<string, unknown>;

/** Converts the state for the file. */
export function written({ sessionId, draft, item, unsent, tabs }: Kept): Value {
  const { text, attachments } = draft;
  const messages = unsent.map(({ id, sessionId: to, draft: { text, attachments, images }, error }) => ({
    id,
    sessionId: to,
    text,
    attachments,
    images: images.length,
    error,
  }));
  const open = tabs?.tabs.map(({ sessionId: of, draft: { text, attachments } }) => ({ sessionId: of, text, attachments }));
  return { sessionId, text, attachments, item, unsent: messages, ...(open && { tabs: open, at: tabs?.at }) };
}

/**
 * Parses the state from the file, which any program may have written; null if it is invalid. Unsent messages are sent
 * only by the person: the file may be old, or come from another machine with another daemon.
 */
export function read(state: unknown): Kept | null {
  const { sessionId, text, attachments, item, unsent, tabs, at } = (state ?? {}) as Value;
  if (typeof text !== "string") return null;
  const isKnown = typeof sessionId === "string";
  const messages = listOf(unsent).flatMap(({ id, sessionId: to, text, attachments, images, error }): Pending[] => {
    if (typeof id !== "string" || typeof text !== "string") return [];
    const lost = images ? ". Its images are lost; edit it to attach them anew" : "";
    return [{
      id,
      draft: draftOf(text, attachments),
      sessionId: typeof to === "string" ? to : null,
      isNew: !isKnown,
      sent: false,
      error: typeof error === "string" ? error : `May not have arrived before Obsidian quit${lost}`,
    }];
  });
  const isNew = messages.some((one) => one.sessionId === null);
  return {
    sessionId: isKnown ? sessionId : isNew ? null : undefined,
    draft: draftOf(text, attachments),
    item: typeof item === "number" ? item : null,
    unsent: messages,
    ...tabsOf(tabs, at),
  };
}

function tabsOf(tabs: unknown, at: unknown): Pick<Kept, "tabs"> {
  const open = listOf(tabs).map(({ sessionId, text, attachments }) => ({
    sessionId: typeof sessionId === "string" ? sessionId : null,
    draft: draftOf(typeof text === "string" ? text : "", attachments),
  }));
  return typeof at === "number" && open[at] !== undefined ? { tabs: { tabs: open, at } } : {};
}

function draftOf(text: string, attachments: unknown): Draft {
  const isAttached = (one: Value): boolean =>
    typeof one["path"] === "string" && (one["selection"] === undefined || typeof one["selection"] === "string");
  return { text, attachments: listOf(attachments).filter(isAttached) as unknown as Draft["attachments"], images: [] };
}

/** The objects in a list. */
function listOf(value: unknown): Value[] {
  const all: unknown[] = Array.isArray(value) ? value : [];
  return all.filter((one): one is Value => typeof one === "object" && one !== null);
}
