// The list of conversations, and what each has used.
import { beforeEach, describe, expect, it } from "vitest";
import { settle } from "./fake-clock";
import { chat, daemon, mounted, press, root } from "./view-scene";

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
