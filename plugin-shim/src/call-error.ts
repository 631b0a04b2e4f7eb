// The error of a failed call.

import type { ErrorObject, Kind } from "./protocol";

/** The reason of a call that failed without an answer from the daemon. */
export type LocalKind =
  /** The call was made without a connection; nothing was sent. */
  | "not_connected"
  /** The connection was lost before the answer arrived. The call may have taken effect. */
  | "disconnected"
  /** The other side does not speak this protocol. */
  | "protocol";

/** A failed call: the daemon's error, or an error of the connection. */
export class CallError extends Error {
  override readonly name = "CallError";

  constructor(
    message: string,
    /** The code of JSON-RPC; 0 without an answer. */
    readonly code: number,
    /** The stable name of the error, for code that handles it. */
    readonly kind: Kind | LocalKind,
    readonly retryable: boolean,
    /** Advice for the user. */
    readonly hint?: string,
    /** Data that depends on the kind. */
    readonly detail?: unknown,
    /** Wait before the next attempt, in milliseconds. */
    readonly retryAfterMs?: number,
  ) {
    super(message);
  }

  /** Converts an error response of the daemon. */
  static fromAnswer(error: ErrorObject): CallError {
    // Another program at the address may not send `data`.
    const data: Partial<ErrorObject["data"]> | undefined = error.data;
    const { kind = "internal", retryable = false, hint, detail, retryAfterMs } = data ?? {};
    return new CallError(error.message, error.code, kind, retryable, hint, detail, retryAfterMs);
  }

  /** The text for the user: the message, and the hint if there is one. */
  get advice(): string {
    return this.hint === undefined ? this.message : `${this.message} (${this.hint})`;
  }
}

/** The text of an error for the user. */
export function errorText(error: unknown): string {
  if (error instanceof CallError) return error.advice;
  return error instanceof Error ? error.message : String(error);
}
