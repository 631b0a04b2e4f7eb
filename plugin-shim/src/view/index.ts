/** The chat view. It depends only on the DOM, the connection and the host. */

export { mountChat, type ChatHandle, type ChatState } from "./view";
export { type Kept, read, written } from "./kept";
