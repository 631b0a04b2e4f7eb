// The time machine: the changes, their authors, and earlier states.
import assert from "node:assert/strict";
import { faults } from "./axe.mjs";
import { Desk } from "./obsidian/desk.mjs";
import { Stage, done, picture, say, until } from "./stage.mjs";

const NOTE = "Garden/Compost.md";

async function machine(tab) {
  await tab.getByRole("button", { name: "More", exact: true }).click();
  await tab.getByRole("menuitem", { name: "Time machine" }).click();
  await tab.locator(".vs-machine").waitFor();
}

const change = (stage, from, to) => stage.daemon.command("call", "edit_file", "--path", NOTE, "--old-text", from, "--new-text", to);

/** A wrong change of the agent is found among later changes and undone separately. */
export async function a_mistake_is_found_and_taken_back_alone(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open({ width: 1000 });
  stage.model.next(
    (turn) => turn.call("edit_file", { path: NOTE, old_text: "Turn at Christmas.", new_text: "Burn at Christmas." }),
    (turn) => turn.text("It is changed."),
  );
  await say(tab, "Change the compost plan");
  await tab.locator(".vs-list").getByText("It is changed.").waitFor();
  await done(tab);
  await stage.daemon.command("new", "Later", "something else");
  await machine(tab);
  const rows = tab.locator(".vs-river-row");
  await until("count", () => rows.count(), (count) => count === 2);
  assert.match(await rows.nth(0).innerText(), /Later[\s\S]*you/);
  const agent = tab.locator(".vs-river-row.is-by-agent");
  assert.match(await agent.innerText(), /Compost[\s\S]*the agent · 1 change/);
  await picture(tab, "time-light");
  assert.deepEqual(await faults(tab, "time machine"), []);
  await agent.click();
  const detail = tab.locator(".vs-time-detail");
  await detail.getByRole("button", { name: `Diff of ${NOTE}` }).click();
  await until("words", () => detail.locator(".vs-diff").innerText(), (text) => /Burn at Christmas/.test(text));
  await detail.getByRole("button", { name: "Before" }).click();
  await until("words", () => detail.locator(".vs-then-text").innerText(), (text) => /Turn at Christmas/.test(text));
  await detail.getByRole("button", { name: "After" }).click();
  await until("words", () => detail.locator(".vs-then-text").innerText(), (text) => /Burn at Christmas/.test(text));
  assert.deepEqual(await faults(tab, "a change"), []);
  await tab.emulateMedia({ colorScheme: "dark" });
  await picture(tab, "time-detail-dark");
  await detail.getByRole("button", { name: "Undo all of these changes" }).click();
  await detail.getByText("Undone: 1 change").waitFor();
  assert.match(await stage.daemon.read(NOTE), /Turn at Christmas/);
  assert.match(await stage.daemon.read("Later.md"), /something else/);
  await stage.close(tab);
  await stage.strike();
}

/** The list is filtered by note, actor and tool, with the keyboard alone. */
export async function the_time_machine_is_gone_through_by_keyboard(set) {
  const stage = await Stage.set(set);
  await change(stage, "Turn at Christmas.", "Turn at Easter.");
  await stage.daemon.command("new", "One", "1");
  await stage.daemon.command("move", "One", "Garden/One");
  const tab = await stage.open({ width: 420 });
  await tab.locator(".vs-input").fill("/history");
  await tab.locator(".vs-input").press("Enter");
  const river = tab.getByRole("listbox", { name: "Changes, newest first" });
  await river.waitFor();
  const rows = tab.locator(".vs-river-row");
  await until("count", () => rows.count(), (count) => count === 3);
  await river.focus();
  await tab.keyboard.press("End");
  await tab.keyboard.press("Enter");
  await tab.locator(".vs-time-detail").getByText("Compost").first().waitFor();
  await picture(tab, "time-narrow-light");
  await tab.keyboard.press("Escape");
  await until("focus", () => river.evaluate((one) => document.activeElement === one));
  await tab.getByLabel("Only changes of this note or folder").fill("Garden/One.md");
  await until("count", () => rows.count(), (count) => count === 2);
  await tab.getByLabel("Only changes made with this tool").fill("move");
  await until("count", () => rows.count(), (count) => count === 1);
  await tab.getByLabel("Only changes made by").selectOption("rule");
  await tab.getByText("No changes match").waitFor();
  assert.deepEqual(await faults(tab, "no changes"), []);
  await tab.keyboard.press("Escape");
  await tab.locator(".vs-machine").waitFor({ state: "detached" });
  await until("focus", () => tab.locator(".vs-input").evaluate((one) => document.activeElement === one));
  await stage.close(tab);
  await stage.strike();
}

