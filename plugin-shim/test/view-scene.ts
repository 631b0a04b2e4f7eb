// The view with a fake daemon, as the tests of its parts share it.
import { afterEach, beforeAll, beforeEach } from "vitest";
import { Activity } from "../src/activity";
import type { Connection } from "../src/connection";
import type { ActiveNote, Host } from "../src/host";
import type { ItemInfo } from "../src/protocol";
import { type ChatHandle, mountChat } from "../src/view";
import { loadCards } from "../src/view/lazy";
import { FakeClock, settle } from "./fake-clock";
import { connected, FakeDaemon } from "./fake-daemon";

export let daemon: FakeDaemon;
export let clock: FakeClock;
export let root: HTMLElement;
export let chat: ChatHandle;
/** What a test sets: the items of the conversation, the open note, the clipboard; and the notices that were shown. */
export const scene: { items: ItemInfo[]; notices: string[]; active: ActiveNote | null; copy: () => Promise<void> } = {
  items: [],
  notices: [],
  active: null,
  copy: () => Promise.resolve(),
};

// The cards' code is loaded, as on a page that has drawn a card.
beforeAll(async () => void (await loadCards()));

beforeEach(() => {
  [daemon, clock] = [new FakeDaemon(), new FakeClock()];
  Object.assign(scene, { items: [], notices: [], active: null, copy: () => Promise.resolve() });
  answering();
  daemon.answers.set("_vault/inbox/list", () => ({ messages: [] }));
  daemon.answers.set("_vault/fork", () => ({}));
});

/** Lets the daemon answer requests about its conversations. */
export function answering(): void {
  daemon.answers.set("_vault/conversation", ({ sessionId = "a" }) => {
    const conversation = { sessionId, state: "open", shown: "done", branch: 1, title: String(sessionId).toUpperCase() };
    return { conversation, branches: [], items: scene.items, earlier: false, changes: [] };
  });
}

afterEach(() => {
  chat.unmount();
  root.remove();
});

export async function mounted(given?: Connection): Promise<void> {
  const connection = given ?? (await connected(daemon, clock));
  root = document.createElement("main");
  document.body.append(root);
  const host: Host = {
    kind: "browser",
    openNote: () => undefined,
    openExternal: () => undefined,
    activeNote: () => scene.active,
    onActiveNote: () => () => undefined,
    notice: (text) => void scene.notices.push(text),
    alert: () => undefined,
    confirm: () => Promise.resolve(true),
    copy: () => scene.copy(),
    icon: () => undefined,
    command: (name) => name,
  };
  chat = mountChat(root, connection, new Activity(connection), host);
  await settle();
}

export function item(number: number, sessionUpdate: string, text: string): ItemInfo {
  const update = { sessionUpdate, messageId: `m${number}`, content: { type: "text", text } };
  return { item: number, kind: "message", text, turn: 1, time: "2026-11-21T10:00:00+01:00", updates: [update] } as unknown as ItemInfo;
}

export function field(): HTMLTextAreaElement {
  const found = root.querySelector<HTMLTextAreaElement>(".vs-input");
  if (!found) throw new Error("there is no field");
  return found;
}

export async function press(name: string): Promise<void> {
  const found = [...root.querySelectorAll("button")].find((one) => one.getAttribute("aria-label") === name || one.textContent === name);
  if (!found) throw new Error(`there is no button ${name}`);
  found.click();
  await settle();
}

export async function type(text: string): Promise<void> {
  field().value = text;
  field().dispatchEvent(new Event("input", { bubbles: true }));
  await press("Send");
}

export function chips(): string[] {
  return [...root.querySelectorAll(".vs-chip")].map((one) => one.textContent);
}

/** The data of a drop or paste. */
export function data(given: Record<string, string>, files: File[] = []): object {
  return { files, getData: (kind: string) => given[kind] ?? "" };
}

/** Dispatches the event; returns whether the browser handles it. */
export async function happens(name: "drop" | "paste", at: Element, given: object): Promise<boolean> {
  const event = new Event(name, { bubbles: true, cancelable: true });
  Object.assign(event, name === "drop" ? { dataTransfer: given } : { clipboardData: given });
  const isLeft = at.dispatchEvent(event);
  await settle();
  return isLeft;
}
