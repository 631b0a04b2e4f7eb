/** The header of a conversation: title, state, model, and buttons for a new conversation and the list of all. */

import { clear, element, setText, show, toggle } from "./dom";
import { iconButton, iconOf, type Parts } from "./part";
import type { ModelsResult } from "../protocol";
import { choose } from "./mode";
import { errorText } from "../call-error";
import { showMenu, type MenuItem } from "./menu";
import { titleFrom } from "./titles";

export interface HeaderActions {
  /** Shows or hides the list of conversations. */
  list: () => void;
  begin: () => void;
  rename: () => void;
  exportNote: () => void;
  endConversation: () => void;
  remove: () => void;
  timeMachine: () => void;
  tab: () => void;
  branches: (at: HTMLElement) => void;
  /** Is called with whether a model is set up, once that is known. */
  hasModel: (isThere: boolean) => void;
}

export interface Header {
  root: HTMLElement;
  update(): void;
  /** Requests the models again. */
  refresh(): void;
  /** Opens the menu of models. */
  chooseModel(): void;
  listButton: HTMLElement;
}

/** The name of the default agent. */
const STEWARD = "steward";

export function header(parts: Parts, actions: HeaderActions): Header {
  const { scope, chat } = parts;
  const root = element(parts.root, "header", { class: "vs-header" });
  const title = element(root, "span", { class: "vs-title-text", attributes: { dir: "auto" } });
  const list = element(
    root,
    "button",
    { class: "vs-title clickable-icon", attributes: { type: "button", "aria-haspopup": "true" } },
    title,
    iconOf(parts, "chevron-down"),
  );
  const state = element(root, "span", { class: "vs-state", attributes: { role: "status" } });
  const branch = iconButton(parts, "git-branch", "Branches of this conversation");
  const begin = iconButton(parts, "square-pen", "New conversation");
  const more = iconButton(parts, "ellipsis", "More");
  const modelName = element(root, "span", { class: "vs-model-name", attributes: { dir: "ltr" } });
  const model = element(
    root,
    "button",
    { class: "vs-model clickable-icon", attributes: { type: "button", "aria-haspopup": "menu" } },
    modelName,
    iconOf(parts, "chevron-down"),
  );
  root.append(list, state, model, branch, begin, more);
  let models: ModelsResult | null = null;

  /** Counts the requests: an answer to an earlier request is ignored. */
  let asked = 0;

  const take = (asking: number, answer: ModelsResult | null): void => {
    if (asking !== asked || scope.ended) return;
    models = answer;
    if (models) actions.hasModel(models.chain.length > 0);
    update();
  };

  const refresh = async (): Promise<void> => {
    const asking = ++asked;
    // Without an answer the picker stays hidden; the daemon's error says why no model answers.
    take(asking, await parts.connection.call("_vault/models", {}).catch(() => null));
  };

  const update = (): void => {
    const { info } = chat;
    setText(title, titleOf(parts));
    list.title = info?.summary ?? titleOf(parts);
    list.setAttribute("aria-label", `Conversation: ${titleOf(parts)}. Show all conversations`);
    show(branch, chat.branches.length > 1);
    const { kind, text: words } = chat.shownState;
    // Without a model nothing was answered.
    const text = kind === "done" && models !== null && current() === undefined ? "" : words;
    // If it were written again, a screen reader would read it again too.
    if (state.textContent !== text) clear(state);
    if (text !== "" && !state.hasChildNodes()) state.append(element(state, "span", { class: `vs-dot is-${kind}` }), element(state, "span", { class: "vs-state-text", text }));
    toggle(state, "is-told", kind === "failed" || kind === "waiting");
    show(state, text !== "");
    const [agent, now] = [info?.agent ?? "", current() ?? "No model"];
    show(model, models !== null);
    setText(modelName, agent + (agent && " · ") + shortName(now));
    model.title = agent + (agent && " · ") + now;
    model.setAttribute("aria-label", `Choose the model. Now: ${model.title}`);
  };

  /** The model of the conversation: the chosen one, its agent's, or the first of all. */
  const current = (): string | undefined => {
    const { model: own, agent } = chat.info ?? {};
    return own ?? models?.agents?.find(({ name }) => name === agent)?.model ?? models?.chain[0];
  };

  /** Chooses for this conversation; with `everywhere` the model that is asked first in all that have none of their own. */
  const change = async (option: "model" | "agent" | "everywhere", name: string): Promise<void> => {
    try {
      if (option === "everywhere") take(++asked, await parts.connection.call("_vault/models", { choose: name }));
      else await choose(parts, option, name);
      parts.announce(`Now: ${name}`);
    } catch (error) {
      parts.host.notice(errorText(error));
      await refresh();
    }
  };

  scope.listen(list, "click", () => actions.list());
  scope.listen(begin, "click", () => actions.begin());
  scope.listen(branch, "click", () => actions.branches(branch));
  scope.listen(model, "click", () => {
    const now = current();
    const first = models?.chain[0];
    const items = (models?.models ?? []).map(({ name, ready }): MenuItem => ({
      text: shortName(name),
      note: ready ? name.split("/")[0] : "not set up",
      checked: name === now,
      disabled: !ready,
      choose: () => void change(first ? "model" : "everywhere", name),
    }));
    const agents = models?.agents ?? [];
    const { agent = STEWARD } = chat.info ?? {};
    if (agents[0] || agent !== STEWARD) {
      items.push(...[{ name: STEWARD, description: "" }, ...agents].map(({ name, description }): MenuItem => ({
        text: name,
        note: description || "agent",
        checked: name === agent,
        choose: () => void change("agent", name),
      })));
    }
    if (now && first && now !== first) {
      items.push({ text: `Ask ${shortName(now)} first everywhere`, choose: () => void change("everywhere", now) });
    }
    if (items.length === 0) {
      items.push({ text: "No model yet. A new conversation shows the way to one", disabled: true, choose: () => undefined });
    }
    showMenu(parts, model, "Model and agent", items);
  });
  scope.listen(more, "click", () => {
    const hasEnded = chat.info?.state === "ended";
    const isNew = chat.info === null;
    const own: MenuItem[] = [
      { text: "Rename", icon: "pencil", choose: actions.rename },
      { text: "Export to a note", icon: "file-output", choose: actions.exportNote },
      { text: "End the conversation", icon: "circle-check", disabled: hasEnded || chat.isWorking, choose: actions.endConversation },
      { text: "Delete", icon: "trash", warning: true, choose: actions.remove },
    ];
    showMenu(parts, more, "More", [{ text: "New tab", icon: "message-square", choose: actions.tab }, { text: "Time machine", icon: "rotate-ccw", choose: actions.timeMachine }, ...(isNew ? [] : own)]);
  });
  scope.add(
    parts.connection.on("_vault/config_reloaded", ({ changed }) => {
      if (changed.some((key) => /^(models|agents)\./.test(key))) void refresh();
    }),
  );
  update();
  return { root, update, refresh: () => void refresh(), chooseModel: () => model.click(), listButton: list };
}

/** The conversation's title, or a provisional one. */
export function titleOf(parts: Pick<Parts, "chat">): string {
  const { info, timeline } = parts.chat;
  if (info?.title) return info.title;
  const first = timeline.entries.find((entry) => entry.kind === "user");
  if (first?.kind === "user") return titleFrom(first.text);
  return info ? "Conversation" : "New conversation";
}

function shortName(model: string): string {
  return model.slice(model.indexOf("/") + 1);
}
