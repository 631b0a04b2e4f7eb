// The view as a person uses it, with a fake daemon.
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { Activity } from "../src/activity";
import type { Connection } from "../src/connection";
import type { ActiveNote, Host } from "../src/host";
import type { ItemInfo } from "../src/protocol";
import { type ChatHandle, mountChat } from "../src/view";
import { loadCards } from "../src/view/lazy";
import { FakeClock, settle } from "./fake-clock";
import { connected, connectTo, FakeDaemon } from "./fake-daemon";

let daemon: FakeDaemon;
let clock: FakeClock;
let root: HTMLElement;
let chat: ChatHandle;
let items: ItemInfo[];
let notices: string[];
let active: ActiveNote | null;
let copy: () => Promise<void>;

// The cards' code is loaded, as on a page that has drawn a card.
beforeAll(async () => void (await loadCards()));

beforeEach(() => {
  [daemon, clock, items, notices, active] = [new FakeDaemon(), new FakeClock(), [], [], null];
  copy = () => Promise.resolve();
  answering();
  daemon.answers.set("_vault/inbox/list", () => ({ messages: [] }));
  daemon.answers.set("_vault/fork", () => ({}));
});

/** Lets the daemon answer requests about its conversations. */
function answering(): void {
  daemon.answers.set("_vault/conversation", ({ sessionId = "a" }) => {
    const conversation = { sessionId, state: "open", shown: "done", branch: 1, title: String(sessionId).toUpperCase() };
    return { conversation, branches: [], items, earlier: false, changes: [] };
  });
}

afterEach(() => {
  chat.unmount();
  root.remove();
});

async function mounted(given?: Connection): Promise<void> {
  const connection = given ?? (await connected(daemon, clock));
  root = document.createElement("main");
  document.body.append(root);
  const host: Host = {
    kind: "browser",
    openNote: () => undefined,
    openExternal: () => undefined,
    activeNote: () => active,
    onActiveNote: () => () => undefined,
    notice: (text) => void notices.push(text),
    alert: () => undefined,
    confirm: () => Promise.resolve(true),
    copy: () => copy(),
    icon: () => undefined,
    command: (name) => name,
  };
  chat = mountChat(root, connection, new Activity(connection), host);
  await settle();
}

function item(number: number, sessionUpdate: string, text: string): ItemInfo {
  const update = { sessionUpdate, messageId: `m${number}`, content: { type: "text", text } };
  return { item: number, kind: "message", text, turn: 1, time: "2026-11-21T10:00:00+01:00", updates: [update] } as unknown as ItemInfo;
}

function field(): HTMLTextAreaElement {
  const found = root.querySelector<HTMLTextAreaElement>(".vs-input");
  if (!found) throw new Error("there is no field");
  return found;
}

async function press(name: string): Promise<void> {
  const found = [...root.querySelectorAll("button")].find((one) => one.getAttribute("aria-label") === name || one.textContent === name);
  if (!found) throw new Error(`there is no button ${name}`);
  found.click();
  await settle();
}

async function type(text: string): Promise<void> {
  field().value = text;
  field().dispatchEvent(new Event("input", { bubbles: true }));
  await press("Send");
}

function chips(): string[] {
  return [...root.querySelectorAll(".vs-chip")].map((one) => one.textContent);
}

/** The data of a drop or paste. */
function data(given: Record<string, string>, files: File[] = []): object {
  return { files, getData: (kind: string) => given[kind] ?? "" };
}

/** Dispatches the event; returns whether the browser handles it. */
async function happens(name: "drop" | "paste", at: Element, given: object): Promise<boolean> {
  const event = new Event(name, { bubbles: true, cancelable: true });
  Object.assign(event, name === "drop" ? { dataTransfer: given } : { clipboardData: given });
  const isLeft = at.dispatchEvent(event);
  await settle();
  return isLeft;
}

