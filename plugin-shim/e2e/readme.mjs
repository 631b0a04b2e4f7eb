// The pictures of the README, light and dark, of the sample vault as it stands after the same conversation each time.
// `STEWARD_IMAGES` names the folder that they are written to; without it they lie among the others.
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { SCREENSHOTS, Stage, done, say, until } from "./stage.mjs";

const FOLDER = process.env.STEWARD_IMAGES ? path.resolve(process.env.STEWARD_IMAGES) : SCREENSHOTS;
/** The most bytes that all pictures together may have. */
const LARGEST = 300_000;
let written = 0;

/** Leaves a picture of the page for light and dark readers, as WebP, which the browser makes. */
async function images(tab, name) {
  await mkdir(FOLDER, { recursive: true });
  for (const colorScheme of ["light", "dark"]) {
    await tab.emulateMedia({ colorScheme });
    const png = (await tab.screenshot({ animations: "disabled", caret: "hide" })).toString("base64");
    const base64 = await tab.evaluate(async (png) => {
      const image = new Image();
      image.src = `data:image/png;base64,${png}`;
      await image.decode();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
      canvas.getContext("2d").drawImage(image, 0, 0);
      return canvas.toDataURL("image/webp", 0.8).split(",")[1];
    }, png);
    const bytes = Buffer.from(base64, "base64");
    written += bytes.length;
    await writeFile(path.join(FOLDER, `${name}-${colorScheme}.webp`), bytes);
    console.log(`        ${name}-${colorScheme}: ${(bytes.length / 1000).toFixed(0)} KB`);
  }
  await tab.emulateMedia({ colorScheme: "light" });
}

/** A conversation with a change, a plan in the mode Plan, and the home. */
export async function the_readme_shows_what_there_is(set) {
  const stage = await Stage.set({ ...set, folder: "My notes" });
  stage.model.next(
    (turn) => {
      turn.call("read_file", { path: "Garden/Crop rotation.md" });
      turn.call("read_file", { path: "Inbox.md" });
    },
    (turn) => turn.call("edit_file", { path: "Inbox.md", insert_after_line: -1, content: "- [ ] order seed potatoes\n- [ ] chit them in March\n" }),
    (turn) => turn.text("Bed 2 is free after the beans ([[Crop rotation]]), so **potatoes** can go there:\n\n| Month | What to do |\n|---|---|\n| March | chit them |\n| April | plant, 30 cm apart |\n\nWhat you need to buy is in your [[Inbox]]."),
  );
  const tab = await stage.open({ width: 800, height: 800, scale: 1.6 });
  await say(tab, "Where can potatoes go this year? Add what I need to buy to my inbox.");
  await tab.locator(".vs-list").getByText("What you need to buy").waitFor();
  await tab.locator(".vs-changes").waitFor();
  await done(tab);
  await tab.locator(".vs-changes").getByRole("button", { name: /diff/i }).first().click();
  await tab.locator(".vs-changes .vs-diff").waitFor();
  await images(tab, "chat");

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
  await card.locator(".vs-diff").first().waitFor();
  await tab.setViewportSize({ width: 420, height: 880 });
  await images(tab, "plan");

  await tab.getByRole("button", { name: "New conversation", exact: true }).click();
  const home = tab.locator(".vs-home");
  await home.getByRole("region", { name: "Waiting for you" }).waitFor();
  await home.getByRole("region", { name: "Your vault" }).waitFor();
  await until("bars", () => home.locator(".vs-week-day").count(), (count) => count === 7);
  await images(tab, "home");
  assert.ok(written < LARGEST, `the pictures have ${written} bytes`);
  await stage.close(tab);
  await stage.strike();
}
