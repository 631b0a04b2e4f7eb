import type { App as ObsidianApp, Plugin, WorkspaceLeaf } from "obsidian";
import { App } from "obsidian-test-mocks/obsidian";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import manifest from "../manifest.json";
import { CHAT_VIEW, ChatView } from "../src/chat-view";
import { undoLast } from "../src/commands";
import type { Connection } from "../src/connection";
import type { Host } from "../src/host";
import VaultStewardPlugin from "../src/main";
import { storeToken } from "../src/pairing";
import { settle } from "./fake-clock";
import { FakeDaemon, type FakeSocket, TOKEN } from "./fake-daemon";
import { observing } from "./setup";

const obsidian = vi.hoisted(() => ({
  notices: [] as string[],
  there: true,
}));

vi.mock("obsidian", async (original) => ({
  ...(await original<typeof import("obsidian")>()),
  Notice: class {
    constructor(text: string) {
      obsidian.notices.push(text);
    }
  },
  requestUrl: ({ url }: { url: string }) =>
    obsidian.there ? daemon.get(url) : Promise.reject(new Error("net::ERR_CONNECTION_REFUSED")),
}));

/** Members that the mocks have besides Obsidian's own. */
interface Mocked {
  commands__: Map<string, { id: string; name: string; hotkeys?: unknown; callback?: () => void; checkCallback?: (checking: boolean) => boolean }>;
  statusBarItems__: HTMLElement[];
  settingTabs__: object[];
  views__: Map<string, (leaf: WorkspaceLeaf) => ChatView>;
  obsidianProtocolHandlers__: Map<string, (data: object) => void>;
  data__: object | null;
}

let mock: App;
let app: ObsidianApp;
let daemon: FakeDaemon;
let plugin: Plugin & Mocked;
let listeners: Map<string, number>;

/** Counts the listeners of the window, the document, and Obsidian. */
function countListeners(): void {
  listeners = new Map();
  const count = (what: string, by: number): void => void listeners.set(what, (listeners.get(what) ?? 0) + by);
  for (const [name, target] of [["window", window], ["document", document]] as const) {
    const add = target.addEventListener.bind(target);
    const remove = target.removeEventListener.bind(target);
    vi.spyOn(target, "addEventListener").mockImplementation((...parameters: unknown[]) => {
      count(`${name} ${String(parameters[0])}`, 1);
      Reflect.apply(add, undefined, parameters);
    });
    vi.spyOn(target, "removeEventListener").mockImplementation((...parameters: unknown[]) => {
      count(`${name} ${String(parameters[0])}`, -1);
      Reflect.apply(remove, undefined, parameters);
    });
  }
  for (const [name, events] of [["workspace", mock.workspace], ["vault", mock.vault]] as const) {
    const on = events.on.bind(events);
    const offref = events.offref.bind(events);
    vi.spyOn(events, "on").mockImplementation((...parameters: Parameters<typeof on>) => {
      count(`${name} ${parameters[0]}`, 1);
      return on(...parameters);
    });
    vi.spyOn(events, "offref").mockImplementation((ref) => {
      count(`${name} ${(ref as unknown as { name: string }).name}`, -1);
      offref(ref);
    });
  }
}

function left(): string[] {
  return [...listeners].filter(([, count]) => count !== 0).map(([what, count]) => `${count} ${what}`);
}

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  obsidian.notices.length = 0;
  obsidian.there = true;
  mock = App.createConfigured__({ files: { "Inbox.md": "" } });
  app = mock.asOriginalType__();
  daemon = new FakeDaemon();
  daemon.answers.set("_vault/status", () => ({
    smarthole: { state: "disabled", name: "obsidian", reason: "", waiting: 0, setAside: 0 },
  }));
  daemon.answers.set("session/list", () => ({ sessions: [] }));
  vi.stubGlobal("WebSocket", function WebSocket(url: string, protocols: string[]) {
    return daemon.socket(url, protocols);
  });
  storeToken(app, TOKEN);
  countListeners();
  plugin = new VaultStewardPlugin(app, manifest) as unknown as Plugin & Mocked;
  plugin.load();
  await settle();
  mock.workspace.setLayoutReady__();
  await settle();
});