describe("an edited message", () => {
  beforeEach(async () => {
    items = [item(1, "user_message_chunk", "I like pears"), item(2, "agent_message_chunk", "Pears it is.")];
    await mounted();
  });

  it("is back in the input field if the daemon refuses it, before text that was typed meanwhile", async () => {
    daemon.answers.delete("_vault/fork");
    await press("Edit the message");
    await type("I like apples");
    field().value = "And plums";
    const [fork] = daemon.last.asked("_vault/fork");
    daemon.last.deliver({ id: fork?.id, error: { code: -32000, message: "a turn is running", data: { kind: "turn_running", retryable: true } } });
    await settle();
    expect(field().value).toBe("I like apples\nAnd plums");
    expect(notices.join()).toContain("a turn is running");
    daemon.answers.set("_vault/fork", () => ({}));
    await press("Send");
    expect(daemon.last.asked("_vault/fork").map(({ params }) => params)).toEqual([{ sessionId: "a", item: 1 }, { sessionId: "a", item: 1 }]);
    expect(daemon.last.asked("session/prompt")[0]?.params?.["prompt"]).toEqual([{ type: "text", text: "I like apples\nAnd plums" }]);
    expect(field().value).toBe("");
  });

  function isEditing(): boolean {
    return root.querySelector<HTMLElement>(".vs-editing")?.hidden === false;
  }

  /** The ways to open another conversation. */
  const ways: [string, () => Promise<void>][] = [
    ["the list", async () => {
      const vault = { sessionId: "b", title: "B", shown: "done", state: "open", lastActive: "2026-11-21T10:00:00+01:00" };
      daemon.answers.set("session/list", () => ({ sessions: [{ sessionId: "b", _meta: { vault } }] }));
      root.querySelector<HTMLElement>(".vs-title")?.click();
      await settle();
      root.querySelector<HTMLElement>(".vs-session-open")?.click();
      await settle();
    }],
    ["what was said elsewhere", async () => {
      const update = { sessionUpdate: "user_message_chunk", messageId: "m9", content: { type: "text", text: "There" } };
      daemon.last.event("session/update", 1, { sessionId: "b", update });
      await press("Show");
    }],
    ["a new one", () => press("New conversation")],
  ];

  it.each(ways)("is a draft once another conversation is opened: by %s", async (way, open) => {
    await press("Edit the message");
    field().value = "I like apples";
    expect(isEditing()).toBe(true);
    await open();
    expect(isEditing()).toBe(false);
    expect(field().value).toBe("I like apples");
    expect(chat.kept().item).toBeNull();
    daemon.answers.set("session/new", () => ({ sessionId: "c" }));
    await press("Send");
    expect(daemon.last.asked("_vault/fork")).toEqual([]);
    const [prompt] = daemon.last.asked("session/prompt");
    expect(prompt?.params).toMatchObject({ sessionId: way === "a new one" ? "c" : "b", prompt: [{ text: "I like apples" }] });
  });

  it("stays an edit while its conversation is reloaded", async () => {
    await press("Edit the message");
    daemon.epoch = "second";
    daemon.last.lose();
    await clock.pass(1_000);
    expect(daemon.last.asked("_vault/conversation")).toHaveLength(1);
    expect(isEditing()).toBe(true);
    await press("Send");
    expect(daemon.last.asked("_vault/fork")[0]?.params).toEqual({ sessionId: "a", item: 1 });
  });

  it("goes to its conversation though another one is opened before the daemon has answered", async () => {
    daemon.answers.delete("_vault/fork");
    await press("Edit the message");
    await type("I like apples");
    await ways[1]?.[1]();
    const [fork] = daemon.last.asked("_vault/fork");
    expect(fork?.params).toEqual({ sessionId: "a", item: 1 });
    daemon.last.deliver({ id: fork?.id, result: {} });
    await settle();
    expect(daemon.last.asked("session/prompt")[0]?.params).toMatchObject({ sessionId: "a", prompt: [{ text: "I like apples" }] });
    // The displayed conversation stays.
    expect(chat.state().sessionId).toBe("b");
    expect(root.querySelector(".vs-user.is-pending")).toBeNull();
  });

  it("becomes a draft if it is refused while another conversation is open", async () => {
    daemon.answers.delete("_vault/fork");
    await press("Edit the message");
    await type("I like apples");
    await ways[1]?.[1]();
    const [fork] = daemon.last.asked("_vault/fork");
    daemon.last.deliver({ id: fork?.id, error: { code: -32000, message: "a turn is running", data: { kind: "turn_running", retryable: true } } });
    await settle();
    expect(field().value).toBe("I like apples");
    expect(isEditing()).toBe(false);
  });

  it("is requested again in its conversation though another one is opened before its number is known", async () => {
    const [first] = items;
    const update = { ...(first?.updates?.[0] as object), messageId: "m3", content: { type: "text", text: "And plums" } };
    daemon.last.event("session/update", 1, { sessionId: "a", update });
    daemon.last.event("_vault/message", 2, { sessionId: "a", messageId: "m4", kind: "answer", text: "Plums it is." });
    await settle();
    daemon.answers.delete("_vault/conversation");
    const again = [...root.querySelectorAll<HTMLElement>("[aria-label='Ask again']")].at(-1);
    again?.click();
    const learnt = daemon.last.asked("_vault/conversation").at(-1);
    answering();
    update.messageId = "m9";
    daemon.last.event("session/update", 3, { sessionId: "b", update });
    await press("Show");
    daemon.last.deliver({ id: learnt?.id, result: { conversation: { sessionId: "a" }, branches: [], items: [], earlier: false } });
    await settle();
    expect(chat.state().sessionId).toBe("b");
    expect(daemon.last.asked("session/prompt").map(({ params }) => params?.["sessionId"])).toEqual(["a"]);
    expect(daemon.last.asked("_vault/fork")).toEqual([]);
  });

  it("is not put into the input field if another conversation was opened before its number is known", async () => {
    const [first] = items;
    const update = { ...(first?.updates?.[0] as object), messageId: "m3", content: { type: "text", text: "And plums" } };
    daemon.last.event("session/update", 1, { sessionId: "a", update });
    await settle();
    daemon.answers.delete("_vault/conversation");
    [...root.querySelectorAll<HTMLElement>("[aria-label='Edit the message']")].at(-1)?.click();
    const learnt = daemon.last.asked("_vault/conversation").at(-1);
    answering();
    await press("New conversation");
    field().value = "Something else";
    daemon.last.deliver({ id: learnt?.id, result: { conversation: { sessionId: "a" }, branches: [], items: [], earlier: false } });
    await settle();
    expect(field().value).toBe("Something else");
    expect(notices).toEqual([]);
  });
});

