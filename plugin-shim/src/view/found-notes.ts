/** The results of a search in notes: the notes, the reason of each match, and its position. */

import { append, box, element, show } from "./dom";
import { counted, noteName, visible, wasDeleted, when } from "./format";
import { noteLink } from "./named";
import { plainText, withMarks } from "./found";
import type { Connection } from "../connection";
import type { FoundNote, FoundNotes } from "./outputs";
import { type Parts, textButton } from "./part";
import { structured } from "./agreed";

/** The number of notes that are shown at first. */
const SHOWN = 5;
/** The number of results other than conversations. */
const BESIDE = 12;
/** Milliseconds for which the result of a link check stays valid. */
const KNOWN = 5_000;

/** The reason of a match, for people. */
const WHY: Record<string, string> = { title: "name", words: "words", meaning: "meaning" };

/** The found notes, best first. */
export function drawFound(near: Node, { notes, total }: FoundNotes): HTMLElement {
  const label = total > notes.length ? `${notes.length} of ${counted(total, "note")} found` : `${counted(total, "note")} found`;
  const list = element(near, "ol", { class: "vs-found", attributes: { "aria-label": label } });
  notes.forEach((note, at) => {
    const row = drawNote(near, note);
    show(row, at < SHOWN);
    list.append(row);
  });
  const more = textButton(near, `Show ${notes.length - SHOWN} more`, "vs-more");
  show(more, notes.length > SHOWN);
  more.addEventListener("click", () => {
    for (const row of list.children) show(row as HTMLElement, true);
    more.remove();
  });
  return box(near, "vs-found-notes", list, more);
}

/** The reasons of a match. */
function drawWhy(into: HTMLElement, why: string[]): void {
  for (const one of why) append(into, element(into, "span", { class: "vs-why", text: WHY[one] ?? visible(one), attributes: { title: "Why it is found" } }));
}

function drawNote(near: Node, { path, title, why, chunks }: FoundNote): HTMLElement {
  const name = noteLink(near, path, visible(title));
  name.title = visible(path);
  const row = element(near, "li", { class: "vs-found-note" }, name);
  drawWhy(row, why);
  const best = chunks[0];
  if (!best) return row;
  const below = element(near, "div", { class: "vs-found-at", attributes: { dir: "auto" } });
  const heading = best.headings.at(-1);
  if (heading !== undefined) below.append(noteLink(near, targetOf(best.link), visible(plainText(heading))), " ");
  below.append(visible(plainText(best.snippet)));
  row.append(below);
  return row;
}

/** The target of `[[target|text]]`. */
function targetOf(link: string): string {
  return link.replace(/^\[\[|\]\]$/g, "").split("|")[0] ?? "";
}

/** A result of `memory_search`. */
interface Result {
  source: "notes" | "conversations" | "changes";
  title: string;
  time: string | null;
  /** As of a found note. */
  why?: string[];
  snippet: string;
  open: string;
}

/** Notes and changes with the search term, as rows after the conversations; `chosen` is called when one is opened. */
export async function foundBeside(parts: Parts, text: string, chosen: () => void): Promise<HTMLElement[]> {
  const answer = await parts.chat.tool("memory_search", { query: text, sources: ["notes", "changes"], limit: BESIDE });
  if (answer.isError) return [];
  const results = structured(answer)["results"] as Result[];
  return (["notes", "changes"] as const).flatMap((source) => {
    const rows = results.filter((one) => one.source === source).map((one) => besideRow(parts, one, text, chosen));
    const heading = element(parts.root, "li", { class: "vs-session-period", text: source === "notes" ? "Notes" : "Changes" });
    return rows.length > 0 ? [heading, ...rows] : [];
  });
}

function besideRow(parts: Parts, { source, title, time, why = [], snippet, open }: Result, searched: string, chosen: () => void): HTMLElement {
  const isNote = source === "notes";
  const name = element(parts.root, "span", { class: "vs-session-title", attributes: { dir: "auto" } });
  withMarks(name, visible(isNote ? noteName(title) : title), searched);
  const line = element(parts.root, "span", { class: "vs-session-line" }, name);
  drawWhy(line, why);
  if (time !== null) line.append(element(parts.root, "time", { class: "vs-session-time", text: when(time, parts.now()) }));
  const about = element(parts.root, "span", { class: "vs-session-about", attributes: { dir: "auto" } });
  withMarks(about, visible(plainText(snippet)), searched);
  const tag = isNote ? "button" : "div";
  const content = element(parts.root, tag, { class: "vs-session-open", attributes: isNote ? { type: "button", title: visible(title) } : {} }, line, about);
  if (isNote) {
    content.addEventListener("click", () => {
      const subpath = /#.*$/.exec(targetOf(open))?.[0];
      chosen();
      parts.host.openNote(title, subpath === undefined ? {} : { subpath });
    });
  }
  return element(parts.root, "li", { class: `vs-session vs-beside${isNote ? "" : " is-change"}` }, content);
}

const known = new Map<string, { problem: Promise<string>; until: number }>();

/** Marks an unresolved link in an answer. */
export async function checkLink(connection: Connection, link: HTMLElement): Promise<void> {
  const target = link.dataset["linkpath"] ?? "";
  const now = Date.now();
  let one = known.get(target);
  if (!one || one.until < now) {
    // The results for other links are outdated too, or soon will be.
    if (known.size > 500) known.clear();
    one = { problem: problemOf(connection, target), until: now + KNOWN };
    known.set(target, one);
  }
  const problem = await one.problem;
  if (problem === "") return;
  link.classList.add("is-unresolved");
  link.title = `${link.title}\n${problem}`.trim();
  link.setAttribute("aria-description", problem);
}

/** Why a link leads nowhere; empty if it leads somewhere, or if that is unknown. */
async function problemOf(connection: Connection, link: string): Promise<string> {
  try {
    const { path, resolved, deleted } = await connection.call("_vault/resolve_link", { link });
    if (resolved) return "";
    if (deleted) return wasDeleted(deleted);
    return path === null ? "There is no such note" : "The note has no such heading";
  } catch {
    return "";
  }
}