/** Changes by other programs are marked; a deleted note is read in the list of all files at that time. */
export async function the_vault_of_an_earlier_time_is_looked_at(set) {
  const stage = await Stage.set(set);
  await stage.daemon.command("new", "Gone", "not for long");
  await stage.daemon.command("new", "Witness", "1");
  await stage.daemon.command("delete", "Gone");
  await stage.daemon.write(NOTE, "all new, by somebody else\n");
  const tab = await stage.open({ width: 1000 });
  await machine(tab);
  const witness = tab.locator(".vs-river-row", { hasText: "Witness" });
  await witness.click();
  const detail = tab.locator(".vs-time-detail");
  const field = detail.getByLabel("Note or folder to show as it was");
  await field.fill("");
  await detail.getByRole("button", { name: "After" }).click();
  await detail.getByRole("button", { name: "Gone.md", exact: true }).click();
  await until("words", () => detail.locator(".vs-then-text").innerText(), (text) => /not for long/.test(text));
  await detail.getByText("Gone.md, gone now").waitFor();
  await field.fill(NOTE);
  await field.press("Enter");
  await detail.getByText(/Not certain: what it was before .* is not recorded/).waitFor();
  assert.deepEqual(await faults(tab, "not certain"), []);
  await stage.close(tab);
  await stage.strike();
}

const LONG = Array.from({ length: 30 }, (_, at) => `line ${at + 1}`);

/** A note of thirty lines in which a second change set rewrote two. */
async function twoHunks(stage) {
  const write = (lines) => stage.daemon.command("call", "write_file", "--path", "Long.md", "--content", `${lines.join("\n")}\n`);
  await write(LONG);
  await write(LONG.map((line, at) => (at === 2 || at === 26 ? `${line}, wrong` : line)));
}

/** One hunk of a change is undone separately, and that undo is undone; later changes stay. */
export async function a_hunk_is_put_back_alone(set) {
  const stage = await Stage.set(set);
  await twoHunks(stage);
  await stage.daemon.write("Long.md", `mine\n${await stage.daemon.read("Long.md")}`);
  const tab = await stage.open({ width: 1000 });
  await machine(tab);
  await tab.locator(".vs-river-row", { hasText: "Long" }).first().click();
  const detail = tab.locator(".vs-time-detail");
  await detail.getByRole("button", { name: "Diff of Long.md" }).click();
  const back = detail.getByRole("button", { name: "Put back these lines of Long.md" });
  await until("count", () => back.count(), (count) => count === 2);
  assert.deepEqual(await faults(tab, "hunks"), []);
  await picture(tab, "time-hunks-light");
  await back.first().click();
  await until("text", () => stage.daemon.read("Long.md"), (text) => text === `mine\n${LONG.join("\n")}\n`.replace("line 27\n", "line 27, wrong\n"));
  const undo = detail.getByRole("button", { name: "Undo: put back these lines of Long.md" });
  await undo.waitFor();
  await tab.emulateMedia({ colorScheme: "dark" });
  await picture(tab, "time-hunk-back-dark");
  // The undo is a regular change set: the newest of the list.
  await until("count", () => tab.locator(".vs-river-row").count(), (count) => count === 3);
  await undo.click();
  await until("text", () => stage.daemon.read("Long.md"), (text) => text.startsWith("mine\n") && text.match(/, wrong$/gm)?.length === 2);
  // Lines that another program has rewritten since are not touched.
  await stage.daemon.write("Long.md", (await stage.daemon.read("Long.md")).replace("line 27, wrong", "line 27, mine"));
  await back.last().click();
  await detail.getByText("These lines have changed since.").waitFor();
  assert.match(await stage.daemon.read("Long.md"), /line 27, mine/);
  await stage.close(tab);
  await stage.strike();
}

