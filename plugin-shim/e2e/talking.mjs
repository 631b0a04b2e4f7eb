// Messages and answers.
import assert from "node:assert/strict";
import { Stage, done, picture, say, until } from "./stage.mjs";
import { SmartHole } from "./smarthole.mjs";
import { gate } from "./model.mjs";

/** An answer arrives in pieces, as Markdown, with its thoughts folded. */
export async function an_answer_streams(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open();
  await picture(tab, "empty-light");
  const first = gate();
  const second = gate();
  stage.model.next(async (turn) => {
    turn.thought("Perhaps the compost needs turning.");
    turn.text("## What the heap needs\n\nTurn it **at Christmas**, and when the ");
    await first.opened;
    turn.text("[[Slugs|slugs]] wake:\n\n1. Brown\n2. Gre");
    await second.opened;
    turn.text("en\n\n```sh\nsteward serve\n```\n");
  });
  await say(tab, "What does my compost need?");
  await tab.locator(".vs-agent strong").waitFor();
  assert.equal(await tab.locator(".vs-agent ol").count(), 0);
  await until("words", () => tab.locator(".vs-state").innerText(), (text) => /Working/.test(text));
  await tab.locator(".vs-stop").waitFor();
  first.open();
  await tab.locator(".vs-agent ol li").nth(1).waitFor();
  second.open();
  await done(tab);
  await until("words", () => tab.locator(".vs-agent pre code").innerText(), (text) => text === "steward serve");
  assert.equal(await tab.locator(".vs-agent .internal-link").getAttribute("data-linkpath"), "Slugs");
  await until("words", () => tab.locator(".vs-usage").innerText(), (text) => /12\.\dk · \$0\.01/.test(text));
  assert.equal(await tab.locator(".vs-thought details").getAttribute("open"), null);
  await tab.locator(".vs-thought summary").click();
  await until("words", () => tab.locator(".vs-thought-text").innerText(), (text) => text === "Perhaps the compost needs turning.");
  assert.equal(await tab.locator(".vs-input").evaluate((field) => field === field.ownerDocument.activeElement), false);
  // A screen reader gets the whole answer, once.
  await until("words", () => tab.locator("[aria-live=polite]").innerText(), (text) => /What the heap needs/.test(text));
  await picture(tab, "answer-light");
  await stage.close(tab);

  const dark = await stage.open({ dark: true });
  await dark.locator(".vs-agent ol").waitFor();
  // The stored conversation looks as before: thoughts, and the whole text.
  await until("count", () => dark.locator(".vs-thought").count(), (count) => count === 1);
  await until("count", () => dark.locator(".vs-user").count(), (count) => count === 1);
  await picture(dark, "answer-dark");
  await stage.close(dark);
  await stage.strike();
}

/** Obsidian's extensions of GitHub's Markdown look as in a note. */
export async function what_obsidian_knows_is_drawn(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open({ height: 900 });
  stage.model.next((turn) =>
    turn.text(
      [
        "> [!warning] Frost **tonight**\n> Cover the beds.\n>\n> - Bed 1\n> - Bed 2",
        "> [!tip]- How to cover\n> With fleece.",
        "Heat goes with $q = k \\Delta T$, and over a night[^1]:",
        "$$\nQ = \\int_0^t q \\, d\\tau\n$$",
        "It costs $5 to $10. ==Soon== ~~never~~ %%a comment%% ![[pear.png]]",
        "- [x] fleece\n  - [ ] pegs\n    1. ten of them\n- stones",
        "[^1]: About *ten* hours.",
      ].join("\n\n"),
    ),
  );
  await say(tab, "Is there frost?");
  await tab.locator(".vs-agent .vs-note").waitFor();
  await done(tab);
  const warning = tab.locator(".callout[data-callout=warning]");
  assert.equal(await warning.locator(".callout-title").innerText(), "Frost tonight");
  assert.equal(await warning.locator(".callout-content li").count(), 2);
  const tip = tab.locator("details.callout");
  assert.equal(await tip.getByText("With fleece.").isVisible(), false);
  await tip.locator("summary").focus();
  await tab.keyboard.press("Enter");
  await tip.getByText("With fleece.").waitFor();
  await until("formulas", () => tab.locator("math").count(), (count) => count === 2);
  assert.equal(await tab.locator(".vs-formula math").textContent(), "q=kΔT");
  assert.equal(await tab.locator(".vs-formula-block math").getAttribute("display"), "block");
  assert.match(await tab.locator(".vs-agent").innerText(), /It costs \$5 to \$10\./);
  assert.equal(await tab.locator(".vs-agent :is(mark, del, .vs-comment)").count(), 3);
  assert.equal(await tab.locator(".vs-agent .task-list-item .task-list-item ol li").innerText(), "ten of them");
  // A footnote's number links to it, by keyboard too.
  await tab.getByRole("link", { name: "Footnote 1" }).press("Enter");
  assert.match(await tab.evaluate(() => document.activeElement.textContent), /About ten hours/);
  await picture(tab, "obsidian-light");
  await stage.close(tab);
  const dark = await stage.open({ dark: true, height: 900 });
  await dark.locator(".vs-agent .vs-note").waitFor();
  await picture(dark, "obsidian-dark");
  await stage.close(dark);
  await stage.strike();
}

