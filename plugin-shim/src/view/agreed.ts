/** Tool calls that the person makes with a button, and the display of their answers. */

import { sentence } from "./format";
import type { CallGiven, CallHow } from "./chat";
import type { Parts } from "./part";
import type { ToolsCallResult } from "../protocol";

/** The texts of a confirmation dialog. */
interface Asks {
  /** The question: `Undo this?` */
  question: string;
  /** The label of the confirming button: `Undo`. */
  action: string;
}

/** Calls a tool, and calls it again with the person's approval if it needs one. Null if they refuse. */
export async function callAgreed(
  parts: Pick<Parts, "chat" | "host">,
  tool: string,
  given: CallGiven,
  asks: Asks,
  how: CallHow = {},
): Promise<ToolsCallResult | null> {
  const result = await parts.chat.tool(tool, given, how);
  if (codeOf(result) !== "approval_needed") return result;
  const { reasons, identity } = errorData(result) as { reasons?: string[]; identity?: string };
  const why = reasons?.join("; ") ?? messageOf(result);
  if (!(await parts.host.confirm(`${asks.question} ${sentence(why)}.`, asks.action))) return null;
  return parts.chat.tool(tool, given, { ...how, confirmed: true, agreed: identity });
}

/** The answer's text. */
export function textOf(result: ToolsCallResult): string {
  return result.content.map((one) => one.text).join("\n");
}

/** The answer's structured output. */
export function structured(result: ToolsCallResult): Record<string, unknown> {
  return objectOf(result.structuredContent);
}

/** The reason of the refusal. Its advice is for programs that call tools; a person has a button. */
export function messageOf(result: ToolsCallResult): string {
  const { message } = structured(result);
  return typeof message === "string" ? message : textOf(result);
}

/** The code of an error; undefined if the call succeeded. */
export function codeOf(result: ToolsCallResult): unknown {
  return result.isError ? structured(result)["code"] : undefined;
}

/** The details of an error, which depend on its code. */
export function errorData(result: ToolsCallResult): Record<string, unknown> {
  return objectOf(structured(result)["data"]);
}

export function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
