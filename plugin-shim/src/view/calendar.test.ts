import { describe, expect, it, vi } from "vitest";
import { calendar, sizeOf, weeksUntil } from "./calendar";

const NOW = new Date(2026, 10, 26, 9);

describe("a calendar of activity", () => {
  it("has whole weeks from Monday, across the change of daylight saving time too", () => {
    const weeks = weeksUntil(NOW, 6);
    expect(weeks).toHaveLength(6);
    expect(weeks[5]).toEqual(["2026-11-23", "2026-11-24", "2026-11-25", "2026-11-26", "2026-11-27", "2026-11-28", "2026-11-29"]);
    expect(new Set(weeks.flat()).size).toBe(42);
    expect(weeks[0]?.[0]).toBe("2026-10-19");
  });

  it("has larger marks for more turns", () => {
    expect([0, 1, 3, 4, 10, 24, 25, 900].map(sizeOf)).toEqual([0, 1, 1, 2, 3, 3, 4, 4]);
  });

  it("is navigated with the arrow keys, and reports the chosen day", () => {
    const chosen = vi.fn();
    const days = [
      { day: "2026-11-17", count: 2, last: 5 },
      { day: "2026-11-24", count: 30, last: 8 },
      { day: "2026-11-25", count: 1, last: 9 },
    ];
    const made = calendar(document, days, NOW, chosen);
    document.body.replaceChildren(made);
    expect(made.getAttribute("aria-label")).toBe("Activity, last 26 weeks: 33 turns");
    const buttons = [...made.querySelectorAll("button")];
    expect(buttons.map((one) => one.tabIndex)).toEqual([-1, -1, 0]);
    const press = (key: string): void => void document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    buttons[2]?.focus();
    press("ArrowUp");
    expect(document.activeElement).toBe(buttons[1]);
    press("ArrowLeft");
    expect(document.activeElement).toBe(buttons[0]);
    press("ArrowRight");
    expect(document.activeElement).toBe(buttons[1]);
    press("End");
    expect(buttons.map((one) => one.tabIndex)).toEqual([-1, -1, 0]);
    press("Home");
    buttons[0]?.click();
    expect(chosen).toHaveBeenCalledExactlyOnceWith(days[0]);
  });
});