describe("a message with attachments", () => {
  const said = "What is this?\n(with a picture)\n(the note `Garden/Plot 27.md` is meant)\n(a part of the note `Inbox.md` is meant)";

  const image = { mimeType: "image/png", data: "iVBORw0KGgo=" };
  const went = (answer: object): void => void daemon.answers.set("_vault/attachments", () => answer);

  it("is requested again with what went with it", async () => {
    items = [item(1, "user_message_chunk", said), item(2, "agent_message_chunk", "A pear.")];
    went({ images: [image], texts: [{ path: "Inbox.md", text: "pears" }] });
    await mounted();
    await press("Ask again");
    expect(daemon.last.asked("session/prompt")[0]?.params?.["prompt"]).toEqual([
      { type: "text", text: "What is this?" },
      { type: "resource_link", uri: "Garden/Plot 27.md", name: "Garden/Plot 27.md" },
      { type: "resource", resource: { uri: "Inbox.md", text: "pears" } },
      { type: "image", ...image },
    ]);
    expect(notices).toEqual([]);
  });

  it("is edited in its original form", async () => {
    items = [item(1, "user_message_chunk", said)];
    went({ images: [image], texts: [{ path: "Inbox.md", text: "pears" }] });
    await mounted();
    await press("Edit the message");
    expect(field().value).toBe("What is this?");
    expect(chips()).toEqual(["Plot 27", "Selection in Inbox", "Picture 1"]);
    expect(notices).toEqual([]);
  });

  it("is not requested again if it was only an image that is lost, which is reported", async () => {
    items = [item(1, "user_message_chunk", "(with a picture)"), item(2, "agent_message_chunk", "A pear.")];
    went({ images: [] });
    await mounted();
    await press("Ask again");
    expect(daemon.last.asked("_vault/fork")).toHaveLength(0);
    expect(notices).toEqual(["The images and selections of the earlier message are not included; attach them again"]);
  });

  it("keeps the person's own text in brackets, and reports every loss", async () => {
    items = [item(1, "user_message_chunk", "(with a picture)\nis what I wrote"), item(2, "agent_message_chunk", "So it is.")];
    await mounted();
    await press("Ask again");
    expect(daemon.last.asked("session/prompt")[0]?.params?.["prompt"]).toEqual([{ type: "text", text: "(with a picture)\nis what I wrote" }]);
    expect(notices).toEqual([]);
  });
});

