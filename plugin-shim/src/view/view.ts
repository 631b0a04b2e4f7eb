/** The complete chat view: its parts and their connections. */

import type { Activity } from "../activity";
import { append, box, element, show, toggle } from "./dom";
import type { Happened } from "./chat";
import { type Draft, draftOf } from "./draft";
import { header, titleOf } from "./header";
import type { Kept, TabOf } from "./kept";
import { iconButton, textButton } from "./part";
import type { Connection } from "../connection";
import type { ConversationInfo } from "../protocol";
import type { Entry, UserEntry } from "./timeline";
import type { ActiveNote, Host } from "../host";
import { type MenuItem, showMenu } from "./menu";
import { jobsView } from "./jobs-view";
import { lazyPart, loadCards } from "./lazy";
import { followLinks } from "./following";
import { lazyList } from "./lazy-list";
import { makeParts, unmake } from "./parts";
import { composer, type Place } from "./composer";
import { messages } from "./messages";
import { panel } from "./panel";
import type { Tabs } from "./tabs";
import type { Kind } from "./shown-state";
import { errorText } from "../call-error";
import { sourceName, when } from "./format";
import { waitingView } from "./waiting";

/** The state of the view, for a status bar. */
export interface ChatState {
  sessionId: string | null;
  /** The state of the conversation. */
  kind: Kind;
  /** The pending approvals of all conversations. */
  approvals: number;
  /** The number of messages that the daemon may not have. */
  unsent: number;
}

/** The handle of a mounted view. */
export interface ChatHandle {
  /** Shows an empty conversation. */
  newConversation(): void;
  /** Puts a text, and attached notes, into the input field. Sends nothing. */
  compose(text: string, attach?: Draft["attachments"]): void;
  /** Stops the turn of the displayed conversation. */
  stop(): void;
  /** Does something with the conversation that is shown; nothing where none has begun. */
  act(what: "rename" | "exportNote" | "editLast"): void;
  /** Puts a prompt of the person's where they write. Sends nothing. */
  prompt(name: string, about: ActiveNote | null): void;
  focus(): void;
  state(): ChatState;
  /** Calls the listener when `state` changes. */
  onState(listener: (state: ChatState) => void): () => void;
  /** The state for the view that replaces this one. */
  kept(): Kept;
  /** Restores the state of another view at its unmount, including the focus of the input field. */
  restore(kept: Kept, focus?: boolean): void;
  /** Removes the view with all listeners, timers and observers. */
  unmount(): Kept;
}

