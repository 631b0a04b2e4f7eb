// Holds the stand-in to Obsidian's typings: it has no name and no member that these have not, but for
// its own, which begin with `_`; nor any that came after the version it says it is.

import type * as obsidian from "obsidian";
import type { parts } from "./app";

type Obsidian = typeof obsidian;
type Ours = typeof parts;
/** The members of what a class makes; none of what is no class. */
type Members<T> = T extends abstract new (...given: never[]) => infer Instance ? keyof Instance : never;

/** What came with 1.13.1. */
type Newer = "addDisplayValue" | "DisplayValueComponent";

type Invented = Exclude<keyof Ours, keyof Obsidian>;
type InventedMembers = {
  [Name in keyof Ours & keyof Obsidian]: Exclude<Members<Ours[Name]>, Members<Obsidian[Name]> | `_${string}`>;
}[keyof Ours & keyof Obsidian];
type TooNew = Extract<keyof Ours | Members<Ours[keyof Ours]>, Newer>;

/** Does not compile where there is one, and names it. */
export const strayed: [Invented, InventedMembers, TooNew] extends [never, never, never]
  ? "nowhere"
  : [Invented, InventedMembers, TooNew] = "nowhere";
