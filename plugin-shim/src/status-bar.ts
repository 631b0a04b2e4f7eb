// The status bar item: connected, working or waiting for the user, and the state of SmartHole.

import { Component, setIcon } from "obsidian";
import type { Activity } from "./activity";
import type { Connection, ConnectionState } from "./connection";
import type { SmartHoleState } from "./protocol";

/** The content of the item. */
export interface Status {
  icon: string;
  text: string;
  /** The complete text, for screen readers and the tooltip. */
  label: string;
}

/** Shows the status while it is loaded, and calls `clicked` after a click. */
export class StatusBar extends Component {
  readonly #element: HTMLElement;
  readonly #connection: Connection;
  readonly #activity: Activity;
  readonly #clicked: () => void;

  constructor(
    element: HTMLElement,
    connection: Connection,
    activity: Activity,
    clicked: () => void,
  ) {
    super();
    this.#element = element;
    this.#connection = connection;
    this.#activity = activity;
    this.#clicked = clicked;
  }

  override onload(): void {
    const element = this.#element;
    element.addClass("vault-steward-status", "mod-clickable");
    element.setAttribute("role", "button");
    element.setAttribute("tabindex", "0");
    element.setAttribute("data-tooltip-position", "top");
    const icon = element.createSpan({ cls: "vault-steward-status-icon" });
    const text = element.createSpan();
    this.registerDomEvent(element, "click", () => this.#clicked());
    this.registerDomEvent(element, "keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      this.#clicked();
    });
    const show = (): void => {
      const status = statusOf(this.#connection.state, this.#activity);
      setIcon(icon, status.icon);
      text.setText(status.text);
      element.setAttribute("aria-label", status.label);
    };
    show();
    this.register(this.#connection.onState(show));
    this.register(this.#activity.onChange(show));
  }
}

/** Describes the state of the connection and of SmartHole. */
export function statusOf(
  state: ConnectionState,
  activity: Pick<Activity, "working" | "waiting" | "smarthole">,
): Status {
  const { icon, word, more } = wordOf(state, activity);
  const voice = state.kind === "connected" ? voiceOf(activity.smarthole) : null;
  return {
    icon,
    text: `Steward: ${word}${voice === null ? "" : ` · ${voice.short}`}`,
    label: [`Vault Steward: ${word}`, more, voice?.long, "Click to open the chat"]
      .filter((part) => part !== undefined && part !== "")
      .join(". "),
  };
}

function wordOf(
  state: ConnectionState,
  activity: Pick<Activity, "working" | "waiting">,
): { icon: string; word: string; more?: string } {
  switch (state.kind) {
    case "off":
      return { icon: "circle-off", word: "off" };
    case "connecting":
      return { icon: "circle-dashed", word: "connecting" };
    case "absent":
      return { icon: "circle-off", word: "not running" };
    case "refused":
      return { icon: "circle-alert", word: "refused", more: state.detail };
    case "unpaired":
      return { icon: "circle-help", word: "not paired" };
    case "connected":
      // A question to the user comes first: other work continues without them.
      if (activity.waiting) return { icon: "message-circle-question", word: "waiting for you" };
      if (activity.working > 0) return { icon: "loader", word: "working" };
      return { icon: "circle-check", word: "connected" };
  }
}

function voiceOf(smarthole: SmartHoleState | null): { short: string; long: string } | null {
  if (smarthole === null || smarthole.state === "disabled") return null;
  const words = {
    connecting: "SmartHole connecting",
    connected: "SmartHole",
    refused: "SmartHole refused",
    disconnected: "SmartHole disconnected",
  };
  const parts = [`SmartHole: ${smarthole.state} as ${smarthole.name}`];
  if (smarthole.reason !== "") parts.push(smarthole.reason);
  if (smarthole.setAside > 0) parts.push(`${smarthole.setAside} voice messages failed`);
  return { short: words[smarthole.state], long: parts.join(", ") };
}
