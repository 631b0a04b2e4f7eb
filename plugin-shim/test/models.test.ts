// The choice of a model, and the setup of a first one.
import { beforeEach, describe, expect, it } from "vitest";
import { loadCards } from "../src/view/lazy";
import { settle } from "./fake-clock";
import { chat, daemon, mounted, press, root, scene } from "./view-scene";

describe("the menu of models", () => {
  const models = ["scripted/one", "scripted/two"];
  /** What was chosen for each conversation. */
  let chosen: Record<string, Record<string, string>>;
  let first: string;
  const result = (name: string): object => ({
    chain: [name, ...models.filter((other) => other !== name)],
    models: models.map((one) => ({ name: one, ready: true, chosen: true, current: one === name })),
    problems: [],
    agents: [{ name: "reader", description: "Reads only.", model: "local/small" }],
  });
  const modelsNow = ({ choose: chose }: Record<string, unknown>): object => result((first = typeof chose === "string" ? chose : first));
  const name = (): string | null | undefined => root.querySelector(".vs-model-name")?.textContent;
  const entries = (): HTMLElement[] => [...root.querySelectorAll<HTMLElement>(".vs-menu-item")];
  const choose = async (text: string): Promise<void> => {
    root.querySelector<HTMLElement>(".vs-model")?.click();
    entries().find((one) => one.textContent.startsWith(text))?.click();
    await settle();
  };

  beforeEach(async () => {
    [chosen, first] = [{}, "scripted/one"];
    daemon.answers.set("_vault/models", modelsNow);
    daemon.answers.set("session/set_config_option", ({ sessionId, configId, value }) => {
      chosen[String(sessionId)] = { ...chosen[String(sessionId)], [String(configId)]: String(value) };
      return { configOptions: [] };
    });
    daemon.answers.set("_vault/conversation", ({ sessionId = "a" }) => {
      const own = { ...chosen[String(sessionId)] };
      if (own["agent"] === "steward") delete own["agent"];
      if (own["agent"] !== undefined) own["agentMode"] = "read-only";
      const conversation = { sessionId, state: "open", shown: "done", branch: 1, title: String(sessionId).toUpperCase(), ...own };
      return { conversation, branches: [], items: scene.items, earlier: false, changes: [] };
    });
    daemon.answers.set("_vault/mode", () => ({ mode: "auto" }));
    await mounted();
  });

  it("chooses for the conversation that is shown, and each tab shows its own", async () => {
    expect(name()).toBe("one");
    await choose("two");
    expect(name()).toBe("two");
    expect(daemon.last.asked("session/set_config_option").at(-1)?.params).toEqual({ sessionId: "a", configId: "model", value: "scripted/two" });
    expect(first).toBe("scripted/one");
    daemon.answers.set("session/new", () => ({ sessionId: "c" }));
    await press("More");
    entries().find((one) => one.textContent === "New tab")?.click();
    await settle();
    expect(name()).toBe("one");
    // A conversation that has not begun begins with the choice.
    await choose("reader");
    expect(name()).toBe("reader · small");
    expect(chosen).toEqual({ a: { model: "scripted/two" }, c: { agent: "reader" } });
    root.querySelector<HTMLElement>(".vs-tab")?.click();
    await settle();
    expect(name()).toBe("two");
  });

  it("shows who answers, and the mode that the agent leaves", async () => {
    root.querySelector<HTMLElement>(".vs-model")?.click();
    const checked = entries().filter((one) => one.getAttribute("aria-checked") === "true").map((one) => one.textContent);
    expect(checked).toEqual(["onescripted", "stewardagent"]);
    await choose("reader");
    await choose("reader");
    expect(root.querySelector(".vs-mode")?.textContent).toBe("Read only");
    await choose("steward");
    expect(name()).toBe("one");
    expect(root.querySelector(".vs-mode")?.textContent).toBe("Auto");
  });

  it("makes the model of a conversation the first everywhere, whatever is answered late to an earlier question", async () => {
    await choose("two");
    // Asked once more, and the answer is on its way while a person chooses.
    daemon.answers.delete("_vault/models");
    daemon.last.event("_vault/config_reloaded", 1, { changed: ["models.chain"], needsRestart: [] });
    await settle();
    const late = daemon.last.asked("_vault/models").at(-1);
    daemon.answers.set("_vault/models", modelsNow);
    await choose("Ask two first everywhere");
    expect(first).toBe("scripted/two");
    daemon.last.deliver({ id: late?.id, result: result("scripted/one") });
    await settle();
    root.querySelector<HTMLElement>(".vs-model")?.click();
    expect(entries().some((one) => one.textContent.startsWith("Ask"))).toBe(false);
    // A choice that is refused says so, and what holds is shown.
    daemon.answers.delete("session/set_config_option");
    await choose("one");
    await choose("one");
    const refused = daemon.last.asked("session/set_config_option").at(-1);
    daemon.last.deliver({ id: refused?.id, error: { code: -32000, message: "could not write", data: { kind: "failed", retryable: false } } });
    await settle();
    expect(scene.notices.join()).toContain("could not write");
    expect(name()).toBe("two");
  });
});

