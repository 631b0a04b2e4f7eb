/** The chat view, written against the DOM, the connection and the host alone. */

export { mountChat, type ChatHandle, type ChatState } from "./view";
export { type Kept, read, written } from "./kept";
