// The time machine: what changed, who did it, and how everything was.
import assert from "node:assert/strict";
import { faults } from "./axe.mjs";
import { Stage, done, picture, say, until } from "./stage.mjs";

const NOTE = "Garden/Compost.md";

async function machine(tab) {
  await tab.getByRole("button", { name: "More", exact: true }).click();
  await tab.getByRole("menuitem", { name: "Time machine" }).click();
  await tab.locator(".vs-machine").waitFor();
}

const change = (stage, from, to) => stage.daemon.command("call", "edit_file", "--path", NOTE, "--old-text", from, "--new-text", to);

/** A mistake of the agent's is found among later changes, and taken back alone. */
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

/** The list keeps to a note, to who acted and to a tool; all of it with the keyboard alone. */
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

/** What was changed outside is said where it stands; a note that is gone is read among all files of then. */
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
