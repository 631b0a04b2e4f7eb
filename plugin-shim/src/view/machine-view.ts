/** The time machine as a separate view, without a conversation. */

import type { Activity } from "../activity";
import type { Connection } from "../connection";
import { followLinks } from "./following";
import type { Host } from "../host";
import { makeParts, unmake } from "./parts";
import { panel } from "./panel";
import { append, show } from "./dom";
import { timeMachine } from "./time-machine";

/** Builds the view into `root`; the returned function removes it. */
export function mountMachine(root: HTMLElement, connection: Connection, activity: Activity, host: Host): () => void {
  const parts = makeParts(root, connection, activity, host, () => undefined);
  const machine = timeMachine(parts, () => undefined, true);
  const connected = panel(parts, (isAway) => show(machine.root, !isAway));
  append(root, connected.root, machine.root);
  machine.root.classList.add("is-alone");
  followLinks(parts);
  parts.scope.add(connection.onState(() => connected.update()));
  connected.update();
  return () => unmake(parts);
}
