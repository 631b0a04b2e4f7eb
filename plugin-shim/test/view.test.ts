// The view as a person uses it, with a fake daemon.
import { afterEach, describe, expect, it, vi } from "vitest";
import { settle } from "./fake-clock";
import { connectTo } from "./fake-daemon";
import { clock, daemon, field, item, mounted, root, scene } from "./view-scene";

it("reports copied code only after it was copied", async () => {
  scene.items = [item(1, "agent_message_chunk", "```sh\nls\n```")];
  await mounted();
  const button = await vi.waitFor(() => {
    const found = root.querySelector<HTMLElement>("[data-action='copy-code']");
    expect(found).not.toBeNull();
    return found;
  });
  scene.copy = () => Promise.reject(new Error("the clipboard is shut"));
  button?.click();
  await settle();
  expect(button?.textContent).toBe("Copy");
  expect(scene.notices).toEqual(["the clipboard is shut"]);
  scene.copy = () => Promise.resolve();
  button?.click();
  await settle();
  expect(button?.textContent).toBe("Copied");
});

it("completes a name that was typed while disconnected after the reconnection", async () => {
  await mounted();
  daemon.answers.set("_vault/complete", () => ({ found: [{ kind: "note", path: "Garden/Compost.md", name: "Compost", folder: "Garden" }] }));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    daemon.there = false;
    daemon.last.lose();
    field().focus();
    field().value = "See @compo";
    field().setSelectionRange(10, 10);
    field().dispatchEvent(new Event("input", { bubbles: true }));
    vi.advanceTimersByTime(1_000);
    await settle();
    expect(root.querySelector(".vs-completion")).toBeNull();
    daemon.there = true;
    await clock.pass(10_000);
    vi.advanceTimersByTime(1_000);
    await settle();
    expect(root.querySelector(".vs-completion-name")?.textContent).toBe("Compost");
  } finally {
    vi.useRealTimers();
  }
});

it("completes a note by its aliases and links it under the chosen one", async () => {
  await mounted();
  daemon.answers.set("_vault/complete", () => ({
    found: [
      { kind: "note", path: "Garden/Plants/Kürbis.md", name: "Kürbis", folder: "Garden/Plants", aliases: ["Pumpkin", "Pumpkin soup"] },
      { kind: "note", path: "Pump.md", name: "Pump", folder: "" },
    ],
  }));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    field().focus();
    field().value = "Plant [[pump";
    field().setSelectionRange(12, 12);
    field().dispatchEvent(new Event("input", { bubbles: true }));
    vi.advanceTimersByTime(1_000);
    await settle();
    const rows = [...root.querySelectorAll(".vs-completion")].map(({ textContent }) => textContent);
    expect(rows).toEqual(["PumpkinGarden/Plants/Kürbis", "Pumpkin soupGarden/Plants/Kürbis", "Pump"]);
    field().dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
    expect(field().value).toBe("Plant [[Garden/Plants/Kürbis|Pumpkin]] ");
  } finally {
    vi.useRealTimers();
  }
});

describe("an input field that is hidden during a reconnection", () => {
  async function takenAway(): Promise<void> {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const connection = connectTo(daemon, clock);
    daemon.opening = "never";
    connection.start();
    await mounted(connection);
    field().focus();
    vi.advanceTimersByTime(1_000);
    expect(root.querySelector(".vs-body.is-away")).not.toBeNull();
    // A browser blurs a hidden element.
    field().blur();
  }

  async function isBack(): Promise<void> {
    daemon.opening = "accept";
    await clock.pass(20_000);
    expect(root.querySelector(".vs-body.is-away")).toBeNull();
  }

  afterEach(() => void vi.useRealTimers());

  it("regains the focus when it is visible again", async () => {
    await takenAway();
    await isBack();
    expect(document.activeElement).toBe(field());
  });

  it("does not take the focus from another element", async () => {
    await takenAway();
    const elsewhere = document.body.appendChild(document.createElement("textarea"));
    elsewhere.focus();
    await isBack();
    expect(document.activeElement).toBe(elsewhere);
    elsewhere.remove();
  });
});
