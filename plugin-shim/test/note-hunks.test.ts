// Proposed edits in an open note, in an editor of CodeMirror's before a daemon that a test plays.
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { editorInfoField } from "obsidian";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Activity } from "../src/activity";
import { noteHunks } from "../src/note-hunks";
import { FakeClock, settle } from "./fake-clock";
import { connected, FakeDaemon } from "./fake-daemon";

const TEXT = "one\ntwo\nthree\nfour\nfive";
const CHANGE = { number: 1, diff: "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n" };
const ADDED = { number: 2, diff: "@@ -4,2 +4,3 @@\n four\n+four and a half\n five\n" };

let daemon: FakeDaemon;
let activity: Activity;
let editor: EditorView;
let hunks: { number: number; diff: string }[];
let notices: string[];
let saved: number;

beforeEach(async () => {
  [daemon, notices, saved] = [new FakeDaemon(), [], 0];
  hunks = [CHANGE, ADDED];
  daemon.answers.set("_vault/proposals/list", () => {
    const changes = [{ action: "write", path: "Note.md", hunks }];
    return { waiting: hunks.length === 0 ? [] : [{ sessionId: "7", turn: "3", time: "", proposals: [{ number: 1, title: "edit", changes }] }] };
  });
  const connection = await connected(daemon, new FakeClock());
  activity = new Activity(connection);
  await settle();
  open("Note.md");
});

afterEach(() => {
  editor.destroy();
  activity.stop();
});

function open(path: string): void {
  const info = { file: { path }, save: () => Promise.resolve(void saved++) };
  const extensions = [editorInfoField.init(() => info as never), noteHunks(activity.proposals, (heard) => activity.onChange(heard), (text) => notices.push(text))];
  editor = new EditorView({ parent: document.body, state: EditorState.create({ doc: TEXT, extensions }) });
}

const all = (of: string): string[] => [...editor.dom.querySelectorAll(of)].map((one) => one.textContent);

function press(name: string, at = 0): void {
  [...editor.dom.querySelectorAll<HTMLElement>(`[aria-label='${name} this proposed change']`)][at]?.click();
}

/** The daemon says that something was decided. */
async function decided(): Promise<void> {
  daemon.last.event("_vault/conversation_changed", ++daemon.seq, { sessionId: "7", kind: "decided" });
  await settle();
}

it("marks the lines that would go, with those that would come below them", () => {
  expect(all(".vault-steward-removed")).toEqual(["two"]);
  expect(all(".vault-steward-added")).toEqual(["2", "four and a half"]);
  // The note itself is as it was.
  expect(editor.state.doc.toString()).toBe(TEXT);
});

it("shows nothing in another note", () => {
  editor.destroy();
  open("Other.md");
  expect(all(".vault-steward-hunk")).toEqual([]);
});

it("keeps one hunk by the daemon, once what is typed is in the file", async () => {
  daemon.answers.set("_vault/proposals/apply", () => {
    expect(saved).toBe(1);
    hunks = [ADDED];
    return { applied: 1, total: 1 };
  });
  press("Keep");
  await settle();
  const [asked] = daemon.last.asked("_vault/proposals/apply");
  expect(asked?.params).toEqual({ sessionId: "7", turn: "3", only: [{ proposal: 1, hunk: 1 }] });
  await decided();
  expect(all(".vault-steward-added")).toEqual(["four and a half"]);
});

it("undoes one hunk by rejecting it", async () => {
  daemon.answers.set("_vault/proposals/reject", () => {
    hunks = [CHANGE];
    return { rejected: 1 };
  });
  press("Undo", 1);
  await settle();
  const [asked] = daemon.last.asked("_vault/proposals/reject");
  expect(asked?.params).toEqual({ sessionId: "7", turn: "3", only: [{ proposal: 1, hunk: 2 }] });
  await decided();
  expect(all(".vault-steward-added")).toEqual(["2"]);
});

it("follows the lines where they move, and lets go of those that are others", () => {
  editor.dispatch({ changes: { from: 0, insert: "zero\n" } });
  expect(all(".vault-steward-removed")).toEqual(["two"]);
  const at = editor.state.doc.toString().indexOf("two");
  editor.dispatch({ changes: { from: at, to: at + 3, insert: "deux" } });
  expect(all(".vault-steward-added")).toEqual(["four and a half"]);
});

it("says why a hunk cannot be kept", async () => {
  press("Keep");
  await settle();
  const [asked] = daemon.last.asked("_vault/proposals/apply");
  daemon.last.deliver({ id: asked?.id, error: { code: -32000, message: "nothing was applied", data: { kind: "failed", retryable: false } } });
  await settle();
  expect(notices).toEqual(["nothing was applied"]);
  expect(editor.dom.querySelectorAll("button:disabled")).toHaveLength(0);
});