describe("dropped and pasted data", () => {
  const dot = new File(["dot"], "dot.png", { type: "image/png" });

  beforeEach(() => mounted());

  it("is attached if it names notes, each of them", async () => {
    expect(await happens("drop", field(), data({ "text/plain": "Inbox.md\nobsidian://open?vault=v&file=Garden%2FPlot%2027.md" }))).toBe(false);
    expect(chips()).toEqual(["Inbox", "Plot 27"]);
    expect(field().value).toBe("");
  });

  it("is left to the input field if it is text, and inserted there if it was dropped beside it", async () => {
    expect(await happens("drop", field(), data({ "text/plain": "Some words\nof a text" }))).toBe(true);
    const beside = root.querySelector(".vs-messages");
    expect(beside && (await happens("drop", beside, data({ "text/plain": "Some words" })))).toBe(false);
    expect(field().value).toBe("Some words");
    expect(chips()).toEqual([]);
  });

  it("is the text if an image accompanies it, and the image otherwise", async () => {
    expect(await happens("paste", field(), data({ "text/plain": "1\t2" }, [dot]))).toBe(true);
    expect(chips()).toEqual([]);
    expect(await happens("paste", field(), data({}, [dot]))).toBe(false);
    await vi.waitFor(() => expect(chips()).toEqual(["dot.png"]));
    // A file manager also passes the file's name.
    expect(await happens("paste", field(), data({ "text/plain": "dot.png" }, [dot]))).toBe(false);
  });
});

describe("the list of conversations", () => {
  let count: number;
  let limits: unknown[];

  beforeEach(async () => {
    [count, limits] = [3, []];
    daemon.answers.set("session/list", ({ cursor, _meta }) => {
      const limit = (_meta as { vault: { limit: number } } | undefined)?.vault.limit ?? 100;
      limits.push(limit);
      const all = Array.from({ length: count }, (_, at) => ({ sessionId: `s${at}`, title: `Number ${at}`, shown: "done", state: "open", lastActive: "2026-11-21T10:00:00+01:00" }));
      const from = Number(cursor ?? 0);
      const sessions = all.slice(from, from + limit).map((vault) => ({ sessionId: vault.sessionId, _meta: { vault } }));
      return { sessions, nextCursor: from + limit < count ? String(from + limit) : undefined };
    });
    await mounted();
    root.querySelector<HTMLElement>(".vs-title")?.click();
    await settle();
  });

  let seq = 0;
  beforeEach(() => (seq = 0));
  async function changed(): Promise<void> {
    daemon.last.event("_vault/conversation_changed", ++seq, { sessionId: "s1", kind: "renamed" });
    await settle();
  }

  function rows(): HTMLElement[] {
    return [...root.querySelectorAll<HTMLElement>(".vs-session")];
  }

  it.each([".vs-session-open", ".vs-icon-button"])("keeps the focus at its %s when it is redrawn", async (name) => {
    rows()[1]?.querySelector<HTMLElement>(name)?.focus();
    const before = rows();
    await changed();
    expect(rows()[1]).not.toBe(before[1]);
    expect(document.activeElement).toBe(rows()[1]?.querySelector(name));
    // If its row is gone, the search field gets the focus, where typing continues.
    count = 1;
    await changed();
    expect(document.activeElement).toBe(root.querySelector(".vs-search"));
  });

  it("shows as many rows as before, and new ones", async () => {
    count = 250;
    await changed();
    const list = root.querySelector(".vs-sessions");
    list?.dispatchEvent(new Event("scroll"));
    await settle();
    expect(rows()).toHaveLength(200);
    await changed();
    expect(rows()).toHaveLength(201);
  });

  it("keeps the row of an open menu, and is redrawn afterwards", async () => {
    const more = rows()[1]?.querySelector<HTMLElement>(".vs-icon-button");
    more?.click();
    count = 4;
    await changed();
    expect(more?.isConnected).toBe(true);
    await press("Rename");
    const name = root.querySelector<HTMLInputElement>(".vs-rename");
    expect(name?.isConnected).toBe(true);
    expect(document.activeElement).toBe(name);
    await changed();
    expect(root.querySelector(".vs-rename")).toBe(name);
    name?.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    await settle();
    expect(rows()).toHaveLength(4);
    expect(root.contains(document.activeElement)).toBe(true);
  });
});

