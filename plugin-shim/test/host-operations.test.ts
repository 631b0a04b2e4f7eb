import { MarkdownView, Notice } from "obsidian";
import { App } from "obsidian-test-mocks/obsidian";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Connection } from "../src/connection";
import { HostOperations } from "../src/host-operations";
import type { ErrorObject } from "../src/protocol";
import { FakeClock, settle } from "./fake-clock";
import { connected, FakeDaemon } from "./fake-daemon";

vi.mock("obsidian", async (original) => ({
  ...(await original<typeof import("obsidian")>()),
  Notice: vi.fn(),
}));

type RealApp = ReturnType<App["asOriginalType__"]>;

let mock: App;
let app: RealApp;
let daemon: FakeDaemon;
let clock: FakeClock;
let connection: Connection;
let operations: HostOperations;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  mock = App.createConfigured__({
    files: { "Inbox.md": "# Inbox", "Garden/Compost.md": "rot", "Garden/Beds.md": "rows" },
  });
  app = mock.asOriginalType__();
  daemon = new FakeDaemon();
  clock = new FakeClock();
  operations = new HostOperations(app, (connection = await connected(daemon, clock)), clock);
  operations.load();
});

afterEach(() => {
  operations.unload();
  connection.stop();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

let last = 0;
function ask(operation: string, params: object, opId = `op-${++last}`, deadlineMs = 5_000): string {
  const id = `host-${++last}`;
  daemon.last.deliver({ id, method: `_vault/host/${operation}`, params: { ...params, opId, deadlineMs } });
  return id;
}

function answer(id: string): { result?: unknown; error?: ErrorObject } | undefined {
  return daemon.last.sent.find((message) => message.id === id && message.method === undefined);
}

async function asked(operation: string, params: object, opId?: string, deadlineMs?: number): Promise<unknown> {
  const id = ask(operation, params, opId, deadlineMs);
  await settle();
  const { result, error } = answer(id) ?? {};
  return error === undefined ? result : { error: error.message, hint: error.data.hint };
}

/** The active note, with a cursor and a selection. */
function showNote(path: string, selection: string, mode: "source" | "preview" = "source"): void {
  const view = Object.assign(Object.create(MarkdownView.prototype) as MarkdownView, {
    file: app.vault.getFileByPath(path),
    getMode: () => mode,
    editor: {
      getCursor: (which?: string) => ({ line: which === "to" ? 6 : 4, ch: 0 }),
      getSelection: () => selection,
    },
  });
  vi.spyOn(app.workspace, "getActiveViewOfType").mockReturnValue(view);
}

async function write(path: string, text: string): Promise<void> {
  await app.vault.adapter.write(path, text);
}

describe("the active note", () => {
  it("is reported with cursor and selection", async () => {
    showNote("Inbox.md", "three\nlines\nlong");
    expect(await asked("active_note", {})).toEqual({
      note: {
        path: "Inbox.md",
        line: 5,
        selection: { text: "three\nlines\nlong", startLine: 5, endLine: 7 },
      },
    });
  });

  it("has no cursor in reading view, and a long selection is cut", async () => {
    showNote("Inbox.md", "chosen", "preview");
    expect(await asked("active_note", {})).toEqual({ note: { path: "Inbox.md" } });
    showNote("Inbox.md", "x".repeat(200_000));
    const told = (await asked("active_note", {})) as { note: { selection: { text: string } } };
    expect(told.note.selection.text).toHaveLength(100_000);
  });

  it("may be absent", async () => {
    expect(await asked("active_note", {})).toEqual({ note: null });
  });

  it("is reported once after each change, and again on a new connection", async () => {
    await asked("open", { path: "Inbox.md" });
    app.workspace.trigger("file-open", null);
    app.workspace.trigger("file-open", null);
    const told = (): unknown[] =>
      daemon.last.asked("_vault/host/active_note_changed").map(({ params }) => params);
    expect(told()).toEqual([{ path: "Inbox.md" }]);
    daemon.last.lose();
    await clock.pass(250);
    expect(told()).toEqual([{ path: "Inbox.md" }]);
    expect(daemon.last.asked("_vault/host/focus")).toHaveLength(1);
  });
});

describe("opening", () => {
  it("shows the line and returns the active note", async () => {
    const leaf = app.workspace.getLeaf(false);
    const open = vi.spyOn(leaf, "openFile");
    expect(await asked("open", { path: "Garden/Compost.md", line: 12 })).toEqual({
      path: "Garden/Compost.md",
    });
    expect(open.mock.calls[0]?.[1]).toEqual({ active: true, eState: { line: 11 } });
  });

  it("uses the tab in which the note is open already", async () => {
    const other = app.workspace.getLeaf(true);
    await other.setViewState({ type: "markdown", state: { file: "Inbox.md" } });
    const open = vi.spyOn(other, "openFile");
    await asked("open", { path: "Inbox.md" });
    expect(open).toHaveBeenCalledOnce();
  });

  it("waits for a note that Obsidian has not noticed yet", async () => {
    const id = ask("open", { path: "New.md" });
    await settle();
    expect(answer(id)).toBeUndefined();
    await app.vault.create("New.md", "");
    await settle();
    expect(answer(id)?.result).toEqual({ path: "New.md" });
  });

  it("fails for a note that does not appear", async () => {
    const id = ask("open", { path: "Never.md" }, undefined, 1_000);
    await settle();
    vi.advanceTimersByTime(1_000);
    await settle();
    expect(answer(id)?.error?.message).toContain("`Never.md`");
    expect(await asked("open", { path: "Garden" }, undefined, 1_000)).toMatchObject({
      error: expect.stringContaining("`Garden`") as string,
    });
  });

  it("is cancelled when its request is withdrawn", async () => {
    const id = ask("open", { path: "Never.md" });
    await settle();
    daemon.last.deliver({ method: "$/cancel_request", params: { requestId: id } });
    await settle();
    expect(answer(id)).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a notice", () => {
  it("is plain text of limited length", async () => {
    expect(await asked("notice", { text: "<b>Done</b>", seconds: 3 })).toEqual({ shown: true });
    expect(vi.mocked(Notice).mock.calls.at(-1)).toEqual(["<b>Done</b>", 3000]);
    await asked("notice", { text: "x".repeat(5_000) });
    expect(vi.mocked(Notice).mock.calls.at(-1)?.[0]).toHaveLength(1_000);
  });

  it("that is requested twice is shown once", async () => {
    vi.mocked(Notice).mockClear();
    await asked("notice", { text: "Once" }, "twice");
    expect(await asked("notice", { text: "Once" }, "twice")).toEqual({ shown: true });
    expect(Notice).toHaveBeenCalledOnce();
    // After a restart of the daemon the same id is another operation's.
    daemon.epoch = "second";
    daemon.last.lose();
    await clock.pass(250);
    await asked("notice", { text: "Again" }, "twice");
    expect(Notice).toHaveBeenCalledTimes(2);
  });

  it("is not shown after its deadline", async () => {
    vi.mocked(Notice).mockClear();
    expect(await asked("notice", { text: "Late" }, undefined, 0)).toMatchObject({
      error: expect.stringContaining("timed out") as string,
    });
    expect(Notice).not.toHaveBeenCalled();
  });
});

describe("trashing", () => {
  it("uses Obsidian's settings, and returns the state of the file", async () => {
    const trash = vi.spyOn(app.fileManager, "trashFile");
    expect(await asked("trash", { path: "Inbox.md" })).toEqual({ exists: false });
    expect(trash.mock.calls[0]?.[0].path).toBe("Inbox.md");
  });

  it("fails for a file that Obsidian does not know", async () => {
    expect(await asked("trash", { path: "Nowhere.md" })).toMatchObject({
      error: "Obsidian cannot find `Nowhere.md`",
    });
  });

  it("is executed once, and returns the state when repeated", async () => {
    const trash = vi.spyOn(app.fileManager, "trashFile");
    await asked("trash", { path: "Inbox.md" }, "same");
    await app.vault.create("Inbox.md", "written again");
    expect(await asked("trash", { path: "Inbox.md" }, "same")).toEqual({ exists: true });
    expect(trash).toHaveBeenCalledOnce();
  });
});

describe("renaming", () => {
  const rename = { path: "Garden/Compost.md", to: "Garden/Heap.md" };

  it("is left to the daemon if Obsidian would ask about the links", async () => {
    const renamed = vi.spyOn(app.fileManager, "renameFile");
    for (const settings of [null, "{}", '{"alwaysUpdateLinks":false}', "{broken", "null"]) {
      if (settings !== null) await write(`${app.vault.configDir}/app.json`, settings);
      expect(await asked("rename", rename)).toMatchObject({
        error: "Obsidian would ask its user whether to update links",
      });
    }
    expect(renamed).not.toHaveBeenCalled();
    expect(await app.vault.adapter.exists(rename.path)).toBe(true);
  });

  it("is executed if Obsidian does not ask", async () => {
    await write(`${app.vault.configDir}/app.json`, '{"alwaysUpdateLinks":true}');
    expect(await asked("rename", rename)).toEqual({ exists: false, toExists: true });
  });

  it("overwrites nothing", async () => {
    await write(`${app.vault.configDir}/app.json`, '{"alwaysUpdateLinks":true}');
    expect(await asked("rename", { path: "Inbox.md", to: "Garden/Beds.md" })).toMatchObject({
      error: "`Garden/Beds.md` already exists",
    });
    expect(await app.vault.adapter.read("Garden/Beds.md")).toBe("rows");
  });

  it("that hangs in a dialog ends at its deadline and does not block others", async () => {
    await write(`${app.vault.configDir}/app.json`, '{"alwaysUpdateLinks":true}');
    vi.spyOn(app.fileManager, "renameFile").mockReturnValueOnce(new Promise(() => undefined));
    const hanging = ask("rename", rename, undefined, 2_000);
    const next = ask("trash", { path: "Inbox.md" }, undefined, 5_000);
    await settle();
    expect(answer(next)).toBeUndefined();
    vi.advanceTimersByTime(2_000);
    await settle();
    expect(answer(hanging)?.error?.message).toContain("timed out");
    expect(answer(next)?.result).toEqual({ exists: false });
  });

  it("that waited too long is not started", async () => {
    await write(`${app.vault.configDir}/app.json`, '{"alwaysUpdateLinks":true}');
    let finish = (): void => undefined;
    const renamed = vi.spyOn(app.fileManager, "renameFile").mockReturnValueOnce(
      new Promise((resolve) => {
        finish = resolve;
      }),
    );
    ask("rename", rename, undefined, 60_000);
    const waiting = ask("rename", { path: "Inbox.md", to: "Outbox.md" }, undefined, 1_000);
    await settle();
    await clock.pass(1_500);
    finish();
    await settle();
    expect(answer(waiting)?.error?.message).toContain("timed out");
    expect(renamed).toHaveBeenCalledOnce();
  });
});

it("serves no requests after its unload", async () => {
  operations.unload();
  expect(await asked("notice", { text: "Late" })).toMatchObject({
    error: "this client does not serve `_vault/host/notice`",
  });
});
