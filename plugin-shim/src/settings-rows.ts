// One of the daemon's settings as a row of the settings tab: shown as it holds, changed through the
// daemon, wrong values told at the field.

import type { Setting, SettingDefinition } from "obsidian";
import { CallError } from "./connection";
import type { DaemonSettings } from "./daemon-settings";
import type { JsonValue, Setting as DaemonSetting, SettingsSetResult } from "./protocol";

/** How a setting is shown. */
export interface Row {
  /** The daemon's name for it. */
  key: string;
  /** What it is called here. */
  name: string;
  /** `number` takes whole numbers from 0 on. */
  kind: "text" | "lines" | "number" | "toggle";
}

/** A field of a row. */
interface Field {
  /** Shows the value that holds, but not over what the person is typing. */
  show(value: JsonValue): void;
  disable(disabled: boolean): void;
}

/** The row's definition, for Obsidian to show and to search. */
export function rowDefinition(row: Row, daemon: DaemonSettings): SettingDefinition {
  return { name: row.name, aliases: [row.key], render: (setting) => renderRow(setting, row, daemon) };
}

/** Draws the row; what it returns ends its listening. */
export function renderRow(setting: Setting, row: Row, daemon: DaemonSettings): () => void {
  // A setting has a `then` of its own, so none may be what a promise comes to: it would never end.
  const say = (problem: string | null): void => void setting.setErrorMessage(problem);
  const commit = (value: JsonValue): void => {
    daemon.set(row.key, value).then(
      (result) => say(overridden(result)),
      (error: unknown) => {
        // What was typed stays, to be mended; a switch has nothing to mend and stands as the daemon has it.
        if (row.kind === "toggle") show();
        say(errorText(error));
      },
    );
  };
  const field = addField(setting, row, commit, say);
  const show = (): void => {
    const current = daemon.loaded?.settings.get(row.key);
    const settable = current?.settable === true && current.from === undefined;
    field.disable(!settable);
    if (current === undefined) return;
    setting.setDesc(description(current, daemon.loaded?.file ?? ""));
    // A value that waits for a restart is the one that was last chosen.
    field.show(current.afterRestart ?? current.value);
  };
  show();
  return daemon.watch(show);
}

/** What went wrong, for the row to say. */
export function errorText(error: unknown): string {
  return error instanceof CallError ? error.advice : String(error);
}

/** That a setting cannot be changed from here. */
function onlyInFile(key: string, file: string): string {
  return `Can be changed in the settings file alone: ${key} in ${file}.`;
}

function overridden(result: SettingsSetResult): string | null {
  if (result.overriddenBy === undefined) return null;
  return `written, but ${result.overriddenBy} is stronger than the file`;
}

function description(setting: DaemonSetting, file: string): string {
  const parts = [setting.doc];
  if (setting.from !== undefined) parts.push(`Set by ${setting.from}.`);
  else if (!setting.settable) parts.push(onlyInFile(setting.key, file));
  if (setting.afterRestart !== undefined) parts.push("Holds from the daemon's next start on.");
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
    // Not with every key: each change is written to the settings file.
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
    // Setting a value tells its listener, too; only a person's click is to be written.
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

/** What a person typed, as the setting's value. An empty number is the default. */
function readValue(text: string, row: Row): { value: JsonValue } | { problem: string } {
  if (row.kind !== "number") return { value: text };
  const trimmed = text.trim();
  if (trimmed === "") return { value: null };
  const value = Number(trimmed);
  if (!/^\d+$/.test(trimmed) || !Number.isSafeInteger(value)) {
    return { problem: `\`${trimmed}\` is no whole number; empty brings the default back` };
  }
  return { value };
}
