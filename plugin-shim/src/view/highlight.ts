/** Syntax highlighting: keywords, strings, numbers and comments of the most common languages. */

import { clear, element } from "./dom";

/** The length from which code is not highlighted. */
const LONGEST = 12_000;

/** The comment signs and the keywords of a language; strings and numbers look alike in all. */
interface Language {
  comment: string;
  words: string;
}

const SLASHES = String.raw`\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)`;
const HASH = String.raw`(?<![\w$&])#[^\n]*`;
const DASHES = String.raw`--[^\n]*`;
const MARKUP = String.raw`<!--[^]*?(?:-->|$)`;
const SHARED = "if else for while return break continue true false in do switch case default try catch finally throw new class this static import null";

const LANGUAGES: [names: string, Language][] = [
  [
    "js javascript mjs jsx ts typescript tsx",
    { comment: SLASHES, words: `${SHARED} const let var function async await export from extends of typeof instanceof undefined interface type enum implements readonly private public yield as super` },
  ],
  ["py python", { comment: HASH, words: "def class return if elif else for while in not and or is None True False import from as with try except finally raise lambda yield pass break continue async await global" }],
  ["rs rust", { comment: SLASHES, words: "fn let mut pub use mod struct enum impl trait match if else for while loop in return break continue self Self true false const static move async await where as ref dyn unsafe crate super type" }],
  ["go", { comment: SLASHES, words: "func package import var const type struct interface map chan go defer select switch case default if else for range return break continue nil true false" }],
  ["java kotlin kt c cpp h cs csharp swift php scala dart", { comment: SLASHES, words: `${SHARED} public private protected void int long double float char bool boolean string String struct enum interface extends implements final const func fun let var val using namespace include auto unsigned override nil guard` }],
  ["sh bash zsh shell fish console", { comment: HASH, words: "if then else elif fi for in do done while case esac function return export local echo exit set source" }],
  ["sql dataview", { comment: DASHES, words: "select from where group by order having join left right inner outer on as insert into values update set delete create table index view drop alter and or not null is in like limit distinct union case when then else end asc desc sort table list task flatten" }],
  ["yaml yml toml ini conf", { comment: HASH, words: "true false null yes no" }],
  ["json json5 jsonc", { comment: SLASHES, words: "true false null" }],
  ["css scss less", { comment: SLASHES, words: "important media import supports keyframes" }],
  ["html xml svg vue", { comment: MARKUP, words: "" }],
  ["rb ruby lua r perl", { comment: `${HASH}|${DASHES}`, words: "def end if elsif else unless while do class module return nil true false require local function then for in not and or my sub use" }],
];

/** The longest quotes first, so that a text in triple quotes is one token. */
const TEXTS = String.raw`"""[^]*?(?:"""|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'|\`(?:\\.|[^\`\\])*\``;
const NUMBERS = String.raw`\b\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?\b|\b0x[\da-f]+\b`;

/** A token with its class and position. */
export interface Piece {
  text: string;
  kind?: "comment" | "text" | "number" | "word";
}

/** The tokens of a code block; null for an unknown language. */
export function piecesOf(code: string, language: string): Piece[] | null {
  const known = LANGUAGES.find(([names]) => names.split(" ").includes(language.toLowerCase()))?.[1];
  if (!known || code.length > LONGEST) return null;
  const isSql = known.comment === DASHES;
  const words = known.words === "" ? "(?!)" : `(?<![\\w$.-])(?:${known.words.replaceAll(" ", "|")})(?![\\w$-])`;
  const pattern = new RegExp(`(${known.comment})|(${TEXTS})|(${NUMBERS})|(${words})`, isSql ? "gi" : "g");
  const pieces: Piece[] = [];
  let from = 0;
  for (const found of code.matchAll(pattern)) {
    if (found.index > from) pieces.push({ text: code.slice(from, found.index) });
    const [text, comment, quoted, number] = found;
    const kind = comment !== undefined ? "comment" : quoted !== undefined ? "text" : number !== undefined ? "number" : "word";
    pieces.push({ text, kind });
    from = found.index + text.length;
  }
  if (from < code.length) pieces.push({ text: code.slice(from) });
  return pieces;
}

/** Highlights the code in an element. */
export function highlight(code: HTMLElement): void {
  const pieces = piecesOf(code.textContent ?? "", code.dataset["language"] ?? "");
  if (pieces === null) return;
  clear(code);
  for (const { text, kind } of pieces) code.append(kind ? element(code, "span", { class: `vs-code-${kind}`, text }) : text);
}
