/** The start page of an empty conversation: pending questions and proposals, the state of the vault, and suggested prompts. */

import { append, box, clear, element, setText, show } from "./dom";
import { callAgreed, messageOf, structured } from "./agreed";
import { counted, dollars, noteName, sentence, visible, when } from "./format";
import { iconOf, type Parts, textButton } from "./part";
import { mostLike, relinked } from "./repair";
import type { CallGiven } from "./chat";
import type { FoundNote } from "./outputs";
import type { Card } from "./lazy";
import { dayOf } from "./calendar";
import { dayWords } from "./density";
import { drawFound } from "./found-notes";
import { noteLink } from "./named";
import { errorText } from "../call-error";

/** The actions that the view provides. */
export interface HomeActions {
  open(sessionId: string): void;
  timeMachine: () => void;
}

/** The number of named items of each kind. */
const NAMED = 5;
/** The days for which costs are shown and bars are drawn. */
const MONTH = 30;
const WEEK = 7;
/** Milliseconds for which events are collected before they are drawn. */
const PAUSE = 200;

interface Broken {
  path: string;
  link: string;
  line: number;
}

interface Counted {
  name: string;
  count: number;
}

interface Outline {
  tags?: Counted[];
  most_linked?: Counted[];
  newest_notes?: string[];
}

/** Something that waits. */
interface Waits {
  icon: string;
  text: string;
  about: string;
  button: string;
  act: () => void;
}

