/**
 * Which formulas may be drawn, by MathJax in Obsidian and by Temml on the page. TeX has commands that load,
 * lead elsewhere, style the page around them or change what other formulas mean. They are looked for in the
 * TeX, since some act while they are drawn, and what was drawn is looked through before it is shown, since no
 * list of commands is ever whole.
 */

/** Characters of a formula from which it is shown as it was written. */
const LONGEST = 2_000;
const UNSAFE =
  /\\(?:mml|bbox|html|href|url|class|style|css|data|require|toggle|(?:math|text)tip|unicode|include|label|(?:eq)?ref(?:eq)?(?![a-z])|[egx]?def|let|setoptions|mathtoolsset|new(?!line)|renew|use|provide|declare)/i;

/** What is drawn: MathML, and MathJax's own elements. */
const DRAWN = /^(?:mjx-|span$|div$)/;
const MATHML = "http://www.w3.org/1998/Math/MathML";
const NOT_DRAWN = /^(?:mglyph|maction|annotation)/;
/** Attributes that lead elsewhere or do something, and those that the view itself acts on. */
const ACTS = /^on|href|src|action|^(?:data-(?!mjx|cramped|semantic)|is$|slot|popover|content|autofocus|accesskey)/;
/** How the libraries' names begin. */
const NAMES = /^(?:$|mjx|tex|math|tml-)/i;
const STYLE =
  /^\s*(?:$|(?:color|background-color|(?:min-|max-)?(?:width|height)|(?:margin|padding|border)[a-z-]*|left|right|top|bottom|vertical-align|text-align|font-(?:size|family|weight|style)|letter-spacing|line-height|transform|position:\s*relative$|display:\s*(?:block|inline) math$|math-(?:depth|style|shift))(?![a-z-]))/;
const UNSAFE_VALUE = /url|image|[\\@]|\/\*|expression/i;

/** Whether nothing is known against drawing a formula. */
export function mayDraw(tex: string): boolean {
  return tex.length <= LONGEST && !UNSAFE.test(tex);
}

/** Whether what was drawn of a formula shows it and does nothing else. The element itself is the host's. */
export function isHarmless(drawn: Element): boolean {
  const within = [...drawn.querySelectorAll("*")];
  return (
    within.every(({ localName, namespaceURI, classList, id }) =>
      (namespaceURI === MATHML ? !NOT_DRAWN.test(localName) : DRAWN.test(localName)) && [...classList, id].every((name) => NAMES.test(name)),
    ) &&
    // By their names: the build gives a property `attributes` another name.
    [drawn, ...within].every((one) =>
      one.getAttributeNames().every((name) => {
        const value = one.getAttribute(name) ?? "";
        return name === "style" ? !UNSAFE_VALUE.test(value) && value.split(";").every((part) => STYLE.test(part)) : !ACTS.test(name);
      }),
    )
  );
}
