import { describe, expect, it } from "vitest";
import { promptsOf } from "./home";

describe("what can be asked of a vault", () => {
  it("is drawn from what is in it", () => {
    const outline = { tags: [{ name: "#bed", count: 3 }], most_linked: [{ name: "Garden/Plot 27.md", count: 9 }], newest_notes: ["Inbox.md"] };
    expect(promptsOf(outline, 4)).toEqual([
      "What is due today?",
      "What changed in my vault this week?",
      "What is left to do in [[Inbox]]?",
      "What do my notes say about #bed?",
      "Which notes belong to [[Garden/Plot 27]] and do not link to it yet?",
    ]);
  });

  it("is something for an empty vault, too", () => {
    expect(promptsOf({}, 0)).toEqual(["What is due today?"]);
  });
});
