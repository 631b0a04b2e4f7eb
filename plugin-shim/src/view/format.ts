/** Formats of numbers, times and sources for people. */

import type { DeletedFile } from "../protocol";

/** `950`, `12.3k`, `1.2M`. */
export function tokens(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 999_500) return `${trimmed(count / 1_000)}k`;
  return `${trimmed(count / 1_000_000)}M`;
}

function trimmed(number: number): string {
  return number < 99.95 ? number.toFixed(1).replace(/\.0$/, "") : String(Math.round(number));
}

/** `$0.0042`, `$1.23`; empty for zero. */
export function dollars(amount: number): string {
  if (amount <= 0) return "";
  if (amount < 0.0001) return "<$0.0001";
  return `$${amount.toFixed(amount < 0.01 ? 4 : 2)}`;
}

/** `1 file`, `3 files`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** A text with an initial capital. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `14:02` for today, `Nov 20` for this year, otherwise `Nov 20, 2025`; empty for an invalid time. */
export function when(time: string, now: Date): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "";
  if (date.toDateString() === now.toDateString()) {
    return date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  }
  const year = date.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return date.toLocaleDateString([], { month: "short", day: "numeric", year });
}

const CLOCK = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit" });

/** `14:02`. */
export function clock(time: string): string {
  return CLOCK.format(new Date(time));
}

/** `Today`, `Yesterday`, `Previous 7 days`, otherwise the month; empty for an invalid time. */
export function period(time: string, now: Date): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "";
  const start = (of: Date): number => new Date(of.getFullYear(), of.getMonth(), of.getDate()).getTime();
  // Rounded, since a day may have 23 or 25 hours.
  const days = Math.round((start(now) - start(date)) / 86_400_000);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  if (days <= 7) return "Previous 7 days";
  const year = date.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return date.toLocaleDateString("en", { month: "long", year });
}

/** The source of a message; empty for this chat. */
export function sourceName(source: string): string | null {
  switch (source) {
    case "chat":
      return null;
    case "voice":
      return "by voice";
    case "smarthole":
      return "by SmartHole";
    case "inline":
      return "on a selection";
    case "cli":
      return "from the terminal";
    default:
      return `from ${source}`;
  }
}

/** `Garden/Compost.md` as `Compost`. */
export function noteName(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return name.endsWith(".md") ? name.slice(0, -3) : name;
}

/** The folder of a path, empty for the vault's root. */
export function folderOf(path: string): string {
  const end = path.lastIndexOf("/");
  return end < 0 ? "" : path.slice(0, end);
}

/**
 * Characters that are invisible, change the writing direction or end a line, except line breaks, tabs, and the joiners
 * and variation selectors that emoji and several scripts need.
 */
const HIDDEN = /(?!\n|\t|\u200c|\u200d|\p{VS})[\p{Cc}\p{Cf}\p{DI}\p{Zl}\p{Zp}]/gu;

/** A text with its invisible characters written as `\u{202e}`. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}

/** `Plan was deleted on 28 Nov 2026, 14:02`. */
export function wasDeleted({ path, time }: DeletedFile): string {
  return `${visible(noteName(path))} was deleted on ${new Date(time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}`;
}
