/**
 * A piece of Markdown as values, from which elements are made one by one. HTML in it is text. What
 * would be loaded from elsewhere, such as an image, is a link that says where it leads.
 */

import { getDefaults, Lexer, type Token, type Tokens } from "marked";
import { type Link, linkOf, wikiLink } from "./links";

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "styled"; style: "strong" | "em" | "del" | "mark"; children: Inline[] }
  | { kind: "code"; text: string }
  | { kind: "break" }
  | { kind: "link"; link: Link; children: Inline[]; image: boolean };

export interface ListItem {
  /** Whether it is done; none where it is no task. */
  checked?: boolean;
  blocks: Block[];
}

export type Align = "left" | "center" | "right" | null;

export type Block =
  | { kind: "paragraph"; children: Inline[] }
  | { kind: "heading"; depth: number; children: Inline[] }
  | { kind: "list"; ordered: boolean; start: number; items: ListItem[] }
  | { kind: "quote"; blocks: Block[] }
  | { kind: "code"; info: string; text: string }
  | { kind: "rule" }
  | { kind: "table"; align: Align[]; head: Inline[][]; rows: Inline[][][] };

/** How deep things may stand in each other; what is deeper is shown as it was written. */
const DEEPEST = 16;
/** The beginning of a line that would stand deeper. */
const TOO_DEEP = /^(?:[ \t]*(?:>|[-+*][ \t]|\d{1,9}[.)][ \t])){16}/m;
/** More of these in one piece than anybody writes make the reader slow. */
const BRACKETS = 1_500;

type Extensions = NonNullable<ReturnType<typeof getDefaults>["extensions"]>;
type Start = NonNullable<Extensions["startInline"]>[number];
type Read = NonNullable<Extensions["inline"]>[number];

const startsWikiLink: Start = (text) => {
  const at = text.search(/!?\[\[/);
  return at < 0 ? undefined : at;
};
const readWikiLink: Read = (text) => {
  const found = /^(!?)\[\[([^[\]\n|]+)(?:\|([^[\]\n]*))?\]\]/.exec(text);
  if (!found) return undefined;
  const [raw, embed, target = "", alias] = found;
  return { type: "wikilink", raw, target, alias, embed: embed === "!" };
};
const startsHighlight: Start = (text) => {
  const at = text.indexOf("==");
  return at < 0 ? undefined : at;
};
const readHighlight: Read = function (text) {
  const found = /^==(?=\S)([^=\n]*[^=\s])==(?!=)/.exec(text);
  if (!found) return undefined;
  const [raw, inner = ""] = found;
  return { type: "highlight", raw, tokens: this.lexer.inlineTokens(inner) };
};

// The reader alone, and not the class around it, which would bring the writer of HTML along.
const extensions = {
  startInline: [startsWikiLink, startsHighlight],
  inline: [readWikiLink, readHighlight],
} as Partial<Extensions> as Extensions;
const options = { ...getDefaults(), gfm: true, breaks: true, extensions };

/** Reads a piece of Markdown. What cannot be read is a paragraph of its own words. */
export function readMarkdown(text: string): Block[] {
  if (TOO_DEEP.test(text) || tooMany(text)) return [plain(text)];
  try {
    return blocksOf(new Lexer({ ...options }).lex(text), 0);
  } catch {
    // The reader is somebody else's: whatever it stumbles over, the words are shown.
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
    case "text":
      return { kind: "paragraph", children: inlines(token, depth) };
    case "list":
      return listOf(token as Tokens.List, depth);
    case "blockquote":
      return { kind: "quote", blocks: blocksOf(token.tokens ?? [], depth + 1) };
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
      return { kind: "styled", style: token.type, children: inlines(token, depth) };
    case "highlight":
      return { kind: "styled", style: "mark", children: inlines(token, depth) };
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
  // A link within a link is its words.
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

/** `Garden#Beds` as Obsidian shows it: `Garden > Beds`. */
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

/** Character references as the characters they mean; what is none stays. */
function decoded(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]+);/g, (whole, name: string) => {
    if (!name.startsWith("#")) return NAMED[name] ?? whole;
    const code = /^#[xX]/.test(name) ? parseInt(name.slice(2), 16) : Number(name.slice(1));
    const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return isCharacter ? String.fromCodePoint(code) : "\ufffd";
  });
}
