import { describe, expect, it } from "vitest";
import type { CallEntry, Entry } from "./timeline";
import { modeOf } from "./mode";
import { waitingProposals } from "./proposals";

const call = (key: string, turn: string, proposed: boolean): CallEntry => ({
  kind: "call", key, turn, tool: "edit_file", title: key, does: "edit", status: "completed", locations: [], input: {}, result: "",
  output: proposed ? { proposed: true, title: key, changes: [] } : {},
});
const user = (turn: string): Entry => ({ kind: "user", key: `u${turn}`, turn, text: "hi", source: "chat" });
const changes = (turn: string): Entry => ({ kind: "changes", key: `c${turn}`, turn, sets: [] });
const keys = (entries: Entry[]): string[] => waitingProposals(entries).map(({ key }) => key);

describe("proposals", () => {
  it("wait until they are applied, or something else is said", () => {
    const turn = [user("1"), call("a", "1", true), call("b", "1", false), call("c", "1", true)];
    expect(keys(turn)).toEqual(["a", "c"]);
    expect(keys([...turn, changes("1")])).toEqual([]);
    expect(keys([...turn, user("2")])).toEqual([]);
    // What an earlier turn changed says nothing of this one.
    expect(keys([user("0"), changes("0"), ...turn])).toEqual(["a", "c"]);
    expect(keys([user("1"), call("b", "1", false)])).toEqual([]);
    expect(keys([])).toEqual([]);
  });
});

describe("the mode of a conversation", () => {
  it("is the stricter of the vault's and its own", () => {
    expect(modeOf("auto")).toBe("auto");
    expect(modeOf("auto", "plan")).toBe("plan");
    expect(modeOf("read-only", "plan")).toBe("read-only");
    expect(modeOf("ask", "auto")).toBe("ask");
    expect(modeOf("of-tomorrow")).toBe("of-tomorrow");
  });
});
