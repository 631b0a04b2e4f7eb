import { describe, expect, it } from "vitest";
import { noteOfRules, pathOfRules } from "./kept-rules";

describe("saved rules", () => {
  it("have a note with their name", () => {
    expect(pathOfRules("Old meetings: by year")).toBe("Rules/Old meetings by year.md");
    expect(pathOfRules("../[x]")).toBe("Rules/x.md");
    expect(pathOfRules(" ? ")).toBe("Rules/Rules.md");
    expect(pathOfRules("a".repeat(200)).length).toBeLessThan(100);
  });

  it("are in a code block that ends after them", () => {
    expect(noteOfRules("Rules/a.md", "rules: []\n")).toBe("```rules\nrules: []\n```\n");
    expect(noteOfRules("Rules.yaml", "rules: []")).toBe("rules: []\n");
    expect(noteOfRules("a.md", "append: '```'")).toBe("````rules\nappend: '```'\n````\n");
  });
});
