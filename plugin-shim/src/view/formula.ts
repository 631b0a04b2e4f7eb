/**
 * The check of formulas, which MathJax draws in Obsidian and Temml on the page. TeX has commands that load files, link
 * to addresses, style the page around them or redefine other commands. They are searched for in the TeX, since some act
 * while the formula is drawn. The drawn elements are checked before they are shown, too, since no list of commands is
 * complete.
 */

/** The length from which a formula is shown as TeX. */
const LONGEST = 2_000;
const UNSAFE =
  /\\(?:mml|bbox|html|href|url|class|style|css|data|require|toggle|(?:math|text)tip|unicode|include|label|(?:eq)?ref(?:eq)?(?![a-z])|[egx]?def|let|setoptions|mathtoolsset|new(?!line)|renew|use|provide|declare)/i;

/** The allowed elements: MathML, and MathJax's own. */
const DRAWN = /^(?:mjx-|span$|div$)/;
const MATHML = "http://www.w3.org/1998/Math/MathML";
const NOT_DRAWN = /^(?:mglyph|maction|annotation)/;
/** Attributes that link or act, and those that the view's listener acts on. */
const ACTS = /^on|href|src|action|^(?:data-(?!mjx|cramped|semantic)|is$|slot|popover|content|autofocus|accesskey)/;
/** The prefixes of the libraries' class names. */
const NAMES = /^(?:$|mjx|tex|math|tml-)/i;
const STYLE =
  /^\s*(?:$|(?:color|background-color|(?:min-|max-)?(?:width|height)|(?:margin|padding|border)[a-z-]*|left|right|top|bottom|vertical-align|text-align|font-(?:size|family|weight|style)|letter-spacing|line-height|transform|position:\s*relative$|display:\s*(?:block|inline) math$|math-(?:depth|style|shift))(?![a-z-]))/;
const UNSAFE_VALUE = /url|image|[\\@]|\/\*|expression/i;

/** Whether the TeX contains no forbidden command. */
export function mayDraw(tex: string): boolean {
  return tex.length <= LONGEST && !UNSAFE.test(tex);
}

/** Whether the drawn elements only display the formula. The outer element is the host's. */
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