describe("the usage of a conversation", () => {
  let millionths: number;
  const shown = (): string | null | undefined => {
    const found = root.querySelector<HTMLElement>(".vs-usage");
    return found?.hidden ? null : `${found?.textContent}: ${found?.title}`;
  };
  const asked = (): unknown[] => daemon.last.asked("_vault/usage").map(({ params }) => params?.["sessionId"]);

  beforeEach(() => {
    millionths = 250_000;
    daemon.answers.set("_vault/usage", ({ sessionId }) => ({ days: [], total: { costMillionths: sessionId === "a" ? millionths : 0 } }));
  });

  it("is shown when it is opened, and grows with the cost of each request, whatever this run of the daemon did", async () => {
    await mounted();
    expect(shown()).toBe("$0.25: about $0.25 in this conversation");
    millionths = 300_000;
    const update = { sessionUpdate: "usage_update", used: 12_000, size: 48_000, cost: { amount: 0.05, currency: "USD" } };
    daemon.last.event("session/update", 1, { sessionId: "a", update });
    await settle();
    expect(shown()).toBe("12k · $0.30: 12k of 48k tokens (25 %) of context in use; about $0.30 in this conversation");
    expect(root.querySelector(".vs-usage")?.getAttribute("aria-label")).toContain("12k of 48k tokens");
  });

  it("belongs to one conversation", async () => {
    await mounted();
    daemon.answers.delete("_vault/usage");
    chat.restore({ sessionId: "a", draft: { text: "", attachments: [], images: [] }, item: null, unsent: [] });
    await settle();
    const late = daemon.last.asked("_vault/usage").at(-1);
    daemon.answers.set("_vault/usage", () => ({ days: [], total: { costMillionths: 0 } }));
    chat.restore({ sessionId: "b", draft: { text: "", attachments: [], images: [] }, item: null, unsent: [] });
    await settle();
    expect(shown()).toBeNull();
    daemon.last.deliver({ id: late?.id, result: { days: [], total: { costMillionths: 9_000_000 } } });
    await settle();
    expect(shown()).toBeNull();
    expect(asked()).toEqual(["a", "a", "b"]);
    chat.newConversation();
    expect(asked()).toHaveLength(3);
  });
});

describe("the open note", () => {
  const sent = (at: number): unknown => daemon.last.asked("session/prompt")[at]?.params?.["prompt"];
  const link = { type: "resource_link", uri: "Inbox.md", name: "Inbox.md" };

  it("is seen beside the message, with what is selected in it", async () => {
    active = { path: "Inbox.md" };
    await mounted();
    expect(chips()).toEqual(["Inbox"]);
    active = { path: "Inbox.md", selection: "two words" };
    field().focus();
    expect(chips()).toEqual(["Selection in Inbox"]);
    active = null;
    root.dispatchEvent(new Event("pointerenter"));
    expect(chips()).toEqual([]);
  });

  it("goes along once in each conversation", async () => {
    active = { path: "Inbox.md" };
    await mounted();
    await type("What is this?");
    await type("And what else?");
    expect(sent(0)).toEqual([{ type: "text", text: "What is this?" }, { type: "text", text: "(the note `Inbox.md` is open)" }]);
    expect(chips()).toEqual([]);
    expect(sent(1)).toEqual([{ type: "text", text: "And what else?" }]);
    active = { path: "Inbox.md", selection: "two words" };
    await type("And here?");
    expect(sent(2)).toEqual([{ type: "text", text: "And here?" }, { type: "resource", resource: { uri: "Inbox.md", text: "two words" } }]);
    active = { path: "Inbox.md" };
    chat.newConversation();
    expect(chips()).toEqual(["Inbox"]);
  });

  it("stays where it is once it is taken out, until another one is open, and comes back by the button", async () => {
    active = { path: "Inbox.md" };
    await mounted();
    await press("Remove Inbox");
    expect(chips()).toEqual([]);
    await type("Good morning");
    expect(sent(0)).toEqual([{ type: "text", text: "Good morning" }]);
    active = { path: "Other.md" };
    field().focus();
    root.dispatchEvent(new Event("pointerenter"));
    expect(chips()).toEqual(["Other"]);
    active = { path: "Inbox.md" };
    await press("Attach the active note");
    expect(chips()).toEqual(["Inbox"]);
    await type("And this?");
    expect(sent(1)).toEqual([{ type: "text", text: "And this?" }, link]);
  });

  it("is not named twice", async () => {
    active = { path: "Garden/Inbox.md" };
    await mounted();
    field().value = "Look at [[Garden/Inbox]]";
    field().dispatchEvent(new Event("input", { bubbles: true }));
    expect(chips()).toEqual([]);
  });
});