/** In its own tab it has the page's credentials, and keeps them after a reload. */
export async function the_time_machine_has_a_tab_of_its_own(set) {
  const stage = await Stage.set(set);
  await twoHunks(stage);
  const tab = await stage.open({ width: 600 });
  await machine(tab);
  const opened = tab.context().waitForEvent("page");
  await tab.getByRole("link", { name: "Open in a tab" }).click();
  const own = await opened;
  const rows = own.locator(".vs-river-row");
  await until("count", () => rows.count(), (count) => count === 2);
  assert.equal(await own.locator(".vs-composer").count(), 0);
  assert.equal(await own.title(), "Time machine · Vault Steward");
  await own.reload();
  await until("count", () => rows.count(), (count) => count === 2);
  await own.setViewportSize({ width: 1000, height: 760 });
  // A day of the calendar, by keyboard.
  const day = own.getByRole("group", { name: /^Activity, last 26 weeks: 2 turns$/ }).getByRole("button");
  await until("count", () => day.count(), (count) => count === 1);
  await day.focus();
  await own.keyboard.press("Enter");
  await own.getByRole("button", { name: "Back to now" }).click();
  await own.getByRole("button", { name: "Back to now" }).waitFor({ state: "hidden" });
  await rows.first().click();
  await own.locator(".vs-time-detail").getByRole("button", { name: "Undo all of these changes" }).click();
  await own.locator(".vs-time-detail").getByText("Undone: 1 change").waitFor();
  assert.doesNotMatch(await stage.daemon.read("Long.md"), /wrong/);
  assert.deepEqual(await faults(own, "a tab of its own"), []);
  await picture(own, "time-tab-light");
  await own.emulateMedia({ colorScheme: "dark" });
  await own.setViewportSize({ width: 320, height: 700 });
  await own.getByRole("button", { name: "Back to the list" }).click();
  const [wide, all] = await own.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  assert.ok(wide <= all, "nothing sticks out");
  await picture(own, "time-tab-narrow-dark");
  // Escape clears the selection, and closes nothing.
  await own.keyboard.press("Escape");
  await own.locator(".vs-machine").waitFor();
  await stage.close(tab);
  await stage.strike();
}

/** In Obsidian the command opens it among the notes, once. */
export async function the_time_machine_is_a_tab_in_obsidian(set) {
  const desk = await Desk.set(set);
  const tab = await desk.openPaired();
  await desk.daemon.command("call", "edit_file", "--path", NOTE, "--old-text", "Turn at Christmas.", "--new-text", "Turn at Easter.");
  const open = () => tab.evaluate(() => window.standIn.command("vault-steward:open-time-machine"));
  assert.equal(await open(), true);
  const view = tab.locator(".mod-root .vs-machine");
  await view.locator(".vs-river-row", { hasText: "Compost" }).click();
  await view.getByRole("button", { name: `Diff of ${NOTE}` }).click();
  await view.getByRole("button", { name: `Put back these lines of ${NOTE}` }).waitFor();
  await picture(tab, "obsidian-time-light");
  await tab.evaluate(() => window.standIn.setDark(true));
  await picture(tab, "obsidian-time-dark");
  await open();
  // The menu of the chat opens the same tab.
  await tab.locator(".mod-right-split").getByRole("button", { name: "More", exact: true }).click();
  await tab.getByRole("menuitem", { name: "Time machine" }).click();
  const leaves = () => tab.evaluate(() => window.standIn.app.workspace.getLeavesOfType("vault-steward-time-machine").length);
  assert.equal(await leaves(), 1);
  await view.locator(".vs-row-name").click();
  const active = () => tab.evaluate(() => window.standIn.app.workspace.getActiveFile()?.path);
  await until("note", active, (path) => path === NOTE);
  // The same name opens the note where it was moved; once it is deleted, the machine shows what happened to it.
  const moved = "Kept/Heap.md";
  await desk.daemon.command("move", NOTE, moved);
  await until("moved", () => tab.evaluate((path) => window.standIn.app.vault.getAbstractFileByPath(path) !== null, moved), (is) => is);
  await open();
  await view.locator(".vs-row-name").click();
  await until("moved note", active, (path) => path === moved);
  await desk.daemon.command("delete", moved);
  await open();
  await view.locator(".vs-row-name").click();
  await tab.getByText(/^Heap was deleted on /).waitFor();
  await tab.getByRole("button", { name: "Show in the time machine" }).click();
  await until("filter", () => view.getByLabel("Only changes of this note or folder").inputValue(), (path) => path === moved);
  await view.locator(".vs-river-row", { hasText: "Heap" }).first().waitFor();
  await picture(tab, "obsidian-time-deleted");
  await tab.evaluate(() => window.standIn.app.workspace.getLeavesOfType("vault-steward-time-machine")[0].detach());
  await until("count", () => tab.locator(".vs-machine").count(), (count) => count === 0);
  assert.deepEqual(desk.problems, []);
  await desk.strike();
}
