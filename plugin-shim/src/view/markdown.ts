/**
 * A piece of Markdown as values, from which elements are created one by one. HTML in it is text. A resource from
 * elsewhere, such as an image, becomes a link that shows its address.
 */

import { getDefaults, Lexer, type Token, Tokenizer, type Tokens } from "marked";
import { type Link, linkOf, wikiLink } from "./links";

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "styled"; style: "strong" | "em" | "del" | "mark" | "small"; children: Inline[] }
  | { kind: "code"; text: string }
  | { kind: "break" }
  /** TeX; `block` is a display formula. */
  | { kind: "math"; text: string; block: boolean }
  /** A comment, including its `%%` marks. */
  | { kind: "comment"; text: string }
  /** The number of a footnote. */
  | { kind: "footnote"; id: string }
  | { kind: "link"; link: Link; children: Inline[]; image: boolean };

export interface ListItem {
  /** Whether the task is done; undefined if the item is not a task. */
  checked?: boolean;
  blocks: Block[];
}

export type Align = "left" | "center" | "right" | null;

export type Block =
  | { kind: "paragraph"; children: Inline[] }
  | { kind: "heading"; depth: number; children: Inline[] }
  | { kind: "list"; ordered: boolean; start: number; items: ListItem[] }
  | { kind: "quote"; blocks: Block[] }
  /** `fold` is `+` or `-` if the callout can be folded: initially open or closed. */
  | { kind: "callout"; type: string; fold: string; title: Inline[]; blocks: Block[] }
  | { kind: "footnote"; id: string; children: Inline[] }
  | { kind: "code"; info: string; text: string }
  | { kind: "rule" }
  | { kind: "table"; align: Align[]; head: Inline[][]; rows: Inline[][][] };

/** The maximum nesting depth; deeper text is shown as written. */
const DEEPEST = 16;
/** The beginning of a line that is nested more deeply. */
const TOO_DEEP = /^(?:[ \t]*(?:>|[-+*][ \t]|\d{1,9}[.)][ \t])){16}/m;
/** More of these in one piece than a person would write make the parser slow. */
const BRACKETS = 1_500;

type Extensions = NonNullable<ReturnType<typeof getDefaults>["extensions"]>;
type Start = NonNullable<Extensions["startInline"]>[number];
type Read = NonNullable<Extensions["inline"]>[number];

