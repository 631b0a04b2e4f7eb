import { describe, expect, it } from "vitest";
import type { Entry } from "./timeline";
import { layout } from "./graph-layout";
import { touched } from "./touched";

describe("the notes of a conversation", () => {
  it("are those that calls read and that its turns changed, each once", () => {
    const call = (output: unknown, input: unknown = {}, status = "completed"): Entry => ({ kind: "call", key: "c", status, input, output }) as Entry;
    const changes = {
      kind: "changes",
      sets: [{ info: { changes: [{ id: "1.1", path: "B.md", action: "modified" }, { id: "1.2", path: "Gone.md", action: "deleted" }, { id: "1.3", path: "C.md", action: "created" }] }, undone: false, undoneChanges: new Map([["1.3", 2]]) }],
    } as unknown as Entry;
    const entries = [call({ path: "A.md" }), call(undefined, { path: "B.md" }), call({ path: "No.md" }, {}, "failed"), call({ path: "Picture.png" }), call("words"), changes];
    expect([...touched(entries)]).toEqual([["A.md", false], ["B.md", true], ["Gone.md", false], ["C.md", false]]);
  });

  it("have places of their own, the same each time, and linked ones are nearer", () => {
    const edges: [number, number][] = [[0, 1], [2, 3]];
    const places = layout(4, edges);
    expect(layout(4, edges)).toEqual(places);
    const far = (one: number, other: number): number => Math.hypot((places[one]?.x ?? 0) - (places[other]?.x ?? 0), (places[one]?.y ?? 0) - (places[other]?.y ?? 0));
    for (const { x, y } of places) {
      expect(x).toBeGreaterThanOrEqual(0);
      expect(x).toBeLessThanOrEqual(1);
      expect(y).toBeGreaterThanOrEqual(0);
      expect(y).toBeLessThanOrEqual(1);
    }
    expect(far(0, 1)).toBeLessThan(far(0, 2));
    expect(far(2, 3)).toBeLessThan(far(1, 3));
    const many = layout(24, []);
    for (let one = 0; one < 24; one++) for (let other = 0; other < one; other++) expect(Math.hypot((many[one]?.x ?? 0) - (many[other]?.x ?? 0), (many[one]?.y ?? 0) - (many[other]?.y ?? 0))).toBeGreaterThan(0.02);
    expect(layout(1, [])).toEqual([{ x: 0.5, y: 0.5 }]);
    expect(layout(0, [])).toEqual([]);
  });
});
