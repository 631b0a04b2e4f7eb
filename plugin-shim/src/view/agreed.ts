/** Calls of tools that the person makes by a button, and what to show of their answers. */

import type { CallGiven, CallHow } from "./chat";
import type { Parts } from "./part";
import type { ToolsCallResult } from "../protocol";

/** How a person is asked for their agreement. */
interface Asks {
  /** `Undo this?` */
  question: string;
  /** What the button of agreement says: `Undo`. */
  action: string;
}

/** Calls a tool, and once more with the person's agreement where it takes one. Null where they do not give it. */
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
  if (!(await parts.host.confirm(`${asks.question} It needs your agreement: ${why}.`, asks.action))) return null;
  return parts.chat.tool(tool, given, { ...how, confirmed: true, agreed: identity });
}

/** The answer's text. */
export function textOf(result: ToolsCallResult): string {
  return result.content.map((one) => one.text).join("\n");
}

/** What the answer has for programs. */
export function structured(result: ToolsCallResult): Record<string, unknown> {
  return objectOf(result.structuredContent);
}

/** Why it was refused; the advice in it is for who calls tools, and a button here. */
export function messageOf(result: ToolsCallResult): string {
  const { message } = structured(result);
  return typeof message === "string" ? message : textOf(result);
}

/** The code of an error; undefined where the call did its work. */
export function codeOf(result: ToolsCallResult): unknown {
  return result.isError ? structured(result)["code"] : undefined;
}

/** What an error says for programs of its own kind. */
export function errorData(result: ToolsCallResult): Record<string, unknown> {
  return objectOf(structured(result)["data"]);
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