/** A question is highlighted and waits; the next message answers it. */
export async function a_question_is_answered(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open();
  stage.model.next(
    (turn) => turn.call("send_message", { text: "Which **bed** do you mean?", is_question: true }),
    (turn) => turn.text("Then the first it is."),
  );
  await say(tab, "Plan my bed");
  await tab.locator(".vs-agent.is-waiting .vs-question-badge").waitFor();
  await until("words", () => tab.locator(".vs-state").innerText(), (text) => /Waiting for you/.test(text));
  assert.equal(await tab.locator(".vs-work").isVisible(), false);
  assert.equal(await tab.locator(".vs-input").getAttribute("placeholder"), "Answer the question");
  await picture(tab, "question-light");
  await say(tab, "Bed 1");
  await tab.locator(".vs-list").getByText("Then the first it is.").waitFor();
  await done(tab);
  assert.equal(await tab.locator(".vs-question-badge:visible").count(), 0);
  await until("words", () => tab.locator(".vs-state").innerText(), (text) => /Done/.test(text));
  await stage.close(tab);
  await stage.strike();
}

/** A message sent during a turn waits, is shown as waiting, and is delivered in the next round. */
export async function a_message_waits_and_a_turn_stops(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open();
  const on = gate();
  stage.model.next(
    async (turn) => {
      turn.text("Let me look.");
      await on.opened;
      turn.call("list_files", { path: "Garden" });
    },
    (turn) => turn.text("Both are done."),
  );
  await say(tab, "List my garden");
  await tab.locator(".vs-list").getByText("Let me look.").waitFor();
  await say(tab, "and the beds too");
  await until("queue", () => tab.locator(".vs-work").innerText(), (text) => text.includes("1 message"));
  await until("count", () => tab.locator(".vs-user.is-pending").count(), (count) => count === 1);
  on.open();
  await tab.locator(".vs-list").getByText("Both are done.").waitFor();
  await done(tab);
  await until("words", () => tab.locator(".vs-user-text").allInnerTexts(), (texts) => JSON.stringify(texts) === JSON.stringify(["List my garden", "and the beds too"]));
  await until("words", () => tab.locator(".vs-call-title").first().innerText(), (text) => /Garden/.test(text));

  const never = gate();
  stage.model.next(async (turn) => {
    turn.text("This will take long…");
    await never.opened;
  });
  await say(tab, "Take your time");
  await tab.locator(".vs-list").getByText("This will take long").waitFor();
  await tab.locator(".vs-stop").click();
  await tab.locator(".vs-end").getByText("Stopped").waitFor();
  await done(tab);
  never.open();
  await stage.close(tab);
  // A view that is opened later shows that at its place, too.
  const later = await stage.open();
  await later.locator(".vs-notice").getByText("stopped").waitFor();
  const kinds = await later.locator(".vs-entry").evaluateAll((all) => all.slice(-2).map((one) => one.classList[1]));
  assert.deepEqual(kinds, ["vs-agent", "vs-notice"]);
  await stage.close(later);
  await stage.strike();
}

/** A voice message is in the same timeline as typed ones, with its source. */
export async function a_voice_is_heard_in_the_same_timeline(set) {
  const smarthole = await SmartHole.start();
  const stage = await Stage.set({ ...set, smarthole: smarthole.port });
  const tab = await stage.open();
  stage.model.next((turn) => turn.text("Typed, and heard."));
  await say(tab, "Hello from the keyboard");
  await tab.locator(".vs-list").getByText("Typed, and heard.").waitFor();
  await done(tab);
  await until("registration", () => smarthole.isRegistered);
  stage.model.next((turn) => turn.text("Spoken, and heard."));
  smarthole.say("v1", "Hello from the microphone");
  await tab.locator(".vs-list").getByText("Spoken, and heard.").waitFor();
  await done(tab);
  const spoken = tab.locator(".vs-user").nth(1);
  await until("words", () => spoken.innerText(), (text) => /Hello from the microphone\s+by (voice|SmartHole)/.test(text));
  await until("count", () => tab.locator(".vs-user").count(), (count) => count === 2);
  await picture(tab, "voice-light");
  await stage.close(tab);
  await stage.strike();
  smarthole.stop();
}

