import { describe, expect, it, vi } from "vitest";
import { App as MockedApp } from "obsidian-test-mocks/obsidian";
import type { App } from "obsidian";
import { ObsidianHost } from "../src/obsidian-host";
import { settle } from "./fake-clock";

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
  it("is drawn by Obsidian after MathJax is loaded", async () => {
    const drawn = await new ObsidianHost({} as App, () => "").math("x^2", true);
    expect(drawn.tagName).toBe("MJX-CONTAINER");
    expect(order).toEqual(["loaded", "rendered x^2 true", "finished"]);
  });
});

describe("a link", () => {
  /** Obsidian, which finds notes only by their paths, and records the notes that it opens. */
  function host(): { host: ObsidianHost; opened: ReturnType<typeof vi.fn> } {
    const app = MockedApp.createConfigured__({ files: { "Garden/Plot.md": "# Beds" } }).asOriginalType__();
    vi.spyOn(app.metadataCache, "getFirstLinkpathDest").mockImplementation((linkpath) =>
      linkpath === "Plot" ? app.vault.getFileByPath("Garden/Plot.md") : null,
    );
    const opened = vi.spyOn(app.workspace.getLeaf(false), "openFile");
    return { host: new ObsidianHost(app, () => ""), opened: opened };
  }

  it.each([
    ["Plot#Beds", "#Beds"],
    ["Plot#Beds#First", "#Beds#First"],
    ["Plot#^a1b2", "#^a1b2"],
    ["Plot", ""],
  ])("`%s` leads to its note, and there to its heading or block", (link, subpath) => {
    expect(host().host.resolveLink(link, "")).toEqual({ path: "Garden/Plot.md", subpath });
  });

  it("is unresolved without such a note", () => {
    expect(host().host.resolveLink("Gone#Beds", "")).toBeNull();
  });

  it("shows the heading that it names", async () => {
    const { host: own, opened } = host();
    own.openNote("Garden/Plot.md", { subpath: "#Beds" });
    await settle();
    own.openNote("Garden/Plot.md", { subpath: "" });
    await settle();
    expect(opened.mock.calls.map((given: unknown[]) => given[1])).toEqual([
      { active: true, eState: { subpath: "#Beds" } },
      { active: true, eState: undefined },
    ]);
  });
});
