import type { Plugin } from "obsidian";
import { App, Plugin as PluginMock } from "obsidian-test-mocks/obsidian";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Connection } from "../src/connection";
import { DaemonSettings } from "../src/daemon-settings";
import { storeToken, Pairing, readToken } from "../src/pairing";
import type { JsonValue, Setting } from "../src/protocol";
import { StewardSettingTab } from "../src/settings-tab";
import { FakeClock, settle } from "./fake-clock";
import { connectTo, FakeDaemon, TOKEN } from "./fake-daemon";

interface Shown {
  setting: { components: { buttonEl?: HTMLElement; clickHandler?: (event: Event) => unknown; toggleEl?: HTMLElement; onClick?(): void; getValue?(): boolean }[] };
  settingEl: HTMLElement;
  cleanup: (() => void) | null;
}

let app: ReturnType<App["asOriginalType__"]>;
let daemon: FakeDaemon;
let clock: FakeClock;
let connection: Connection;
let settings: Map<string, Setting>;
let models: string[];
let chain: string[];
let mode: { mode: string; setLive: boolean };
let rows: Map<string, HTMLElement>;
let shown: Shown[];
let seq: number;
const book = { address: "127.0.0.1:27180", save: vi.fn(() => Promise.resolve()) };

function setting(key: string, value: JsonValue, more: Partial<Setting> = {}): void {
  settings.set(key, {
    key,
    value,
    default: value,
    source: "default",
    takesEffect: "next_call",
    settable: true,
    doc: `What ${key} is for.`,
    ...more,
  });
}

beforeEach(async () => {
  seq = 0;
  app = App.createConfigured__().asOriginalType__();
  storeToken(app, TOKEN);
  book.address = "127.0.0.1:27180";
  book.save.mockClear();
  daemon = new FakeDaemon();
  clock = new FakeClock();
  settings = new Map();
  setting("agent.information_architecture", "Inbox first.");
  setting("conversation.idle_minutes", 30);
  setting("smarthole.enabled", false);
  setting("smarthole.name", "obsidian");
  setting("journal.days", 90, { settable: false });
  chain = ["anthropic/claude", "local/llama"];
  models = ["anthropic/claude", "local/llama", "openai/gpt"];
  mode = { mode: "auto", setLive: false };
  daemon.answers.set("_vault/settings/get", () => ({
    file: "/home/ana/config.toml",
    exists: true,
    settings: [...settings.values()],
  }));
  daemon.answers.set("_vault/settings/set", ({ key, value }) => {
    const old = settings.get(key as string);
    if (old === undefined) return undefined;
    settings.set(key as string, { ...old, value: (value ?? old.default) as JsonValue });
    return { changed: [key], needsRestart: [] };
  });
  daemon.answers.set("_vault/mode", ({ mode: wanted }) => {
    if (wanted === "settings") mode = { mode: "auto", setLive: false };
    else if (typeof wanted === "string") mode = { mode: wanted, setLive: true };
    return mode;
  });
  daemon.answers.set("_vault/models", ({ choose: chosen }) => ({
    chain: (chain = typeof chosen === "string" ? [chosen, ...chain.filter((name) => name !== chosen)] : chain),
    models: models.map((name, at) => ({ name, ready: at < 2, chosen: at < 2, current: at === 0 })),
    problems: [],
  }));
  connection = connectTo(daemon, clock, {
    address: () => book.address,
    token: () => Promise.resolve(readToken(app)),
  });
  connection.start();
  await settle();
  await show();
});

afterEach(() => {
  for (const { cleanup } of shown) cleanup?.();
  connection.stop();
});

/** Shows the tab as Obsidian does: requests the definitions and renders them. */
async function show(): Promise<void> {
  const manifest = { id: "vault-steward", name: "", version: "", minAppVersion: "", author: "", description: "" };
  class Shell extends PluginMock {}
  const plugin = new Shell(app as never, manifest) as unknown as Plugin;
  const tab = new StewardSettingTab(app, plugin, {
    connection,
    daemon: new DaemonSettings(connection),
    pairing: new Pairing(app, book, connection),
    host: {
      kind: "obsidian",
      command: (name: string) => `steward ${name} --vault /notes`,
    } as never,
  });
  tab.update();
  const rendering = tab as unknown as { renderTab__(): void; getRenderedRows__(): Shown[] };
  rendering.renderTab__();
  shown = rendering.getRenderedRows__();
  rows = new Map(
    shown.map(({ settingEl }, at) => [tab.settingItems.flatMap(namesOf)[at] ?? "", settingEl]),
  );
  await settle();
}

function namesOf(item: object): string[] {
  return "items" in item ? (item.items as { name: string }[]).map(({ name }) => name) : [];
}

function row(name: string): HTMLElement {
  const element = rows.get(name);
  if (element === undefined) throw new Error(`there is no row ${name}: ${[...rows.keys()].join()}`);
  return element;
}

type Field = HTMLInputElement | HTMLTextAreaElement;