it("reports copied code only after it was copied", async () => {
  items = [item(1, "agent_message_chunk", "```sh\nls\n```")];
  await mounted();
  const button = await vi.waitFor(() => {
    const found = root.querySelector<HTMLElement>("[data-action='copy-code']");
    expect(found).not.toBeNull();
    return found;
  });
  copy = () => Promise.reject(new Error("the clipboard is shut"));
  button?.click();
  await settle();
  expect(button?.textContent).toBe("Copy");
  expect(notices).toEqual(["the clipboard is shut"]);
  copy = () => Promise.resolve();
  button?.click();
  await settle();
  expect(button?.textContent).toBe("Copied");
});

describe("the menu of models", () => {
  const models = ["scripted/one", "scripted/two"];
  /** What was chosen for each conversation. */
  let chosen: Record<string, Record<string, string>>;
  let first: string;
  const result = (name: string): object => ({
    chain: [name, ...models.filter((other) => other !== name)],
    models: models.map((one) => ({ name: one, ready: true, chosen: true, current: one === name })),
    problems: [],
    agents: [{ name: "reader", description: "Reads only.", model: "local/small" }],
  });
  const modelsNow = ({ choose: chose }: Record<string, unknown>): object => result((first = typeof chose === "string" ? chose : first));
  const name = (): string | null | undefined => root.querySelector(".vs-model-name")?.textContent;
  const entries = (): HTMLElement[] => [...root.querySelectorAll<HTMLElement>(".vs-menu-item")];
  const choose = async (text: string): Promise<void> => {
    root.querySelector<HTMLElement>(".vs-model")?.click();
    entries().find((one) => one.textContent.startsWith(text))?.click();
    await settle();
  };

  beforeEach(async () => {
    [chosen, first] = [{}, "scripted/one"];
    daemon.answers.set("_vault/models", modelsNow);
    daemon.answers.set("session/set_config_option", ({ sessionId, configId, value }) => {
      chosen[String(sessionId)] = { ...chosen[String(sessionId)], [String(configId)]: String(value) };
      return { configOptions: [] };
    });
    daemon.answers.set("_vault/conversation", ({ sessionId = "a" }) => {
      const own = { ...chosen[String(sessionId)] };
      if (own["agent"] === "steward") delete own["agent"];
      if (own["agent"] !== undefined) own["agentMode"] = "read-only";
      const conversation = { sessionId, state: "open", shown: "done", branch: 1, title: String(sessionId).toUpperCase(), ...own };
      return { conversation, branches: [], items, earlier: false, changes: [] };
    });
    daemon.answers.set("_vault/mode", () => ({ mode: "auto" }));
    await mounted();
  });

  it("chooses for the conversation that is shown, and each tab shows its own", async () => {
    expect(name()).toBe("one");
    await choose("two");
    expect(name()).toBe("two");
    expect(daemon.last.asked("session/set_config_option").at(-1)?.params).toEqual({ sessionId: "a", configId: "model", value: "scripted/two" });
    expect(first).toBe("scripted/one");
    daemon.answers.set("session/new", () => ({ sessionId: "c" }));
    await press("More");
    entries().find((one) => one.textContent === "New tab")?.click();
    await settle();
    expect(name()).toBe("one");
    // A conversation that has not begun begins with the choice.
    await choose("reader");
    expect(name()).toBe("reader · small");
    expect(chosen).toEqual({ a: { model: "scripted/two" }, c: { agent: "reader" } });
    root.querySelector<HTMLElement>(".vs-tab")?.click();
    await settle();
    expect(name()).toBe("two");
  });

  it("shows who answers, and the mode that the agent leaves", async () => {
    root.querySelector<HTMLElement>(".vs-model")?.click();
    const checked = entries().filter((one) => one.getAttribute("aria-checked") === "true").map((one) => one.textContent);
    expect(checked).toEqual(["onescripted", "stewardagent"]);
    await choose("reader");
    await choose("reader");
    expect(root.querySelector(".vs-mode")?.textContent).toBe("Read only");
    await choose("steward");
    expect(name()).toBe("one");
    expect(root.querySelector(".vs-mode")?.textContent).toBe("Auto");
  });

  it("makes the model of a conversation the first everywhere, whatever is answered late to an earlier question", async () => {
    await choose("two");
    // Asked once more, and the answer is on its way while a person chooses.
    daemon.answers.delete("_vault/models");
    daemon.last.event("_vault/config_reloaded", 1, { changed: ["models.chain"], needsRestart: [] });
    await settle();
    const late = daemon.last.asked("_vault/models").at(-1);
    daemon.answers.set("_vault/models", modelsNow);
    await choose("Ask two first everywhere");
    expect(first).toBe("scripted/two");
    daemon.last.deliver({ id: late?.id, result: result("scripted/one") });
    await settle();
    root.querySelector<HTMLElement>(".vs-model")?.click();
    expect(entries().some((one) => one.textContent.startsWith("Ask"))).toBe(false);
    // A choice that is refused says so, and what holds is shown.
    daemon.answers.delete("session/set_config_option");
    await choose("one");
    await choose("one");
    const refused = daemon.last.asked("session/set_config_option").at(-1);
    daemon.last.deliver({ id: refused?.id, error: { code: -32000, message: "could not write", data: { kind: "failed", retryable: false } } });
    await settle();
    expect(notices.join()).toContain("could not write");
    expect(name()).toBe("two");
  });
});