/** Builds the view into `root`, which belongs to the view from then on. */
export function mountChat(root: HTMLElement, connection: Connection, activity: Activity, host: Host): ChatHandle {
  const parts = makeParts(root, connection, activity, host, (text) => field.compose(text));
  const { chat, painter, scope } = parts;
  const listeners = new Set<(state: ChatState) => void>();

  const leave = (): void => {
    list.close();
    field.focus();
  };

  const actions = {
    edit(entry: UserEntry): void {
      const taken = entry.pending === "failed" ? chat.outbox.takeBack(entry) : null;
      const { sessionId } = chat;
      if (taken) field.edit(taken, null);
      else void Promise.all([numbered(entry), asBefore(entry)]).then(([item, draft]) => {
        // The person has opened another conversation, so nothing is edited here.
        if (sessionId === null || sessionId !== chat.sessionId) return;
        if (item === null) host.notice("This message cannot be edited yet; wait for the answer");
        else field.edit(draft, { sessionId, item });
      });
    },
    again: (entry: UserEntry) => chat.outbox.again(entry),
    retry(entry: Entry): void {
      const asked = before(entry);
      if (!asked) return;
      if (chat.isWorking) {
        host.notice("Stop the answer first");
        return;
      }
      const { sessionId } = chat;
      void Promise.all([numbered(asked), asBefore(asked)]).then(([item, draft]) => {
        if (draft.text === "" && draft.attachments.length + draft.images.length === 0) return;
        if (item === null || sessionId === null) chat.send(draft, sessionId);
        else void attempt(() => chat.fork({ sessionId, item }, draft));
      });
    },
  };

  /** An earlier message as a draft with its attachments; missing ones are reported. */
  const asBefore = async (entry: UserEntry): Promise<Draft> => {
    const { draft, lacks } = draftOf(entry.text);
    if (!lacks) return draft;
    const { images = [], texts = [] } = (await chat.attached(entry)) ?? {};
    draft.images = images.map((image, at) => ({ ...image, name: `Picture ${at + 1}` }));
    for (const { path, text } of texts) if (path !== undefined) draft.attachments.push({ path, selection: text });
    if (images.length + texts.length === 0) host.notice("The images and selections of the earlier message are not included; attach them again");
    return draft;
  };

  /** The message that an answer belongs to. */
  const before = (entry: Entry): UserEntry | undefined => {
    const { entries } = chat.timeline;
    for (let at = entries.indexOf(entry); at >= 0; at--) {
      const one = entries[at];
      if (one?.kind === "user" && one.pending === undefined) return one;
    }
    return undefined;
  };

  /** The number of a message, requested if it is unknown. */
  const numbered = async (entry: UserEntry): Promise<number | null> => {
    if (entry.item !== undefined) return entry.item;
    await chat.refresh();
    return entry.item ?? null;
  };

  const attempt = async (act: () => Promise<unknown>): Promise<boolean> => {
    try {
      await act();
      return true;
    } catch (error) {
      host.notice(errorText(error));
      return false;
    }
  };

  const exportNote = async (sessionId: string): Promise<void> => {
    await attempt(async () => {
      const { path } = await connection.call("_vault/export_conversation", { sessionId });
      host.notice(`Written to ${path}`);
      host.openNote(path, { unasked: true });
    });
  };
  const endConversation = async (sessionId: string): Promise<void> => {
    await attempt(() => connection.call("_vault/end", { sessionId }));
  };
  const remove = async (info: ConversationInfo): Promise<void> => {
    const name = info.title ?? titleOf(parts);
    const agreed = await host.confirm(`Delete “${name}” for good? What it changed in your notes stays.`, "Delete");
    if (agreed) await attempt(() => connection.call("_vault/delete_conversation", { sessionId: info.sessionId }));
  };

  const branches = (at: HTMLElement): void => {
    const items = chat.branches.map((branch): MenuItem => ({
      text: branch.parent === null ? "The first" : `Branch ${branch.number}`,
      note: `${when(branch.began, parts.now())} · ${branch.items}`,
      checked: branch.number === (chat.branch ?? chat.info?.branch),
      choose() {
        const { sessionId, info } = chat;
        if (sessionId !== null) void chat.open(sessionId, branch.number === info?.branch ? null : branch.number);
      },
    }));
    showMenu(parts, at, "Branches", items);
  };

  let sheet: { close(): void; only?(path: string): void } | null = null;
  /** Shows a panel over the conversation. */
  const openSheet = async (name: "timeMachine" | "promptsPanel"): Promise<void> => {
    const cards = await loadCards().catch(() => null);
    if (scope.ended || sheet) return;
    if (!cards) host.notice("The panel could not be loaded. Reload the page.");
    const made = cards?.[name](parts, () => {
      sheet = null;
      field.focus();
    });
    if (!made) return;
    sheet = made;
    list.close();
    body.after(made.root);
    made.root.querySelector<HTMLElement>(".vs-river, .vs-prompts-body")?.focus();
  };

  /** Shows the changes of a file in the time machine. */
  const history = async (path: string): Promise<void> => {
    if (host.openTimeMachine) return host.openTimeMachine(path);
    await openSheet("timeMachine");
    sheet?.only?.(path);
  };

  const begin = (): void => {
    chat.begin();
    leave();
  };
  let tabs: Tabs | null = null;
  /** Opens another tab, or the restored tabs. */
  const openTab = async (sessionId: string | null, before?: Kept["tabs"]): Promise<void> => {
    const { tabStrip } = await loadCards();
    if (scope.ended || (before && tabs)) return;
    if (!tabs) {
      const show = ({ sessionId, draft }: TabOf): void => {
        if (sessionId === null) chat.begin();
        else void chat.open(sessionId).then(() => messageList.toEnd());
        field.edit(draft, null);
      };
      tabs = tabStrip(parts, { current: () => ({ sessionId: chat.wantedId, draft: field.kept().draft }), show }, before);
      head.root.after(tabs.root);
    }
    if (!before) tabs.open(sessionId);
    list.close();
  };
  const commands = {
    list: () => (list.isOpen ? leave() : list.open()),
    begin,
    rename() {
      const { sessionId } = chat;
      if (sessionId === null) return;
      list.editTitle(head.listButton, chat.info?.title ?? "", async (title) => {
        await connection.call("_vault/rename_conversation", { sessionId, title });
      });
    },
    exportNote: () => chat.sessionId !== null && void exportNote(chat.sessionId),
    endConversation: () => chat.sessionId !== null && void endConversation(chat.sessionId),
    timeMachine: () => (host.openTimeMachine ? host.openTimeMachine() : void openSheet("timeMachine")),
    prompts: () => void openSheet("promptsPanel"),
    tab: () => void attempt(() => openTab(null)),
    model: () => head.chooseModel(),
  };
  const hasModel = (isThere: boolean): void => {
    const hasSetUp = messageList.setModel(isThere);
    const { activeElement, body } = root.ownerDocument;
    // The pressed button was removed.
    if (hasSetUp && activeElement === body) field.focus();
  };
  const head = header(parts, { ...commands, remove: () => chat.info && void remove(chat.info), branches, hasModel });
  const list = lazyList(parts, {
    open(sessionId) {
      if (!tabs?.goTo(sessionId)) show_(sessionId);
    },
    openTab: (sessionId) => void attempt(() => openTab(sessionId)),
    closed: () => field.focus(),
    exportNote: (sessionId) => void exportNote(sessionId),
    endConversation,
    remove,
  });
  const show_ = (sessionId: string): void => void chat.open(sessionId).then(() => messageList.toEnd());
  const messageList = messages(parts, actions, { open: show_, timeMachine: () => commands.timeMachine() });
  const asked = lazyPart(root, () => chat.approvals.length > 0, ({ approvalsView }) => approvalsView(parts, show_));
  const editLast = (): void => {
    const last = chat.timeline.last("user");
    if (last) actions.edit(last);
  };
  const field = composer(parts, {
    send: (draft) => (draft.text.startsWith("/") ? type(draft) : chat.send(draft)),
    fork: (place, draft) => void attempt(() => chat.fork(place, draft)).then((isDone) => isDone || putBack(draft, place)),
    editLast,
    sent: () => messageList.toEnd(),
    commands: async () => (await loadCards()).slashCommands(parts, commands),
  });
  /** Puts a draft that could not be sent before the current one. */
  const putBack = (draft: Draft, place: Place | null): void => {
    if (scope.ended) return;
    const { draft: now } = field.kept();
    field.edit({
      text: [draft.text, now.text].filter((text) => text !== "").join("\n"),
      attachments: [...draft.attachments, ...now.attachments],
      images: [...draft.images, ...now.images],
    }, place);
  };
  /** Sends a text that begins with a slash: a prompt, or a plain message. */
  const type = (draft: Draft): void => {
    const { sessionId } = chat;
    void attempt(async () => {
      const sent = await (await loadCards()).typedCommand(parts, commands, draft);
      if (sent) chat.send(sent, sessionId);
    }).then((isDone) => isDone || putBack(draft, null));
  };
  const banner = element(root, "div", { class: "vs-banner", attributes: { role: "status" } });
  /** Whether the input field lost the focus because it was hidden: it gets the focus back afterwards. */
  let isTyping = false;
  const connected = panel(parts, (isAway) => {
    const { activeElement } = root.ownerDocument;
    if (isAway) isTyping ||= field.root.contains(activeElement);
    body.classList.toggle("is-away", isAway);
    if (isAway || !isTyping) return;
    isTyping = false;
    // If the person has moved the focus, it stays.
    if (activeElement === null || activeElement === root.ownerDocument.body) field.focus();
  });
  const working = jobsView(parts);
  const proposed = lazyPart(root, () => activity.proposals.of(chat.sessionId) !== undefined, ({ proposalsView }) => proposalsView(parts));
  const body = box(root, "vs-body", messageList.root, waitingView(parts), working.root, proposed.root, asked.root, banner, field.root);
  append(root, head.root, connected.root, body, list.root);

  const drawBanner = (): void => {
    banner.textContent = "";
    const { branch } = chat;
    // An approval's card names its conversation itself.
    const elsewhere = chat.approvals.some(({ params }) => params.sessionId === chat.elsewhere?.sessionId) ? null : chat.elsewhere;
    show(banner, elsewhere !== null || branch !== null);
    if (branch !== null) {
      const { sessionId } = chat;
      const goOn = textButton(banner, "Go on here", "mod-cta");
      goOn.addEventListener("click", () => void attempt(() => chat.goOnWith(branch)));
      const back = textButton(banner, "Back");
      back.addEventListener("click", () => sessionId !== null && void chat.open(sessionId));
      append(banner, element(banner, "span", { text: "An earlier branch" }), goOn, back);
    } else if (elsewhere) {
      const { source } = elsewhere;
      const what = source === null ? "Not sent" : `Said ${sourceName(source) ?? "in another window"}`;
      const words = element(banner, "span", { class: "vs-banner-text", text: `${what}: ${elsewhere.text}`, attributes: { dir: "auto" } });
      const open = textButton(banner, "Show");
      open.addEventListener("click", () => void chat.open(elsewhere.sessionId));
      const away = iconButton(parts, "x", "Dismiss");
      away.addEventListener("click", () => chat.dismiss());
      append(banner, words, open, away);
    }
  };

  const state = (): ChatState => {
    const { sessionId, shownState, approvals, outbox } = chat;
    return { sessionId, kind: shownState.kind, approvals: approvals.length, unsent: outbox.unsent.length };
  };
  let lastText = "";
  const tellState = (): void => {
    const now = state();
    const text = JSON.stringify(now);
    if (text === lastText) return;
    lastText = text;
    listeners.forEach((one) => one(now));
  };

  chat.on((happened: Happened) => {
    messageList.update(happened);
    if (happened.activity || happened.loaded || happened.info) asked.update();
    if (happened.timeline) working.update();
    if (happened.timeline?.status || happened.activity || happened.loaded) proposed.update();
    if (happened.elsewhere || happened.loaded || happened.activity) drawBanner();
    if (happened.info || happened.loaded || happened.activity || happened.timeline?.status || happened.timeline?.order) head.update();
    if (happened.info || happened.usage || happened.loaded || happened.timeline?.status) field.update();
    if (happened.loaded && happened.timeline?.status) head.refresh();
    if (happened.info || happened.activity) list.refresh();
    if (happened.info || happened.activity || happened.loaded || happened.timeline?.order) tabs?.update();
    toggle(root, "is-still", chat.shownState.kind === "away");
    if (happened.announcement) parts.announce(happened.announcement.isQuestion ? `Waiting for you: ${happened.announcement.text}` : happened.announcement.text);
    if (happened.problem !== undefined) host.notice(happened.problem);
    tellState();
  });

  followLinks(parts, (path) => void history(path));
  scope.listen(root, "keydown", (event) => {
    // An element that Escape closed has stopped the event.
    if (event.key === "Escape" && chat.isWorking && !event.defaultPrevented) chat.stop();
  });
  scope.add(connection.on("_vault/conversation_changed", () => list.refresh()));
  scope.add(connection.onState(() => {
    connected.update();
    field.update();
  }));

  const kept = (): Kept => ({ sessionId: chat.wantedId, ...field.kept(), unsent: chat.outbox.unsent, tabs: tabs?.kept() });

  asked.update();
  drawBanner();
  connected.update();
  painter.warmUp();
  chat.start();
  return {
    newConversation: begin,
    compose: (text, attach) => field.compose(text, attach),
    stop: () => chat.stop(),
    act: (what) => void { ...commands, editLast }[what](),
    prompt: (name, about) => void attempt(async () => (await loadCards()).usePrompt(parts, name, about, (text, attach) => field.compose(text, attach))),
    focus: () => field.focus(),
    state,
    onState(one) {
      listeners.add(one);
      return () => listeners.delete(one);
    },
    kept,
    restore({ sessionId, draft, item, unsent, tabs: before }, focus = true) {
      if (before) void attempt(() => openTab(null, before));
      const isBegun = connection.state.kind === "connected" || unsent.some((one) => one.isNew);
      if (sessionId) void chat.open(sessionId);
      else if (sessionId === null && isBegun) chat.begin();
      field.edit(draft, sessionId && item !== null ? { sessionId, item } : null, focus);
      chat.outbox.take(unsent, sessionId);
    },
    unmount() {
      const last = kept();
      unmake(parts);
      listeners.clear();
      return last;
    },
  };
}
