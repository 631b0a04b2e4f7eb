// Proposals, decided where they are seen: in the card and from the home.
import assert from "node:assert/strict";
import { faults } from "./axe.mjs";
import { Stage, done, picture, say, until } from "./stage.mjs";

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
  const plan = tab.locator(".vs-card").filter({ hasText: /^Plan \d+ for/ });
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
