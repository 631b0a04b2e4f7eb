// Messages of the person: edited and repeated, with attachments, and beside an open note.
import { beforeEach, describe, expect, it, vi } from "vitest";
import { settle } from "./fake-clock";
import { answering, chat, chips, clock, daemon, data, field, happens, item, mounted, press, root, scene, type } from "./view-scene";

describe("an edited message", () => {
  beforeEach(async () => {
    scene.items = [item(1, "user_message_chunk", "I like pears"), item(2, "agent_message_chunk", "Pears it is.")];
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
    expect(scene.notices.join()).toContain("a turn is running");
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
    const [first] = scene.items;
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
    const [first] = scene.items;
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
    expect(scene.notices).toEqual([]);
  });
});

describe("a message with attachments", () => {
  const prompt = "What is this?\n(with a picture)\n(the note `Garden/Plot 27.md` is meant)\n(a part of the note `Inbox.md` is meant)";

  const image = { mimeType: "image/png", data: "iVBORw0KGgo=" };
  const went = (answer: object): void => void daemon.answers.set("_vault/attachments", () => answer);

  it("is requested again with what went with it", async () => {
    scene.items = [item(1, "user_message_chunk", prompt), item(2, "agent_message_chunk", "A pear.")];
    went({ images: [image], texts: [{ path: "Inbox.md", text: "pears" }] });
    await mounted();
    await press("Ask again");
    expect(daemon.last.asked("session/prompt")[0]?.params?.["prompt"]).toEqual([
      { type: "text", text: "What is this?" },
      { type: "resource_link", uri: "Garden/Plot 27.md", name: "Garden/Plot 27.md" },
      { type: "resource", resource: { uri: "Inbox.md", text: "pears" } },
      { type: "image", ...image },
    ]);
    expect(scene.notices).toEqual([]);
  });

  it("is edited in its original form", async () => {
    scene.items = [item(1, "user_message_chunk", prompt)];
    went({ images: [image], texts: [{ path: "Inbox.md", text: "pears" }] });
    await mounted();
    await press("Edit the message");
    expect(field().value).toBe("What is this?");
    expect(chips()).toEqual(["Plot 27", "Selection in Inbox", "Picture 1"]);
    expect(scene.notices).toEqual([]);
  });

  it("is not requested again if it was only an image that is lost, which is reported", async () => {
    scene.items = [item(1, "user_message_chunk", "(with a picture)"), item(2, "agent_message_chunk", "A pear.")];
    went({ images: [] });
    await mounted();
    await press("Ask again");
    expect(daemon.last.asked("_vault/fork")).toHaveLength(0);
    expect(scene.notices).toEqual(["The images and selections of the earlier message are not included; attach them again"]);
  });

  it("keeps the person's own text in brackets, and reports every loss", async () => {
    scene.items = [item(1, "user_message_chunk", "(with a picture)\nis what I wrote"), item(2, "agent_message_chunk", "So it is.")];
    await mounted();
    await press("Ask again");
    expect(daemon.last.asked("session/prompt")[0]?.params?.["prompt"]).toEqual([{ type: "text", text: "(with a picture)\nis what I wrote" }]);
    expect(scene.notices).toEqual([]);
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

describe("the open note", () => {
  const sent = (at: number): unknown => daemon.last.asked("session/prompt")[at]?.params?.["prompt"];
  const link = { type: "resource_link", uri: "Inbox.md", name: "Inbox.md" };

  it("is seen beside the message, with what is selected in it", async () => {
    scene.active = { path: "Inbox.md" };
    await mounted();
    expect(chips()).toEqual(["Inbox"]);
    scene.active = { path: "Inbox.md", selection: "two words" };
    field().focus();
    expect(chips()).toEqual(["Selection in Inbox"]);
    scene.active = null;
    root.dispatchEvent(new Event("pointerenter"));
    expect(chips()).toEqual([]);
  });

  it("goes along once in each conversation", async () => {
    scene.active = { path: "Inbox.md" };
    await mounted();
    await type("What is this?");
    await type("And what else?");
    expect(sent(0)).toEqual([{ type: "text", text: "What is this?" }, { type: "text", text: "(the note `Inbox.md` is open)" }]);
    expect(chips()).toEqual([]);
    expect(sent(1)).toEqual([{ type: "text", text: "And what else?" }]);
    scene.active = { path: "Inbox.md", selection: "two words" };
    await type("And here?");
    expect(sent(2)).toEqual([{ type: "text", text: "And here?" }, { type: "resource", resource: { uri: "Inbox.md", text: "two words" } }]);
    scene.active = { path: "Inbox.md" };
    chat.newConversation();
    expect(chips()).toEqual(["Inbox"]);
  });

  it("stays where it is once it is taken out, until another one is open, and comes back by the button", async () => {
    scene.active = { path: "Inbox.md" };
    await mounted();
    await press("Remove Inbox");
    expect(chips()).toEqual([]);
    await type("Good morning");
    expect(sent(0)).toEqual([{ type: "text", text: "Good morning" }]);
    scene.active = { path: "Other.md" };
    field().focus();
    root.dispatchEvent(new Event("pointerenter"));
    expect(chips()).toEqual(["Other"]);
    scene.active = { path: "Inbox.md" };
    await press("Attach the active note");
    expect(chips()).toEqual(["Inbox"]);
    await type("And this?");
    expect(sent(1)).toEqual([{ type: "text", text: "And this?" }, link]);
  });

  it("is not named twice", async () => {
    scene.active = { path: "Garden/Inbox.md" };
    await mounted();
    field().value = "Look at [[Garden/Inbox]]";
    field().dispatchEvent(new Event("input", { bubbles: true }));
    expect(chips()).toEqual([]);
  });
});
