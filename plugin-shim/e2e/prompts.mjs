// The person's own prompts: examples that are previewed before they are added, and used by `/name`, a command
// and a menu.
import assert from "node:assert/strict";
import { mkdir, readdir } from "node:fs/promises";
import path from "node:path";
import { faults } from "./axe.mjs";
import { Desk } from "./obsidian/desk.mjs";
import { Stage, done, picture, say, until } from "./stage.mjs";

const ID = "vault-steward";
const NOTE = "Garden/Compost.md";

const prompts = (stage) => readdir(path.join(stage.daemon.vault, "Prompts")).catch(() => []);
const option = (tab) => tab.locator(".vs-completion.is-selected");

/** Nothing is written before the person adds it, and a prompt is sent only when they choose it. */
export async function examples_are_shown_and_added_and_used(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open({ width: 800 });
  const input = tab.locator(".vs-input");
  await say(tab, "/prompts");
  const panel = tab.locator(".vs-prompts");
  await panel.getByText("No prompts yet").waitFor();
  await panel.getByText("Read my daily notes of the seven days").waitFor();
  await picture(tab, "prompts-light");
  assert.deepEqual(await faults(tab, "prompts"), []);
  await tab.emulateMedia({ colorScheme: "dark" });
  await picture(tab, "prompts-dark");
  assert.deepEqual(await faults(tab, "prompts, dark"), []);
  await tab.emulateMedia({ colorScheme: "light" });
  assert.deepEqual(await prompts(stage), []);
  await panel.getByRole("button", { name: "Add /weekly-review" }).click();
  await panel.getByRole("button", { name: "Open the note of /weekly-review" }).waitFor();
  assert.deepEqual(await prompts(stage), ["Weekly review.md"]);
  await panel.getByRole("button", { name: "Add all" }).click();
  await panel.getByText("Examples").waitFor({ state: "detached" });
  assert.equal((await prompts(stage)).length, 6);
  await tab.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });
  assert.equal(await input.evaluate((field) => document.activeElement === field), true);

  await input.pressSequentially("/wee");
  await option(tab).getByText("Look back at the last seven daily notes").waitFor();
  await picture(tab, "prompt-commands-light");
  stage.model.next((turn) => turn.text("It was a wet week."));
  await input.press("Enter");
  await tab.locator(".vs-user-text").getByText(/^Read my daily notes of the seven days up to \d{4}-\d\d-\d\d\./).waitFor();
  await tab.locator(".vs-list").getByText("It was a wet week.").waitFor();
  await done(tab);

  // The missing argument is requested, and the typed text stays.
  await input.pressSequentially("/trans");
  await option(tab).getByText("/translate LANGUAGE").waitFor();
  await input.press("Enter");
  assert.equal(await input.inputValue(), "/translate ");
  await input.pressSequentially("German");
  await input.press("Enter");
  await tab.locator(".page-notice").getByText(/needs a selected text/).waitFor();
  assert.equal(await input.inputValue(), "/translate German");
  assert.equal(await tab.locator(".vs-user").count(), 1);
  await input.fill("");
  // One undo removes the last example.
  await stage.daemon.command("undo");
  assert.equal((await prompts(stage)).length, 5);
  await stage.close(tab);
  await stage.strike();
}

/**
 * In Obsidian a prompt is a command and a menu item; it is put into the input field, and the person sends it.
 */
