import { describe, expect, it } from "vitest";
import type { CallEntry, Entry } from "./timeline";
import { doing, liveLine } from "./live";

const call = (more: Partial<CallEntry>): Entry => ({
  kind: "call", key: "c", turn: "1", tool: "read_file", title: "Read a note: Compost", does: "read", status: "in_progress",
  locations: [{ path: "/home/me/Notes/Garden/Compost.md" }], input: {}, result: "", output: undefined, ...more,
});
const user: Entry = { kind: "user", key: "u", turn: "1", text: "hi", source: "chat" };
const agent = (open: boolean): Entry => ({ kind: "agent", key: "a", turn: "1", text: "x", open, message: "answer", cutBefore: false });

describe("the live line", () => {
  it("shows the action and its note", () => {
    expect(doing([user, call({})])).toBe("Reading Compost");
    expect(doing([user, call({ does: "search", locations: [] })])).toBe("Searching");
    expect(doing([user, call({ does: "other", title: "List tags" })])).toBe("List tags");
    expect(doing([user, call({ status: "completed" }), agent(true)])).toBe("Writing");
    expect(doing([user, { kind: "thought", key: "t", turn: "1", text: "", open: true }])).toBe("Thinking");
    // An open call of an earlier turn does not belong to the current turn.
    expect(doing([call({}), user, agent(false)])).toBe("Working");
  });

  it("shows the duration and the tokens if they are known", () => {
    expect(liveLine([user], null, 0, 0)).toBe("Working…");
    expect(liveLine([user, call({})], 1_000, 13_400, 1_234)).toBe("Reading Compost… · 12 s · 1.2k tokens");
    expect(liveLine([user], 0, 125_000, 0)).toBe("Working… · 2 min 5 s");
  });
});
