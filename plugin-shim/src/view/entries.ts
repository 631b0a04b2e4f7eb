/** One entry of the timeline each: what was said, thought, called, told. */

import { box, clear, element, setText, show, toggle } from "./dom";
import { Answer } from "./answer";
import { drawDiff } from "./diff-view";
import { noteName, sourceName, when } from "./format";
import { iconButton, iconOf, type Parts, setWords, textButton } from "./part";
import type { AgentEntry, CallEntry, EndEntry, Entry, NoticeEntry, ThoughtEntry, UserEntry } from "./timeline";

/** An entry as elements. */
export interface EntryView<E extends Entry = Entry> {
  readonly root: HTMLElement;
  update(entry: E): void;
  end?(): void;
}

/** What can be done with an entry. */
export interface EntryActions {
  edit(entry: UserEntry): void;
  again(entry: UserEntry): void;
  /** Has the answer given once more. */
  retry(entry: AgentEntry | EndEntry): void;
}

/** A long message of the person's is folded from so many characters or lines on. */
const LONG_TEXT = 1_200;
const LONG_LINES = 14;

export function userView(parts: Parts, actions: EntryActions): EntryView<UserEntry> {
  const root = element(parts.root, "article", { class: "vs-entry vs-user" });
  const bubble = element(root, "div", { class: "vs-bubble", attributes: { dir: "auto" } });
  const text = box(root, "vs-user-text");
  const more = textButton(root, "Show all", "vs-more");
  bubble.append(text, more);
  const foot = box(root, "vs-foot");
  const source = element(root, "span", { class: "vs-source" });
  const state = element(root, "span", { class: "vs-pending" });
  const time = element(root, "time", { class: "vs-time" });
  const again = textButton(root, "Send again", "vs-again");
  const copy = iconButton(parts, "copy", "Copy the message");
  const edit = iconButton(parts, "pencil", "Edit the message");
  const tools = element(root, "span", { class: "vs-tools" }, time, copy, edit);
  foot.append(source, state, again, tools);
  root.append(bubble, foot);
  let shown: UserEntry | null = null;
  let drawn: string | null = null;
  more.addEventListener("click", () => {
    const folded = text.classList.toggle("is-folded");
    setText(more, folded ? "Show all" : "Show less");
  });
  copy.addEventListener("click", () => shown && void copied(parts, shown.text));
  edit.addEventListener("click", () => shown && actions.edit(shown));
  again.addEventListener("click", () => shown && actions.again(shown));
  return {
    root,
    update(entry) {
      shown = entry;
      const from = sourceName(entry.source);
      root.setAttribute("aria-label", from ? `You, ${from}` : "You");
      if (drawn !== entry.text) {
        drawn = entry.text;
        clear(text);
        drawWords(text, entry.text);
        const long = entry.text.length > LONG_TEXT || entry.text.split("\n").length > LONG_LINES;
        toggle(text, "is-folded", long);
        show(more, long);
      }
      clear(source);
      if (from) source.append(iconOf(parts, sourceIcon(entry.source)), from);
      show(source, from !== null);
      const words = { sending: "Sending…", waiting: "Waits for the connection", failed: entry.error ?? "Not sent" };
      setText(state, entry.pending ? words[entry.pending] : "");
      show(state, entry.pending !== undefined);
      toggle(root, "is-pending", entry.pending !== undefined);
      toggle(root, "is-failed", entry.pending === "failed");
      show(again, entry.pending === "failed");
      show(edit, entry.pending === undefined || entry.pending === "failed");
      setText(time, entry.time ? when(entry.time, parts.now()) : "");
    },
  };
}

function sourceIcon(source: string): string {
  if (source === "voice" || source === "smarthole") return "mic";
  return source === "cli" ? "terminal" : "message-square";
}

