// Proposals, decided where they are seen: in the card, from the home, and in the open note in Obsidian.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { faults } from "./axe.mjs";
import { Desk } from "./obsidian/desk.mjs";
import { Stage, done, picture, say, until } from "./stage.mjs";

const NOTE = "Garden/Compost.md";
const ID = "vault-steward";

async function choosePlan(tab) {
  await tab.locator(".vs-mode").click();
  await tab.getByRole("menuitemradio", { name: "Plan" }).click();
  await until("mode", () => tab.locator(".vs-mode").innerText(), (text) => text === "Plan");
}

/** What waits in one conversation is found from another one, and decided part by part. */
export async function proposals_wait_at_home_and_are_decided_part_by_part(set) {
  const stage = await Stage.set(set);
  await stage.daemon.write("Long.md", `Salt 1\n${"Water\n".repeat(12)}Salt 2\n`);
  const tab = await stage.open({ width: 600, height: 900 });
  await choosePlan(tab);
  stage.model.next(
    (turn) => turn.call("read_file", { path: "Long.md" }),
    (turn) => {
      turn.call("edit_file", { path: "Long.md", old_text: "Salt", new_text: "More salt", replace_all: true });
      turn.call("move", { source: "Garden/Plot 27.md", destination: "Garden/Beds/Plot 27.md" });
    },
    (turn) => turn.text("More salt, and a folder for the beds."),
  );
  await say(tab, "Tidy up");
  await done(tab);
  const card = tab.locator(".vs-proposal");
  // The map of the plots names the note that would be moved.
  await card.getByText("3 proposed changes").waitFor();

  await tab.getByRole("button", { name: "New conversation", exact: true }).click();
  const waits = tab.locator(".vs-home").getByRole("region", { name: "Waiting for you" });
  await waits.getByText(/^3 proposed changes · /).waitFor();
  await picture(tab, "home-proposals-light");
  await tab.setViewportSize({ width: 300, height: 700 });
  assert.equal(await tab.locator(".vs-content").evaluate((one) => one.scrollWidth - one.clientWidth), 0, "nothing sticks out");
  await tab.emulateMedia({ colorScheme: "dark" });
  assert.deepEqual(await faults(tab, "home with proposals"), []);
  await picture(tab, "home-proposals-narrow-dark");
  await tab.setViewportSize({ width: 600, height: 900 });
  await waits.getByRole("button", { name: /^Open: / }).press("Enter");

  await card.getByText("Write Long.md").click();
  const diffs = card.locator("details").first().locator(".vs-diff");
  assert.equal(await diffs.count(), 2);
  await picture(tab, "proposal-hunks-dark");
  assert.deepEqual(await faults(tab, "hunks of a proposal"), []);
  await tab.emulateMedia({ colorScheme: "light" });
  await card.getByRole("button", { name: "Keep: Write Long.md" }).nth(1).click();
  // What was unfolded stays so.
  await until("hunks", () => diffs.count(), (count) => count === 1);
  assert.equal(await card.locator("details").first().getAttribute("open"), "");
  assert.match(await stage.daemon.read("Long.md"), /^Salt 1\n(Water\n)+More salt 2\n$/);
  await card.getByRole("button", { name: "Undo: Write Long.md" }).click();
  await card.getByText("2 proposed changes").waitFor();
  await card.getByRole("button", { name: "Reject all" }).click();
  await card.waitFor({ state: "detached" });
  assert.match(await stage.daemon.read("Long.md"), /^Salt 1\n/);
  await stage.daemon.read("Garden/Plot 27.md");
  stage.model.next((turn) => turn.text("Fine."));
  await say(tab, "Thanks");
  await tab.locator(".vs-list").getByText("Fine.").waitFor();
  const told = JSON.stringify(stage.model.requests.at(-1));
  assert.match(told, /applied some of the proposals of turn \d+: 1 \(hunk 2\)/);
  assert.match(told, /rejected some of the proposals of turn \d+: 1 \(hunk 1\)/);
  assert.match(told, /rejected some of the proposals of turn \d+: 2\./);
  await stage.close(tab);
  await stage.strike();
}

/** A plan that was not applied waits at home, too. */
export async function a_plan_waits_at_home(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open({ width: 600, height: 900 });
  stage.model.next(
    (turn) => turn.call("plan_changes", { items: [{ path: "Garden/Plot 27.md", to: "Garden/Beds/Plot 27.md" }] }),
    (turn) => turn.text("Shall I move it?"),
  );
  await say(tab, "Plan it");
  await done(tab);
  const plan = tab.locator(".vs-card").filter({ hasText: /Plan \d+ for/ });
  await plan.waitFor();
  await tab.getByRole("button", { name: "New conversation", exact: true }).click();
  const waits = tab.locator(".vs-home").getByRole("region", { name: "Waiting for you" });
  await waits.getByText(/^Plan \d+ · /).waitFor();
  await waits.getByRole("button", { name: /^Open: / }).first().press("Enter");
  await plan.getByRole("button", { name: /^Apply \d/ }).click();
  await until("note", () => stage.daemon.read("Garden/Beds/Plot 27.md").catch(() => ""), (text) => text !== "");
  await tab.getByRole("button", { name: "New conversation", exact: true }).click();
  await tab.locator(".vs-home").getByRole("region", { name: "Your vault" }).waitFor();
  assert.equal(await waits.getByText(/^Plan \d+ · /).count(), 0);
  await stage.close(tab);
  await stage.strike();
}

