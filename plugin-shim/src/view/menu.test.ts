import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type MenuItem, showMenu } from "./menu";
import type { Parts } from "./part";
import { Scope } from "./scope";

let root: HTMLElement;
let at: HTMLButtonElement;
let parts: Parts;
let chosen: string[];

beforeEach(() => {
  root = document.body.appendChild(document.createElement("div"));
  at = root.appendChild(document.createElement("button"));
  parts = { root, scope: new Scope(() => window), host: { icon: () => undefined } } as unknown as Parts;
  chosen = [];
});
afterEach(() => {
  parts.scope.end();
  root.remove();
});

const item = (text: string, rest: Partial<MenuItem> = {}): MenuItem => ({ text, choose: () => chosen.push(text), ...rest });
const menus = (): HTMLElement[] => [...root.querySelectorAll<HTMLElement>("[role=menu]")];
const press = (key: string): boolean | undefined =>
  document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));

describe("a menu", () => {
  it("goes where its button is used again, and comes at the third time", () => {
    showMenu(parts, at, "More", [item("One")]);
    expect(menus()).toHaveLength(1);
    expect(at.getAttribute("aria-expanded")).toBe("true");
    showMenu(parts, at, "More", [item("One")]);
    expect(menus()).toHaveLength(0);
    expect(at.hasAttribute("aria-expanded")).toBe(false);
    expect(document.activeElement).toBe(at);
    showMenu(parts, at, "More", [item("One")]);
    expect(menus()).toHaveLength(1);
  });

  it("comes again after a choice, Escape, and a click beside it", () => {
    for (const leave of [() => root.querySelector<HTMLElement>(".vs-menu-item")?.click(), () => press("Escape"), () => document.body.dispatchEvent(new Event("pointerdown", { bubbles: true }))]) {
      showMenu(parts, at, "More", [item("One")]);
      expect(menus()).toHaveLength(1);
      leave();
      expect(menus()).toHaveLength(0);
    }
    expect(chosen).toEqual(["One"]);
  });

  it("has the focus, and goes with Escape, where nothing in it can be chosen", () => {
    showMenu(parts, at, "More", [item("One", { disabled: true }), item("Two", { disabled: true })]);
    expect(document.activeElement).toBe(menus()[0]);
    press("ArrowDown");
    expect(menus()).toHaveLength(1);
    press("Escape");
    expect(menus()).toHaveLength(0);
    expect(document.activeElement).toBe(at);
  });
});
