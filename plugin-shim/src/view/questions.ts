/** Questions of the daemon's that wait for the person's agreement. */

import type { RequestPermissionParams, RequestPermissionResult } from "../protocol";

/** A question of the daemon's to the person. */
export interface Approval {
  id: number;
  params: RequestPermissionParams;
  /** With what the person says of it, such as why not. */
  answer(optionId: string, words?: string): void;
}

/** What a question of the daemon's is served with: it stands among those that wait until it is answered, here or elsewhere. */
export function asking(
  waiting: Approval[],
  changed: () => void,
): (params: RequestPermissionParams, signal: AbortSignal) => Promise<RequestPermissionResult> {
  let next = 1;
  return (params, signal) =>
    new Promise((resolve) => {
      const id = next++;
      const gone = (): void => {
        const at = waiting.findIndex((one) => one.id === id);
        if (at >= 0) waiting.splice(at, 1);
        signal.removeEventListener("abort", given);
        changed();
      };
      const given = (): void => {
        gone();
        resolve({ outcome: { outcome: "cancelled" } });
      };
      const answer = (optionId: string, words = ""): void => {
        gone();
        const said = words === "" ? {} : { _meta: { vault: { words } } };
        resolve({ outcome: { outcome: "selected", optionId }, ...said });
      };
      if (signal.aborted) return given();
      signal.addEventListener("abort", given);
      waiting.push({ id, params, answer });
      changed();
    });
}
