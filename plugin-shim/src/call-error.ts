// What a call came to when it came to nothing.

import type { ErrorObject, Kind } from "./protocol";

/** Why a call failed without the daemon having said so. */
export type LocalKind =
  /** There was no connection when the call was made; nothing was sent. */
  | "not_connected"
  /** The connection was lost before the answer came. What was asked for may have been done. */
  | "disconnected"
  /** The other side does not speak this protocol. */
  | "protocol";

/** A call that failed: the daemon's own error, or what became of the connection. */
export class CallError extends Error {
  override readonly name = "CallError";

  constructor(
    message: string,
    /** The number of JSON-RPC; 0 where the daemon said nothing. */
    readonly code: number,
    /** The stable word to decide by. */
    readonly kind: Kind | LocalKind,
    /** Whether the same call may succeed later. */
    readonly retryable: boolean,
    /** What to do about it, for people. */
    readonly hint?: string,
    /** Facts that belong to the kind. */
    readonly detail?: unknown,
    /** How long to wait before the next try, in milliseconds. */
    readonly retryAfterMs?: number,
  ) {
    super(message);
  }

  /** The error that the daemon answered with. */
  static fromAnswer(error: ErrorObject): CallError {
    // Another program at the address need not send `data`.
    const data: Partial<ErrorObject["data"]> | undefined = error.data;
    const { kind = "internal", retryable = false, hint, detail, retryAfterMs } = data ?? {};
    return new CallError(error.message, error.code, kind, retryable, hint, detail, retryAfterMs);
  }

  /** What to show a person: the message, and the advice where there is one. */
  get advice(): string {
    return this.hint === undefined ? this.message : `${this.message} (${this.hint})`;
  }
}

/** What an error says to a person. */
export function said(error: unknown): string {
  if (error instanceof CallError) return error.advice;
  return error instanceof Error ? error.message : String(error);
}