describe("without a model", () => {
  const button = (name: string): HTMLButtonElement | undefined =>
    [...root.querySelectorAll<HTMLButtonElement>(".vs-setup button")].find((one) => one.textContent === name);
  const hint = (): boolean => root.querySelector(".vs-empty-hint")?.parentElement?.hidden === false;
  let chain: string[];
  let offered: string[];

  beforeEach(async () => {
    await loadCards();
    [chain, offered] = [[], []];
    daemon.answers.set("_vault/models", ({ choose, ask }) => {
      if (typeof choose === "string") chain = [choose];
      const all = [...chain, ...(ask ? offered : [])];
      return { chain, problems: [], models: all.map((name) => ({ name, current: false, chosen: false, ready: true })) };
    });
  });

  it("offers one that runs on this computer", async () => {
    offered = ["anthropic/claude", "ollama/qwen3:8b", "ollama/llama3"];
    await mounted();
    expect(hint()).toBe(false);
    const options = [...root.querySelectorAll(".vs-setup-part:first-of-type option")].map((one) => one.textContent);
    expect(options).toEqual(["qwen3:8b", "llama3"]);
    button("Use it")?.click();
    await settle();
    expect(chain).toEqual(["ollama/qwen3:8b"]);
    daemon.last.event("_vault/config_reloaded", 1, { changed: ["models.chain"], needsRestart: [] });
    await settle();
    expect(root.querySelector(".vs-setup")).toBeNull();
    expect(hint()).toBe(true);
  });

  it("checks a key, does not store it, and offers its models", async () => {
    let given: unknown;
    daemon.answers.set("_vault/models/key", (params) => {
      given = params;
      return { models: ["openai/one", "openai/two"] };
    });
    await mounted();
    expect(root.querySelector(".vs-setup")?.textContent).toContain("No model is running on this computer");
    const field = root.querySelector<HTMLInputElement>(".vs-setup input");
    const vendor = root.querySelector<HTMLSelectElement>(".vs-setup-key select");
    if (!field || !vendor) throw new Error("no field");
    expect(field.type).toBe("password");
    [field.value, vendor.value] = ["sk-secret", "openai"];
    root.querySelector<HTMLFormElement>(".vs-setup form")?.requestSubmit();
    await settle();
    expect(given).toEqual({ provider: "openai", key: "sk-secret" });
    expect(field.value).toBe("");
    expect(JSON.stringify(chat.kept())).not.toContain("sk-secret");
    button("Use it")?.click();
    await settle();
    expect(chain).toEqual(["openai/one"]);
  });

  it("shows why a key is rejected", async () => {
    await mounted();
    daemon.answers.delete("_vault/models/key");
    const field = root.querySelector<HTMLInputElement>(".vs-setup input");
    if (field) field.value = "sk-wrong";
    root.querySelector<HTMLFormElement>(".vs-setup form")?.requestSubmit();
    await settle();
    const asked = daemon.last.asked("_vault/models/key").at(-1);
    daemon.last.deliver({ id: asked?.id, error: { code: -32602, message: "`anthropic` refused the key", data: { kind: "invalid_params", retryable: false } } });
    await settle();
    expect(root.querySelector(".vs-setup [role=alert]")?.textContent).toContain("refused the key");
    expect(button("Check and save")?.disabled).toBe(false);
  });
});
