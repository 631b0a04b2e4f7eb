// The home: the content of an empty conversation.
import assert from "node:assert/strict";
import { faults } from "./axe.mjs";
import { Stage, picture, until } from "./stage.mjs";

const anew = (tab) => tab.getByRole("button", { name: "New conversation", exact: true }).click();

/** Pending items are reachable from an empty conversation; problems of the vault are fixed there. */
export async function the_home_shows_what_waits_and_mends_the_vault(set) {
  const stage = await Stage.set(set);
  await stage.daemon.write("A typo.md", "See [[Compst|the heap]] now.\n");
  await stage.daemon.command("new", "Today", "1");
  const tab = await stage.open({ width: 600, height: 900 });
  const home = tab.locator(".vs-home");
  const vault = home.getByRole("region", { name: "Your vault" });
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