export async function prompts_are_commands_of_obsidian(set) {
  const desk = await Desk.set(set);
  await mkdir(path.join(desk.daemon.vault, "Prompts"));
  await desk.daemon.write("Prompts/Improve.md", "---\ndescription: Make it clear\n---\nMake {{selection}} in {{note}} clear.\n");
  await desk.daemon.write("Prompts/Sum up.md", "Sum up {{note}}.\n");
  const tab = await desk.openPaired();
  const input = tab.locator(".vs-input");
  const run = (name) => tab.evaluate((id) => window.standIn.command(id), `${ID}:prompt-${name}`);
  const has = (name) => tab.evaluate((id) => window.standIn.app._commands.has(id), `${ID}:prompt-${name}`);
  await until("command", () => has("sum-up"));
  await tab.locator(`.nav-file-title[data-path="${NOTE}"]`).click();
  const editor = tab.locator(".mod-root .workspace-leaf.is-front .cm-content");
  await editor.waitFor();
  assert.equal(await run("improve"), false, "nothing is selected");
  assert.equal(await run("sum-up"), true);
  await until("words", () => input.inputValue(), (text) => text === "Sum up [[Garden/Compost]].");
  assert.equal(await tab.locator(".vs-user").count(), 0);
  await input.fill("");

  const first = await tab.evaluate(() => {
    const { editor } = window.standIn.app.workspace.getMostRecentLeaf().view;
    editor.setSelection({ line: 0, ch: 0 }, { line: 0, ch: 9 });
    return editor.getSelection();
  });
  // A click by Chromium would clear the selection.
  await editor.evaluate((field) => {
    field.dispatchEvent(new MouseEvent("contextmenu", { bubbles: true, cancelable: true, clientX: 300, clientY: 200 }));
  });
  const menu = tab.locator(".menu");
  await menu.getByText("Steward: Improve").waitFor();
  assert.equal(await menu.getByText("Steward: Sum up").count(), 0, "it is about a note, and a text is selected");
  await picture(tab, "obsidian-prompt-menu-light");
  await menu.getByText("Steward: Improve").click();
  await until("words", () => input.inputValue(), (text) => text === "Make the selected text in [[Garden/Compost]] clear.");
  await until("chip", () => tab.locator(".vs-chip").innerText(), (text) => /Selection in Compost/.test(text));
  desk.model.next((turn) => turn.text("It is clear."));
  await input.press("Enter");
  await tab.locator(".vs-agent").getByText("It is clear.").waitFor();
  const asked = JSON.stringify(desk.model.requests.at(-1));
  assert.ok(asked.includes(JSON.stringify(first).slice(1, -1)), asked);

  // Another name is another command.
  await desk.daemon.command("move", "Prompts/Sum up", "Prompts/In short");
  await until("command", () => has("in-short"));
  assert.equal(await has("sum-up"), false);
  await tab.evaluate((id) => window.standIn.app._plugins.disable(id), ID);
  assert.equal(await has("in-short"), false);
  await desk.quit();
  assert.deepEqual(desk.problems, [], "the page reported errors");
  await desk.strike();
}

/**
 * A selection is edited by an instruction: the diff is shown first, accepted or discarded, and undone like
 * every change.
 */
export async function a_selection_is_edited_in_place(set) {
  const desk = await Desk.set(set);
  const tab = await desk.openPaired();
  await tab.locator(`.nav-file-title[data-path="${NOTE}"]`).click();
  const editor = tab.locator(".mod-root .workspace-leaf.is-front .cm-content");
  await editor.waitFor();
  const before = await desk.daemon.read(NOTE);
  const shown = () => tab.evaluate(() => window.standIn.app.workspace.getMostRecentLeaf().view.editor.getValue());
  await until("note", shown, (text) => text === before);
  const open = async () => {
    await tab.evaluate((text) => {
      const { editor } = window.standIn.app.workspace.getMostRecentLeaf().view;
      const lines = editor.getValue().split("\n");
      const line = lines.findIndex((one) => one.includes(text));
      const ch = lines[line].indexOf(text);
      editor.setSelection({ line, ch }, { line, ch: ch + text.length });
    }, "Turn at Christmas.");
    assert.equal(await tab.evaluate((id) => window.standIn.command(id), `${ID}:edit-selection`), true);
    return tab.locator(".modal");
  };
  const edit = (turn) => turn.call("edit_file", { path: NOTE, old_text: "Turn at Christmas.", new_text: "Turn it at Easter." });
  let modal = await open();
  await modal.getByText("Turn at Christmas.").waitFor();
  desk.model.next((turn) => turn.call("read_file", { path: NOTE }), edit, (turn) => turn.text("Done."));
  await modal.getByRole("textbox").fill("At Easter");
  await modal.getByRole("textbox").press("Enter");
  await until("diff", () => modal.locator(".vs-diff").innerText().catch(() => ""), (text) => /Turn it at Easter/.test(text));
  await picture(tab, "obsidian-inline-light");
  assert.equal(await desk.daemon.read(NOTE), before);
  await modal.getByRole("button", { name: "Discard" }).click();
  await modal.waitFor({ state: "detached" });
  assert.equal(await desk.daemon.read(NOTE), before);

  modal = await open();
  desk.model.next((turn) => turn.text("There is nothing to do."));
  await modal.getByRole("textbox").fill("At Easter");
  await modal.getByRole("button", { name: "Propose" }).click();
  await modal.getByText("There is nothing to do.").waitFor();
  desk.model.next((turn) => turn.call("read_file", { path: NOTE }), edit, (turn) => turn.text("Done."));
  await modal.getByRole("button", { name: "Propose again" }).click();
  await modal.locator(".vs-diff").waitFor();
  await tab.evaluate(() => window.standIn.setDark(true));
  await picture(tab, "obsidian-inline-dark");
  await modal.getByRole("button", { name: "Keep" }).click();
  await modal.waitFor({ state: "detached" });
  const after = before.replace("Turn at Christmas.", "Turn it at Easter.");
  assert.equal(await desk.daemon.read(NOTE), after);
  await until("note", shown, (text) => text === after);
  await desk.daemon.command("undo");
  assert.equal(await desk.daemon.read(NOTE), before);
  await desk.quit();
  assert.deepEqual(desk.problems, [], "the page reported errors");
  await desk.strike();
}
