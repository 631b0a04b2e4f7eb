/** The entries of the timeline: messages, thoughts, tool calls, notices. */

import { append, box, clear, element, setText, show, toggle } from "./dom";
import { Answer } from "./answer";
import { sentence, sourceName, when } from "./format";
import { draftOf } from "./draft";
import { drawWords } from "./named";
import { iconButton, iconOf, type Parts, setWords, textButton } from "./part";
import { type Card, lazyCard } from "./lazy";
import { cardKey } from "./plans";
import { isFound, isNames, isProposed, isTable, type Names } from "./outputs";
import type { AgentEntry, CallEntry, EndEntry, Entry, NoticeEntry, ThoughtEntry, UserEntry } from "./timeline";

/** An entry's element. */
export interface EntryView<E extends Entry = Entry> {
  readonly root: HTMLElement;
  update(entry: E): void;
  end?(): void;
}

/** The actions on an entry. */
export interface EntryActions {
  edit(entry: UserEntry): void;
  again(entry: UserEntry): void;
  /** Requests the answer again. */
  retry(entry: AgentEntry | EndEntry): void;
}

/** A longer message of the person is folded: characters, lines. */
const LONG_TEXT = 1_200;
const LONG_LINES = 14;

export function userView(parts: Parts, actions: EntryActions): EntryView<UserEntry> {
  const root = element(parts.root, "article", { class: "vs-entry vs-user" });
  const bubble = element(root, "div", { class: "vs-bubble", attributes: { dir: "auto" } });
  const text = box(root, "vs-user-text");
  const more = textButton(root, "Show all", "vs-more");
  const pictures = box(root, "vs-pictures");
  bubble.append(text, more, pictures);
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
  /** Replaces the images' names by the images; those that cannot be loaded keep their names. */
  const drawPictures = (images: { data: string; mimeType: string }[], count: number): void => {
    clear(pictures);
    images.forEach(({ data, mimeType }, at) => {
      const alt = images.length > 1 ? `Picture ${at + 1} of ${images.length}` : "Picture";
      if (data !== "") pictures.append(element(root, "img", { class: "vs-picture", attributes: { src: `data:${mimeType};base64,${data}`, alt } }));
    });
    if (pictures.childElementCount < count) text.append("\n(with a picture)".repeat(count - pictures.childElementCount));
    show(pictures, pictures.hasChildNodes());
  };
  const drawText = (entry: UserEntry): void => {
    const { pictures: count } = draftOf(entry.text);
    const mine = parts.chat.outbox.images(entry);
    clear(text);
    show(pictures, count > 0);
    toggle(pictures, "is-loading", count > 0);
    // Until the daemon has it, the images have names.
    const named = mine.length > 0 ? "|image: .*" : "";
    drawWords(text, entry.text.replace(new RegExp(`\\n?\\((?:with a picture${named})\\)(?=\\n\\(|$)`, "g"), "").trim());
    if (mine.length > 0) drawPictures(mine, mine.length);
    else if (count > 0) {
      void parts.chat.attached(entry, true).then((answer) => {
        toggle(pictures, "is-loading", false);
        drawPictures(answer?.images ?? [], count);
      });
    }
  };
  return {
    root,
    update(entry) {
      shown = entry;
      const from = sourceName(entry.source);
      root.setAttribute("aria-label", from ? `You, ${from}` : "You");
      if (drawn !== entry.text) {
        drawn = entry.text;
        drawText(entry);
        const long = entry.text.length > LONG_TEXT || entry.text.split("\n").length > LONG_LINES;
        toggle(text, "is-folded", long);
        show(more, long);
      }
      clear(source);
      if (from) source.append(iconOf(parts, sourceIcon(entry.source)), from);
      show(source, from !== null);
      const isQueued = parts.chat.timeline.status.queued > 0;
      const words = { sending: isQueued ? "Queued" : "Sending…", waiting: "Will be sent when the connection is back", failed: entry.error ?? "Not sent" };
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

export function agentView(parts: Parts, actions: EntryActions): EntryView<AgentEntry> {
  const root = element(parts.root, "article", { class: "vs-entry vs-agent" });
  const badge = box(root, "vs-question-badge", element(root, "span", { class: "vs-dot is-waiting" }), "Waiting for you");
  const cut = element(root, "div", { class: "vs-aside", text: "The start of this answer will appear when it is complete." });
  const broke = element(root, "div", { class: "vs-aside", text: "The answer was cut off here." });
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
      const { status } = parts.chat.timeline;
      const isLast = isQuestion && parts.chat.timeline.last("agent")?.key === entry.key;
      const waits = isLast && status.waiting && status.state === "idle";
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
  details.append(summary);
  root.appendChild(details);
  let shown: CallEntry | null = null;
  let card: Card | null = null;
  /** The subject of the card. */
  let cardOf: unknown;
  let does = "";
  let body: Card | null = null;
  const draw = (): void => {
    const entry = shown;
    if (!details.open || !entry) return;
    body?.root.remove();
    body = lazyCard(root, ({ callDetails }) => callDetails(parts, entry));
    details.append(body.root);
  };
  details.addEventListener("toggle", draw);
  return {
    root,
    update(entry) {
      shown = entry;
      // A message that the agent sent is shown as a message.
      show(root, entry.tool !== "send_message" || entry.status === "failed");
      if (does !== entry.does) {
        does = entry.does;
        clear(icon);
        parts.host.icon(icon, callIcon(entry.does));
      }
      // A tool without a title is shown by its name.
      const called = entry.title === entry.tool ? sentence(entry.tool.replaceAll("_", " ")) : entry.title;
      setText(title, called);
      title.title = called;
      const words = { pending: entry.waitsFor ? "waiting for you" : "", in_progress: "", completed: isProposed(entry.output) ? "proposed" : "", failed: failure(entry) };
      setText(state, words[entry.status]);
      root.setAttribute("aria-label", `Tool: ${called}, ${entry.status.replace("_", " ")}`);
      toggle(root, "is-running", entry.status === "in_progress" || entry.status === "pending");
      toggle(root, "is-failed", entry.status === "failed");
      const named = entry.card ? cardKey(entry.card) : isTable(entry.output) || isNames(entry.output) || isFound(entry.output) ? entry.output : undefined;
      if (cardOf !== named) {
        cardOf = named;
        card?.end();
        card?.root.remove();
        card = named === undefined ? null : cardFor(parts, entry);
        append(root, card?.root);
      }
      draw();
    },
    end: () => card?.end(),
  };
}

function cardFor(parts: Parts, { card, input, output }: CallEntry): Card {
  return lazyCard(parts.root, ({ drawFound, drawTable, jobCard, namesCard, planCard }) => {
    if (card) return card.kind === "plan" ? planCard(parts, card.plan) : jobCard(parts, card.job);
    if (isTable(output)) return { root: drawTable(parts.root, output), end: () => undefined };
    if (isFound(output)) return { root: drawFound(parts.root, output), end: () => undefined };
    const { convention } = (input ?? {}) as { convention?: unknown };
    return namesCard(parts, output as Names, typeof convention === "string" ? convention : undefined);
  });
}

function callIcon(does: string): string {
  const icons: Record<string, string> = { read: "file-text", edit: "pencil", delete: "trash", move: "arrow-right", search: "search" };
  return icons[does] ?? "wrench";
}

/** The label of a call without a result: refused by a person or a rule, or unanswered. */
function failure({ output }: CallEntry): string {
  const { code, data } = (output ?? {}) as { code?: string; data?: { layer?: string; refused?: object } | null };
  if (code === "approval_pending") return "waiting for your approval";
  if (code !== "denied") return "failed";
  if (data?.layer !== "approval") return "not allowed";
  return data.refused ? "you refused" : "nobody answered";
}

export function noticeView(parts: Parts): EntryView<NoticeEntry> {
  const root = element(parts.root, "article", { class: "vs-entry vs-notice", attributes: { "aria-label": "Notice" } });
  return {
    root,
    update(entry) {
      clear(root);
      root.className = `vs-entry vs-notice is-${entry.severity}`;
      const icon = entry.severity === "info" ? "info" : "triangle-alert";
      const title = element(root, "div", { attributes: { dir: "auto" } });
      setWords(title, entry.title);
      const words = element(root, "div", {}, title);
      if (entry.description) {
        const more = element(words, "div", { class: "vs-notice-more", attributes: { dir: "auto" } });
        setWords(more, entry.description);
        words.append(more);
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
      return "The answer reached the model's length limit";
    case "max_turn_requests":
      return "Stopped at the limit of steps for one turn";
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
    parts.host.notice("The text could not be copied. Select it and copy it yourself");
  }
}
