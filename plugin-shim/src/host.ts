// What the chat view asks of the program around it: Obsidian, or a browser. Everything that needs
// Obsidian's API stands behind this, so that the view runs in both.

import type { Unsubscribe } from "./connection";

/** The note in front of the person. */
export interface ActiveNote {
  /** Its path in the vault. */
  path: string;
  /** The text that is selected in it; left out where nothing is. */
  selection?: string;
}

/** Where to open a note. */
export interface OpenOptions {
  /** The line to show, from 1. */
  line?: number;
  /** The heading or block to show, with its `#`. */
  subpath?: string;
  /** In a tab of its own; else where the last note was. */
  newLeaf?: boolean;
  /** The person did not ask for it: only where a note is opened without covering anything. */
  unasked?: boolean;
}

/** The program around the view. */
export interface Host {
  /** Which one. */
  readonly kind: "obsidian" | "browser";
  /** Opens a note or another file of the vault. */
  openNote(path: string, options?: OpenOptions): void;
  /** Opens the time machine in a tab of its own; left out where it is shown over the conversation. */
  openTimeMachine?(): void;
  /** Opens an address outside the vault. Only a click of the person's may lead here. */
  openExternal(url: string): void;
  /** The note in front of the person, or the last one that was; null where there is none. */
  activeNote(): ActiveNote | null;
  /** Hears when another note comes to the front; null when none is left. */
  onActiveNote(heard: (note: ActiveNote | null) => void): Unsubscribe;
  /** Shows a short message beside the view. */
  notice(text: string): void;
  /** Shows a message on the desktop where the person looks at another program, if they allow that. */
  alert(text: string): void;
  /** Whether the person can still be asked to allow that; left out where nobody has to be asked. */
  mayAskToAlert?(): boolean;
  /** Asks them, by a click of theirs. */
  askToAlert?(): Promise<void>;
  /** Asks the person; `action` is what the button of agreement says. */
  confirm(text: string, action: string): Promise<boolean>;
  /** Puts a text on the clipboard. */
  copy(text: string): Promise<void>;
  /**
   * Where a link leads, seen from the note `from`: the file, and in it the heading or block, with its
   * `#`, or nothing; null where it leads nowhere.
   */
  resolveLink?(link: string, from: string): { path: string; subpath: string } | null;
  /** Draws an icon, by its name among Lucide's, into an element. */
  icon(element: HTMLElement, name: string): void;
  /**
   * Draws a formula of TeX; `block` where it stands on lines of its own. Left out where nothing can:
   * then the TeX itself is shown.
   */
  math?(tex: string, block: boolean): Promise<HTMLElement>;
  /** A command of the program's for this vault, for the person to type in a terminal. */
  command(name: "serve" | "pair"): string;
}
