// The home: the content of an empty conversation.
import assert from "node:assert/strict";
import { faults } from "./axe.mjs";
import { Stage, done, picture, say, until } from "./stage.mjs";

const anew = (tab) => tab.getByRole("button", { name: "New conversation", exact: true }).click();

/** Pending items are reachable from an empty conversation; problems of the vault are fixed there. */
export async function the_home_shows_what_waits_and_mends_the_vault(set) {
  const stage = await Stage.set(set);
  await stage.daemon.write("A typo.md", "See [[Compst|the heap]] now.\n");
  await stage.daemon.command("new", "Today", "1");
  const tab = await stage.open({ width: 600, height: 900 });
  const home = tab.locator(".vs-home");
  const vault = home.getByRole("region", { name: "Your vault" });
  await vault.getByText("Your vault: vault").waitFor();
  await vault.getByText("1 change this week").waitFor();
  await vault.getByRole("img", { name: /^Changes of the last 7 days: .* 1$/ }).waitFor();
  assert.equal(await home.getByRole("region", { name: "Waiting for you" }).count(), 0);
  assert.deepEqual(await faults(tab, "home"), []);
  await picture(tab, "home-light");

  await vault.getByText("6 broken links").click();
  const fix = vault.getByRole("button", { name: "Link to Compost in place of Compst" });
  await fix.waitFor();
  assert.deepEqual(await faults(tab, "broken links"), []);
  await fix.click();
  await until("text", () => stage.daemon.read("A typo.md"), (text) => text === "See [[Compost|the heap]] now.\n");
  await vault.getByText("[[Compst]] is [[Compost]] now").waitFor();
  await vault.getByText("1 in the trash").click();
  await vault.getByRole("button", { name: "Restore Rhubarb.md" }).click();
  await vault.getByText("Rhubarb.md is back").waitFor();
  await tab.emulateMedia({ colorScheme: "dark" });
  await picture(tab, "home-open-dark");
  await vault.getByText(/^\d+ notes that nothing links to$/).click();
  await home.getByRole("button", { name: "What is due today?" }).click();
  assert.equal(await tab.locator(".vs-input").inputValue(), "What is due today?");

  stage.model.next((turn) => turn.call("send_message", { text: "Which bed is it?", is_question: true }));
  await tab.locator(".vs-input").press("Enter");
  await tab.locator(".vs-agent").getByText("Which bed is it?").waitFor();
  await home.waitFor({ state: "detached" });
  await anew(tab);
  const waits = home.getByRole("region", { name: "Waiting for you" });
  await waits.getByText("Which bed is it?").waitFor();
  await tab.setViewportSize({ width: 320, height: 700 });
  const wide = await tab.locator(".vs-content").evaluate((one) => one.scrollWidth - one.clientWidth);
  assert.equal(wide, 0, "nothing sticks out");
  await picture(tab, "home-waiting-narrow-dark");
  await waits.getByRole("button", { name: "Open: Which bed is it?" }).press("Enter");
  await tab.locator(".vs-agent").getByText("Which bed is it?").waitFor();
  await stage.close(tab);
  await stage.strike();
}

/** The notes of a conversation are a picture, gone through by the keyboard and read without colour. */
export async function the_notes_of_a_conversation_are_drawn(set) {
  const stage = await Stage.set(set);
  stage.model.next(
    (turn) => {
      for (const path of ["Garden/Plot 27.md", "Garden/Frost  dates.md", "Garden/Crop rotation.md", "Inbox.md"]) turn.call("read_file", { path });
    },
    (turn) => turn.call("edit_file", { path: "Garden/Compost.md", old_text: "Turn at Christmas.", new_text: "Turn at Easter." }),
    (turn) => turn.text("All read."),
  );
  const tab = await stage.open({ width: 700 });
  await say(tab, "Read about the garden");
  await tab.locator(".vs-list").getByText("All read.").waitFor();
  await done(tab);
  await tab.getByText("5 notes of this conversation").click();
  const graph = tab.locator(".vs-graph");
  const notes = graph.getByRole("link");
  await until("count", () => notes.count(), (count) => count === 5);
  const names = await notes.evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")));
  assert.ok(names.includes("Compost, changed"), names.join("; "));
  assert.ok(names.some((name) => /^Plot 27, read, links to .*Frost {2}dates/.test(name)), names.join("; "));
  assert.equal(await graph.locator("rect").count(), 1);
  assert.ok((await graph.locator("line").count()) > 0);
  assert.deepEqual(await faults(tab, "graph"), []);
  await picture(tab, "graph-light");
  await tab.emulateMedia({ colorScheme: "dark" });
  await tab.setViewportSize({ width: 360, height: 760 });
  await picture(tab, "graph-narrow-dark");
  await graph.getByRole("link", { name: "Inbox, read" }).focus();
  await tab.keyboard.press("Enter");
  await tab.getByRole("dialog", { name: "Inbox.md" }).waitFor();
  await stage.close(tab);
  await stage.strike();
}
