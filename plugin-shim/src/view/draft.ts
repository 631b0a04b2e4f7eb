/** A message: as a draft, as the daemon receives it, and as events report it. */

import type { PromptContent } from "../protocol";

/** The parts of a message. */
export interface Draft {
  text: string;
  /** Notes, or parts of them; `isOpen` where the person did not choose one, but has it open. */
  attachments: { path: string; selection?: string; isOpen?: boolean }[];
  images: { data: string; mimeType: string; name: string }[];
}

/** A message in the daemon's format. */
export function promptOf(draft: Draft): PromptContent[] {
  const pieces: PromptContent[] = [];
  if (draft.text.trim() !== "") pieces.push({ type: "text", text: draft.text });
  for (const { path, selection, isOpen } of draft.attachments) {
    // A model must not take it for what the message is about.
    if (selection === undefined && isOpen) pieces.push({ type: "text", text: `(the note \`${path}\` is open)` });
    else if (selection === undefined) pieces.push({ type: "resource_link", uri: path, name: path });
    else pieces.push({ type: "resource", resource: { uri: path, text: selection } });
  }
  for (const { data, mimeType } of draft.images) pieces.push({ type: "image", data, mimeType });
  return pieces;
}

/** A line that the daemon adds below a message's text for each of its attachments. */
const ATTACHMENT_LINE = /(?:^|\n)\((?:with a picture|(the|a part of the) note `(.+)` is (meant|open))\)$/;

/** An earlier message as a draft; `lacks` if attachments are known only by name, of which `pictures` are images. */
export function draftOf(message: string): { draft: Draft; lacks: boolean; pictures: number } {
  const draft: Draft = { text: message, attachments: [], images: [] };
  let lacks = false;
  let pictures = 0;
  for (let found; (found = ATTACHMENT_LINE.exec(draft.text)); ) {
    const [, which, path, how] = found;
    draft.text = draft.text.slice(0, found.index);
    if (which === "the" && path !== undefined) draft.attachments.unshift(how === "open" ? { path, isOpen: true } : { path });
    else lacks = true;
    if (which === undefined) pictures += 1;
  }
  return { draft, lacks, pictures };
}

/** The text of a message before the daemon reports it. */
export function shownText(draft: Draft): string {
  const named = draft.attachments.map(({ path, selection }) =>
    selection === undefined ? `[[${path}]]` : `[[${path}]] (selection)`,
  );
  const images = draft.images.map(({ name }) => `(image: ${name})`);
  return [draft.text, ...named, ...images].filter((part) => part.trim() !== "").join("\n");
}
