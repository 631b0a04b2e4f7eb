// Menus at the pointer, with the items of Obsidian and of plugins.

import { setIcon } from "./icons";

export class MenuItem {
  readonly _el: HTMLElement;

  constructor(into: HTMLElement) {
    this._el = into.createDiv({ cls: "menu-item", attr: { role: "menuitem", tabindex: "0" } });
  }

  setTitle(title: string): this {
    this._el.createDiv({ cls: "menu-item-title", text: title });
    return this;
  }

  setIcon(icon: string | null): this {
    if (icon !== null) setIcon(this._el.createDiv("menu-item-icon"), icon);
    return this;
  }

  setSection(section: string): this {
    this._el.dataset["section"] = section;
    return this;
  }

  onClick(call: (event: MouseEvent | KeyboardEvent) => unknown): this {
    this._el.addEventListener("click", (event) => call(event));
    return this;
  }
}

export class Menu {
  readonly _el = createDiv({ cls: "menu", attr: { role: "menu" } });

  addItem(make: (item: MenuItem) => unknown): this {
    make(new MenuItem(this._el));
    return this;
  }

  showAtMouseEvent(event: MouseEvent): this {
    const { body } = activeDocument;
    this._el.style.left = `${event.clientX}px`;
    this._el.style.top = `${event.clientY}px`;
    body.appendChild(this._el);
    body.addEventListener("click", () => this._el.remove(), { once: true });
    return this;
  }
}
