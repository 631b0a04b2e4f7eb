/** Titles for conversations that have none: their first message. */

import type { Connection } from "../connection";
import type { ConversationInfo } from "../protocol";

/** The number of first items among which the first message is. */
const FIRST = 6;

/** The first line of a message, as a title. */
export function titleFrom(text: string): string {
  return text.split("\n")[0]?.slice(0, 80) ?? "";
}

export class Titles {
  readonly #begun = new Map<string, string>();
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The title, as far as it is known. */
  known({ sessionId, title }: Pick<ConversationInfo, "sessionId" | "title">): string | undefined {
    return title ?? this.#begun.get(sessionId);
  }

  /** Loads the title; undefined if it cannot be loaded. */
  async load(sessionId: string): Promise<string | undefined> {
    try {
      const { conversation, items } = await this.#connection.call("_vault/conversation", { sessionId, before: FIRST, last: FIRST });
      const title = conversation.title ?? titleFrom(items.find((item) => item.kind === "user")?.text ?? "");
      if (title !== "") this.#begun.set(sessionId, title);
    } catch {
      // The conversation keeps the default title.
    }
    return this.#begun.get(sessionId);
  }
}
