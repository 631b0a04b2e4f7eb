// A new user's first steps, as realistic as possible without Obsidian itself: the plugin as the program
// installs it, the commands typed in a terminal, a copy of a real vault.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { Desk } from "./obsidian/desk.mjs";
import { gate } from "./model.mjs";
import { done, picture, say, until } from "./stage.mjs";

const NOTE = "Garden/Compost.md";
const ID = "vault-steward";

export async function a_new_user_gets_there(set) {
  const desk = await Desk.set(set);
  const tab = await desk.open();
  await tab.locator(".cm-line").nth(1).waitFor();
  const before = { ...(await atRest(desk)), editors: await editors(tab) };
  await install(desk, tab);
  await startAndPair(desk, tab);
  await askAndAgree(desk, tab);
  await speak(desk, tab);
  await openElsewhere(desk, tab);
  await inAnotherWindow(desk, tab);
  await settings(desk, tab);
  await calledFromElsewhere(desk, tab);
  await closeEverything(desk, tab, before);
  await findItAsItWas(desk);
  assert.deepEqual(desk.problems, [], "the page reported errors");
  assert.deepEqual([...desk.elsewhere, ...desk.house.refused], [], "something asked another machine");
  await desk.strike();
}

/** Problems on the way: no model yet, a renewed token. */
export async function a_new_user_is_told_what_is_wrong(set) {
  const desk = await Desk.set({ ...set, chain: "" });
  await desk.install();
  await desk.daemon.start();
  const tab = await desk.open();
  await tab.evaluate((id) => window.standIn.app._plugins.enable(id), ID);
  await pairByLink(desk, tab);
  await tab.locator(".vs-model-name").getByText("No model").waitFor();
  await say(tab, "What is due today?");
  await done(tab);
  await until("advice", () => tab.locator(".vs-list").innerText(), (text) => /No model is configured/i.test(text) && /steward key set/.test(text));
  await both(tab, "obsidian-no-model");

  await desk.daemon.command("token", "--rotate");
  await desk.daemon.stop();
  await status(tab, /^Steward: not running$/);
  await desk.daemon.start();
  const panel = tab.locator(".vs-panel");
  await panel.getByText("The daemon refused the connection").waitFor();
  await status(tab, /^Steward: refused$/);
  const [command] = await until("command", () => panel.locator(".vs-command code").allInnerTexts(), (texts) => texts.length === 1);
  await both(tab, "obsidian-refused");
  assert.equal(command, `steward pair --vault ${desk.folder}`);
  await pairByLink(desk, tab);
  await tab.locator(".vs-composer").waitFor();
  await until("words", () => tab.locator(".vs-user-text").allInnerTexts(), (texts) => /^What is due today\?/.test(texts.join()));
  // What somebody else writes into its file holds at once.
  const kept = await desk.daemon.read(desk.data);
  await desk.daemon.write(desk.data, '{"address":"127.0.0.1:1"}');
  await status(tab, /^Steward: not running$/);
  await desk.daemon.write(desk.data, kept);
  await status(tab, /^Steward: connected/);
  // Closed with a collapsed sidebar, the chat is not created at the next start, but when it is opened.
  await tab.evaluate(() => window.standIn.app.workspace.rightSplit.collapse());
  await desk.quit();
  const again = await desk.open();
  await status(again, /^Steward: connected/);
  assert.equal(await again.locator(".vs-chat").count(), 0);
  await again.locator(".status-bar-item").click();
  await again.locator(".mod-right-split .vs-user").waitFor();
  await desk.quit();
  assert.deepEqual(desk.problems, [], "the page reported errors");
  await desk.strike();
}

/** The program installs the plugin, the person enables it, and it shows the next step. */
async function install(desk, tab) {
  const printed = await desk.install();
  assert.match(printed, /Community plugins/);
  assert.match(printed, /steward pair/);
  await tab.evaluate(() => window.standIn.openSettings());
  await tab.getByRole("switch", { name: "Vault Steward" }).click();
  await tab.locator(".vs-panel").getByText("Not paired yet").waitFor();
  await tab.keyboard.press("Escape");
  await tab.locator(".mod-right-split .vs-panel").waitFor();
  await status(tab, /^Steward: not paired$/);
  await both(tab, "obsidian-unpaired");
  assert.deepEqual(await desk.tab.evaluate(() => [...window.standIn.unknownIcons]), []);
}

