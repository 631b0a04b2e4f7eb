import { describe, expect, it } from "vitest";
import { completed, draggedPaths, matching, mentionAt } from "./completion";

const at = (text: string): string | null => {
  const cursor = text.indexOf("|");
  return mentionAt(text.replace("|", ""), cursor)?.text ?? null;
};

describe("a mention", () => {
  it("begins with an @ before the cursor", () => {
    expect(at("look at @comp|")).toBe("comp");
    expect(at("@|")).toBe("");
    expect(at("(@Garden/Pl|")).toBe("Garden/Pl");
    expect(at("@two words|")).toBe("two words");
    expect(at("@über den Gärten|")).toBe("über den Gärten");
    expect(at("first line\n@x|")).toBe("x");
  });

  it("begins with the brackets of a link, too, until they are closed", () => {
    expect(at("look at [[comp|")).toBe("comp");
    expect(at("[[ana@home|")).toBe("ana@home");
    expect(at("[[Compost]] and|")).toBeNull();
    expect(at("[[Compost#He|")).toBeNull();
    const text = "see [[comp]] more";
    const mention = mentionAt(text, 10);
    expect(mention && completed(text, mention, "Garden/Compost.md").text).toBe("see [[Garden/Compost]] more");
  });

  it("does not exist in an address, after its end, or far away", () => {
    expect(at("ana@example|")).toBeNull();
    expect(at("no mention|")).toBeNull();
    expect(at("@a line\nand another|")).toBeNull();
    expect(at("@done  and on|")).toBeNull();
    expect(at("@ alone|")).toBeNull();
    expect(at(`@${"x".repeat(100)}|`)).toBeNull();
  });

  it("becomes a link", () => {
    const text = "see @comp and more";
    const mention = mentionAt(text, 9);
    expect(mention && completed(text, mention, "Garden/Compost.md")).toEqual({
      text: "see [[Garden/Compost]] and more",
      cursor: 22,
    });
    expect(completed("@p", { kind: "note", from: 0, to: 2, text: "p" }, "pear.png").text).toBe("[[pear.png]] ");
  });

  it("shows the chosen alias, unless a link cannot contain it", () => {
    const mention = { kind: "note", from: 0, to: 2, text: "p" } as const;
    expect(completed("@p", mention, "Garden/Kürbis.md", "Pumpkin").text).toBe("[[Garden/Kürbis|Pumpkin]] ");
    expect(completed("@p", mention, "Garden/Kürbis.md", "Pumpkin [old]").text).toBe("[[Garden/Kürbis]] ");
  });
});

describe("a tag and a command", () => {
  it("begin with their signs, the command only if it is the whole message", () => {
    const kind = (text: string): string | undefined => mentionAt(text, text.length)?.kind;
    expect(["#", "about #garden/so", "(#x", "#3d", "#3", "a#b", "# head", "#a b"].map(kind)).toEqual(["tag", "tag", "tag", "tag", undefined, undefined, undefined, undefined]);
    expect(["/", "/ne", "/weekly-review", "/übersetzen", "/new ", " /new", "a/b", "/home/me"].map(kind)).toEqual(["command", "command", "command", "command", undefined, undefined, undefined, undefined]);
    expect(mentionAt("/new", 2)).toBeNull();
  });

  it("are completed", () => {
    const mention = mentionAt("on #gar now", 7);
    expect(mention && completed("on #gar now", mention, "garden/soil")).toEqual({ text: "on #garden/soil now", cursor: 15 });
    const names = ["soil", "garden/soil", "Solar", "pears"].map((name) => ({ name }));
    expect(matching(names, "so", 2).map(({ name }) => name)).toEqual(["soil", "Solar"]);
    expect(matching(names, "so", 9).map(({ name }) => name)).toEqual(["soil", "Solar", "garden/soil"]);
  });
});

describe("dragged text", () => {
  it("is a path of the vault", () => {
    expect(draggedPaths("obsidian://open?vault=My%20Vault&file=Garden%2FPlot%2027.md")).toEqual(["Garden/Plot 27.md"]);
    expect(draggedPaths("[[Compost#Heap|the heap]]")).toEqual(["Compost"]);
    expect(draggedPaths("![[pear.png]]")).toEqual(["pear.png"]);
  });

  it("is several paths, one per line", () => {
    expect(draggedPaths("Garden/Compost.md\r\n\nobsidian://open?vault=x&file=Inbox\n")).toEqual(["Garden/Compost.md", "Inbox"]);
  });

  it("is not a path if it is other text, or text that contains a path", () => {
    for (const text of ["", "https://example.org/a.md", "file:///etc/passwd.txt", "/etc/hosts.md", "just words", "obsidian://open?vault=x", "Garden/Compost.md\nsecond"]) {
      expect(draggedPaths(text), text).toEqual([]);
    }
  });
});
