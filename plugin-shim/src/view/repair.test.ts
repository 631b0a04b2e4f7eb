import { describe, expect, it } from "vitest";
import { mostLike, relinked } from "./repair";

describe("a broken link", () => {
  it.each([
    ["Compst", ["Compost", "Crop rotation", "Inbox"], "Compost"],
    ["compost", ["Garden", "Compost"], "Compost"],
    ["Compost heap", ["Inbox", "Compost"], "Compost"],
    ["Nothing alike", ["Inbox", "Compost"], null],
    ["Ab", ["Abacus"], null],
    ["Bean", ["Beans", "Been"], "Beans"],
    ["x", [], null],
  ])("to %s may mean one of %j", (wanted, names, found) => {
    expect(mostLike(wanted, names)).toBe(found);
  });

  it("is replaced, including its heading and text", () => {
    expect(relinked("See [[Compst]] and [[compst#How|the heap]], not [[Compst 2]].", "Compst", "Compost")).toBe("See [[Compost]] and [[Compost#How|the heap]], not [[Compst 2]].");
    expect(relinked("See [a](Compst.md).", "Compst", "Compost")).toBeNull();
  });
});