// Obsidian's extensions of GitHub's Markdown.
const OWN_BEGINS = /!?\[\[|==|\$|%%|\[\^|\^\[/;
const WIKI_LINK = /^(!?)\[\[([^[\]\n|]+)(?:\|([^[\]\n]*))?\]\]/;
const HIGHLIGHT = /^==(?=\S)([^=\n]*[^=\s])==(?!=)/;
const MATH = /^\$(?!\s)((?:\\.|[^\\$\n])+)(?<!\s)\$(?![\d$])/;
const MATH_BLOCK = /^ {0,3}\$\$((?:\\[^]|[^\\$])+)\$\$/;
const COMMENT = /^%%[^]+?%%/;
const FOOTNOTE = /^\[\^([^\]\s]+)\]/;
const INLINE_NOTE = /^\^\[([^[\]\n]+)\]/;
const OWN_BLOCK = /\n(?: {0,3}\$\$|\[\^[^\]\s]+\]:)/;
const NOTE = /^\[\^([^\]\s]+)\]:[ \t]*([^\n]*(?:\n(?!\[\^|[ \t]*\n)[^\n]+)*)(?:\n+|$)/;
const CALLOUT = /^\[!([^\]\n]+)\]([+-]?)[ \t]*([^\n]*)(?:\n|$)/;

const startsOwn: Start = (text) => {
  const at = text.search(OWN_BEGINS);
  return at < 0 ? undefined : at;
};
const readOwn: Read = function (text) {
  let found: RegExpExecArray | null;
  const token = (type: string, rest: object): ReturnType<Read> => ({ type, raw: found?.[0] ?? "", ...rest });
  if ((found = WIKI_LINK.exec(text))) return token("wikilink", { target: found[2], alias: found[3], embed: found[1] === "!" });
  if ((found = HIGHLIGHT.exec(text))) return token("mark", { tokens: this.lexer.inlineTokens(found[1] ?? "") });
  if ((found = MATH_BLOCK.exec(text))) return token("math", { text: found[1], block: true });
  if ((found = MATH.exec(text))) return token("math", { text: found[1] });
  if ((found = COMMENT.exec(text))) return token("comment", {});
  if ((found = FOOTNOTE.exec(text))) return token("footnote", { id: found[1] });
  if ((found = INLINE_NOTE.exec(text))) return token("small", { tokens: this.lexer.inlineTokens(found[1] ?? "") });
  return undefined;
};
const startsOwnBlock: Start = (text) => {
  const at = text.search(OWN_BLOCK);
  return at < 0 ? undefined : at + 1;
};
const readOwnBlock: Read = function (text) {
  const note = NOTE.exec(text);
  if (note) return { type: "note", raw: note[0], id: note[1], tokens: this.lexer.inlineTokens(note[2] ?? "") };
  const [raw] = MATH_BLOCK.exec(text) ?? [];
  // With text after it, it is part of a paragraph.
  if (raw === undefined || /^[ \t]*\S/.test(text.slice(raw.length))) return undefined;
  // Not named `paragraph`, since the parser appends following text to a paragraph.
  return { type: "formula", raw, tokens: this.lexer.inlineTokens(raw.trim()) };
};

// Only the lexer, without the class around it, which would import the HTML renderer.
const extensions = {
  startInline: [startsOwn],
  inline: [readOwn],
  startBlock: [startsOwnBlock],
  block: [readOwnBlock],
} as Partial<Extensions> as Extensions;
const options = { ...getDefaults(), gfm: true, breaks: true, extensions };

/** The underline of a setext heading. */
const UNDERLINE = /\n {0,3}(=+|-+)[ \t]*(?:\n+|$)/;
/** A line that interrupts a paragraph. */
const NO_WORDS = /^(?: {0,3}(?:[-+*][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|>|```|~~~)|[ \t]*$)/m;

/** `marked`'s own rules, except setext headings: that rule takes many times longer to compile than all others. */
class Reader extends Tokenizer<string, unknown> {
  override lheading(rest: string): Tokens.Heading | undefined {
    const found = UNDERLINE.exec(rest);
    const text = rest.slice(0, found?.index ?? 0);
    if (!found || NO_WORDS.test(text)) return undefined;
    const raw = text + found[0];
    return { type: "heading", raw, depth: found[1]?.startsWith("=") ? 1 : 2, text, tokens: this.lexer.inline(text.trim()) };
  }
}

function lexer(): Lexer<string, unknown> {
  return new Lexer({ ...options, tokenizer: new Reader() });
}

/**
 * Compiles the lexer's rules before anything is parsed, one per step: the engine compiles them on first use, and all of
 * them take longer than a frame.
 */
export function* warmUp(): Generator<void> {
  const tokenizer = new Reader();
  new Lexer({ ...options, tokenizer });
  const { block, inline } = tokenizer.rules;
  for (const rule of [...Object.values(block), ...Object.values(inline)]) {
    if (rule === block.lheading) continue;
    // The engine optimizes it on the second use.
    rule.exec("x y");
    rule.exec("x y");
    rule.lastIndex = 0;
    yield;
  }
}

/** Parses a piece of Markdown. Text that cannot be parsed becomes a paragraph. */
export function readMarkdown(text: string): Block[] {
  if (TOO_DEEP.test(text) || tooMany(text)) return [plain(text)];
  try {
    return blocksOf(lexer().lex(text), 0);
  } catch {
    // The lexer is a library: whatever it throws, the text must be shown.
    return [plain(text)];
  }
}

function tooMany(text: string): boolean {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x5b || code === 0x2a || code === 0x5f || code === 0x3c) count += 1;
  }
  return count > BRACKETS;
}

function plain(text: string): Block {
  const lines = text.split("\n");
  const children = lines.flatMap((line, at): Inline[] => {
    const words: Inline = { kind: "text", text: line };
    return at === 0 ? [words] : [{ kind: "break" }, words];
  });
  return { kind: "paragraph", children };
}

function blocksOf(tokens: Token[], depth: number): Block[] {
  const blocks: Block[] = [];
  for (const token of tokens) {
    const block = depth > DEEPEST ? plain(token.raw) : blockOf(token, depth);
    if (block) blocks.push(block);
  }
  return blocks;
}

function blockOf(token: Tokens.Generic, depth: number): Block | null {
  switch (token.type) {
    case "space":
    case "def":
    case "checkbox":
      return null;
    case "heading":
      return { kind: "heading", depth: (token as Tokens.Heading).depth, children: inlines(token, depth) };
    case "paragraph":
    case "formula":
    case "text":
      return { kind: "paragraph", children: inlines(token, depth) };
    case "list":
      return listOf(token as Tokens.List, depth);
    case "note":
      return { kind: "footnote", id: String(token["id"]), children: inlines(token, depth) };
    case "blockquote":
      return calloutOf(token, depth) ?? { kind: "quote", blocks: blocksOf(token.tokens ?? [], depth + 1) };
    case "code": {
      const { lang, text } = token as Tokens.Code;
      return { kind: "code", info: lang ?? "", text };
    }
    case "hr":
      return { kind: "rule" };
    case "table":
      return tableOf(token as Tokens.Table, depth);
    default:
      return token.raw.trim() === "" ? null : plain(token.raw.trimEnd());
  }
}

/** A quote that begins with `[!type]`. */
function calloutOf(quote: Tokens.Generic, depth: number): Block | null {
  const [head, kind, fold = "", title] = CALLOUT.exec(quote["text"] as string) ?? [];
  if (head === undefined || kind === undefined) return null;
  const type = kind.trim().toLowerCase();
  const shown = title || type.charAt(0).toUpperCase() + type.slice(1);
  const rest = (quote["text"] as string).slice(head.length);
  return {
    kind: "callout",
    type,
    fold,
    title: inlinesOf(lexer().inlineTokens(shown), depth + 1),
    blocks: blocksOf(lexer().lex(rest), depth + 1),
  };
}

function listOf(list: Tokens.List, depth: number): Block {
  const items = list.items.map((item): ListItem => {
    const blocks = blocksOf(item.tokens, depth + 1);
    return item.task ? { checked: item.checked === true, blocks } : { blocks };
  });
  const start = typeof list.start === "number" ? list.start : 1;
  return { kind: "list", ordered: list.ordered, start, items };
}

function tableOf(table: Tokens.Table, depth: number): Block {
  const cells = (row: Tokens.TableCell[]): Inline[][] =>
    row.map((cell) => inlinesOf(cell.tokens, depth + 1));
  return { kind: "table", align: table.align, head: cells(table.header), rows: table.rows.map(cells) };
}

function inlines(token: Tokens.Generic, depth: number): Inline[] {
  if (token.tokens) return inlinesOf(token.tokens, depth + 1);
  return [{ kind: "text", text: decoded(String(token["text"] ?? token.raw)) }];
}

function inlinesOf(tokens: Token[], depth: number): Inline[] {
  const found: Inline[] = [];
  for (const token of tokens as Tokens.Generic[]) {
    const inline: Inline | null =
      depth > DEEPEST ? { kind: "text", text: token.raw } : inlineOf(token, depth);
    if (!inline) continue;
    const last = found[found.length - 1];
    if (inline.kind === "text" && last?.kind === "text") last.text += inline.text;
    else found.push(inline);
  }
  return found;
}

function inlineOf(token: Tokens.Generic, depth: number): Inline | null {
  switch (token.type) {
    case "strong":
    case "em":
    case "del":
    case "mark":
    case "small":
      return { kind: "styled", style: token.type, children: inlines(token, depth) };
    case "math":
      return { kind: "math", text: String(token["text"]).trim(), block: token["block"] === true };
    case "comment":
      return { kind: "comment", text: token.raw };
    case "footnote":
      return { kind: "footnote", id: String(token["id"]) };
    case "codespan":
      return { kind: "code", text: (token as Tokens.Codespan).text };
    case "br":
      return { kind: "break" };
    case "checkbox":
      return null;
    case "escape":
      return { kind: "text", text: (token as Tokens.Escape).text };
    case "link":
      return linked((token as Tokens.Link).href, inlines(token, depth), false);
    case "image": {
      const { href, text } = token as Tokens.Image;
      return linked(href, [{ kind: "text", text: decoded(text) || href }], true);
    }
    case "wikilink":
      return wiki(token);
    case "html":
      return /^<br\s*\/?>$/i.test(token.raw) ? { kind: "break" } : { kind: "text", text: token.raw };
    case "text":
      return { kind: "text", text: decoded((token as Tokens.Text).text) };
    default:
      return { kind: "text", text: token.raw };
  }
}

function linked(href: string, children: Inline[], image: boolean): Inline {
  // A link within a link is plain text.
  return { kind: "link", link: linkOf(decoded(href)), children: children.flatMap(unlinked), image };
}

function unlinked(inline: Inline): Inline[] {
  if (inline.kind === "link") return inline.children.flatMap(unlinked);
  if (inline.kind !== "styled") return [inline];
  return [{ ...inline, children: inline.children.flatMap(unlinked) }];
}

function wiki(token: Tokens.Generic): Inline {
  const target = String(token["target"]);
  const alias = token["alias"] === undefined ? "" : String(token["alias"]).trim();
  // The alias of an embedded image is its width.
  const embed = token["embed"] === true;
  const text = alias !== "" && !(embed && /^\d+(x\d+)?$/.test(alias)) ? alias : shownTarget(target);
  return { kind: "link", link: wikiLink(target), children: [{ kind: "text", text }], image: embed };
}

/** Obsidian's display of `Garden#Beds`: `Garden > Beds`. */
function shownTarget(target: string): string {
  return target
    .trim()
    .split("#")
    .filter((part) => part !== "")
    .join(" > ");
}

const NAMED: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
  hellip: "…",
  mdash: "—",
  ndash: "–",
  copy: "©",
  rarr: "→",
  larr: "←",
  times: "×",
  middot: "·",
  bull: "•",
  euro: "€",
  deg: "°",
};

/** Replaces character references by their characters; invalid ones stay. */
function decoded(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]+);/g, (whole, name: string) => {
    if (!name.startsWith("#")) return NAMED[name] ?? whole;
    const code = /^#[xX]/.test(name) ? parseInt(name.slice(2), 16) : Number(name.slice(1));
    const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return isCharacter ? String.fromCodePoint(code) : "\ufffd";
  });
}
