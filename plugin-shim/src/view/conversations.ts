/** The list of all conversations, and a search in messages, notes and changes. */

import { append, box, clear, element, setText, show } from "./dom";
import { iconButton, iconOf, type Parts } from "./part";
import type { ConversationInfo, FoundConversation } from "../protocol";
import { errorText } from "../call-error";
import { showMenu } from "./menu";
import { titleOf } from "./header";
import { period, when } from "./format";
import { plainText, withMarks } from "./found";
import { loadCards } from "./lazy";

/** The number of conversations in one response. */
const PAGE = 100;
/** Milliseconds between the last key and the search. */
const PAUSE = 150;

export interface ListActions {
  open(sessionId: string): void;
  openTab(sessionId: string): void;
  /** The list was closed. */
  closed(): void;
  exportNote(sessionId: string): void;
  endConversation(sessionId: string): Promise<void>;
  remove(info: ConversationInfo): Promise<void>;
}

export interface ConversationList {
  root: HTMLElement;
  readonly isOpen: boolean;
  open(): void;
  close(): void;
  /** Reloads the list if it is open. */
  refresh(): void;
}

export function conversationList(parts: Parts, actions: ListActions): ConversationList {
  const { scope } = parts;
  const root = element(parts.root, "section", { class: "vs-list-panel", attributes: { "aria-label": "Conversations" } });
  const search = element(root, "input", { class: "vs-search", attributes: { type: "search", placeholder: "Search conversations and notes", "aria-label": "Search conversations and notes", dir: "auto" } });
  const back = iconButton(parts, "x", "Close the list");
  const rows = element(root, "ul", { class: "vs-sessions" });
  const note = element(root, "div", { class: "vs-list-note", attributes: { role: "status" } });
  root.append(box(root, "vs-list-head", iconOf(parts, "search"), search, back), rows, note);
  show(root, false);
  let request = 0;
  let cursor: string | undefined;
  let isLoading = false;
  /** There are new rows that are not shown yet. */
  let isStale = false;
  let wait: (() => void) | null = null;

  const close = (): void => {
    if (root.hidden) return;
    show(root, false);
    request += 1;
    actions.closed();
  };

  /** Replaces the rows and preserves the focus. */
  const replace = (made: HTMLElement[]): void => {
    const at = root.ownerDocument.activeElement;
    const old = at?.closest<HTMLElement>(".vs-session");
    rows.replaceChildren(...made);
    if (!at || !old || root.contains(at)) return;
    const now = made.find((one) => one.dataset["session"] === old.dataset["session"]);
    const button = now?.querySelector<HTMLElement>(at.matches(".vs-session-open") ? ".vs-session-open" : ".vs-icon-button");
    (button ?? search).focus({ preventScroll: true });
  };

  const load = async (more = false): Promise<void> => {
    const now = ++request;
    const text = search.value.trim();
    isLoading = true;
    try {
      let made: HTMLElement[];
      let next: string | undefined;
      if (text === "") {
        // As many rows as before, and the new ones.
        const limit = Math.max(PAGE, rows.querySelectorAll(".vs-session").length + 1);
        const answer = await parts.connection.call("session/list", more && cursor ? { cursor } : { _meta: { vault: { limit } } });
        if (now !== request || scope.ended) return;
        next = answer.nextCursor;
        made = grouped(answer.sessions.map((one) => one._meta.vault), more);
      } else {
        const [answer, others] = await Promise.all([
          parts.connection.call("_vault/search_conversations", { text, limit: 50 }),
          // Messages are searched even if notes cannot be.
          loadCards().then(({ foundBeside }) => foundBeside(parts, text, close)).catch(() => []),
        ]);
        if (now !== request || scope.ended) return;
        made = [...answer.found.map((one) => row(one.conversation, one.places, text)), ...others];
      }
      // An open menu or field of a row stays; the list is reloaded when the person leaves it.
      if (!more) isStale = parts.root.querySelector(".vs-menu, .vs-sessions .vs-rename") !== null;
      if (more) rows.append(...made);
      else if (!isStale) replace(made);
      if (more || !isStale) cursor = next;
      const count = rows.childElementCount;
      setText(note, count === 0 ? (text === "" ? "No conversations yet" : "Nothing matches") : "");
    } catch (error) {
      if (now === request) setText(note, errorText(error));
    }
    isLoading = false;
    show(note, note.textContent !== "");
  };

  /** Rows grouped by their conversations' periods; `more` if they continue the displayed rows. */
  const grouped = (infos: ConversationInfo[], more: boolean): HTMLElement[] => {
    const now = parts.now();
    let last = more ? [...rows.querySelectorAll(".vs-session-period")].at(-1)?.textContent : undefined;
    return infos.flatMap((info) => {
      const name = period(info.lastActive, now);
      const isNew = name !== last && name !== "";
      last = name;
      return isNew ? [element(rows, "li", { class: "vs-session-period", text: name }), row(info, [])] : [row(info, [])];
    });
  };

  const row = (info: ConversationInfo, places: FoundConversation["places"], searched = ""): HTMLElement => {
    const made = element(rows, "li", { class: "vs-session", attributes: { "data-session": info.sessionId } });
    const isShown = info.sessionId === parts.chat.sessionId;
    if (isShown) made.classList.add("is-shown");
    const known = isShown ? titleOf(parts) : parts.titles.known(info);
    const name = known ?? "Conversation";
    const text = element(made, "span", { class: "vs-session-title", attributes: { dir: "auto" } });
    withMarks(text, name, searched);
    if (known === undefined) void parts.titles.load(info.sessionId).then((title) => title !== undefined && setText(text, title));
    const time = element(made, "time", { class: "vs-session-time", text: when(info.lastActive, parts.now()) });
    const open = element(made, "button", { class: "vs-session-open", attributes: { type: "button", "aria-current": isShown ? "true" : undefined } });
    append(open, element(made, "span", { class: "vs-session-line" }, badge(info), text, time));
    const about = places[0]?.text ?? info.question ?? info.summary;
    if (about) {
      const words = element(made, "span", { class: "vs-session-about", attributes: { dir: "auto" } });
      withMarks(words, plainText(about), searched);
      open.append(words);
    }
    open.addEventListener("click", () => {
      close();
      actions.open(info.sessionId);
    });
    const more = iconButton(parts, "ellipsis", `More about ${name}`);
    more.addEventListener("click", () => {
      showMenu(parts, more, name, [
        { text: "Open in a new tab", icon: "message-square", choose: () => actions.openTab(info.sessionId) },
        { text: "Rename", icon: "pencil", choose: () => rename(info, made, open) },
        { text: "Export to a note", icon: "file-output", choose: () => actions.exportNote(info.sessionId) },
        { text: "End", icon: "circle-check", disabled: info.state === "ended", choose: () => void actions.endConversation(info.sessionId).then(() => load()) },
        { text: "Delete", icon: "trash", warning: true, choose: () => void actions.remove(info).then(() => load()) },
      ]);
    });
    made.append(open, more);
    return made;
  };

  const badge = (info: ConversationInfo): HTMLElement | null => {
    const kind: string = info.sessionId === parts.chat.sessionId ? parts.chat.shownState.kind : kindOf(info);
    const words: Record<string, string> = { waiting: "Waiting for you", working: "Working", failed: "Failed" };
    const text = words[kind];
    if (text === undefined) return null;
    return element(rows, "span", { class: `vs-dot is-${kind}`, attributes: { role: "img", "aria-label": text, title: text } });
  };

  const kindOf = ({ sessionId, shown }: ConversationInfo): string => {
    const now = parts.activity.of(sessionId);
    if (now === "working") return "working";
    return now !== null || shown === "waiting_for_you" ? "waiting" : "done";
  };

  const rename = (info: ConversationInfo, made: HTMLElement, open: HTMLElement): void => {
    editTitle(parts, open, info.title ?? "", async (title) => {
      await parts.connection.call("_vault/rename_conversation", { sessionId: info.sessionId, title });
      await load();
    });
    made.classList.add("is-renamed");
  };

  scope.listen(search, "input", () => {
    wait?.();
    wait = scope.after(PAUSE, () => void load());
  });
  scope.listen(root, "focusin", () => {
    if (isStale) void load();
  });
  scope.listen(back, "click", close);
  scope.listen(root, "keydown", (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
      return;
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const buttons = [...rows.querySelectorAll<HTMLElement>("button.vs-session-open")];
    const at = buttons.indexOf(root.ownerDocument.activeElement as HTMLElement);
    const to = event.key === "ArrowDown" ? at + 1 : at - 1;
    event.preventDefault();
    if (to < 0) search.focus();
    else buttons[to]?.focus();
  });
  scope.listen(rows, "scroll", () => {
    const isNearEnd = rows.scrollTop + rows.clientHeight > rows.scrollHeight - 300;
    if (isNearEnd && cursor !== undefined && !isLoading) void load(true);
  });
  return {
    root,
    get isOpen() {
      return !root.hidden;
    },
    open() {
      search.value = "";
      clear(rows);
      show(note, false);
      show(root, true);
      search.focus();
      void load();
    },
    close,
    refresh: () => {
      if (!root.hidden) void load();
    },
  };
}

/** Replaces `at` by a field for the title. */
export function editTitle(parts: Parts, at: HTMLElement, title: string, save: (title: string) => Promise<void>): void {
  const scope = parts.scope.child();
  const field = element(at, "input", { class: "vs-rename", attributes: { type: "text", value: title, maxlength: 200, dir: "auto", "aria-label": "Title" } });
  at.after(field);
  show(at, false);
  const done = (): void => {
    scope.end();
    field.remove();
    show(at, true);
    at.focus();
  };
  const keep = (): void => {
    const text = field.value.trim();
    done();
    if (text !== "" && text !== title) save(text).catch((error: unknown) => parts.host.notice(errorText(error)));
  };
  scope.listen(field, "keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Enter") keep();
    else if (event.key === "Escape") done();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  scope.listen(field, "blur", () => {
    if (!scope.ended) keep();
  });
  field.focus();
  field.select();
}
