/** What every part of the view is given. */

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
  /** Puts a text where the person writes, for them to go on with. */
  compose(text: string): void;
  /** Has it said to those who hear the view. */
  announce(text: string): void;
}

/** A button with an icon alone; `label` is what it is called. */
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

/** A button with words. */
export function textButton(near: Node, text: string, class_ = "", ...children: Child[]): HTMLButtonElement {
  const attributes = { type: "button" };
  return element(near, "button", { class: `vs-button ${class_}`.trim(), text, attributes }, ...children);
}

/** Puts words into an element, what stands in backticks as code. */
export function setWords(into: HTMLElement, text: string): void {
  while (into.lastChild) into.removeChild(into.lastChild);
  visible(text).split(/`([^`\n]+)`/).forEach((part, at) => {
    if (part !== "") into.append(at % 2 === 1 ? element(into, "code", { text: part }) : part);
  });
}

/** An icon. */
export function iconOf(parts: Pick<Parts, "host" | "root">, name: string, class_ = "vs-icon"): HTMLElement {
  const made = element(parts.root, "span", { class: class_, attributes: { "aria-hidden": "true" } });
  parts.host.icon(made, name);
  return made;
}
