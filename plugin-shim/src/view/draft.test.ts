import { expect, it } from "vitest";
import { draftOf, promptOf } from "./draft";

it("reads of a message again which notes went with it, and whether they were chosen or open", () => {
  const { draft, lacks } = draftOf("Hi\n(the note `A.md` is meant)\n(the note `B/C.md` is open)");
  expect(lacks).toBe(false);
  expect(draft).toEqual({ text: "Hi", attachments: [{ path: "A.md" }, { path: "B/C.md", isOpen: true }], images: [] });
  expect(promptOf(draft)).toEqual([
    { type: "text", text: "Hi" },
    { type: "resource_link", uri: "A.md", name: "A.md" },
    { type: "text", text: "(the note `B/C.md` is open)" },
  ]);
  const of = (words: string): (boolean | number)[] => [draftOf(words).lacks, draftOf(words).pictures];
  expect(of("Hi\n(a part of the note `A.md` is meant)")).toEqual([true, 0]);
  expect(of("(with a picture)\n(a part of the note `A.md` is meant)\n(with a picture)")).toEqual([true, 2]);
  expect(of("(with a picture) of it")).toEqual([false, 0]);
});
