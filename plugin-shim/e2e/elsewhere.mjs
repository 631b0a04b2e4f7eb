// Changes elsewhere are visible here: by voice, in another tab, on the command line, in the settings.
import { SmartHole } from "./smarthole.mjs";
import { Stage, done, picture, say, until } from "./stage.mjs";
import { gate } from "./model.mjs";

/** A voice message that arrives during another turn is visible at once, and then in the timeline. */
export async function what_is_spoken_waits_in_sight(set) {
  const smarthole = await SmartHole.start();
  const stage = await Stage.set({ ...set, smarthole: smarthole.port });
  const tab = await stage.open();
  await until("registration", () => smarthole.isRegistered);
  const first = gate();
  stage.model.next(
    async (turn) => {
      turn.text("One moment…");
      await first.opened;
    },
    (turn) => turn.text("The beans are noted."),
  );
  smarthole.say("v1", "What is in my inbox?");
  await tab.locator(".vs-user-text").getByText("What is in my inbox?").waitFor();
  smarthole.say("v2", "Remember to water the beans in the evening");
  smarthole.say("v3", "Forget this one");
  const lines = tab.locator(".vs-waiting .vs-banner");
  await until("lines", () => lines.count(), (count) => count === 2);
  await lines.first().getByText("waiting to be read").waitFor();
  await picture(tab, "waiting-light");
  await lines.nth(1).getByRole("button", { name: "Discard" }).click();
  await until("lines", () => lines.count(), (count) => count === 1);
  first.open();
  await tab.locator(".vs-list").getByText("The beans are noted.").waitFor();
  await done(tab);
  await tab.locator(".vs-waiting").waitFor({ state: "hidden" });
  const said = ["What is in my inbox?", "Remember to water the beans in the evening"];
  await until("words", () => tab.locator(".vs-user-text").allInnerTexts(), (texts) => JSON.stringify(texts) === JSON.stringify(said));
  await stage.close(tab);
  await stage.strike();
  smarthole.stop();
}

/** The model in the settings file and a title from another tab are displayed. */
export async function model_and_title_follow(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open();
  await say(tab, "Hello");
  await done(tab);
  await until("model", () => tab.locator(".vs-model-name").innerText(), (text) => text === "one");
  await stage.daemon.command("config", "set", "models.chain", '["scripted/two"]');
  await until("model", () => tab.locator(".vs-model-name").innerText(), (text) => text === "two");
  const other = await stage.open();
  await other.locator(".vs-list").getByText("Hello").waitFor();
  await tab.locator(".vs-title").click();
  await tab.locator(".vs-sessions").getByText("Hello").first().waitFor();
  await other.getByRole("button", { name: "More" }).click();
  await other.getByRole("menuitem", { name: "Rename" }).click();
  await other.locator(".vs-rename").fill("Named elsewhere");
  await other.locator(".vs-rename").press("Enter");
  await until("title", () => tab.locator(".vs-title-text").innerText(), (text) => text === "Named elsewhere");
  await tab.locator(".vs-sessions").getByText("Named elsewhere").waitFor();
  await stage.close(other);
  await stage.close(tab);
  await stage.strike();
}