export function homeCard(parts: Parts, actions: HomeActions): Card {
  const { activity, connection, host, chat, jobs } = parts;
  const scope = parts.scope.child();
  const root = element(parts.root, "section", { class: "vs-home", attributes: { "aria-label": "Home" } });
  const group = (title: string): { all: HTMLElement; rows: HTMLElement } => {
    const rows = box(root, "vs-home-rows");
    const all = element(root, "section", { class: "vs-home-group", attributes: { "aria-label": title } }, element(root, "h2", { text: title }), rows);
    show(all, false);
    root.append(all);
    return { all, rows };
  };
  const waiting = group("Waiting for you");
  const related = group("Related notes");
  const vault = group("Your vault");
  const asks = group("Ask");

  /** The result of a tool that reads; null after an error: then the row is left out. */
  const read = async <T>(tool: string, given: CallGiven): Promise<T | null> => {
    const result = await chat.tool(tool, given).catch(() => null);
    return result === null || result.isError || scope.ended ? null : (structured(result) as T);
  };

  const row = (icon: string, words: (Node | string)[], ...buttons: HTMLElement[]): HTMLElement =>
    box(root, "vs-home-row", iconOf(parts, icon), element(root, "div", { class: "vs-home-words", attributes: { dir: "auto" } }, ...words), ...buttons);
  const button = (text: string, act: () => void): HTMLButtonElement => {
    const made = textButton(root, text, "vs-small");
    made.addEventListener("click", act);
    return made;
  };
  const quiet = (text: string): HTMLElement => element(root, "div", { class: "vs-aside", text, attributes: { dir: "auto" } });

  // --- pending questions and proposals

  /** Scrolls to a card above the field. */
  const reveal = (selector: string): void => {
    const found = parts.root.querySelector<HTMLElement>(selector);
    (found?.matches("[tabindex], button") ? found : found?.querySelector<HTMLElement>("button"))?.focus();
  };
  const whatWaits = async (): Promise<Waits[]> => {
    const [list, inbox] = await Promise.all([
      connection.call("session/list", {}).catch(() => null),
      connection.call("_vault/inbox/list", {}).catch(() => null),
    ]);
    const approvals = activity.approvals.map(({ params }): Waits => ({
      icon: "hand",
      text: params.toolCall.title.replace(/`/g, ""),
      about: "An approval",
      button: "Show",
      act: () => reveal(".vs-approval"),
    }));
    const questions = (list?.sessions ?? []).flatMap(({ sessionId, _meta: { vault: info } }): Waits[] => {
      if (info.shown !== "waiting_for_you" && activity.of(sessionId) !== "waiting") return [];
      if (activity.of(sessionId) === "asking") return [];
      const text = info.question ?? info.title ?? "A question";
      const about = [info.question === undefined ? undefined : info.title, when(info.lastActive, parts.now())].filter(Boolean).join(" · ");
      return [{ icon: "message-square", text, about, button: "Open", act: () => actions.open(sessionId) }];
    });
    const spoken = (inbox?.messages ?? []).flatMap(({ state, text, received }): Waits[] =>
      state === "new" || state === "set_aside" ? [{ icon: "mic", text, about: `Spoken · ${when(received, parts.now())}`, button: "Show", act: () => reveal(".vs-waiting") }] : []);
    const stopped = jobs.all.flatMap(({ job, state, done, total }): Waits[] =>
      state === "interrupted" && !jobs.isLeft(job) ? [{ icon: "triangle-alert", text: `Job ${job} was interrupted`, about: `${done} of ${total} done`, button: "Show", act: () => reveal(".vs-jobs") }] : []);
    const proposed = activity.proposals.waiting.flatMap(({ sessionId, time, proposals = [], plan }): Waits[] => {
      const act = (): void => actions.open(sessionId);
      const about = when(time, parts.now());
      const made: Waits[] = [];
      if (proposals.length > 0) {
        const count = counted(proposals.reduce((sum, { changes }) => sum + changes.length, 0), "proposed change");
        made.push({ icon: "pencil", text: proposals.map(({ title }) => sentence(title.replace(/`/g, ""))).join("; "), about: `${count} · ${about}`, button: "Open", act });
      }
      // A plan that has a job was applied.
      if (plan && !jobs.all.some((job) => job.plan === plan.number)) made.push({ icon: "folder", text: sentence(plan.title), about: `Plan ${plan.number} · ${about}`, button: "Open", act });
      return made;
    });
    return [...approvals, ...questions, ...proposed, ...spoken, ...stopped];
  };
  let asked = 0;
  const drawWaiting = async (): Promise<void> => {
    const own = ++asked;
    const found = await whatWaits();
    if (own !== asked || scope.ended) return;
    clear(waiting.rows);
    for (const { icon, text, about, button: name, act } of found.slice(0, 2 * NAMED)) {
      const made = button(name, act);
      made.setAttribute("aria-label", `${name}: ${text}`);
      waiting.rows.append(row(icon, [element(root, "div", { class: "vs-home-text", text: visible(text) }), quiet(about)], made));
    }
    if (found.length > 2 * NAMED) waiting.rows.append(quiet(`and ${found.length - 2 * NAMED} more`));
    show(waiting.all, found.length > 0);
  };
  let wait: (() => void) | null = null;
  const soon = (): void => {
    wait?.();
    wait = scope.after(PAUSE, () => void drawWaiting());
  };

  // --- the open note

  let active: string | undefined;
  /** The notes that belong to the open one and are not linked with it. */
  const drawRelated = async (): Promise<void> => {
    const path = (active = host.activeNote()?.path);
    const found = path === undefined ? null : await read<{ notes: FoundNote[] }>("related_notes", { path, limit: NAMED });
    if (path !== active || scope.ended) return;
    const notes = found?.notes ?? [];
    clear(related.rows);
    if (path !== undefined) {
      setText(related.all.firstElementChild as Node, `Related to ${noteName(path)}`);
      related.rows.append(drawFound(root, { notes: notes.map((note) => ({ ...note, chunks: [] })), total: notes.length }));
    }
    show(related.all, notes.length > 0);
  };

  // --- the vault

  /** A line with a count, which unfolds the counted items. */
  const fold = (icon: string, title: string, rows: HTMLElement[], ...buttons: HTMLElement[]): HTMLElement => {
    const list = element(root, "ul", { class: "vs-home-list" }, ...rows.map((one) => element(root, "li", {}, one)));
    return row(icon, [element(root, "details", {}, element(root, "summary", { text: title }), list)], ...buttons);
  };
  const attempt = (made: HTMLButtonElement, act: () => Promise<void>): void => {
    made.disabled = true;
    void act().catch((error: unknown) => host.notice(errorText(error))).finally(() => (made.disabled = false));
  };

  const brokenLinks = async (): Promise<HTMLElement | null> => {
    const found = await read<{ entries: Broken[]; total: number }>("list_links", { kind: "unresolved", max_results: NAMED });
    if (!found || found.total === 0) return null;
    const lines = found.entries.map((one) => brokenLink(one));
    if (found.total > lines.length) lines.push(quiet(`and ${found.total - lines.length} more`));
    const all = button("Fix", () => parts.compose("Fix the broken links in my vault: link to the note that was meant, and ask me where you are not sure."));
    all.setAttribute("aria-label", "Fix all broken links");
    return fold("triangle-alert", counted(found.total, "broken link"), lines, all);
  };
  const brokenLink = (broken: Broken): HTMLElement => {
    const { path, link, line } = broken;
    const made: HTMLElement = box(root, "vs-home-broken", element(root, "span", { attributes: { dir: "auto" } }, `[[${visible(link)}]] in `, noteLink(root, path, noteName(path)), `, line ${line}`));
    void closestNote(link).then((to) => {
      if (to === null || scope.ended) return;
      const fix = textButton(root, `Link to ${to}`, "vs-small");
      fix.setAttribute("aria-label", `Link to ${to} in place of ${link}`);
      fix.addEventListener("click", () => attempt(fix, async () => {
        const problem = await repair(broken, to);
        if (problem === null) setText(made, `[[${link}]] is [[${to}]] now`);
        else if (problem !== "") host.notice(problem);
      }));
      made.append(fix);
    });
    return made;
  };
  /** The existing note whose name is most like a broken link. */
  const closestNote = async (link: string): Promise<string | null> => {
    const name = noteName(link);
    const answers = await Promise.all([name, name.slice(0, 3)].map((text) => connection.call("_vault/complete", { text, limit: 20 }).catch(() => null)));
    const notes = answers.flatMap((answer) => answer?.found ?? []).filter(({ kind }) => kind === "note");
    return mostLike(name, notes.map((one) => one.name));
  };
  /** Has a link lead to a note; answers why it does not, empty where the person did not agree. */
  const repair = async ({ path, link, line }: Broken, to: string): Promise<string | null> => {
    const answer = await chat.tool("read_file", { path, start_line: line, end_line: line });
    if (answer.isError) return messageOf(answer);
    const { content, revision } = structured(answer) as { content: string; revision: string };
    const made = relinked(content.replace(/\r?\n$/, ""), link, to);
    if (made === null) return `The link is not a wikilink, or no longer in line ${line} of ${path}. Ask for it to be fixed.`;
    const given = { path, replace_lines: { start: line, end: line }, content: made, expected_revision: revision };
    const result = await callAgreed(parts, "edit_file", given, { question: `Link to ${to} in ${path}?`, action: "Link" });
    return result === null ? "" : result.isError ? messageOf(result) : null;
  };

  const orphans = async (): Promise<HTMLElement | null> => {
    const found = await read<{ entries: { path: string }[]; total: number }>("list_links", { kind: "orphans", max_results: NAMED });
    if (!found || found.total === 0) return null;
    const lines = found.entries.map(({ path }) => noteLink(root, path, noteName(path)));
    if (found.total > lines.length) lines.push(quiet(`and ${found.total - lines.length} more`));
    const ask = button("Ask", () => parts.compose("Which notes could link to those that nothing links to? Suggest a place for each."));
    ask.setAttribute("aria-label", "Ask where these notes could be linked from");
    return fold("file-text", `${counted(found.total, "note")} that nothing links to`, lines, ask);
  };

  const trash = async (): Promise<HTMLElement | null> => {
    const found = await read<{ items: { item: string; was?: string | null }[]; total: number }>("list_trash", { limit: NAMED });
    if (!found || found.total === 0) return null;
    const lines = found.items.map(({ item, was }): HTMLElement => {
      const name = was ?? item.replace(/^\.trash\//, "");
      const back = textButton(root, "Restore", "vs-small");
      back.setAttribute("aria-label", `Restore ${name}`);
      const line = box(root, "vs-home-broken", element(root, "span", { text: visible(name), attributes: { dir: "auto" } }), back);
      back.addEventListener("click", () => attempt(back, async () => {
        const result = await callAgreed(parts, "restore", { item }, { question: `Restore ${name}?`, action: "Restore" });
        if (result?.isError) host.notice(messageOf(result));
        else if (result) setText(line, `${(structured(result) as { path: string }).path} is back`);
      }));
      return line;
    });
    if (found.total > lines.length) lines.push(quiet(`and ${found.total - lines.length} more`));
    return fold("trash", `${found.total} in the trash`, lines);
  };

  /** The changes of the last days as bars, and how many there are. */
  const week = async (): Promise<{ made: HTMLElement; total: number } | null> => {
    const answer = await connection.call("_vault/timeline", { limit: 1 }).catch(() => null);
    if (!answer || scope.ended) return null;
    const counts = new Map((answer.days ?? []).map(({ day, count }) => [day, count]));
    const now = parts.now();
    const days = Array.from({ length: WEEK }, (_, back) => {
      const day = dayOf(new Date(now.getFullYear(), now.getMonth(), now.getDate() - (WEEK - 1 - back), 12));
      return { day, count: counts.get(day) ?? 0 };
    });
    const total = days.reduce((sum, { count }) => sum + count, 0);
    const most = Math.max(1, ...days.map(({ count }) => count));
    const bars = element(root, "div", { class: "vs-week", attributes: { role: "img", "aria-label": `Changes of the last ${WEEK} days: ${days.map(({ day, count }) => `${dayWords(day, { weekday: "long" })} ${count}`).join(", ")}` } });
    for (const { day, count } of days) {
      const bar = box(root, "vs-week-bar");
      bar.style.height = `${Math.round((100 * count) / most)}%`;
      const label = count === 0 ? "" : String(count);
      bars.append(box(root, "vs-week-day", element(root, "span", { text: label }), box(root, "vs-week-room", bar), element(root, "span", { text: dayWords(day, { weekday: "narrow" }) })));
    }
    const made = row("rotate-ccw", [element(root, "div", { text: total === 0 ? "No changes this week" : `${counted(total, "change")} this week` }), ...(total === 0 ? [] : [bars])], button("Time machine", actions.timeMachine));
    return { made, total };
  };

  const cost = async (): Promise<HTMLElement | null> => {
    const answer = await connection.call("_vault/usage", { days: MONTH }).catch(() => null);
    const { costMillionths = 0, unpriced = 0 } = answer?.total ?? {};
    const text = dollars(costMillionths / 1_000_000);
    if (text === "" || scope.ended) return null;
    const rest = unpriced > 0 ? `, and ${counted(unpriced, "request")} without a known price` : "";
    return row("info", [`${text} in the last ${MONTH} days${rest}`]);
  };

  const draw = async (): Promise<void> => {
    void drawWaiting();
    void drawRelated();
    // Obsidian shows the vault's name itself.
    const name = host.kind === "browser" ? connection.daemon?.agentCapabilities._meta.vault.name : undefined;
    if (name) setText(vault.all.firstElementChild as Node, `Your vault: ${visible(name)}`);
    const [links, lonely, deleted, changes, spent, outline] = await Promise.all([brokenLinks(), orphans(), trash(), week(), cost(), read<Outline>("vault_outline", { budget: 200 })]);
    if (scope.ended) return;
    clear(vault.rows);
    append(vault.rows, changes?.made, links, lonely, deleted, spent);
    show(vault.all, vault.rows.childElementCount > 0);
    clear(asks.rows);
    for (const text of promptsOf(outline ?? {}, changes?.total ?? 0)) {
      const ask = textButton(root, visible(text.replace(/\[\[(.*?)\]\]/g, (_, path: string) => noteName(path))), "vs-home-ask");
      ask.dir = "auto";
      ask.addEventListener("click", () => parts.compose(text));
      asks.rows.append(ask);
    }
    show(asks.all, true);
  };

  scope.add(activity.onChange(soon));
  scope.add(jobs.on(soon));
  scope.add(connection.on("_vault/inbox", soon));
  scope.add(host.onActiveNote(() => void (host.activeNote()?.path === active || drawRelated())));
  scope.add(connection.onSnapshot(() => void draw()));
  if (connection.state.kind === "connected") void draw();
  return {
    root,
    end() {
      scope.end();
    },
  };
}

/** Suggested prompts for this vault. */
export function promptsOf({ tags = [], most_linked = [], newest_notes = [] }: Outline, changes: number): string[] {
  const [tag] = tags;
  const [linked] = most_linked;
  const [newest] = newest_notes;
  const name = (path: string): string => path.replace(/\.md$/, "");
  return [
    "What is due today?",
    changes > 0 && "What changed in my vault this week?",
    newest !== undefined && `What is left to do in [[${name(newest)}]]?`,
    tag && `What do my notes say about #${tag.name.replace(/^#/, "")}?`,
    linked && `Which notes belong to [[${name(linked.name)}]] and do not link to it yet?`,
  ].filter((text) => typeof text === "string");
}
