import { describe, expect, it, vi } from "vitest";
import type { App } from "obsidian";
import { ObsidianHost } from "../src/obsidian-host";

const order: string[] = [];

vi.mock("obsidian", async (original) => ({
  ...(await original<object>()),
  loadMathJax: () => Promise.resolve().then(() => order.push("loaded")),
  renderMath: (tex: string, block: boolean) => {
    order.push(`rendered ${tex} ${block}`);
    return document.createElement("mjx-container");
  },
  finishRenderMath: () => Promise.resolve().then(() => order.push("finished")),
}));

describe("a formula", () => {
  it("is drawn by Obsidian, once what that takes is loaded", async () => {
    const drawn = await new ObsidianHost({} as App, () => "").math("x^2", true);
    expect(drawn.tagName).toBe("MJX-CONTAINER");
    expect(order).toEqual(["loaded", "rendered x^2 true", "finished"]);
  });
});
