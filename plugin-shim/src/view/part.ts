/** The context of every part of the view. */

import type { Activity } from "../activity";
import type { Chat } from "./chat";
import type { Connection } from "../connection";
import type { Host } from "../host";
import type { Jobs } from "./jobs";
import type { Painter } from "./answer";
import type { Scope } from "./scope";
import type { Titles } from "./titles";
import { type Child, element } from "./dom";
import { visible } from "./format";

export interface Parts {
  /** The element of the whole view. */
  root: HTMLElement;
  chat: Chat;
  connection: Connection;
  host: Host;
  painter: Painter;
  scope: Scope;
  jobs: Jobs;
  activity: Activity;
  titles: Titles;
  /** The clock. */
  now(): Date;
  /** Puts a text into the input field. */
  compose(text: string): void;
  /** Announces a text to screen readers. */
  announce(text: string): void;
}

/** A button that has only an icon; `label` is its accessible name. */
export function iconButton(
  parts: Pick<Parts, "host" | "root">,
  icon: string,
  label: string,
  class_ = "",
): HTMLButtonElement {
  const made = element(parts.root, "button", {
    class: `vs-icon-button clickable-icon ${class_}`.trim(),
    attributes: { type: "button", "aria-label": label, title: label },
  });
  parts.host.icon(made, icon);
  return made;
}

/** A button with a text. */
export function textButton(near: Node, text: string, class_ = "", ...children: Child[]): HTMLButtonElement {
  const attributes = { type: "button" };
  return element(near, "button", { class: `vs-button ${class_}`.trim(), text, attributes }, ...children);
}

/** Adds a text to an element; text in backticks becomes code. */
export function setWords(into: HTMLElement, text: string): void {
  while (into.lastChild) into.removeChild(into.lastChild);
  visible(text).split(/`([^`\n]+)`/).forEach((part, at) => {
    if (part !== "") into.append(at % 2 === 1 ? element(into, "code", { text: part }) : part);
  });
}

export function iconOf(parts: Pick<Parts, "host" | "root">, name: string, class_ = "vs-icon"): HTMLElement {
  const made = element(parts.root, "span", { class: class_, attributes: { "aria-hidden": "true" } });
  parts.host.icon(made, name);
  return made;
}
