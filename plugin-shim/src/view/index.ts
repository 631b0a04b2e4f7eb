// A placeholder until the chat view lands.
import type { Connection } from "../connection";
import type { Host } from "../host";

export interface ChatHandle {
  newConversation(): void;
  compose(text: string, attach?: { path: string; selection?: string }[]): void;
  focus(): void;
  unmount(): void;
}

export function mountChat(
  root: HTMLElement,
  connection: Connection,
  host: Host,
  options: { document?: Document } = {},
): ChatHandle {
  const area = (options.document ?? root.ownerDocument).createElement("textarea");
  const show = (): void => {
    area.placeholder = `${connection.state.kind} ${host.kind}`;
  };
  show();
  const end = connection.onState(show);
  root.append(area);
  return {
    newConversation: () => {
      area.value = "";
    },
    compose: (text, attach) => {
      area.value = [text, ...(attach ?? []).map(({ path }) => path)].join("\n");
    },
    focus: () => area.focus(),
    unmount: () => {
      end();
      area.remove();
    },
  };
}
