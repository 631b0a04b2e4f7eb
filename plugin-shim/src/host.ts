// The interface between the chat view and its host program: Obsidian, or a browser. All uses of Obsidian's
// API are behind it, so that the view runs in both.

import type { Unsubscribe } from "./connection";

/** The active note. */
export interface ActiveNote {
  /** Its path in the vault. */
  path: string;
  /** The selected text; undefined without a selection. */
  selection?: string;
}

/** The target of `openNote`. */
export interface OpenOptions {
  /** The line to show, from 1. */
  line?: number;
  /** The heading or block to show, including its `#`. */
  subpath?: string;
  /** Opens a new tab; otherwise the tab of the last note is used. */
  newLeaf?: boolean;
  /** The person did not request it: opens the note only if it covers nothing. */
  unasked?: boolean;
}

/** The program that hosts the view. */
export interface Host {
  readonly kind: "obsidian" | "browser";
  /** Opens a note or another file of the vault. */
  openNote(path: string, options?: OpenOptions): void;
  /** Opens the time machine in its own tab, with the changes of one file; undefined if the view shows it over the conversation. */
  openTimeMachine?(path?: string): void;
  /** Opens an address outside the vault. May only be called after a click of the person. */
  openExternal(url: string): void;
  /** The active note, or the last active one; null if there is none. */
  activeNote(): ActiveNote | null;
  /** Calls the listener when another note becomes active; with null when no note is left. */
  onActiveNote(listener: (note: ActiveNote | null) => void): Unsubscribe;
  /** Shows a short message next to the view. */
  notice(text: string): void;
  /** Shows a desktop notification if the person looks at another program and has allowed notifications. */
  alert(text: string): void;
  /** Whether the browser can still ask for that permission; undefined if none is needed. */
  mayAskToAlert?(): boolean;
  /** Asks for that permission; must follow a click. */
  askToAlert?(): Promise<void>;
  /** Asks the person to confirm; `action` is the label of the confirming button. */
  confirm(text: string, action: string): Promise<boolean>;
  /** Copies a text to the clipboard. */
  copy(text: string): Promise<void>;
  /**
   * The target of a link in the note `from`: the file, and the heading or block in it with its `#`, or an
   * empty text; null if the link is unresolved.
   */
  resolveLink?(link: string, from: string): { path: string; subpath: string } | null;
  /** Draws a Lucide icon into an element. */
  icon(element: HTMLElement, name: string): void;
  /**
   * Draws a TeX formula; `block` is a display formula. Undefined if the host cannot draw formulas: the view
   * shows the TeX then.
   */
  math?(tex: string, block: boolean): Promise<HTMLElement>;
  /**
   * Draws a Mermaid diagram, as an image. Undefined if the host cannot draw diagrams: the view shows the source then.
   */
  diagram?(source: string): Promise<HTMLImageElement>;
  /** A shell command for this vault, which the person runs in a terminal. */
  command(name: "serve" | "pair"): string;
}
