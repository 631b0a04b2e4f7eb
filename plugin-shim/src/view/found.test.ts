import { describe, expect, it } from "vitest";
import { plainText, withMarks } from "./found";
import { period } from "./format";

describe("search results", () => {
  it("are shown without the marks of Markdown", () => {
    expect(plainText("the **last frost** in [[Garden/Plan|the plan]] and [[Inbox]]")).toBe("the last frost in the plan and Inbox");
    expect(plainText("## Head\n- `code` and ==mark== [there](https://x.org)")).toBe("Head\ncode and mark there");
    expect(plainText("2 * 3 * 4, a_b_c, **half")).toBe("2 * 3 * 4, a_b_c, **half");
  });

  it("have the search words highlighted", () => {
    const marks = (text: string, searched: string): string => {
      const root = document.createElement("span");
      withMarks(root, text, searched);
      return root.innerHTML;
    };
    expect(marks("The last frost, Frosty", "frost last")).toBe("The <mark>last</mark> <mark>frost</mark>, <mark>Frost</mark>y");
    expect(marks("a.b <i>", 'a.b "<i>"')).toBe("<mark>a.b</mark> <mark>&lt;i&gt;</mark>");
    expect(marks("same", " ")).toBe("same");
  });
});

it("conversations belong to periods", () => {
  const now = new Date(2026, 10, 25, 12);
  const of = (...at: [number, number, number, number?]): string => period(new Date(...at).toISOString(), now);
  expect([of(2026, 10, 25, 1), of(2026, 10, 24, 23), of(2026, 10, 19), of(2026, 9, 30), of(2025, 4, 1), period("", now)]).toEqual([
    "Today", "Yesterday", "Previous 7 days", "October", "May 2025", "",
  ]);
});
