// The pictures of the README, of the sample vault as it stands after the same conversation each time. `STEWARD_IMAGES` names the
// folder that they are written to; without it they lie among the others.
import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { SCREENSHOTS, Stage, done, picture, say, until } from "./stage.mjs";

const FOLDER = process.env.STEWARD_IMAGES ? path.resolve(process.env.STEWARD_IMAGES) : SCREENSHOTS;
/** The most that a picture of the README may weigh, in bytes. */
const LARGEST = 150_000;

async function image(tab, name) {
  await picture(tab, name, FOLDER);
  const { size } = await stat(path.join(FOLDER, `${name}.png`));
  assert.ok(size < LARGEST, `${name} has ${size} bytes`);
}

/** A conversation with a change, a plan in the mode Plan, the home and the time machine. */
export async function the_readme_shows_what_there_is(set) {
  const stage = await Stage.set(set);
  stage.model.next(
    (turn) => {
      turn.thought("Which bed is free?");
      turn.call("read_file", { path: "Garden/Crop rotation.md" });
      turn.call("read_file", { path: "Inbox.md" });
    },
    (turn) => turn.call("edit_file", { path: "Inbox.md", insert_after_line: -1, content: "- [ ] order seed potatoes\n- [ ] chit them in March\n" }),
    (turn) => turn.text("Bed 2 is free after the beans, so **potatoes** can go there:\n\n| Month | What to do |\n|---|---|\n| March | chit them |\n| April | plant, 30 cm apart |\n\n- [x] a bed is free\n- [ ] seed potatoes\n\nThe order is in your [[Inbox]]."),
  );
  const tab = await stage.open({ width: 380, height: 760 });
  await say(tab, "Where can potatoes go this year? Put what I have to buy on my list.");
  await tab.locator(".vs-list").getByText("The order is in your").waitFor();
  await tab.locator(".vs-changes").waitFor();
  await done(tab);
  await image(tab, "chat-light");
  await tab.setViewportSize({ width: 900, height: 760 });
  await tab.emulateMedia({ colorScheme: "dark" });
  await tab.locator(".vs-changes").getByRole("button", { name: /diff/i }).first().click();
  await tab.locator(".vs-changes .vs-diff").waitFor();
  await image(tab, "chat-dark");

  await tab.emulateMedia({ colorScheme: "light" });
  await tab.getByRole("button", { name: "New conversation", exact: true }).click();
  await tab.locator(".vs-mode").click();
  await tab.getByRole("menuitemradio", { name: "Plan" }).click();
  stage.model.next(
    (turn) => turn.call("read_file", { path: "Garden/Compost.md" }),
    (turn) => {
      turn.call("edit_file", { path: "Garden/Compost.md", old_text: "Turn at Christmas.", new_text: "Turn at Christmas and at Easter." });
      turn.call("move", { source: "Garden/Plot 27.md", destination: "Garden/Beds/Plot 27.md" });
    },
    (turn) => turn.text("The heap wants turning twice, and the plot belongs to the beds."),
  );
  await say(tab, "Tidy the garden notes");
  await tab.locator(".vs-list").getByText("The heap wants turning").waitFor();
  await done(tab);
  const card = tab.locator(".vs-proposal");
  await card.locator("summary").first().click();
  await card.locator(".vs-diff").waitFor();
  await tab.setViewportSize({ width: 620, height: 640 });
  await image(tab, "plan-light");

  await tab.getByRole("button", { name: "New conversation", exact: true }).click();
  const home = tab.locator(".vs-home");
  await home.getByRole("region", { name: "Waiting for you" }).waitFor();
  await home.getByRole("region", { name: "Your vault" }).waitFor();
  await tab.emulateMedia({ colorScheme: "dark" });
  await image(tab, "home-dark");
  await until("bars", () => home.locator(".vs-week-day").count(), (count) => count === 7);
  await stage.close(tab);
  await stage.strike();
}
