/** The time machine as a separate view, without a conversation. */

import type { Activity } from "../activity";
import type { Connection } from "../connection";
import { followLinks } from "./following";
import type { Host } from "../host";
import { makeParts, unmake } from "./parts";
import { panel } from "./panel";
import { append, show } from "./dom";
import { timeMachine } from "./time-machine";

/** The built view. */
export interface MachineHandle {
  end(): void;
  /** Shows only the changes of this note or folder. */
  only: (path: string) => void;
}

/** Builds the view into `root`. */
export function mountMachine(root: HTMLElement, connection: Connection, activity: Activity, host: Host): MachineHandle {
  const parts = makeParts(root, connection, activity, host, () => undefined);
  const machine = timeMachine(parts, () => undefined, true);
  const connected = panel(parts, (isAway) => show(machine.root, !isAway));
  append(root, connected.root, machine.root);
  machine.root.classList.add("is-alone");
  followLinks(parts, machine.only);
  parts.scope.add(connection.onState(() => connected.update()));
  connected.update();
  return { end: () => unmake(parts), only: machine.only };
}