function field(name: string): Field {
  const found = row(name).querySelector<Field>("input, textarea");
  if (found === null) throw new Error(`${name} has no field`);
  return found;
}

async function type(name: string, text: string): Promise<void> {
  field(name).value = text;
  field(name).dispatchEvent(new Event("input"));
  field(name).dispatchEvent(new Event("change"));
  await settle();
}

/** The mocks store a button's listener beside the button. */
async function press(name: string, button: string): Promise<void> {
  const components = shown.find(({ settingEl }) => settingEl === row(name))?.setting.components ?? [];
  const found = components.find(
    (component) => "buttonEl" in component && component.buttonEl?.textContent === button,
  );
  if (found?.clickHandler === undefined) throw new Error(`${name} has no button ${button}`);
  await found.clickHandler(new Event("click"));
  await settle();
}

async function choose(name: string, value: string): Promise<void> {
  const select = row(name).querySelector("select");
  if (select === null) throw new Error(`${name} has no choice`);
  select.value = value;
  dropdowns.get(select)?.simulateChange__();
  await settle();
}

/** In the mocks a method of the component calls a dropdown's listener, not an event. */
const dropdowns = new Map<HTMLSelectElement, { simulateChange__(): void }>();

vi.mock("obsidian", async (original) => {
  const mocks = await original<typeof import("obsidian")>();
  const { DropdownComponent } = await import("obsidian-test-mocks/obsidian");
  const create = DropdownComponent.create__.bind(DropdownComponent);
  DropdownComponent.create__ = (containerEl) => {
    const made = create(containerEl);
    dropdowns.set(made.selectEl, made);
    return made;
  };
  return mocks;
});

function sets(): unknown[] {
  return daemon.sockets.flatMap((socket) => socket.asked("_vault/settings/set").map(({ params }) => params));
}

describe("the daemon's settings", () => {
  it("are shown with the daemon's values and descriptions", () => {
    expect(field("Vault structure").value).toBe("Inbox first.");
    expect(row("Vault structure").textContent).toContain("What agent.information_architecture is for.");
    expect(field("End a conversation after (minutes)").value).toBe("30");
  });

  it("are written when a field loses the focus, not with every key", async () => {
    field("Name in SmartHole").value = "st";
    field("Name in SmartHole").dispatchEvent(new Event("input"));
    await settle();
    expect(sets()).toEqual([]);
    await type("Name in SmartHole", "steward");
    await type("End a conversation after (minutes)", " 45 ");
    await type("End a conversation after (minutes)", "");
    expect(sets()).toEqual([
      { key: "smarthole.name", value: "steward" },
      { key: "conversation.idle_minutes", value: 45 },
      { key: "conversation.idle_minutes", value: null },
    ]);
  });

  it("that are invalid are reported at the field, and the typed text stays", async () => {
    daemon.answers.delete("_vault/settings/set");
    await type("Name in SmartHole", "two words");
    const request = daemon.last.asked("_vault/settings/set")[0];
    daemon.last.deliver({
      id: request?.id,
      error: {
        code: -32602,
        message: "`smarthole.name` cannot be `two words`",
        data: { kind: "invalid_setting", retryable: false, hint: "one word" },
      },
    });
    await settle();
    expect(row("Name in SmartHole").textContent).toContain("cannot be `two words` (one word)");
    expect(field("Name in SmartHole").value).toBe("two words");
    await type("End a conversation after (minutes)", "soon");
    expect(row("End a conversation after (minutes)").textContent).toContain("`soon` is not a whole number");
  });

  it("that are toggles return to their value if they cannot be set", async () => {
    daemon.answers.delete("_vault/settings/set");
    const components = shown.find(({ settingEl }) => settingEl === row("Receive voice messages from SmartHole"))?.setting.components;
    const hear = components?.find((component) => "toggleEl" in component);
    hear?.onClick?.();
    await settle();
    expect(sets()).toEqual([{ key: "smarthole.enabled", value: true }]);
    const request = daemon.last.asked("_vault/settings/set")[0];
    daemon.last.deliver({
      id: request?.id,
      error: { code: -32000, message: "could not write `/home/ana/config.toml`", data: { kind: "failed", retryable: false } },
    });
    await settle();
    expect(row("Receive voice messages from SmartHole").textContent).toContain("could not write");
    expect(hear?.getValue?.()).toBe(false);
    expect(sets()).toHaveLength(1);
  });

  it("follow changes by other clients, except in a field that is being edited", async () => {
    document.body.append(...rows.values());
    const name = field("Name in SmartHole");
    name.focus();
    name.value = "half a na";
    setting("smarthole.name", "voice");
    setting("conversation.idle_minutes", 10);
    daemon.last.event("_vault/config_reloaded", ++seq, { changed: [], needsRestart: [] });
    await settle();
    expect(field("End a conversation after (minutes)").value).toBe("10");
    expect(name.value).toBe("half a na");
    name.blur();
    daemon.last.event("_vault/config_reloaded", ++seq, { changed: [], needsRestart: [] });
    await settle();
    expect(name.value).toBe("voice");
  });

  it("that only the file may change are shown and cannot be written", () => {
    expect(field("Days to keep versions").disabled).toBe(true);
    expect(field("Days to keep versions").value).toBe("90");
    expect(row("Days to keep versions").textContent).toContain("settings file: journal.days in /home/ana/config.toml");
  });

  it("that a flag overrides, or that need a restart, are marked", async () => {
    setting("smarthole.name", "flagged", { source: "flag", from: "--name" });
    setting("conversation.idle_minutes", 30, { afterRestart: 60 });
    daemon.last.event("_vault/config_reloaded", ++seq, { changed: [], needsRestart: [] });
    await settle();
    expect(field("Name in SmartHole").disabled).toBe(true);
    expect(row("Name in SmartHole").textContent).toContain("Set by --name.");
    expect(field("End a conversation after (minutes)").value).toBe("60");
    expect(row("End a conversation after (minutes)").textContent).toContain("restarts");
  });

  it("cannot be written without a connection, and can again with one", async () => {
    daemon.last.lose();
    expect(field("Name in SmartHole").disabled).toBe(true);
    await clock.pass(1_000);
    expect(field("Name in SmartHole").disabled).toBe(false);
  });

  it("show the position of an error in the file", async () => {
    const problem = { file: "/home/ana/config.toml", line: 3, message: "unknown key `prot`" };
    daemon.answers.set("_vault/settings/get", () => ({ file: problem.file, exists: true, problem, settings: [] }));
    daemon.last.event("_vault/config_rejected", ++seq, problem);
    await settle();
    expect(row("State").textContent).toContain("unknown key `prot` (/home/ana/config.toml, line 3)");
  });
});