/** A proposed edit stands in the open note as hunks: one is kept and changes the note, the other is not and leaves it as it is. */
export async function proposed_edits_are_hunks_in_the_open_note(set) {
  const desk = await Desk.set(set);
  const lines = ["# Calendar", "", "- March: sow the broad beans", "- April: turn the heap", "- May: plant out", ...Array.from({ length: 10 }, (_, at) => `- Week ${at + 20}: water`), "- October: lift the dahlias"];
  await writeFile(path.join(desk.daemon.vault, "Calendar.md"), `${lines.join("\n")}\n`);
  const tab = await desk.openPaired();
  await tab.locator(`.nav-file-title[data-path="Calendar.md"]`).click();
  const note = tab.locator(".mod-root .workspace-leaf.is-front");
  await note.locator(".cm-content").waitFor();
  // The open note goes with the message, unless it is taken out.
  const chip = tab.locator(".vs-chip.is-context");
  await chip.getByText("Calendar").waitFor();
  await picture(tab, "obsidian-context-light");
  await choosePlan(tab);
  desk.model.next(
    (turn) => turn.call("read_file", { path: "Calendar.md" }),
    (turn) => turn.call("edit_file", {
      path: "Calendar.md",
      replace_lines: { start: 1, end: -1 },
      content: `${lines.join("\n").replace("- April: turn the heap", "- April: turn the heap twice\n- April: sow the salad").replace("lift the dahlias", "lift the dahlias before the frost")}\n`,
    }),
    (turn) => turn.text("Two lines would be others."),
  );
  await say(tab, "Bring this up to date");
  await tab.locator(".vs-user").getByText("Calendar").waitFor();
  await done(tab);
  const hunks = note.locator(".vault-steward-hunk");
  await until("hunks", () => hunks.count(), (count) => count === 2);
  assert.equal(await note.locator(".cm-line.vault-steward-removed").count(), 2);
  assert.deepEqual(await hunks.nth(0).locator(".vault-steward-added").allInnerTexts(), ["- April: turn the heap twice", "- April: sow the salad"]);
  assert.equal(await chip.count(), 0, "what was said once is known");
  await picture(tab, "obsidian-hunks-light");
  await tab.evaluate(() => window.standIn.setDark(true));
  assert.deepEqual(await faults(tab, "hunks in a note", ".cm-editor"), []);
  await picture(tab, "obsidian-hunks-dark");
  await tab.evaluate(() => window.standIn.setDark(false));

  await hunks.nth(0).getByRole("button", { name: "Keep this proposed change" }).click();
  await until("hunks", () => hunks.count(), (count) => count === 1);
  await note.locator(".cm-line").getByText("- April: sow the salad").waitFor();
  assert.match(await desk.daemon.read("Calendar.md"), /turn the heap twice\n- April: sow the salad\n- May/);
  // With the keyboard alone.
  await hunks.getByRole("button", { name: "Undo this proposed change" }).press("Enter");
  await until("hunks", () => hunks.count(), (count) => count === 0);
  assert.match(await desk.daemon.read("Calendar.md"), /lift the dahlias\n$/);
  await tab.locator(".vs-proposal").waitFor({ state: "detached" });
  await tab.locator(".vs-changes").getByRole("button", { name: /^Undo/ }).first().click();
  await until("note", () => desk.daemon.read("Calendar.md"), (text) => text === `${lines.join("\n")}\n`);
  await desk.strike();
}

/** The open note and what is selected in it go with a message, are seen before it is sent, and can be taken out. */
export async function the_open_note_goes_along_and_can_be_taken_out(set) {
  const desk = await Desk.set(set);
  const tab = await desk.openPaired();
  await tab.locator(`.nav-file-title[data-path="${NOTE}"]`).click();
  await tab.locator(".mod-root .workspace-leaf.is-front .cm-content").waitFor();
  const chip = tab.locator(".vs-chip.is-context");
  await chip.getByText("Compost").waitFor();
  await chip.getByRole("button", { name: "Remove Compost" }).click();
  await chip.waitFor({ state: "detached" });
  desk.model.next((turn) => turn.text("Good morning."));
  await say(tab, "Good morning");
  await tab.locator(".vs-agent").getByText("Good morning.").waitFor();
  await done(tab);
  assert.doesNotMatch(JSON.stringify(desk.model.requests.at(-1)), /the note `Garden/);
  await tab.evaluate(() => {
    const { editor } = window.standIn.app.workspace.getMostRecentLeaf().view;
    editor.setSelection({ line: 0, ch: 0 }, { line: 1, ch: 0 });
  });
  await tab.locator(".vs-input").blur();
  await tab.locator(".vs-input").focus();
  await chip.getByText("Selection in Compost").waitFor();
  assert.deepEqual(await faults(tab, "a note that goes along", ".vs-composer"), []);
  desk.model.next((turn) => turn.text("That is its beginning."));
  await say(tab, "What is this?");
  await tab.locator(".vs-agent").getByText("That is its beginning.").waitFor();
  await done(tab);
  assert.match(JSON.stringify(desk.model.requests.at(-1)), /a part of the note `Garden\/Compost.md` is meant/);
  // The palette has what is done with a conversation.
  await tab.evaluate((id) => window.standIn.command(id), `${ID}:rename-conversation`);
  await tab.locator(".vs-rename").fill("About compost");
  await tab.keyboard.press("Enter");
  await tab.locator(".vs-title").getByText("About compost").waitFor();
  await tab.evaluate((id) => window.standIn.command(id), `${ID}:edit-last-message`);
  await until("words", () => tab.locator(".vs-input").inputValue(), (text) => text === "What is this?");
  await tab.keyboard.press("Escape");
  await tab.evaluate((id) => window.standIn.command(id), `${ID}:export-conversation`);
  await tab.locator(".notice").getByText(/^Written to /).waitFor();
  await desk.strike();
}