/** The two displayed commands are sufficient, typed as they are. */
async function startAndPair(desk, tab) {
  const commands = await until("commands", () => tab.locator(".vs-panel .vs-command code").allInnerTexts(), (texts) => texts.length === 2);
  assert.deepEqual(commands, [`steward serve --vault ${desk.folder}`, `steward pair --vault ${desk.folder}`]);
  await desk.daemon.start(commands[0]);
  const link = (await desk.daemon.typed(commands[1])).split("\n").at(-1);
  assert.match(link, /^obsidian:\/\/vault-steward\?/);
  // Any page could open such a link: nothing is paired before the person confirms.
  await tab.evaluate((url) => window.standIn.openLink(url), link);
  const question = tab.locator(".modal");
  await until("words", () => question.innerText(), (text) => text.includes(`127.0.0.1:${desk.port}`));
  await picture(tab, "obsidian-pair-light");
  await question.getByRole("button", { name: "Cancel" }).click();
  await status(tab, /^Steward: not paired$/);
  await tab.evaluate((url) => window.standIn.openLink(url), link);
  await question.getByRole("button", { name: "Pair" }).click();
  await tab.locator(".vs-composer").waitFor();
  await status(tab, /^Steward: connected$/);
  await until("notice", () => desk.notices(), (notices) => notices.includes("Paired and connected"));
  // The token is on this device and not in the vault.
  const [, token] = /token=([0-9a-f]{64})/.exec(link);
  await until("data", () => desk.house.data(ID), (text) => text === `{"address":"127.0.0.1:${desk.port}"}`);
  const inVault = await desk.daemon.typed(`grep -rl ${token} ${desk.folder} || echo nowhere`);
  assert.equal(inVault, "nowhere");
  await both(tab, "obsidian-empty");
}

/** A change is followed, approved, visible in the vault, and undone byte for byte. */
async function askAndAgree(desk, tab) {
  await desk.daemon.command("mode", "ask");
  const before = await desk.daemon.read(NOTE);
  await tab.evaluate((file) => {
    const { app } = window.standIn;
    return app.workspace.getLeaf(false).openFile(app.vault.getFileByPath(file), { active: true });
  }, NOTE);
  const shown = () => tab.evaluate(() => window.standIn.app.workspace.getMostRecentLeaf().view.editor.getValue());
  await until("note", shown, (text) => text === before);

  const on = gate();
  desk.model.next(
    async (turn) => {
      turn.text("I look at the note ");
      await on.opened;
      turn.text("first.");
      turn.call("read_file", { path: NOTE });
    },
    (turn) => turn.call("edit_file", { path: NOTE, old_text: "Turn at Christmas.", new_text: "Turn at Christmas.\n3. Water it well." }),
    (turn) => turn.text("The heap is to be **watered** now: see [[Compost#Compost|the plan]]."),
  );
  assert.equal(await tab.evaluate((id) => window.standIn.command(`${id}:ask-about-note`), ID), true);
  await until("chip", () => tab.locator(".vs-chip").innerText(), (text) => /Compost/.test(text));
  await say(tab, "Add watering to my compost plan");
  await tab.locator(".vs-agent").getByText("I look at the note").waitFor();
  await status(tab, /^Steward: working$/);
  await picture(tab, "obsidian-working-light");
  on.open();
  const card = tab.locator(".vs-approval");
  await card.waitFor();
  await until("words", () => card.locator(".vs-diff").innerText(), (text) => /Water it well/.test(text));
  await until("title", () => tab.locator(".vs-call-title").first().innerText(), (text) => /Compost/.test(text));
  await status(tab, /^Steward: waiting for you$/);
  await both(tab, "obsidian-approval");
  assert.equal(await desk.daemon.read(NOTE), before);
  await card.getByRole("button", { name: "Allow once" }).click();
  await tab.locator(".vs-agent strong").waitFor();
  await done(tab);
  await status(tab, /^Steward: connected$/);
  const after = await desk.daemon.read(NOTE);
  assert.match(after, /Water it well/);
  // Obsidian notices, and shows it in the note that is open.
  await until("note", shown, (text) => text === after);
  await both(tab, "obsidian-changed");
  // Messages can be selected, though Obsidian disables selection.
  for (const said of [".vs-user-text", ".vs-agent strong"]) {
    await tab.locator(said).click({ clickCount: 3, position: { x: 4, y: 8 } });
    assert.match(await tab.evaluate(() => window.getSelection().toString()), /water/);
  }
  // The link in the answer opens the note.
  await tab.locator(".nav-file-title", { hasText: /^Inbox$/ }).click();
  await active(tab, "Inbox.md");
  await tab.locator(".vs-agent .internal-link").click();
  await active(tab, NOTE);
  // It leads to the heading that it names, too.
  const heading = () => {
    const { editor } = window.standIn.app.workspace.getMostRecentLeaf().view;
    return editor.getValue().split("\n")[editor.getCursor().line];
  };
  await until("heading", () => tab.evaluate(heading), (text) => text === "# Compost");

  await tab.locator(".vs-changes").getByRole("button", { name: "Undo all of these changes" }).click();
  // Every change needs approval, this one too; the question is in words for a person.
  const question = tab.locator(".modal");
  await until("words", () => question.innerText(), (text) => /^Undo this\?/.test(text.replace(/^×\s*/, "")) && !/--yes/.test(text));
  await picture(tab, "obsidian-undo-light");
  await question.getByRole("button", { name: "Undo" }).click();
  await tab.locator(".vs-changes").getByText("Undone: 1 change").waitFor();
  assert.equal(await desk.daemon.read(NOTE), before);
  await until("note", shown, (text) => text === before);
}