describe("model and approvals", () => {
  it("puts another model before the others of the chain", async () => {
    const options = [...row("Model").querySelectorAll("option")].map(({ text }) => text);
    expect(options).toEqual(["anthropic/claude", "local/llama", "openai/gpt (not set up)"]);
    await choose("Model", "local/llama");
    expect(chain).toEqual(["local/llama", "anthropic/claude"]);
    expect(row("Model").querySelector("select")?.value).toBe("local/llama");
  });

  it("shows the mode in effect, sets it, and returns it to the settings", async () => {
    const select = row("Approvals").querySelector("select");
    expect(select?.value).toBe("settings");
    await choose("Approvals", "ask");
    expect(mode).toEqual({ mode: "ask", setLive: true });
    expect(select?.value).toBe("ask");
    expect(row("Approvals").textContent).toContain("Currently: Ask before every change.");
    await choose("Approvals", "settings");
    expect(mode.setLive).toBe(false);
  });

  it("shows the mode in effect if it cannot be set", async () => {
    daemon.answers.delete("_vault/mode");
    await choose("Approvals", "read-only");
    const request = daemon.last.asked("_vault/mode").at(-1);
    daemon.last.deliver({
      id: request?.id,
      error: { code: -32003, message: "forbidden", data: { kind: "forbidden", retryable: false } },
    });
    await settle();
    expect(row("Approvals").querySelector("select")?.value).toBe("settings");
    expect(row("Approvals").textContent).toContain("forbidden");
  });
});

describe("the connection", () => {
  it("shows its state, and advice", async () => {
    expect(row("State").textContent).toContain("Connected.");
    daemon.there = false;
    daemon.last.lose();
    await clock.pass(1_000);
    expect(row("State").textContent).toContain("steward serve --vault /notes");
    daemon.there = true;
    await press("State", "Try again");
    expect(row("State").textContent).toContain("Connected.");
  });

  it("accepts another port, and no other host", async () => {
    await type("Address", "evil.example:27180");
    expect(row("Address").textContent).toContain("not an address on this computer");
    expect(book.save).not.toHaveBeenCalled();
    await type("Address", "27999");
    expect(book.address).toBe("27999");
    expect(daemon.last.url).toBe("ws://127.0.0.1:27999/v1");
  });

  it("stores a token, never shows it, and removes it", async () => {
    await press("Token", "Forget");
    expect(connection.state.kind).toBe("unpaired");
    expect(row("Token").textContent).toContain("steward pair");
    await type("Token", "no token");
    await press("Token", "Pair");
    expect(row("Token").textContent).toContain("neither a pairing link nor a token");
    await type("Token", ` ${TOKEN} `);
    await press("Token", "Pair");
    expect(connection.state.kind).toBe("connected");
    expect(field("Token").value).toBe("");
    expect((field("Token") as HTMLInputElement).type).toBe("password");
    expect(row("Token").textContent).toContain("This vault is paired.");
  });
});

it("has no subscriptions while it is hidden", async () => {
  for (const { cleanup } of shown) cleanup?.();
  const before = daemon.last.sent.length;
  daemon.last.event("_vault/config_reloaded", ++seq, { changed: [], needsRestart: [] });
  await settle();
  expect(daemon.last.sent).toHaveLength(before);
});
