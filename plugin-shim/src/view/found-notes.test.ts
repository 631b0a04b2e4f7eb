import { beforeEach, describe, expect, it } from "vitest";
import { checkLink, drawFound } from "./found-notes";
import { type FoundNotes, isFound } from "./outputs";
import type { Connection } from "../connection";
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
    call: (_: string, { link }: { link: string }) => {
      asked.push(link);
      const deleted = { path: "Old/Gone.md", time: "2026-11-28T14:02:00+01:00" };
      if (link === "Gone") return Promise.resolve({ path: null, line: null, resolved: false, deleted });
      if (link === "Broken") return Promise.reject(new Error("gone"));
      const path = link.toLowerCase().startsWith("compost") ? "Garden/Compost.md" : null;
      return Promise.resolve({ path, line: null, resolved: path !== null && !link.endsWith("#Sowing") });
    },
  } as unknown as Connection;
  const problem = async (target: string): Promise<string | null> => {
    const link = noteLink(document.body, target, target);
    await checkLink(connection, link);
    expect(link.classList.contains("is-unresolved")).toBe(link.hasAttribute("aria-description"));
    return link.getAttribute("aria-description");
  };

  beforeEach(() => {
    asked = [];
  });

  it("is marked if its note or its heading does not exist", async () => {
    expect(await problem("Compost#Turning")).toBeNull();
    expect(await problem("compost")).toBeNull();
    expect(await problem("Nowhere")).toBe("There is no such note");
    expect(await problem("Gone")).toMatch(/^Gone was deleted on .*2026/);
    expect(await problem("Compost#Sowing")).toBe("The note has no such heading");
    // The target is unknown.
    expect(await problem("Broken")).toBeNull();
    expect(asked).toEqual(["Compost#Turning", "compost", "Nowhere", "Gone", "Compost#Sowing", "Broken"]);
    expect(await problem("Nowhere")).toBe("There is no such note");
    expect(asked.length).toBe(6);
  });
});