it("completes a name that was typed while disconnected after the reconnection", async () => {
  await mounted();
  daemon.answers.set("_vault/complete", () => ({ found: [{ kind: "note", path: "Garden/Compost.md", name: "Compost", folder: "Garden" }] }));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    daemon.there = false;
    daemon.last.lose();
    field().focus();
    field().value = "See @compo";
    field().setSelectionRange(10, 10);
    field().dispatchEvent(new Event("input", { bubbles: true }));
    vi.advanceTimersByTime(1_000);
    await settle();
    expect(root.querySelector(".vs-completion")).toBeNull();
    daemon.there = true;
    await clock.pass(10_000);
    vi.advanceTimersByTime(1_000);
    await settle();
    expect(root.querySelector(".vs-completion-name")?.textContent).toBe("Compost");
  } finally {
    vi.useRealTimers();
  }
});

it("completes a note by its aliases and links it under the chosen one", async () => {
  await mounted();
  daemon.answers.set("_vault/complete", () => ({
    found: [
      { kind: "note", path: "Garden/Plants/Kürbis.md", name: "Kürbis", folder: "Garden/Plants", aliases: ["Pumpkin", "Pumpkin soup"] },
      { kind: "note", path: "Pump.md", name: "Pump", folder: "" },
    ],
  }));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    field().focus();
    field().value = "Plant [[pump";
    field().setSelectionRange(12, 12);
    field().dispatchEvent(new Event("input", { bubbles: true }));
    vi.advanceTimersByTime(1_000);
    await settle();
    const rows = [...root.querySelectorAll(".vs-completion")].map(({ textContent }) => textContent);
    expect(rows).toEqual(["PumpkinGarden/Plants/Kürbis", "Pumpkin soupGarden/Plants/Kürbis", "Pump"]);
    field().dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
    expect(field().value).toBe("Plant [[Garden/Plants/Kürbis|Pumpkin]] ");
  } finally {
    vi.useRealTimers();
  }
});