/** `#` completes a tag, and `/` runs a command. */
export async function the_composer_completes_tags_and_commands(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open();
  const input = tab.locator(".vs-input");
  const option = tab.locator(".vs-completion.is-selected");
  await input.pressSequentially("All of #idea/gr");
  await until("tag", () => option.innerText().catch(() => ""), (text) => /^#idea\/greenhouse\s+1 note$/.test(text));
  await input.press("Tab");
  assert.equal(await input.inputValue(), "All of #idea/greenhouse ");
  await input.fill("");
  stage.model.next((turn) => turn.text("Hello to you."));
  await say(tab, "Hello");
  await tab.locator(".vs-list").getByText("Hello to you.").waitFor();
  await done(tab);
  await input.pressSequentially("/");
  await until("commands", () => tab.locator(".vs-completion-name").allInnerTexts(), (all) => all.includes("/rename") && !all.includes("/stop"));
  await picture(tab, "commands-light");
  await input.pressSequentially("new");
  await option.getByText("Start a new conversation").waitFor();
  await input.press("Enter");
  await tab.locator(".vs-empty").waitFor();
  assert.equal(await input.inputValue(), "");
  // Text that is not a command is a message.
  await say(tab, "/home is full");
  await tab.locator(".vs-user-text").getByText("/home is full").waitFor();
  await done(tab);
  await stage.close(tab);
  await stage.strike();
}

/** `@` names a note, files are dropped, and Enter belongs to an active input method. */
export async function the_composer_names_notes(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open();
  const input = tab.locator(".vs-input");
  await input.pressSequentially("Look at @compo");
  const option = tab.locator(".vs-completion.is-selected");
  await option.waitFor();
  await until("words", () => option.innerText(), (text) => /Compost/.test(text));
  await picture(tab, "completion-light");
  await input.press("Enter");
  assert.equal(await input.inputValue(), "Look at [[Garden/Compost]] ");
  await input.pressSequentially("and @pumpk");
  await until("alias", () => option.innerText().catch(() => ""), (text) => /^Pumpkin\s+Garden\/Plants\/Kürbis$/.test(text));
  await input.press("Tab");
  assert.equal(await input.inputValue(), "Look at [[Garden/Compost]] and [[Garden/Plants/Kürbis|Pumpkin]] ");
  await input.press("Shift+Enter");
  assert.match(await input.inputValue(), /\n$/);

  await input.evaluate((field) => {
    const data = new DataTransfer();
    data.setData("text/plain", "obsidian://open?vault=vault&file=Garden%2FPlot%2027.md");
    const drop = new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data });
    field.dispatchEvent(drop);
  });
  await until("words", () => tab.locator(".vs-chip").innerText(), (text) => /Plot 27/.test(text));
  const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const paste = () => input.evaluate((field, base64) => {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], "dot.png", { type: "image/png" }));
    field.dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData: data }));
  }, dot);
  await paste();
  await tab.locator(".vs-chip").nth(1).waitFor();
  await tab.locator(".vs-chip").nth(1).getByRole("button").click();
  await until("count", () => tab.locator(".vs-chip").count(), (count) => count === 1);
  await paste();
  await tab.locator(".vs-chip").nth(1).waitFor();

  await input.evaluate((field) => {
    field.dispatchEvent(new CompositionEvent("compositionstart", { bubbles: true }));
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, isComposing: true }));
    field.dispatchEvent(new CompositionEvent("compositionend", { bubbles: true }));
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  });
  assert.equal(await tab.locator(".vs-user").count(), 0);
  await input.press("Enter");
  await tab.locator(".vs-agent").waitFor();
  await done(tab);
  const heard = JSON.stringify(stage.model.requests.at(-1).messages);
  assert.match(heard, /Plot 27\.md/);
  // The tests' model has no vision, and receives a note that there is an image.
  assert.match(heard, /\(with a picture\)\\n\[an image, which this model cannot see\]/);
  await stage.close(tab);
  await stage.strike();
}

