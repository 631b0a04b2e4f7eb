// Reads a JSON array of texts, renders each by several renderers of Markdown, and writes for each text what a
// browser would load or run by itself: an array of [renderer, what].
import { Parser as CommonMark, HtmlRenderer } from "commonmark";
import MarkdownIt from "markdown-it";
import { Marked } from "marked";
import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import { parseFragment } from "parse5";

const commonmark = [new CommonMark(), new HtmlRenderer()];
const markdownIt = [new MarkdownIt("commonmark", { html: true }), new MarkdownIt({ html: true, linkify: true })];
const marked = new Marked({ gfm: true });
const dangerous = { allowDangerousHtml: true, allowDangerousProtocol: true };

const renderers = {
  commonmark: (text) => commonmark[1].render(commonmark[0].parse(text)),
  "markdown-it": (text) => markdownIt[0].render(text),
  "markdown-it with extensions": (text) => markdownIt[1].render(text),
  marked: (text) => marked.parse(text),
  micromark: (text) => micromark(text, dangerous),
  "micromark with GFM": (text) =>
    micromark(text, { ...dangerous, extensions: [gfm()], htmlExtensions: [gfmHtml()] }),
};

const LOADS = new Set(["src", "srcset", "srcdoc", "poster", "background", "data", "action", "formaction"]);
const RUNS = new Set(["script", "style", "iframe", "object", "embed", "link", "meta", "base"]);

function outside(address) {
  try {
    return new URL(address, "app://vault/").protocol !== "app:" || new URL(address, "app://vault/").host !== "vault";
  } catch {
    return false;
  }
}

function* active(node) {
  if (RUNS.has(node.tagName)) yield `<${node.tagName}>`;
  for (const { name, value } of node.attrs ?? []) {
    if (name.startsWith("on")) yield `${name}=${value}`;
    else if (name === "style" && /url|image/i.test(value)) yield `style=${value}`;
    else if (LOADS.has(name) && outside(value)) yield value;
    else if (name === "href" && /^(?:javascript|obsidian|file|vbscript):/.test(new URL(value, "app://vault/").protocol))
      yield value;
  }
  for (const child of node.childNodes ?? []) yield* active(child);
  if (node.content) yield* active(node.content);
}

function* found(text) {
  for (const [name, render] of Object.entries(renderers)) {
    let html;
    try {
      html = render(text);
    } catch {
      continue; // A renderer that gives up shows nothing.
    }
    try {
      for (const what of active(parseFragment(html))) yield [name, what];
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // An address that is none.
    }
  }
}

let input = "";
for await (const piece of process.stdin.setEncoding("utf8")) input += piece;
process.stdout.write(JSON.stringify(JSON.parse(input).map((text) => [...found(text)])));