afterEach(() => {
  plugin.unload();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function command(id: string): { check(): boolean; run(): Promise<void> } {
  const found = plugin.commands__.get(id);
  if (found === undefined) throw new Error(`there is no command ${id}`);
  return {
    check: () => found.checkCallback?.(true) ?? true,
    run: async () => {
      if (found.checkCallback === undefined) found.callback?.();
      else found.checkCallback(false);
      await settle();
    },
  };
}

/** Opens the chat as Obsidian does when its leaf is shown. */
async function openView(): Promise<ChatView> {
  const leaf = app.workspace.getLeaf(true);
  await leaf.setViewState({ type: CHAT_VIEW });
  const view = plugin.views__.get(CHAT_VIEW)?.(leaf);
  if (view === undefined) throw new Error("the plugin has no chat view");
  (leaf as { view: unknown }).view = view;
  document.body.append(view.containerEl);
  await (view as unknown as { onOpen(): Promise<void> }).onOpen();
  await settle();
  return view;
}

describe("the chat's state", () => {
  beforeEach(() => {
    daemon.answers.set("_vault/conversation", ({ sessionId = "newest" }) => {
      const conversation = { sessionId, state: "open", shown: "done", branch: 1, title: String(sessionId) };
      return { conversation, branches: [], items: [], earlier: false, changes: [] };
    });
  });

  const views: ChatView[] = [];
  afterEach(async () => {
    for (const view of views.splice(0)) await (view as unknown as { onClose(): Promise<void> }).onClose();
  });

  async function openedView(): Promise<ChatView> {
    const view = await openView();
    views.push(view);
    return view;
  }

  function field(view: ChatView): HTMLTextAreaElement {
    const found = view.contentEl.querySelector<HTMLTextAreaElement>(".vs-input");
    if (found === null) throw new Error("there is no field");
    return found;
  }

  function title(view: ChatView): string | null | undefined {
    return view.contentEl.querySelector(".vs-title-text")?.textContent;
  }

  it("survives a restart of Obsidian, even without the daemon, and takes no focus", async () => {
    const saved = vi.spyOn(app.workspace, "requestSaveLayout");
    const view = await openedView();
    expect(title(view)).toBe("newest");
    await view.setState({ sessionId: "older", text: "" }, { history: false });
    await settle();
    expect(title(view)).toBe("older");
    expect(saved).toHaveBeenCalled();
    saved.mockClear();
    view.ask({ path: "Inbox.md" });
    field(view).value = "Not sent yet";
    field(view).blur();
    expect(saved).toHaveBeenCalled();
    // Serialized and parsed, as in Obsidian's file.
    let state = JSON.parse(JSON.stringify(view.getState())) as unknown;
    obsidian.there = false;
    daemon.last.lose();
    await settle();
    const away = await openedView();
    await away.setState(state, { history: false });
    state = JSON.parse(JSON.stringify(away.getState())) as unknown;
    obsidian.notices.length = 0;
    const again = await openedView();
    await again.setState(state, { history: false });
    obsidian.there = true;
    await vi.advanceTimersByTimeAsync(10_000);
    await settle();
    expect(title(again)).toBe("older");
    expect(field(again).value).toBe("Not sent yet");
    expect(again.contentEl.querySelector(".vs-chip")?.textContent).toBe("Inbox");
    expect(document.activeElement).not.toBe(field(again));
    expect(obsidian.notices).toEqual([]);
  });

  /**
   * Restores the state from Obsidian's file: the view is closed, and another one opens with the saved state.
   */
  async function restarted(view: ChatView): Promise<ChatView> {
    const state = JSON.parse(JSON.stringify(view.getState())) as unknown;
    views.splice(views.indexOf(view), 1);
    await (view as unknown as { onClose(): Promise<void> }).onClose();
    const again = await openedView();
    await again.setState(state, { history: false });
    await settle();
    return again;
  }

  function press(view: ChatView, name: string): void {
    const found = [...view.contentEl.querySelectorAll("button")].find((one) => one.getAttribute("aria-label") === name || one.textContent === name);
    if (found === undefined) throw new Error(`there is no button ${name}`);
    found.click();
  }

  async function say(view: ChatView, text: string): Promise<void> {
    field(view).value = text;
    field(view).dispatchEvent(new Event("input", { bubbles: true }));
    press(view, "Send");
    await settle();
  }

  /** Disconnects until `back`. */
  function away(): void {
    obsidian.there = false;
    daemon.last.lose();
  }

  async function back(): Promise<void> {
    obsidian.there = true;
    await vi.advanceTimersByTimeAsync(10_000);
    await settle();
  }

  function bubbles(view: ChatView): string[] {
    return [...view.contentEl.querySelectorAll<HTMLElement>(".vs-user")].map((one) => {
      const words = (name: string): string => one.querySelector(name)?.textContent ?? "";
      return `${words(".vs-user-text")} (${words(".vs-pending")})`;
    });
  }

  function prompts(): { sessionId: unknown; id: unknown; text: unknown }[] {
    return daemon.sockets.flatMap((socket) => socket.asked("session/prompt")).map(({ params }) => {
      const { sessionId, prompt, _meta } = params as { sessionId: string; prompt: { text: string }[]; _meta: { vault: { clientMessageId: string } } };
      return { sessionId, id: _meta.vault.clientMessageId, text: prompt[0]?.text };
    });
  }

  const UNKNOWN = "May not have arrived before Obsidian quit";

  it("includes messages that waited for the connection, which the person can send, once", async () => {
    const saved = vi.spyOn(app.workspace, "requestSaveLayout");
    const view = await openedView();
    away();
    await settle();
    saved.mockClear();
    await say(view, "Are you there?");
    expect(saved).toHaveBeenCalled();
    const again = await restarted(await restarted(view));
    await back();
    expect(bubbles(again)).toEqual([`Are you there? (${UNKNOWN})`]);
    expect(prompts()).toEqual([]);
    press(again, "Send again");
    await settle();
    const [{ id } = { id: "" }] = prompts();
    expect(prompts()).toEqual([{ sessionId: "newest", id, text: "Are you there?" }]);
    saved.mockClear();
    const content = { type: "text", text: "Are you there?" };
    const update = { sessionUpdate: "user_message_chunk", messageId: "m1", content, _meta: { vault: { source: "chat", clientMessageId: id } } };
    daemon.last.event("session/update", 1, { sessionId: "newest", update });
    await settle();
    expect(saved).toHaveBeenCalled();
    expect(again.getState()["unsent"]).toEqual([]);
    expect(bubbles(await restarted(again))).toEqual([]);
    expect(prompts()).toHaveLength(1);
  });

  it("sends a message that may have arrived again with the same id", async () => {
    const view = await openedView();
    await say(view, "Did it arrive?");
    const again = await restarted(view);
    expect(prompts()).toHaveLength(1);
    expect(bubbles(again)).toEqual([`Did it arrive? (${UNKNOWN})`]);
    press(again, "Send again");
    await settle();
    const [first, second] = prompts();
    expect(second).toEqual(first);
  });

  it("reports a message that waits in another conversation", async () => {
    const view = await openedView();
    away();
    await say(view, "For newest");
    await back();
    const [prompt] = daemon.last.asked("session/prompt");
    daemon.last.deliver({ id: prompt?.id, error: { code: -32602, message: "the message is too long", data: { kind: "invalid_params", retryable: false } } });
    await view.setState({ sessionId: "older", text: "" }, { history: false });
    await settle();
    expect(bubbles(view)).toEqual([]);
    const again = await restarted(view);
    expect(title(again)).toBe("older");
    expect(again.contentEl.querySelector(".vs-banner")?.textContent).toContain("Not sent: For newest");
    press(again, "Show");
    await settle();
    expect(title(again)).toBe("newest");
    expect(bubbles(again)).toEqual(["For newest (the message is too long)"]);
  });

  it("includes a message that was to start a conversation", async () => {
    daemon.answers.set("session/new", () => ({ sessionId: "begun" }));
    const view = await openedView();
    view.newConversation();
    away();
    await say(view, "Begin");
    const again = await restarted(view);
    await back();
    expect(title(again)).toBe("Begin");
    expect(bubbles(again)).toEqual([`Begin (${UNKNOWN})`]);
    press(again, "Send again");
    await settle();
    expect(prompts()).toMatchObject([{ sessionId: "begun", text: "Begin" }]);
  });

  it("includes a message of a deleted conversation", async () => {
    const view = await openedView();
    away();
    await say(view, "For newest");
    const error = { code: -32002, message: "there is no conversation `newest`", data: { kind: "unknown_session", retryable: false } };
    daemon.answers.delete("_vault/conversation");
    const again = await restarted(view);
    await back();
    const [asked] = daemon.last.asked("_vault/conversation");
    expect(asked?.params).toMatchObject({ sessionId: "newest" });
    daemon.last.deliver({ id: asked?.id, error });
    await settle();
    expect(bubbles(again)).toEqual([`For newest (${UNKNOWN})`]);
    expect(again.getState()["unsent"]).toHaveLength(1);
  });

  it("reports that images are lost", async () => {
    const view = await openedView();
    await view.setState({ sessionId: "newest", text: "", unsent: [{ id: "a", sessionId: "newest", text: "What is this?", attachments: [{ path: "Inbox.md" }], images: 2 }] }, { history: false });
    await settle();
    expect(bubbles(view)).toEqual([`What is this?\nInbox (${UNKNOWN}. Its images are lost; edit it to attach them anew)`]);
    const before = bubbles(view);
    const again = await restarted(view);
    expect(bubbles(again)).toEqual(before);
    press(again, "Edit the message");
    expect(field(again).value).toBe("What is this?");
    expect(again.contentEl.querySelector(".vs-chip")?.textContent).toBe("Inbox");
  });

  it.each([{}, undefined, { sessionId: 7, text: 7 }, { text: "", attachments: [null, 1, { path: 2 }, { path: "a", selection: 3 }], item: "x" }, { text: "", unsent: 1 }, { text: "", unsent: [null, 1, {}, { id: "a" }, { id: 1, text: "x" }] }])(
    "that is invalid changes nothing: %j",
    async (state) => {
      const view = await openedView();
      await view.setState(state, { history: false });
      await settle();
      expect(title(view)).toBe("newest");
      expect(field(view).value).toBe("");
      expect(view.contentEl.querySelectorAll(".vs-chip")).toHaveLength(0);
      expect(bubbles(view)).toEqual([]);
    },
  );
});

describe("loading", () => {
  it("connects after the layout is ready, with its capabilities", () => {
    const params = daemon.last.asked("initialize")[0]?.params as {
      clientCapabilities: { _meta: { vault: { host: string[]; approvals: boolean } } };
    };
    expect(params.clientCapabilities._meta.vault).toMatchObject({
      approvals: true,
      host: ["active_note", "open", "notice", "trash", "rename"],
    });
    expect(plugin.statusBarItems__[0]?.textContent).toBe("Steward: connected");
  });

  it("adds its commands, none with a hotkey or with the plugin's name, which Obsidian adds itself", () => {
    const commands = [...plugin.commands__.values()];
    expect(commands.map(({ id }) => id)).toEqual([
      "open-chat", "new-conversation", "rename-conversation", "export-conversation", "edit-last-message", "ask-about-note", "ask-about-selection", "edit-selection", "open-time-machine", "undo-last-change", "stop",
    ]);
    for (const { id, name, hotkeys } of commands) {
      expect(hotkeys).toBeUndefined();
      expect(`${id} ${name}`.toLowerCase()).not.toMatch(/command|vault-?\s?steward|obsidian/);
    }
  });

  it("saves no token", async () => {
    plugin.obsidianProtocolHandlers__.get("vault-steward")?.({ action: "vault-steward", token: TOKEN, port: "1" });
    await vi.advanceTimersByTimeAsync(10);
    expect(JSON.stringify(plugin.data__)).not.toContain(TOKEN);
  });

  it("connects to another port after another program has changed its data", async () => {
    plugin.data__ = { address: "127.0.0.1:27999" };
    await plugin.onExternalSettingsChange?.();
    await settle();
    expect(daemon.last.url).toBe("ws://127.0.0.1:27999/v1");
  });

  it("reports an absent daemon, and connects when it starts", async () => {
    obsidian.there = false;
    daemon.last.lose();
    await vi.advanceTimersByTimeAsync(1_000);
    // Signing does not depend on the fake clock.
    await settle();
    expect(plugin.statusBarItems__[0]?.textContent).toBe("Steward: not running");
    obsidian.there = true;
    await vi.advanceTimersByTimeAsync(6_000);
    await settle();
    expect(plugin.statusBarItems__[0]?.textContent).toBe("Steward: connected");
  });
});

describe("unloading", () => {
  it.each(["connected", "absent", "with the chat open", "before the layout is ready"])(
    "leaves no listener, timer or socket: %s",
    async (when) => {
      if (when === "absent") {
        obsidian.there = false;
        daemon.last.lose();
        await vi.advanceTimersByTimeAsync(1_000);
        await settle();
        expect(vi.getTimerCount()).toBeGreaterThan(0);
      }
      let view: ChatView | null = null;
      if (when === "with the chat open") view = await openView();
      if (when === "before the layout is ready") {
        plugin.unload();
        const early = new VaultStewardPlugin(app, manifest) as unknown as Plugin & Mocked;
        mock.workspace.layoutReady = false;
        const made = daemon.sockets.length;
        early.load();
        await settle();
        early.unload();
        mock.workspace.setLayoutReady__();
        await settle();
        expect(daemon.sockets).toHaveLength(made);
      }
      // Obsidian closes the views of a plugin that is unloaded.
      await (view as unknown as { onClose(): Promise<void> } | null)?.onClose();
      plugin.unload();
      await settle();
      expect(left()).toEqual([]);
      expect(observing.size).toBe(0);
      expect(vi.getTimerCount()).toBe(0);
      expect(daemon.sockets.every(({ closed }: FakeSocket) => closed)).toBe(true);
      const made = daemon.sockets.length;
      await vi.advanceTimersByTimeAsync(3_600_000);
      expect(daemon.sockets).toHaveLength(made);
    },
  );
});

describe("commands", () => {
  it("undo the steward's last change, and report the result", async () => {
    daemon.answers.set("tools/call", () => ({
      content: [{ type: "text", text: "undid 17; change set 18 brings it back" }],
      structuredContent: {},
      isError: false,
    }));
    await command("undo-last-change").run();
    expect(daemon.last.asked("tools/call")[0]?.params).toMatchObject({ name: "undo", arguments: {} });
    expect(obsidian.notices).toEqual(["undid 17; change set 18 brings it back"]);
  });

  it("undo nothing without a required approval", async () => {
    daemon.answers.set("tools/call", () => ({
      content: [{ type: "text", text: "this needs a person's approval" }],
      structuredContent: { code: "approval_needed", data: { title: "undo 17", reasons: ["it deletes 30 notes"] } },
      isError: true,
    }));
    await command("undo-last-change").run();
    // The mocks close a dialog at once, which is a refusal.
    await vi.advanceTimersByTimeAsync(10);
    await settle();
    const confirmed = daemon.last.asked("tools/call").map(({ params }) => (params?._meta as { vault: { confirmed: boolean } }).vault.confirmed);
    expect(confirmed).toEqual([false]);
  });

  it("undo exactly the change that the person was shown", async () => {
    const meta: unknown[] = [];
    const refusal = { code: "approval_needed", data: { title: "undo 17", reasons: [], identity: "shown" } };
    const call = (_method: string, params: { _meta: unknown }): Promise<unknown> => {
      meta.push(params._meta);
      return Promise.resolve({ content: [], structuredContent: refusal, isError: true });
    };
    const host = { confirm: () => Promise.resolve(true), notice: () => undefined };
    await undoLast({ call } as unknown as Connection, host as unknown as Host);
    expect(meta).toEqual([{ vault: { confirmed: false } }, { vault: { confirmed: true, agreed: "shown" } }]);
  });

  it("stop the running turns, and are not available without one", async () => {
    expect(command("stop").check()).toBe(false);
    daemon.last.event("_vault/state", 1, { sessionId: "7", state: "running", queued: 0, waiting: false });
    expect(command("stop").check()).toBe(true);
    await command("stop").run();
    expect(daemon.last.asked("session/cancel")[0]?.params).toEqual({ sessionId: "7" });
  });

  it("ask about a note only if one is open", async () => {
    expect(command("ask-about-note").check()).toBe(false);
    expect(command("ask-about-selection").check()).toBe(false);
    const file = app.vault.getFileByPath("Inbox.md");
    if (file !== null) await app.workspace.getLeaf(false).openFile(file);
    expect(command("ask-about-note").check()).toBe(true);
    expect(command("ask-about-selection").check()).toBe(false);
    const view = await openView();
    vi.spyOn(app.workspace, "revealLeaf").mockResolvedValue();
    await command("ask-about-note").run();
    expect(view.contentEl.textContent).toContain("Inbox");
  });

  it("are not available without a connection if they need one", async () => {
    obsidian.there = false;
    daemon.last.lose();
    await settle();
    expect(command("undo-last-change").check()).toBe(false);
    expect(command("stop").check()).toBe(false);
  });
});

describe("a question to the person", () => {
  const params = { sessionId: "1", toolCall: { title: "delete `Garden`", toolCallId: "1", locations: [], content: [] }, options: [], _meta: { vault: { reasons: [], changes: [], folder: null, seconds: 120, tool: "delete", caller: "", scope: "" } } };

  it("is reported if no chat is open, and waits for one", async () => {
    daemon.last.deliver({ id: "permission-1", method: "session/request_permission", params });
    expect(obsidian.notices).toEqual(["Waiting for your approval: delete `Garden`"]);
    expect(plugin.statusBarItems__[0]?.textContent).toBe("Steward: waiting for you");
    const view = await openView();
    // Its code is loaded with the first pending message.
    await vi.dynamicImportSettled();
    await settle();
    expect(view.contentEl.textContent).toContain("delete `Garden`");
  });

  // jsdom has no layout, so the test reports the visibility.
  it.each([[true, 0], [false, 1]])("is not reported twice if it is visible: %s", async (isSeen, told) => {
    const view = await openView();
    vi.spyOn(view.containerEl, "isShown").mockReturnValue(isSeen);
    daemon.last.deliver({ id: "permission-1", method: "session/request_permission", params });
    expect(obsidian.notices).toHaveLength(told);
  });
});
