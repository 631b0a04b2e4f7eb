/** What a view takes along: to another place as it is, and over a restart through a file, which keeps no images. */

import type { Draft } from "./draft";
import type { Pending } from "./outbox";

/** A conversation that is open in a tab, and what is written in it and not sent. */
export interface TabOf {
  /** Null where none has begun. */
  sessionId: string | null;
  draft: Draft;
}

/** What a view that moves elsewhere takes along. */
export interface Kept {
  /** The conversation; null where none has begun; left out, the one that goes on. */
  sessionId?: string | null;
  /** What is written and not sent, and the number of the message that it is written in place of. */
  draft: Draft;
  item: number | null;
  /** What was sent and the daemon may not have. */
  unsent: Pending[];
  /** The tabs, where there are several, and which is shown. */
  tabs?: { tabs: TabOf[]; at: number };
}

type Value = Record<string, unknown>;

/** As it goes into a file. */
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
 * As it comes from a file, which anything may have written; null where it is none of ours. What waited is
 * sent by nobody but the person: the file may be old, or come from another machine, whose daemon is another.
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
      error: typeof error === "string" ? error : `Not known to have arrived before Obsidian quit${lost}`,
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

/** The objects of a list. */
function listOf(value: unknown): Value[] {
  const all: unknown[] = Array.isArray(value) ? value : [];
  return all.filter((one): one is Value => typeof one === "object" && one !== null);
}
