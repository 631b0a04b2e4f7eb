// One of the daemon's settings as a row of the settings tab. The row shows the current value, changes it
// through the daemon, and shows errors below the field.

import type { Setting, SettingDefinition } from "obsidian";
import { errorText } from "./call-error";
import type { DaemonSettings } from "./daemon-settings";
import type { JsonValue, Setting as DaemonSetting, SettingsSetResult } from "./protocol";

/** A setting and its field. */
export interface Row {
  /** The setting's key in the daemon. */
  key: string;
  name: string;
  /** `number` takes whole numbers from 0 on. */
  kind: "text" | "lines" | "number" | "toggle";
}

/** The input field of a row. */
interface Field {
  /** Shows the current value, unless the user is editing the field. */
  show(value: JsonValue): void;
  disable(disabled: boolean): void;
}

/** The row's definition, which Obsidian displays and searches. */
export function rowDefinition(row: Row, daemon: DaemonSettings): SettingDefinition {
  return { name: row.name, aliases: [row.key], render: (setting) => renderRow(setting, row, daemon) };
}

/** Draws the row. The returned function ends its subscription. */
function renderRow(setting: Setting, row: Row, daemon: DaemonSettings): () => void {
  // `Setting` has a `then`, so a promise that resolved to one would never settle: hence `void`.
  const report = (problem: string | null): void => void setting.setErrorMessage(problem);
  const commit = (value: JsonValue): void => {
    daemon.set(row.key, value).then(
      (result) => report(overridden(result)),
      (error: unknown) => {
        // Typed text stays, to be corrected; a toggle returns to the daemon's value.
        if (row.kind === "toggle") show();
        report(errorText(error));
      },
    );
  };
  const field = addField(setting, row, commit, report);
  const show = (): void => {
    const current = daemon.loaded?.settings.get(row.key);
    const settable = current?.settable === true && current.from === undefined;
    field.disable(!settable);
    if (current === undefined) return;
    setting.setDesc(description(current, daemon.loaded?.file ?? ""));
    // If a value takes effect after a restart, the row shows the chosen value.
    field.show(current.afterRestart ?? current.value);
  };
  show();
  return daemon.watch(show);
}

function overridden(result: SettingsSetResult): string | null {
  if (result.overriddenBy === undefined) return null;
  return `saved, but ${result.overriddenBy} overrides the settings file`;
}

function description(setting: DaemonSetting, file: string): string {
  const parts = [setting.doc];
  if (setting.from !== undefined) parts.push(`Set by ${setting.from}.`);
  else if (!setting.settable) parts.push(`Change it in the settings file: ${setting.key} in ${file}.`);
  if (setting.afterRestart !== undefined) parts.push("Takes effect when the daemon restarts.");
  return parts.join(" ");
}

function addField(
  setting: Setting,
  row: Row,
  commit: (value: JsonValue) => void,
  refuse: (problem: string) => void,
): Field {
  if (row.kind === "toggle") return addToggle(setting, row, commit);
  let element: HTMLInputElement | HTMLTextAreaElement | null = null;
  const named = (input: HTMLInputElement | HTMLTextAreaElement): void => {
    element = input;
    input.setAttribute("aria-label", row.name);
    // On `change`, not on every key: each change is written to the settings file.
    input.addEventListener("change", () => {
      const read = readValue(input.value, row);
      if ("problem" in read) refuse(read.problem);
      else commit(read.value);
    });
  };
  if (row.kind === "lines") {
    setting.addTextArea((area) => {
      area.inputEl.rows = 6;
      area.inputEl.addClass("vault-steward-lines");
      named(area.inputEl);
    });
  } else {
    setting.addText((text) => {
      if (row.kind === "number") text.inputEl.inputMode = "numeric";
      named(text.inputEl);
    });
  }
  let shown = "";
  return {
    show: (value) => {
      if (element === null) return;
      const typing = element.value !== shown && element.ownerDocument.activeElement === element;
      shown = value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
      if (!typing) element.value = shown;
    },
    disable: (disabled) => {
      if (element !== null) element.disabled = disabled;
    },
  };
}

function addToggle(setting: Setting, row: Row, commit: (value: JsonValue) => void): Field {
  let show: Field["show"] = () => undefined;
  let disable: Field["disable"] = () => undefined;
  setting.addToggle((toggle) => {
    toggle.toggleEl.setAttribute("aria-label", row.name);
    // `setValue` also calls the listener; only a click may be written.
    let shown = false;
    toggle.onChange((value) => {
      if (value === shown) return;
      shown = value;
      commit(value);
    });
    show = (value) => {
      shown = value === true;
      toggle.setValue(shown);
    };
    disable = (disabled) => void toggle.setDisabled(disabled);
  });
  return { show, disable };
}

/** The setting's value for the typed text. An empty number is the default. */
function readValue(text: string, row: Row): { value: JsonValue } | { problem: string } {
  if (row.kind !== "number") return { value: text };
  const trimmed = text.trim();
  if (trimmed === "") return { value: null };
  const value = Number(trimmed);
  if (!/^\d+$/.test(trimmed) || !Number.isSafeInteger(value)) {
    return { problem: `\`${trimmed}\` is not a whole number; leave the field empty for the default` };
  }
  return { value };
}
