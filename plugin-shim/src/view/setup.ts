/** The setup of a first model, shown in an empty conversation if no model is configured. */

import { append, box, clear, element, setText, show } from "./dom";
import { type Parts, setWords, textButton } from "./part";
import type { Card } from "./lazy";
import { errorText } from "../call-error";

/** Programs that run models on this computer. */
const LOCAL = ["ollama", "lmstudio", "llamacpp", "vllm"];
/** Providers with API keys, by their familiar names. */
const VENDORS = { anthropic: "Anthropic (Claude)", openai: "OpenAI", gemini: "Google (Gemini)" };
/** The maximum number of models in the choice. */
const MOST = 50;

export function setupCard(parts: Parts): Card {
  const { connection } = parts;
  const scope = parts.scope.child();
  const root = element(parts.root, "section", { class: "vs-setup", attributes: { "aria-label": "Set up a model" } });
  const found = box(root, "vs-setup-part");
  const key = box(root, "vs-setup-part");
  const problem = element(root, "div", { class: "vs-card-problem", attributes: { role: "alert" } });
  const none = element(root, "p", { class: "vs-aside" });
  setWords(none, "Without a model the chat cannot answer. The time machine, `steward` in a terminal and MCP clients such as Claude work without one.");
  root.append(
    element(root, "h2", { class: "vs-empty-title", text: "Choose a model to begin" }),
    found,
    key,
    problem,
    none,
  );
  show(problem, false);

  const attempt = async (button: HTMLButtonElement, act: () => Promise<void>): Promise<void> => {
    button.disabled = true;
    show(problem, false);
    try {
      await act();
    } catch (error) {
      if (scope.ended) return;
      setText(problem, errorText(error));
      show(problem, true);
    }
    button.disabled = false;
  };

  /** A choice of models; the chosen one answers from then on. */
  const choice = (into: HTMLElement, title: string, models: string[]): void => {
    clear(into);
    const label = element(into, "label", { text: title });
    const isOne = new Set(models.map((model) => model.split("/")[0])).size === 1;
    const list = element(label, "select", { class: "dropdown" });
    for (const model of models.slice(0, MOST)) list.append(element(list, "option", { text: isOne ? model.slice(model.indexOf("/") + 1) : model, attributes: { value: model } }));
    const use = textButton(into, "Use it", "mod-cta");
    use.addEventListener("click", () => void attempt(use, async () => {
      await connection.call("_vault/models", { choose: list.value });
      parts.announce(`Model: ${list.value}`);
    }));
    append(label, list);
    append(into, label, use);
  };

  const look = async (): Promise<void> => {
    setText(found, "Looking for a model on this computer…");
    const { models } = await connection.call("_vault/models", { ask: true });
    if (scope.ended) return;
    const ready = models.filter((model) => model.ready).map(({ name }) => name);
    const local = ready.filter((name) => LOCAL.includes(name.split("/")[0] ?? ""));
    if (ready.length > 0) choice(found, local.length > 0 ? "Found on this computer" : "Ready to use", local.length > 0 ? local : ready);
    else {
      clear(found);
      const again = textButton(found, "Look again", "vs-small");
      again.addEventListener("click", () => void attempt(again, look));
      append(found, element(found, "span", { text: "No model is running on this computer. Ollama runs one for free." }), again);
    }
  };

  const askKey = (): void => {
    const form = element(key, "form", { class: "vs-setup-key" });
    const vendor = element(form, "select", { class: "dropdown", attributes: { "aria-label": "Vendor" } });
    for (const [value, text] of Object.entries(VENDORS)) vendor.append(element(vendor, "option", { text, attributes: { value } }));
    const field = element(form, "input", {
      attributes: { type: "password", autocomplete: "off", spellcheck: "false", placeholder: "API key", "aria-label": "API key", required: true },
    });
    const check = textButton(form, "Check and save");
    check.type = "submit";
    scope.listen(form, "submit", (event) => {
      event.preventDefault();
      void attempt(check, async () => {
        const given = field.value;
        // The key stays in the view no longer than necessary.
        field.value = "";
        const { models } = await connection.call("_vault/models/key", { provider: vendor.value, key: given });
        if (!scope.ended) choice(key, "The key works. Choose a model", models);
      });
    });
    append(form, vendor, field, check);
    const words = "Or use an API key. It is kept in a file on this computer that only you can read. The vendor receives the notes that an answer needs.";
    append(key, element(key, "div", { text: words }), form);
  };

  askKey();
  look().catch((error: unknown) => setText(found, errorText(error)));
  return { root, end: () => scope.end() };
}
