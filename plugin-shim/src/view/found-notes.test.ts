import { beforeEach, describe, expect, it } from "vitest";
import { checkLink, drawFound } from "./found-notes";
import { type FoundNotes, isFound } from "./outputs";
import type { Connection } from "../connection";
import type { Host } from "../host";
import { noteLink } from "./named";

function found(count: number): FoundNotes {
  const notes = Array.from({ length: count }, (_, at) => ({
    path: `Garden/Note ${at}.md`,
    title: `Note ${at}`,
    why: ["title", "words"],
    chunks: [{ headings: ["Soil", "Turning **it**"], snippet: "Turn [[it|the heap]] weekly", link: `[[Garden/Note ${at}#Turning **it**]]` }],
  }));
  return { notes, total: count };
}

describe("notes that a search found", () => {
  it("are distinguished from other outputs", () => {
    expect(isFound(found(1))).toBe(true);
    expect([isFound(null), isFound(found(0)), isFound({ notes: [{}] }), isFound("text")]).toEqual([false, false, false, false]);
  });

  it("show the reason of the match, and link to the note and to the position", () => {
    const drawn = drawFound(document.body, found(7));
    const rows = [...drawn.querySelectorAll<HTMLElement>("li")];
    expect(rows.map((row) => row.hidden)).toEqual([false, false, false, false, false, true, true]);
    const [name, place] = [...rows[0]!.querySelectorAll<HTMLElement>("a")];
    expect([name?.dataset["linkpath"], name?.title]).toEqual(["Garden/Note 0.md", "Garden/Note 0.md"]);
    expect([place?.dataset["linkpath"], place?.textContent]).toEqual(["Garden/Note 0#Turning **it**", "Turning it"]);
    expect([...rows[0]!.querySelectorAll(".vs-why")].map((one) => one.textContent)).toEqual(["name", "words"]);
    expect(rows[0]!.querySelector(".vs-found-at")?.textContent).toBe("Turning it Turn the heap weekly");
    drawn.querySelector("button")?.click();
    expect(rows.some((row) => row.hidden)).toBe(false);
  });
});

describe("a link of an answer", () => {
  let asked: string[];
  const connection = {
    call: (_: string, { text }: { text: string }) => {
      asked.push(text);
      if (text === "Broken") return Promise.reject(new Error("gone"));
      return Promise.resolve({ found: [{ path: "Garden/Compost.md", kind: "note" }] });
    },
  } as unknown as Connection;
  const isUnresolved = async (target: string, host = {}): Promise<boolean> => {
    const link = noteLink(document.body, target, target);
    await checkLink(connection, host as Host, link);
    return link.classList.contains("is-unresolved");
  };

  beforeEach(() => {
    asked = [];
  });

  it("is marked if it is unresolved", async () => {
    expect(await isUnresolved("Compost#Turning")).toBe(false);
    expect(await isUnresolved("garden/compost")).toBe(false);
    expect(await isUnresolved("Nowhere")).toBe(true);
    expect(await isUnresolved("#Heading")).toBe(true);
    // The target is unknown.
    expect(await isUnresolved("Broken")).toBe(false);
    expect(asked).toEqual(["Compost", "garden/compost", "Nowhere", "Broken"]);
    await isUnresolved("Nowhere");
    expect(asked.length).toBe(4);
  });

  it("is resolved by Obsidian if it is available", async () => {
    const resolveLink = (link: string): object | null => (link === "There" ? { path: "There.md", subpath: "" } : null);
    expect([await isUnresolved("There", { resolveLink }), await isUnresolved("Not there", { resolveLink })]).toEqual([false, true]);
    expect(asked).toEqual([]);
  });
});