/** Everything is reachable by keyboard alone, has an accessible name, and is announced only once. */
export async function the_keyboard_reaches_all(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open();
  const rows = Array.from({ length: 60 }, (_, at) => `| ${at} | row |`).join("\n");
  const on = gate();
  stage.model.next(
    async (turn) => {
      await on.opened;
      turn.call("read_file", { path: "Inbox.md" });
    },
    (turn) => turn.text(`See [[Inbox]].\n\n> [!note]- More\n> words\n\n| a | b |\n|---|---|\n${rows}\n\n\`\`\`sh\nls\n\`\`\`\n`),
  );
  await say(tab, "Show me");
  await until("words", () => tab.locator(".vs-state").innerText(), (text) => /Working/.test(text));
  // A repeated announcement of a redrawn text would be a change here.
  await tab.locator(".vs-state").evaluate((state) => {
    window.__said = 0;
    new MutationObserver(() => (window.__said += 1)).observe(state, { childList: true, characterData: true, subtree: true });
  });
  on.open();
  await tab.locator(".vs-agent pre").waitFor();
  await done(tab);
  await until("words", () => tab.locator(".vs-state").innerText(), (text) => /Done/.test(text));
  assert.equal(await tab.evaluate(() => window.__said), 1);

  await tab.locator(".vs-input").focus();
  const names = [];
  const focused = () =>
    tab.evaluate(() => {
      const at = document.activeElement;
      return { name: at.getAttribute("aria-label") ?? at.textContent.trim(), isAtStart: at.matches(".vs-title"), outline: getComputedStyle(at).outlineStyle };
    });
  for (let step = 0; step < 40; step++) {
    await tab.keyboard.press("Shift+Tab");
    const { name, isAtStart, outline } = await focused();
    names.push(name);
    assert.ok(name !== "" && outline === "solid", `${names.join(", ")}: ${outline}`);
    if (isAtStart) break;
  }
  const order = ["Ask again", "Copy the answer", "Code", "Copy the code", "Table", "More", "Inbox", "Edit the message", "Copy the message", "Conversation", "New conversation"];
  const places = order.map((name) => names.indexOf(name));
  assert.deepEqual(places, places.toSorted((one, other) => one - other), names.join(", "));
  assert.ok(!places.includes(-1), names.join(", "));
  // A table of many pieces has one tab stop.
  assert.equal(names.filter((name) => name === "Table").length, 1);
  const session = await tab.context().newCDPSession(tab);
  const { nodes } = await session.send("Accessibility.getFullAXTree");
  const NAMED = ["button", "link", "combobox", "textbox", "article", "DisclosureTriangle"];
  const unnamed = nodes.filter(({ ignored, role, name }) => !ignored && NAMED.includes(role.value) && !name?.value);
  assert.deepEqual(unnamed.map(({ role }) => role.value), []);
  await stage.close(tab);
  await stage.strike();
}

/** A query's result is a table with links to the notes, sorted by the clicked heading. */
export async function what_a_query_found_is_a_table(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open({ width: 560 });
  stage.model.next(
    (turn) => turn.call("query_notes", { base: "Reading/Books.base", view: "Shelf" }),
    (turn) => turn.text("Those are your books."),
  );
  await say(tab, "Which books have I rated?");
  await tab.locator(".vs-list").getByText("Those are your books.").waitFor();
  await done(tab);
  const column = (at) => tab.locator(`.vs-query tbody tr td:nth-child(${at})`).allInnerTexts();
  const years = async () => (await column(3)).map(Number).filter((year) => year > 0);
  await tab.locator(".vs-query th").first().waitFor();
  assert.ok((await years()).length > 2);
  const heading = tab.locator(".vs-query th").nth(2);
  await heading.getByRole("button").press("Enter");
  assert.equal(await heading.getAttribute("aria-sort"), "ascending");
  assert.deepEqual(await years(), (await years()).toSorted((a, b) => a - b));
  await heading.getByRole("button").click();
  assert.deepEqual(await years(), (await years()).toSorted((a, b) => b - a));
  const links = await tab.locator(".vs-query tbody td:first-child .vs-link").evaluateAll((all) => all.map((link) => link.dataset.linkpath));
  assert.ok(links.includes("Reading/Books/Walden.md"), links.join());
  await picture(tab, "query-light");
  await stage.close(tab);
  const dark = await stage.open({ width: 900, dark: true });
  stage.model.next(
    (turn) => turn.call("query_notes", { where: "file.tags.length > 0", select: ["file.name", "file.tags"], limit: 30 }),
    (turn) => turn.text("Those have tags."),
  );
  await say(dark, "Which notes have tags?");
  await dark.locator(".vs-list").getByText("Those have tags.").waitFor();
  // The table of the first question is drawn again from the stored conversation.
  await until("two tables", () => dark.locator(".vs-query").count(), (count) => count === 2);
  const second = dark.locator(".vs-query").last();
  await until("rows", () => second.locator("tbody tr").count(), (count) => count === 20);
  await second.locator(".vs-more").click();
  assert.equal(await second.locator("tbody tr").count(), 30);
  await picture(dark, "query-wide-dark");
  await stage.close(dark);
  await stage.strike();
}
