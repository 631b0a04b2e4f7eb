import { beforeAll, describe, expect, it } from "vitest";
import { isHarmless } from "../view/formula";
import { draw } from "./formulas";

// jsdom has no styles for MathML elements; a browser derives them from the attribute.
beforeAll(() => {
  const style = (element: Element): object =>
    new Proxy({}, {
      set(_, name: string, value: string) {
        const property = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
        element.setAttribute("style", `${element.getAttribute("style") ?? ""}${property}:${value};`);
        return true;
      },
    });
  Object.defineProperty(Element.prototype, "style", { configurable: true, get(this: Element) { return style(this); } });
});

describe("a formula on the page", () => {
  it.each([
    String.raw`q = k \Delta T`,
    String.raw`Q = \int_0^t q \, d\tau`,
    String.raw`\frac{-b \pm \sqrt{b^2 - 4ac}}{2a}`,
    String.raw`\begin{pmatrix} a & b \\ c & d \end{pmatrix}`,
    String.raw`\begin{cases} a & x > 0 \\ b & \text{otherwise} \end{cases}`,
    String.raw`\begin{aligned} a &= b \\ &= c \end{aligned}`,
    String.raw`\sum_{i=1}^n \hat{x}_i \longrightarrow \mathcal{D} \quad \vec{v} \overline{ab}`,
    String.raw`\color{red}{x} \boxed{y}`,
    String.raw`\left\{ x \setminus y \right\} \lim_{x \to 0} \binom{n}{k}`,
  ])("is MathML without links or actions: %s", (tex) => {
    for (const isBlock of [true, false]) {
      const drawn = draw(document, tex, isBlock);
      expect(drawn.querySelector("math > *, math")?.namespaceURI).toBe("http://www.w3.org/1998/Math/MathML");
      expect(isHarmless(drawn), drawn.innerHTML).toBe(true);
    }
  });

  it.each([String.raw`\frac{a`, String.raw`\nosuchcommand{a}`, String.raw`\def\a{\a\a}\a`])("is refused if it is invalid: %s", (tex) => {
    expect(() => draw(document, tex, true)).toThrow();
  });

  it("changes nothing for the next one", () => {
    draw(document, String.raw`\gdef\mine{x}\mine`, false);
    expect(() => draw(document, String.raw`\mine`, false)).toThrow();
  });

  it.each([String.raw`\href{http://evil.example}{x}`, String.raw`\includegraphics{http://evil.example/p.png}`])(
    "never contains an address: %s",
    (tex) => {
      let drawn: HTMLElement | null = null;
      try {
        drawn = draw(document, tex, false);
      } catch {
        // Refused formulas throw.
      }
      expect(drawn?.innerHTML ?? "").not.toContain("evil.example");
    },
  );
});