describe("an input field that is hidden during a reconnection", () => {
  async function takenAway(): Promise<void> {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const connection = connectTo(daemon, clock);
    daemon.opening = "never";
    connection.start();
    await mounted(connection);
    field().focus();
    vi.advanceTimersByTime(1_000);
    expect(root.querySelector(".vs-body.is-away")).not.toBeNull();
    // A browser blurs a hidden element.
    field().blur();
  }

  async function isBack(): Promise<void> {
    daemon.opening = "accept";
    await clock.pass(20_000);
    expect(root.querySelector(".vs-body.is-away")).toBeNull();
  }

  afterEach(() => void vi.useRealTimers());

  it("regains the focus when it is visible again", async () => {
    await takenAway();
    await isBack();
    expect(document.activeElement).toBe(field());
  });

  it("does not take the focus from another element", async () => {
    await takenAway();
    const elsewhere = document.body.appendChild(document.createElement("textarea"));
    elsewhere.focus();
    await isBack();
    expect(document.activeElement).toBe(elsewhere);
    elsewhere.remove();
  });
});

describe("without a model", () => {
  const button = (name: string): HTMLButtonElement | undefined =>
    [...root.querySelectorAll<HTMLButtonElement>(".vs-setup button")].find((one) => one.textContent === name);
  const hint = (): boolean => root.querySelector(".vs-empty-hint")?.parentElement?.hidden === false;
  let chain: string[];
  let offered: string[];

  beforeEach(async () => {
    await loadCards();
    [chain, offered] = [[], []];
    daemon.answers.set("_vault/models", ({ choose, ask }) => {
      if (typeof choose === "string") chain = [choose];
      const all = [...chain, ...(ask ? offered : [])];
      return { chain, problems: [], models: all.map((name) => ({ name, current: false, chosen: false, ready: true })) };
    });
  });

  it("offers one that runs on this computer", async () => {
    offered = ["anthropic/claude", "ollama/qwen3:8b", "ollama/llama3"];
    await mounted();
    expect(hint()).toBe(false);
    const options = [...root.querySelectorAll(".vs-setup-part:first-of-type option")].map((one) => one.textContent);
    expect(options).toEqual(["qwen3:8b", "llama3"]);
    button("Use it")?.click();
    await settle();
    expect(chain).toEqual(["ollama/qwen3:8b"]);
    daemon.last.event("_vault/config_reloaded", 1, { changed: ["models.chain"], needsRestart: [] });
    await settle();
    expect(root.querySelector(".vs-setup")).toBeNull();
    expect(hint()).toBe(true);
  });

  it("checks a key, does not store it, and offers its models", async () => {
    let given: unknown;
    daemon.answers.set("_vault/models/key", (params) => {
      given = params;
      return { models: ["openai/one", "openai/two"] };
    });
    await mounted();
    expect(root.querySelector(".vs-setup")?.textContent).toContain("No model is running on this computer");
    const field = root.querySelector<HTMLInputElement>(".vs-setup input");
    const vendor = root.querySelector<HTMLSelectElement>(".vs-setup-key select");
    if (!field || !vendor) throw new Error("no field");
    expect(field.type).toBe("password");
    [field.value, vendor.value] = ["sk-secret", "openai"];
    root.querySelector<HTMLFormElement>(".vs-setup form")?.requestSubmit();
    await settle();
    expect(given).toEqual({ provider: "openai", key: "sk-secret" });
    expect(field.value).toBe("");
    expect(JSON.stringify(chat.kept())).not.toContain("sk-secret");
    button("Use it")?.click();
    await settle();
    expect(chain).toEqual(["openai/one"]);
  });

  it("shows why a key is rejected", async () => {
    await mounted();
    daemon.answers.delete("_vault/models/key");
    const field = root.querySelector<HTMLInputElement>(".vs-setup input");
    if (field) field.value = "sk-wrong";
    root.querySelector<HTMLFormElement>(".vs-setup form")?.requestSubmit();
    await settle();
    const asked = daemon.last.asked("_vault/models/key").at(-1);
    daemon.last.deliver({ id: asked?.id, error: { code: -32602, message: "`anthropic` refused the key", data: { kind: "invalid_params", retryable: false } } });
    await settle();
    expect(root.querySelector(".vs-setup [role=alert]")?.textContent).toContain("refused the key");
    expect(button("Check and save")?.disabled).toBe(false);
  });
});