/** A voice message from SmartHole, once enabled in the settings, is in the same timeline. */
async function speak(desk, tab) {
  await openTab(tab);
  const hear = tab.getByRole("switch", { name: "Receive voice messages from SmartHole" });
  await hear.click();
  await until("registration", () => desk.smarthole.isRegistered);
  assert.match(await desk.daemon.command("config", "get", "smarthole.enabled"), /true/);
  await tab.keyboard.press("Escape");
  await status(tab, /^Steward: connected · SmartHole$/);
  desk.model.next((turn) => turn.text("It is dry enough."));
  desk.smarthole.say("v1", "Is it dry enough to dig");
  await tab.locator(".vs-agent").getByText("It is dry enough.").waitFor();
  await done(tab);
  const spoken = tab.locator(".vs-user").nth(1);
  await until("words", () => spoken.innerText(), (text) => /Is it dry enough to dig\s+by (voice|SmartHole)/.test(text));
  assert.equal(await tab.locator(".vs-user").count(), 2);
  await until("answer", () => JSON.stringify(desk.smarthole.shown), (text) => /It is dry enough/.test(text));
  assert.deepEqual(desk.smarthole.acked, ["v1"]);
  await both(tab, "obsidian-voice");
}

/** Operations that only Obsidian has, requested by the steward and by the person's own programs. */
async function openElsewhere(desk, tab) {
  const asked = async (params) => (await desk.call("_vault/host/request", params)).result;
  // The line and the selection of the active note.
  await tab.evaluate(() => {
    const { app } = window.standIn;
    app.workspace.getMostRecentLeaf().view.editor.setSelection({ line: 2, ch: 0 }, { line: 2, ch: 5 });
  });
  const { note } = await asked({ operation: "active_note" });
  assert.equal(note.path, NOTE);
  assert.deepEqual([note.line, note.selection.startLine], [3, 3]);
  // The model opens a note at a line with its tool.
  desk.model.next(
    (turn) => turn.call("open_note", { path: "Garden/Plot 27", line: 5 }),
    (turn) => turn.text("It is open."),
  );
  await say(tab, "Open the plot");
  await tab.locator(".vs-agent").getByText("It is open.").waitFor();
  await done(tab);
  await active(tab, "Garden/Plot 27.md");
  await until("line", async () => (await asked({ operation: "active_note" })).note.line, (line) => line === 5);
  // The vault's settings use `.trash`, and update links.
  await desk.daemon.write("Garden/Old list.md", "one\n");
  await until("file", () => tab.evaluate(() => window.standIn.app.vault.getFileByPath("Garden/Old list.md") !== null));
  assert.deepEqual((await asked({ operation: "trash", path: "Garden/Old list.md" })).done, true);
  assert.equal(await desk.daemon.read(".trash/Old list.md"), "one\n");
  assert.equal(existsSync(path.join(desk.daemon.vault, "Garden/Old list.md")), false);
  const linking = await desk.daemon.read("Garden/Plot 27.md");
  assert.match(linking, /\[\[Frost {2}dates/);
  assert.deepEqual((await asked({ operation: "rename", path: "Garden/Frost  dates.md", to: "Garden/Frosts.md" })).done, true);
  await until("links", () => desk.daemon.read("Garden/Plot 27.md"), (text) => text.includes("[[Frosts") && !text.includes("[[Frost  dates"));
  assert.deepEqual((await asked({ operation: "rename", path: "Garden/Frosts.md", to: "Garden/Frost  dates.md" })).done, true);
  assert.equal(await desk.daemon.read("Garden/Plot 27.md"), linking);
  assert.equal((await asked({ operation: "notice", text: "The frost comes", seconds: 1 })).done, true);
  await until("notice", () => desk.notices(), (notices) => notices.includes("The frost comes"));
}

/** In its own window the chat works as before: another document, other constructors. */
async function inAnotherWindow(desk, tab) {
  await tab.getByRole("button", { name: "New conversation", exact: true }).click();
  await until("empty", () => tab.locator(".vs-user").count(), (count) => count === 0);
  await tab.locator(".vs-input").fill("Are you ");
  const opened = tab.context().waitForEvent("page");
  await tab.evaluate((type) => window.standIn.popOut(type), `${ID}-chat`);
  const other = await opened;
  await other.setViewportSize({ width: 520, height: 760 });
  assert.equal(await tab.locator(".vs-chat").count(), 0);
  // The content and the draft moved along.
  await until("words", () => other.locator(".vs-input").inputValue(), (text) => text === "Are you ");
  await other.locator(".vs-title-text").getByText("New conversation").waitFor();
  await other.locator(".vs-title").click();
  await other.locator(".vs-session-open").first().click();
  await other.locator(".vs-user").nth(2).waitFor();
  const own = await other.evaluate(() => document.querySelector(".vs-input") instanceof HTMLTextAreaElement);
  assert.equal(own, true, "the field belongs to the window that it is in");
  desk.model.next((turn) => turn.text("Here too."));
  await other.locator(".vs-input").click();
  await other.locator(".vs-input").pressSequentially("here, @compo");
  await other.locator(".vs-completion.is-selected").waitFor();
  await other.keyboard.press("Enter");
  await until("words", () => other.locator(".vs-input").inputValue(), (text) => text === "Are you here, [[Garden/Compost]] ");
  await other.keyboard.press("Enter");
  await other.locator(".vs-agent").getByText("Here too.").waitFor();
  await done(other);
  await other.getByRole("button", { name: /Choose the model/ }).click();
  await other.locator(".vs-menu").waitFor();
  await both(other, "obsidian-window", tab);
  // The active note is the one in the main window, and is attached to a message on request.
  const { note } = (await desk.call("_vault/host/request", { operation: "active_note" })).result;
  assert.deepEqual([note.path, note.line], ["Garden/Plot 27.md", 5]);
  // A click beside the menu, in this document, closes it.
  await other.locator(".vs-list").click({ position: { x: 5, y: 5 } });
  await other.locator(".vs-menu").waitFor({ state: "detached" });
  await other.getByRole("button", { name: "Attach the active note" }).click();
  await until("chip", () => other.locator(".vs-chip").innerText(), (text) => /Plot 27/.test(text));
  await other.locator(".vs-chip").getByRole("button").click();
  await other.locator(".vs-title").click();
  await other.locator(".vs-conversations, .vs-list-panel").first().waitFor();
  await other.keyboard.press("Escape");
  // A click in the status bar of the main window brings the chat's window to the front.
  await tab.locator(".status-bar-item").click();
  assert.equal(await other.evaluate(() => document.querySelectorAll(".vs-chat").length), 1);
  await other.close();
  await until("no view", () => tab.evaluate((type) => window.standIn.app.workspace.getLeavesOfType(type).length, `${ID}-chat`), (count) => count === 0);
  await tab.locator(".status-bar-item").click();
  await tab.locator(".mod-right-split .vs-user").nth(3).waitFor();
}

/** The settings are the daemon's: read from it, written to it, with errors at the field. */
async function settings(desk, tab) {
  await openTab(tab);
  const body = tab.locator(".vertical-tab-content");
  await body.getByText("Connected.").waitFor();
  assert.equal(await body.getByLabel("Approvals").inputValue(), "ask");
  await body.getByLabel("Approvals").selectOption("auto");
  await until("mode", () => desk.daemon.command("mode"), (text) => /auto/.test(text));
  const minutes = body.getByLabel("End a conversation after (minutes)");
  await minutes.fill("soon");
  await minutes.press("Tab");
  await body.getByText("is not a whole number").waitFor();
  await minutes.fill("45");
  await minutes.press("Tab");
  await until("setting", () => desk.daemon.command("config", "get", "conversation.idle_minutes"), (text) => /45/.test(text));
  const arranged = body.getByLabel("Vault structure");
  await arranged.fill("The garden is in Garden.");
  await arranged.press("Tab");
  await until("setting", () => desk.daemon.read(path.relative(desk.daemon.vault, desk.daemon.settings)), (text) => text.includes("The garden is in Garden."));
  await body.getByLabel("Model", { exact: true }).selectOption("scripted/two");
  await until("model", async () => JSON.stringify((await desk.call("_vault/models", {})).result.chain[0]), (name) => name === '"scripted/two"');
  await both(tab, "obsidian-settings-more");
  // Unpaired, and paired again with a pasted link: token and address.
  await body.getByRole("button", { name: "Forget" }).click();
  await status(tab, /^Steward: not paired$/);
  await body.getByLabel("Address").fill("27179");
  await body.getByLabel("Address").press("Tab");
  await until("address", () => desk.house.data(ID), (text) => text === '{"address":"27179"}');
  await body.getByLabel("Token").fill((await desk.daemon.command("pair")).split("\n").at(-1));
  await body.getByRole("button", { name: "Pair", exact: true }).click();
  await status(tab, /^Steward: connected · SmartHole$/);
  await until("address", () => body.getByLabel("Address").inputValue(), (address) => address === `127.0.0.1:${desk.port}`);
  assert.equal(await body.getByLabel("Token").inputValue(), "");
  await body.evaluate((element) => element.parentElement.scrollTo(0, 0));
  await both(tab, "obsidian-settings");
  await tab.keyboard.press("Escape");
}

/** With a collapsed sidebar a question is shown in a notice, and a click opens it. */
async function calledFromElsewhere(desk, tab) {
  await desk.daemon.command("mode", "ask");
  await tab.evaluate(() => window.standIn.app.workspace.rightSplit.collapse());
  desk.model.next(
    (turn) => turn.call("edit_file", { path: NOTE, old_text: "Turn at Christmas.", new_text: "Turn never." }),
    (turn) => turn.text("Then not."),
  );
  const answered = desk.daemon.post("Never turn the heap");
  const notice = tab.locator(".notice", { hasText: "Waiting for your approval: " });
  await notice.waitFor();
  await status(tab, /^Steward: waiting for you/);
  await picture(tab, "obsidian-called-light");
  await tab.locator(".status-bar-item").click();
  await tab.locator(".vs-approval").getByRole("button", { name: "Reject" }).click();
  await answered;
  await tab.locator(".vs-agent").getByText("Then not.").waitFor();
  await done(tab);
  assert.match(await desk.daemon.read(NOTE), /Turn at Christmas/);
  // The command stops the turn; it is available only while a turn runs.
  const never = gate();
  desk.model.next(async (turn) => {
    turn.text("This takes long…");
    await never.opened;
  });
  assert.equal(await tab.evaluate((id) => window.standIn.command(`${id}:stop`), ID), false);
  await say(tab, "Count the leaves");
  await tab.locator(".vs-agent").getByText("This takes long").waitFor();
  assert.equal(await tab.evaluate((id) => window.standIn.command(`${id}:stop`), ID), true);
  await tab.locator(".vs-end").getByText("Stopped").waitFor();
  never.open();
  await done(tab);
}

/** The listeners of an open note's editor, and its observers. */
const EDITOR = 4;

/** The number of open notes. */
const editors = (tab) => tab.locator(".cm-editor").count();

/** What the page holds once no timer runs. */
const atRest = (desk) => until("rest", () => desk.held(), ({ timers }) => timers === 0);

/** Disabled, the plugin leaves nothing; then everything is closed. */
async function closeEverything(desk, tab, before) {
  const off = async () => {
    await tab.evaluate((id) => window.standIn.app._plugins.disable(id), ID);
    await until("no connection", () => desk.house.tunnels.size, (count) => count === 0);
  };
  await off();
  await tab.locator(".mod-right-split").getByText("Plugin no longer active").first().waitFor();
  // Notices expire, and the notes that were opened meanwhile are Obsidian's own.
  const clean = await atRest(desk);
  const { editors: opened, ...rest } = before;
  const more = EDITOR * ((await editors(tab)) - opened);
  const expected = { ...rest, listeners: rest.listeners + more, observers: rest.observers + more };
  assert.deepEqual({ ...clean, subscriptions: rest.subscriptions }, expected);
  for (let round = 0; round < 3; round++) {
    await tab.evaluate((id) => window.standIn.app._plugins.enable(id), ID);
    await tab.locator(".mod-right-split .vs-user").nth(3).waitFor();
    desk.model.next((turn) => turn.text("**Again**, and again."));
    await tab.locator(".vs-input").fill("And once more");
    await tab.locator(".vs-input").press("Enter");
    await done(tab);
    await tab.getByRole("button", { name: /Choose the model/ }).click();
    await tab.locator(".vs-menu").waitFor();
    await off();
    await until("nothing left", () => desk.held(), (held) => JSON.stringify(held) === JSON.stringify(clean));
  }
  await tab.evaluate((id) => window.standIn.app._plugins.enable(id), ID);
  await tab.locator(".mod-right-split .vs-user").nth(8).waitFor();
  await desk.quit();
  await desk.daemon.stop();
}

/** Reopened, everything is there: pairing, view, conversation and title; and the daemon after its start. */
async function findItAsItWas(desk) {
  const tab = await desk.open({ dark: true });
  const view = tab.locator(".mod-right-split .vs-chat");
  await view.locator(".vs-panel").getByText("The daemon is not running").waitFor();
  await status(tab, /^Steward: not running$/);
  const [command] = await until("command", () => view.locator(".vs-panel .vs-command code").allInnerTexts(), (texts) => texts.length === 1);
  assert.equal(command, `steward serve --vault ${desk.folder} --port ${desk.port}`);
  await picture(tab, "obsidian-absent-dark");
  await tab.evaluate(() => window.standIn.setDark(false));
  await picture(tab, "obsidian-absent-light");
  await view.getByRole("button", { name: "Copy" }).click();
  assert.equal(await tab.evaluate(() => navigator.clipboard.readText()), command);
  await desk.daemon.start(command);
  await view.locator(".vs-user").nth(8).waitFor();
  await status(tab, /^Steward: connected · SmartHole$/);
  await until("words", () => view.locator(".vs-user-text").allInnerTexts(), (texts) => texts.length === 9 && /Add watering/.test(texts[0]) && /dry enough to dig/.test(texts[1]));
  await until("title", () => view.locator(".vs-title-text").innerText(), (text) => /\S/.test(text) && text !== "New conversation");
  await view.locator(".vs-changes").getByText("Undone: 1 change").waitFor();
  await active(tab, "Garden/Plot 27.md");
  desk.model.next((turn) => turn.text("As it was."));
  await say(tab, "Is all as it was?");
  await tab.locator(".vs-agent").getByText("As it was.").waitFor();
  await done(tab);
  await both(tab, "obsidian-again");
  await desk.quit();
}

/** As the system does when a person opens the link that `steward pair` prints. */
async function pairByLink(desk, tab) {
  const link = (await desk.daemon.command("pair")).split("\n").at(-1);
  await tab.evaluate((url) => window.standIn.openLink(url), link);
  await tab.locator(".modal").getByRole("button", { name: "Pair" }).click();
  await status(tab, /^Steward: connected/);
}

async function openTab(tab) {
  await tab.evaluate(() => window.standIn.openSettings());
  await tab.locator(".vertical-tab-nav-item", { hasText: "Vault Steward" }).click();
  // A row is usable after the daemon has sent the value; before, Obsidian's toggles ignore clicks.
  await tab.locator(".vertical-tab-content [aria-label='Receive voice messages from SmartHole']:not(.is-disabled)").waitFor();
}

function status(tab, wanted) {
  return until("status", () => tab.locator(".status-bar-item").innerText(), (text) => wanted.test(text.trim()));
}

function active(tab, file) {
  return until("active note", () => tab.evaluate(() => window.standIn.app.workspace.getActiveFile()?.path), (path) => path === file);
}

/** A screenshot in each theme. */
async function both(page, name, main = page) {
  for (const notice of await page.locator(".notice").all()) await notice.click().catch(() => undefined);
  await picture(page, `${name}-light`);
  await main.evaluate(() => window.standIn.setDark(true));
  await picture(page, `${name}-dark`);
  await main.evaluate(() => window.standIn.setDark(false));
}
