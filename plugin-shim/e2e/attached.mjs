// What goes with a message and stands beside it: pictures, selections, related notes, diagrams.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { faults } from "./axe.mjs";
import { Desk } from "./obsidian/desk.mjs";
import { Stage, done, picture, say, until } from "./stage.mjs";

/** Pastes images of the sample vault into the input field. */
async function paste(tab, set, ...names) {
  for (const name of names) {
    const base64 = (await readFile(path.join(set.sample, "Attachments", name))).toString("base64");
    const before = await tab.locator(".vs-thumbnail").count();
    await tab.locator(".vs-input").evaluate((field, { base64, name }) => {
      const data = new DataTransfer();
      data.items.add(new File([Uint8Array.from(atob(base64), (one) => one.charCodeAt(0))], name, { type: "image/png" }));
      field.dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData: data }));
    }, { base64, name });
    await until("thumbnail", () => tab.locator(".vs-thumbnail").count(), (count) => count === before + 1);
  }
}

/** The images that are drawn, as [natural width, alternative text]. */
const drawn = (tab) =>
  tab.locator(".vs-picture").evaluateAll(async (all) => Promise.all(all.map(async (one) => {
    await one.decode();
    return [one.naturalWidth, one.alt];
  })));

/** Pictures are thumbnails in the conversation, there after a reload, and go along when the message is edited or asked again. */
export async function pictures_of_a_message_stay_with_it(set) {
  const stage = await Stage.set(set);
  let tab = await stage.open({ width: 420 });
  stage.model.next((turn) => turn.text("Two pictures."));
  await paste(tab, set, "plot-27.png", "bench sketch 2.png");
  await say(tab, "What is this?");
  await tab.locator(".vs-agent").getByText("Two pictures.").waitFor();
  await done(tab);
  await until("pictures", () => drawn(tab), (all) => all.length === 2 && all.every(([width]) => width > 0 && width <= 320));
  assert.deepEqual((await drawn(tab)).map(([, alt]) => alt), ["Picture 1 of 2", "Picture 2 of 2"]);
  assert.equal(await tab.locator(".vs-user-text").innerText(), "What is this?");
  assert.deepEqual(await faults(tab, "pictures"), []);
  await picture(tab, "pictures-light");
  await stage.close(tab);

  tab = await stage.open({ width: 300, dark: true });
  await until("pictures", () => drawn(tab), (all) => all.length === 2);
  assert.equal(await tab.locator(".vs-content").evaluate((one) => one.scrollWidth - one.clientWidth), 0, "nothing sticks out");
  await picture(tab, "pictures-narrow-dark");
  await tab.locator(".vs-user").hover();
  await tab.getByRole("button", { name: "Edit the message" }).click();
  await until("thumbnails", () => tab.locator(".vs-thumbnail").count(), (count) => count === 2);
  stage.model.next((turn) => turn.text("Still two."));
  await tab.locator(".vs-chip").first().getByRole("button").click();
  await say(tab, "And this one?");
  await tab.locator(".vs-agent").getByText("Still two.").waitFor();
  await done(tab);
  await until("one picture", () => drawn(tab), (all) => all.length === 1 && all[0][1] === "Picture");
  const { messages } = stage.model.requests.at(-1);
  // The tests' model has no vision, and receives a note for each image.
  assert.equal(JSON.stringify(messages).match(/an image, which this model cannot see/g).length, 1);
  stage.model.next((turn) => turn.text("Asked again."));
  await tab.locator(".vs-agent").hover();
  await tab.getByRole("button", { name: "Ask again" }).click();
  await tab.locator(".vs-agent").getByText("Asked again.").waitFor();
  await done(tab);
  await until("pictures", () => drawn(tab), (all) => all.length === 1);
  // Words that only look like it stay words.
  stage.model.next((turn) => turn.text("No picture."));
  await say(tab, "Hello\n(with a picture)");
  await tab.locator(".vs-agent").getByText("No picture.").waitFor();
  await done(tab);
  await until("words", () => tab.locator(".vs-user-text").last().innerText(), (text) => text === "Hello\n(with a picture)");
  await stage.close(tab);
  await stage.strike();
}

/** Beside the open note the home has notes that belong to it and are not linked with it; answers have diagrams, in which nothing acts. */
export async function related_notes_and_diagrams_are_in_obsidian(set) {
  const desk = await Desk.set(set);
  const tab = await desk.openPaired();
  await tab.locator(".vs-home").getByRole("region", { name: "Your vault" }).waitFor();
  const related = tab.locator(".vs-home").getByRole("region", { name: "Related notes" });
  await tab.locator(`.nav-file-title[data-path="Garden/Compost.md"]`).click();
  await related.getByRole("heading", { name: "Related to Compost" }).waitFor();
  const found = related.locator(".vs-found-note");
  assert.ok((await found.count()) > 1);
  const why = await found.first().locator(".vs-why").allInnerTexts();
  assert.ok(why.length > 0 && why.every((word) => ["words", "meaning", "links"].includes(word)), why.join());
  assert.deepEqual(await faults(tab, "related notes", ".vs-home"), []);
  await picture(tab, "obsidian-related-light");
  const name = await found.first().getByRole("link").innerText();
  await found.first().getByRole("link").click();
  // The list follows the note that is opened.
  await related.getByRole("heading", { name: `Related to ${name}` }).waitFor();

  desk.model.next((turn) => turn.text("So it goes:\n\n```mermaid\ngraph TD\n  Heap --> Bed\n  hostile <b>\n```\n\nAnd no diagram:\n\n```mermaid\nno such thing\n```\n"));
  await say(tab, "Draw it");
  await tab.locator(".vs-agent").getByText("And no diagram").waitFor();
  await done(tab);
  const diagram = tab.locator(".vs-diagram");
  await until("diagram", () => diagram.evaluateAll(async (all) => Promise.all(all.map(async (one) => {
    await one.decode();
    return [one.naturalWidth, one.alt];
  }))), (all) => all.length === 1 && all[0][0] === 300 && all[0][1].startsWith("graph TD"));
  assert.equal(await tab.locator(".vs-code pre:visible").count(), 1, "the other one is shown as its source");
  assert.equal(await tab.evaluate(() => window.hurt), undefined);
  assert.deepEqual(desk.elsewhere, []);
  assert.deepEqual(await faults(tab, "a diagram", ".vs-messages"), []);
  await picture(tab, "obsidian-diagram-light");
  await desk.strike();
}
