import { describe, expect, it } from "vitest";
import { highlight, piecesOf } from "./highlight";

const kinds = (code: string, language: string): string[] =>
  (piecesOf(code, language) ?? []).flatMap(({ text, kind }) => (kind ? [`${kind}:${text}`] : []));

describe("code", () => {
  it("is coloured by its language", () => {
    expect(kinds('let a = "if"; // let b', "rust")).toEqual(["word:let", 'text:"if"', "comment:// let b"]);
    expect(kinds("def f(x):\n  return 1.5 # no", "PY")).toEqual(["word:def", "word:return", "number:1.5", "comment:# no"]);
    expect(kinds("SELECT a FROM b -- c", "sql")).toEqual(["word:SELECT", "word:FROM", "comment:-- c"]);
    expect(kinds('echo "$HOME" a#b', "sh")).toEqual(["word:echo", 'text:"$HOME"']);
    expect(kinds("a /* half", "js")).toEqual(["comment:/* half"]);
    expect(kinds("key: true", "yaml")).toEqual(["word:true"]);
  });

  it("is not highlighted in an unknown language, or if it is long", () => {
    expect(piecesOf("let a", "mermaid")).toBeNull();
    expect(piecesOf("let a", "")).toBeNull();
    expect(piecesOf("a".repeat(20_000), "js")).toBeNull();
  });

  it("keeps every character", () => {
    const code = "fn main() {\n  let s = \"it's\"; // 'x\n  /* a */ 12 }\n`";
    const root = document.createElement("code");
    root.dataset["language"] = "rust";
    root.textContent = code;
    highlight(root);
    expect(root.textContent).toBe(code);
    expect(root.querySelectorAll("span").length).toBeGreaterThan(3);
  });
});
