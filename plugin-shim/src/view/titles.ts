/** What conversations are called that have no title yet: by what they began with. */

import type { Connection } from "../connection";
import type { ConversationInfo } from "../protocol";

/** Items at the beginning of a conversation, among which the first message is. */
const FIRST = 6;

/** The first line of what somebody said, as a title. */
export function titleFrom(text: string): string {
  return text.split("\n")[0]?.slice(0, 80) ?? "";
}

export class Titles {
  readonly #begun = new Map<string, string>();
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** What it is called, as far as that is known. */
  known({ sessionId, title }: Pick<ConversationInfo, "sessionId" | "title">): string | undefined {
    return title ?? this.#begun.get(sessionId);
  }

  /** What it is called; undefined where nobody can say. */
  async learn(sessionId: string): Promise<string | undefined> {
    try {
      const { conversation, items } = await this.#connection.call("_vault/conversation", { sessionId, before: FIRST, last: FIRST });
      const title = conversation.title ?? titleFrom(items.find((item) => item.kind === "user")?.text ?? "");
      if (title !== "") this.#begun.set(sessionId, title);
    } catch {
      // It keeps the name that every conversation has.
    }
    return this.#begun.get(sessionId);
  }
}
