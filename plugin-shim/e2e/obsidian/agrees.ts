// Compares the stand-in with Obsidian's typings: it has only names and members that the typings have, except
// its own, which begin with `_`, and none that are newer than its version.

import type * as obsidian from "obsidian";
import type { parts } from "./app";

type Obsidian = typeof obsidian;
type Ours = typeof parts;
/** The members of a class's instances; none for other values. */
type Members<T> = T extends abstract new (...given: never[]) => infer Instance ? keyof Instance : never;

/** The additions of 1.13.1. */
type Newer = "addDisplayValue" | "DisplayValueComponent";

type Invented = Exclude<keyof Ours, keyof Obsidian>;
type InventedMembers = {
  [Name in keyof Ours & keyof Obsidian]: Exclude<Members<Ours[Name]>, Members<Obsidian[Name]> | `_${string}`>;
}[keyof Ours & keyof Obsidian];
type TooNew = Extract<keyof Ours | Members<Ours[keyof Ours]>, Newer>;

/** Fails to compile for such a member, and names it. */
export const strayed: [Invented, InventedMembers, TooNew] extends [never, never, never]
  ? "nowhere"
  : [Invented, InventedMembers, TooNew] = "nowhere";
