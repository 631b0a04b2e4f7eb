/** A small menu below a button. */

import { element } from "./dom";
import { iconOf, type Parts } from "./part";

export interface MenuItem {
  text: string;
  icon?: string;
  /** A smaller text behind the label. */
  note?: string;
  checked?: boolean;
  warning?: boolean;
  disabled?: boolean;
  choose(): void;
}

/** Closes the open menu of each button. */
const open = new WeakMap<HTMLElement, () => void>();

/** Shows a menu at `at`. A choice, Escape, a click elsewhere or a second call for `at` closes it. */
export function showMenu(parts: Parts, at: HTMLElement, label: string, items: MenuItem[]): void {
  const shown = open.get(at);
  if (shown) {
    shown();
    return;
  }
  const scope = parts.scope.child();
  const menu = element(parts.root, "div", { class: "vs-menu", attributes: { role: "menu", "aria-label": label, tabindex: -1 } });
  at.setAttribute("aria-expanded", "true");
  scope.add(() => {
    open.delete(at);
    menu.remove();
    at.removeAttribute("aria-expanded");
  });
  const close = (focus: boolean): void => {
    scope.end();
    if (focus) at.focus();
  };
  open.set(at, () => close(true));
  const buttons = items.map((item) => {
    const isChoice = item.checked !== undefined;
    const button = element(menu, "button", {
      class: "vs-menu-item",
      attributes: {
        type: "button",
        role: isChoice ? "menuitemradio" : "menuitem",
        "aria-checked": isChoice ? String(item.checked) : undefined,
        disabled: item.disabled,
        tabindex: -1,
      },
    });
    if (item.warning) button.classList.add("is-warning");
    button.appendChild(iconOf(parts, item.checked === true ? "check" : (item.icon ?? "blank")));
    button.appendChild(element(menu, "span", { class: "vs-menu-text", text: item.text }));
    if (item.note) button.appendChild(element(menu, "span", { class: "vs-menu-note", text: item.note }));
    scope.listen(button, "click", () => {
      close(true);
      item.choose();
    });
    menu.appendChild(button);
    return button;
  });
  const usable = buttons.filter((button) => !button.disabled);
  scope.listen(menu, "keydown", (event) => {
    const current = usable.indexOf(menu.ownerDocument.activeElement as HTMLButtonElement);
    const to = (index: number): void => usable[(index + usable.length) % usable.length]?.focus();
    if (event.key === "Escape" || event.key === "Tab") close(true);
    else if (event.key === "ArrowDown") to(current + 1);
    else if (event.key === "ArrowUp") to(current - 1);
    else if (event.key === "Home") to(0);
    else if (event.key === "End") to(-1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  scope.listen(parts.root.ownerDocument, "pointerdown", (event) => {
    const target = event.target as Node;
    if (!menu.contains(target) && !at.contains(target)) close(false);
  });
  parts.root.appendChild(menu);
  place(parts.root, menu, at);
  (usable.find((button) => button.getAttribute("aria-checked") === "true") ?? usable[0] ?? menu).focus();
}

/** Below the button, or above it, and within the view. */
function place(root: HTMLElement, menu: HTMLElement, at: HTMLElement): void {
  const view = root.getBoundingClientRect();
  const button = at.getBoundingClientRect();
  const { width, height } = menu.getBoundingClientRect();
  const left = Math.max(8, Math.min(button.left - view.left, view.width - width - 8));
  const below = button.bottom - view.top + 4;
  const above = button.top - view.top - height - 4;
  const top = below + height <= view.height - 8 || above < 8 ? below : above;
  menu.style.setProperty("--vs-menu-left", `${left}px`);
  menu.style.setProperty("--vs-menu-top", `${top}px`);
}