/** The words of a person, with the notes they name as links. */
function drawWords(into: HTMLElement, text: string): void {
  const named = /\[\[([^[\]\n|]+)(?:\|([^[\]\n]*))?\]\]|\(the note `([^`\n]+)` is meant\)/g;
  let from = 0;
  for (const found of text.matchAll(named)) {
    if (found.index > from) into.append(text.slice(from, found.index));
    const path = found[1] ?? found[3] ?? "";
    into.appendChild(noteLink(into, path, found[2] ?? noteName(path)));
    from = found.index + found[0].length;
  }
  if (from < text.length) into.append(text.slice(from));
}

/** A link to a note, opened by the view's one listener. */
export function noteLink(near: Node, path: string, text: string): HTMLElement {
  return element(near, "a", {
    class: "internal-link vs-link",
    text,
    attributes: { role: "link", tabindex: 0, dir: "auto", "data-linkpath": path, title: path },
  });
}

export function agentView(parts: Parts, actions: EntryActions): EntryView<AgentEntry> {
  const root = element(parts.root, "article", { class: "vs-entry vs-agent" });
  const badge = box(root, "vs-question-badge", element(root, "span", { class: "vs-dot is-waiting" }), "Waiting for you");
  const cut = element(root, "div", { class: "vs-aside", text: "The beginning comes when the answer is whole." });
  const broke = element(root, "div", { class: "vs-aside", text: "The answer broke off here." });
  const answer = new Answer(root, parts.painter);
  const foot = box(root, "vs-foot");
  const time = element(root, "time", { class: "vs-time" });
  const copy = iconButton(parts, "copy", "Copy the answer");
  const retry = iconButton(parts, "rotate-ccw", "Ask again");
  foot.appendChild(element(root, "span", { class: "vs-tools" }, copy, retry, time));
  root.append(badge, cut, answer.root, broke, foot);
  let shown: AgentEntry | null = null;
  copy.addEventListener("click", () => shown && void copied(parts, shown.text));
  retry.addEventListener("click", () => shown && actions.retry(shown));
  return {
    root,
    update(entry) {
      shown = entry;
      const isQuestion = entry.message === "question";
      root.setAttribute("aria-label", isQuestion ? "Question of Vault Steward" : "Vault Steward");
      root.setAttribute("aria-busy", String(entry.open));
      answer.set(entry.text, !entry.open);
      toggle(root, "is-open", entry.open);
      toggle(root, "is-question", isQuestion);
      const { standing } = parts.chat.timeline;
      const isLast = isQuestion && parts.chat.timeline.last("agent")?.key === entry.key;
      const waits = isLast && standing.waiting && standing.state === "idle";
      show(badge, waits);
      toggle(root, "is-waiting", waits);
      show(cut, entry.cutBefore);
      show(broke, entry.message === "part");
      show(foot, !entry.open);
      setText(time, entry.time ? when(entry.time, parts.now()) : "");
    },
    end: () => answer.end(),
  };
}

export function thoughtView(parts: Parts): EntryView<ThoughtEntry> {
  const root = element(parts.root, "article", { class: "vs-entry vs-thought" });
  const details = element(root, "details");
  const name = element(root, "span");
  const summary = element(root, "summary", {}, iconOf(parts, "lightbulb"), name, iconOf(parts, "chevron-right", "vs-icon vs-turns"));
  const text = element(root, "div", { class: "vs-thought-text", attributes: { dir: "auto" } });
  details.append(summary, text);
  root.appendChild(details);
  let shown = "";
  const draw = (): void => {
    if (details.open) setText(text, shown);
  };
  details.addEventListener("toggle", draw);
  return {
    root,
    update(entry) {
      shown = entry.text;
      setText(name, entry.open ? "Thinking…" : "Thought");
      toggle(root, "is-open", entry.open);
      draw();
    },
  };
}

export function callView(parts: Parts): EntryView<CallEntry> {
  const root = element(parts.root, "article", { class: "vs-entry vs-call" });
  const details = element(root, "details");
  const icon = element(root, "span", { class: "vs-icon", attributes: { "aria-hidden": "true" } });
  const title = element(root, "span", { class: "vs-call-title", attributes: { dir: "auto" } });
  const state = element(root, "span", { class: "vs-call-state" });
  const summary = element(root, "summary", {}, icon, title, state, iconOf(parts, "chevron-right", "vs-icon vs-turns"));
  const body = box(root, "vs-call-body");
  details.append(summary, body);
  root.appendChild(details);
  let shown: CallEntry | null = null;
  let does = "";
  const draw = (): void => {
    if (!details.open || !shown) return;
    clear(body);
    drawCall(body, shown);
  };
  details.addEventListener("toggle", draw);
  return {
    root,
    update(entry) {
      shown = entry;
      if (does !== entry.does) {
        does = entry.does;
        clear(icon);
        parts.host.icon(icon, callIcon(entry.does));
      }
      setText(title, entry.title);
      title.title = entry.title;
      const words = { pending: entry.waitsFor ? "waits for you" : "", in_progress: "", completed: "", failed: failure(entry.output) };
      setText(state, words[entry.status]);
      root.setAttribute("aria-label", `Tool: ${entry.title}, ${entry.status.replace("_", " ")}`);
      toggle(root, "is-running", entry.status === "in_progress" || entry.status === "pending");
      toggle(root, "is-failed", entry.status === "failed");
      draw();
    },
  };
}

function callIcon(does: string): string {
  const icons: Record<string, string> = { read: "file-text", edit: "pencil", delete: "trash", move: "arrow-right", search: "search" };
  return icons[does] ?? "wrench";
}

function drawCall(into: HTMLElement, entry: CallEntry): void {
  const block = (name: string, content: Node): void => {
    into.append(element(into, "div", { class: "vs-call-label", text: name }), content);
  };
  const pre = (text: string): HTMLElement =>
    element(into, "pre", { text, attributes: { dir: "auto", tabindex: 0 } });
  if (entry.waitsFor) block("Waits for your agreement", element(into, "div", { text: entry.waitsFor }));
  const given = entry.input;
  const isEmpty = given === null || (typeof given === "object" && Object.keys(given).length === 0);
  if (!isEmpty) block("Arguments", pre(typeof given === "string" ? given : JSON.stringify(given, null, 2)));
  const diff = diffOf(entry);
  if (diff) block("Changes", drawDiff(into, diff));
  if (entry.result !== "") block(entry.status === "failed" ? "Error" : "Result", pre(entry.result));
  else if (entry.status === "in_progress") into.append(element(into, "div", { class: "vs-aside", text: "At work…" }));
}

/** In which way a call came to nothing: who said no, or that nobody has said anything. */
function failure(output: unknown): string {
  const { code, data } = (output ?? {}) as { code?: string; data?: { layer?: string; refused?: object } | null };
  if (code === "approval_pending") return "waits for your agreement";
  if (code !== "denied") return "failed";
  if (data?.layer !== "approval") return "not allowed";
  return data.refused ? "you refused" : "nobody answered";
}

/** The diff that a tool answered with, for programs or within its text. */
function diffOf(entry: CallEntry): string | null {
  const { output, result } = entry;
  if (typeof output === "object" && output !== null && "diff" in output && typeof output.diff === "string") {
    return output.diff === "" ? null : output.diff;
  }
  const at = result.search(/^--- .*\n\+\+\+ /m);
  return at < 0 ? null : result.slice(at);
}

export function noticeView(parts: Parts): EntryView<NoticeEntry> {
  const root = element(parts.root, "article", { class: "vs-entry vs-notice", attributes: { "aria-label": "Notice" } });
  return {
    root,
    update(entry) {
      clear(root);
      root.className = `vs-entry vs-notice is-${entry.severity}`;
      const icon = entry.severity === "info" ? "info" : "triangle-alert";
      const words = element(root, "div", {}, element(root, "div", { text: entry.title, attributes: { dir: "auto" } }));
      if (entry.description) {
        words.appendChild(element(root, "div", { class: "vs-notice-more", text: entry.description, attributes: { dir: "auto" } }));
      }
      root.append(iconOf(parts, icon), words);
    },
  };
}

export function endView(parts: Parts, actions: EntryActions): EntryView<EndEntry> {
  const root = element(parts.root, "article", { class: "vs-entry vs-end" });
  const words = element(root, "div", { class: "vs-end-text", attributes: { dir: "auto" } });
  const retry = textButton(root, "Try again", "vs-retry");
  root.append(words, retry);
  let shown: EndEntry | null = null;
  retry.addEventListener("click", () => shown && actions.retry(shown));
  return {
    root,
    update(entry) {
      shown = entry;
      toggle(root, "is-error", entry.error !== undefined);
      setWords(words, entry.error ?? endWords(entry));
    },
  };
}

function endWords(entry: EndEntry): string {
  switch (entry.stopReason) {
    case "cancelled":
      return "Stopped";
    case "max_tokens":
      return "The answer reached the longest that the model may give";
    case "max_turn_requests":
      return "Stopped after as many steps as one turn may have";
    case "refusal":
      return "The model declined to answer";
    default:
      return "Done";
  }
}

async function copied(parts: Parts, text: string): Promise<void> {
  try {
    await parts.host.copy(text);
    parts.announce("Copied");
    parts.host.notice("Copied");
  } catch {
    parts.host.notice("The text could not be copied; select it and copy it by hand");
  }
}
