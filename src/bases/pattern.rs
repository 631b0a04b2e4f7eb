//! Translates JavaScript's regular expressions for an engine that runs in linear time.

use std::iter::Peekable;
use std::str::CharIndices;

use regex::RegexBuilder;

use super::value::Pattern;

/// The most memory that one pattern may take when it is compiled, in bytes.
const MAX_COMPILED: usize = 2 << 20;

/// The deepest nesting of groups.
const MAX_NESTING: u32 = 100;

/// JavaScript's white space: Unicode's and the byte-order mark.
const BLANKS: &str = r"\t\n\x0B\x0C\r \u{A0}\u{1680}\u{2000}-\u{200A}\u{2028}\u{2029}\u{202F}\u{205F}\u{3000}\u{FEFF}";

/// JavaScript's line terminators.
const LINE_ENDS: &str = r"\n\r\u{2028}\u{2029}";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PatternFault {
    /// Bytes of the pattern's source. Offsets past its end are those of the closing slash and the flags.
    pub(super) at: usize,
    pub(super) message: String,
    pub(super) hint: Option<&'static str>,
}

/// Compiles the text between the slashes, with the flags after them.
///
/// # Errors
/// The pattern is malformed, uses look-around or a back reference, or takes too much memory.
pub(super) fn compile(source: &str, flags: &str) -> Result<Pattern, PatternFault> {
    let fault = |at, message: String, hint| PatternFault { at, message, hint };
    for (at, flag) in flags.char_indices() {
        let place = source.len() + 1 + at;
        if !"gimsuy".contains(flag) {
            let message = format!("there is no flag `{flag}` of patterns");
            return Err(fault(
                place,
                message,
                Some("the flags are `g`, `i`, `m`, `s`, `u` and `y`"),
            ));
        }
        if flags[..at].contains(flag) {
            return Err(fault(place, format!("the flag `{flag}` is repeated"), None));
        }
    }
    if source.is_empty() {
        let message = "this pattern is empty".to_owned();
        return Err(fault(0, message, Some("write `/(?:)/`, or `\"\"`")));
    }
    let mut reader = PatternReader {
        source,
        chars: source.char_indices().peekable(),
        regex_source: String::with_capacity(source.len() + 16),
        is_unicode: flags.contains('u'),
        is_multiline: flags.contains('m'),
        is_dot_all: flags.contains('s'),
        groups: Vec::new(),
    };
    reader.read()?;
    let is_sticky = flags.contains('y');
    let regex_source =
        if is_sticky { format!(r"\A(?:{})", reader.regex_source) } else { reader.regex_source };
    let regex = RegexBuilder::new(&regex_source)
        .case_insensitive(flags.contains('i'))
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_COMPILED)
        .nest_limit(MAX_NESTING)
        .build();
    match regex {
        Ok(regex) => Ok(Pattern { source: source.into(), flags: flags.into(), regex }),
        Err(regex::Error::CompiledTooBig(_)) => Err(fault(
            0,
            "this pattern is too large".to_owned(),
            Some("repeat less: `{1,50}` of a wide class is large"),
        )),
        Err(error) => {
            let error = error.to_string();
            let reason = error.lines().last().unwrap_or_default();
            let reason = reason.strip_prefix("error: ").unwrap_or(reason);
            Err(fault(0, format!("this pattern cannot be used: {reason}"), None))
        }
    }
}

struct PatternReader<'s> {
    source: &'s str,
    chars: Peekable<CharIndices<'s>>,
    regex_source: String,
    is_unicode: bool,
    is_multiline: bool,
    is_dot_all: bool,
    /// Where the open groups begin.
    groups: Vec<usize>,
}

/// One member of a class, or one character outside a class.
enum Atom {
    Char(char),
    /// In the engine's syntax, for use within a class.
    Class(&'static str),
    /// `\p{…}`, which means the same to the engine.
    Property(String),
}

impl<'s> PatternReader<'s> {
    fn read(&mut self) -> Result<(), PatternFault> {
        // Whether a quantifier may follow.
        let mut is_atom = false;
        while let Some((at, c)) = self.chars.next() {
            is_atom = match c {
                '(' => {
                    self.open(at)?;
                    false
                }
                ')' => {
                    self.groups.pop().ok_or_else(|| self.fault(at, "`)` without a `(`"))?;
                    self.regex_source.push(')');
                    true
                }
                '|' => {
                    self.regex_source.push('|');
                    false
                }
                '^' => {
                    self.regex_source.push_str(if self.is_multiline { "(?mR:^)" } else { r"\A" });
                    false
                }
                '$' => {
                    self.regex_source.push_str(if self.is_multiline { "(?mR:$)" } else { r"\z" });
                    false
                }
                '.' => {
                    if self.is_dot_all {
                        self.regex_source.push_str("(?s:.)")
                    } else {
                        self.negated(LINE_ENDS)
                    }
                    true
                }
                '[' => {
                    self.class(at)?;
                    true
                }
                '*' | '+' | '?' | '{' => {
                    let repeat = self.repeat(at, c);
                    if repeat.is_none() && self.is_unicode {
                        return Err(self.fault(at, "`{` without a number"));
                    }
                    match repeat {
                        None => {
                            self.char('{');
                            true
                        }
                        Some(_) if !is_atom => {
                            return Err(self.fault(at, &format!("`{c}` has nothing to repeat")));
                        }
                        Some(repeat) => {
                            if repeat.1.is_some_and(|most| most < repeat.0) {
                                return Err(self.fault(at, "the numbers in `{}` are out of order"));
                            }
                            if self.chars.next_if(|(_, c)| *c == '?').is_some() {
                                self.regex_source.push('?');
                            }
                            false
                        }
                    }
                }
                '\\' => self.escape(at)?,
                c => {
                    self.char(c);
                    true
                }
            };
        }
        match self.groups.pop() {
            Some(at) => Err(self.fault(at, "this group is not closed")),
            None => Ok(()),
        }
    }

    fn fault(&self, at: usize, message: &str) -> PatternFault {
        PatternFault { at, message: message.to_owned(), hint: None }
    }

    fn rest(&mut self) -> &'s str {
        let at = self.chars.peek().map_or(self.source.len(), |(at, _)| *at);
        &self.source[at..]
    }

    fn skip(&mut self, chars: usize) {
        for _ in 0..chars {
            self.chars.next();
        }
    }

    fn char(&mut self, c: char) {
        if regex_syntax::is_meta_character(c) {
            self.regex_source.push('\\');
        }
        self.regex_source.push(c);
    }

    fn negated(&mut self, class: &str) {
        self.regex_source.push_str("[^");
        self.regex_source.push_str(class);
        self.regex_source.push(']');
    }

    fn open(&mut self, at: usize) -> Result<(), PatternFault> {
        const LOOKS: [(&str, &str); 4] = [
            ("?=", "lookahead"),
            ("?!", "lookahead"),
            ("?<=", "lookbehind"),
            ("?<!", "lookbehind"),
        ];
        self.groups.push(at);
        let rest = self.rest();
        if let Some((_, what)) = LOOKS.iter().find(|(sign, _)| rest.starts_with(sign)) {
            return Err(PatternFault {
                at,
                message: format!("{what} cannot be used: patterns here take linear time"),
                hint: Some("use two conditions joined with `&&`, or a group and `replace`"),
            });
        }
        if rest.starts_with("?:") {
            self.skip(2);
            self.regex_source.push_str("(?:");
            return Ok(());
        }
        if let Some(name) = rest.strip_prefix("?<") {
            let name = name.split('>').next().unwrap_or_default();
            let is_name = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
                && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
            if !is_name || rest.len() == 2 + name.len() {
                return Err(PatternFault {
                    hint: Some("write `(?<name>…)`, with letters, digits and `_`"),
                    ..self.fault(at, "this group has no name that can be used")
                });
            }
            self.skip(3 + name.len());
            self.regex_source.push_str("(?P<");
            self.regex_source.push_str(name);
            self.regex_source.push('>');
            return Ok(());
        }
        if rest.starts_with('?') {
            return Err(PatternFault {
                hint: Some("write the flags after the pattern: `/abc/i`"),
                ..self.fault(at, "this kind of group is not known")
            });
        }
        self.regex_source.push('(');
        Ok(())
    }

    /// Reads a quantifier that begins with `c`: its minimum and maximum. `None` if it is a literal brace.
    fn repeat(&mut self, at: usize, c: char) -> Option<(u64, Option<u64>)> {
        if c != '{' {
            self.regex_source.push(c);
            return Some((0, None));
        }
        let inside = self.source[at + 1..].split_once('}')?.0;
        let (least, most) = inside.split_once(',').unwrap_or((inside, inside));
        let number = |text: &str| -> Option<u64> {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse().unwrap_or(u64::MAX))
        };
        let most = if most.is_empty() { None } else { Some(number(most)?) };
        let found = (number(least)?, most);
        let length = inside.len() + 2;
        self.regex_source.push_str(&self.source[at..at + length]);
        self.skip(length - 1);
        Some(found)
    }

    /// Translates an escape outside a class, and says whether a quantifier may follow it.
    fn escape(&mut self, at: usize) -> Result<bool, PatternFault> {
        let Some(&(_, c)) = self.chars.peek() else {
            return Err(self.fault(at, "there is nothing after this `\\`"));
        };
        match c {
            'b' | 'B' => {
                self.skip(1);
                self.regex_source.push_str(if c == 'b' { r"(?-u:\b)" } else { r"(?-u:\B)" });
                return Ok(false);
            }
            '1'..='9' => return Err(self.back_reference(at)),
            'k' if self.is_unicode || self.source.contains("(?<") => {
                return Err(self.back_reference(at));
            }
            _ => {}
        }
        match self.atom(at)? {
            Atom::Char(c) => self.char(c),
            // With the flag `i` the engine would widen the letters of `\w`.
            Atom::Class(class) => {
                self.regex_source.push_str("(?-i:[");
                self.regex_source.push_str(class);
                self.regex_source.push_str("])");
            }
            Atom::Property(class) => self.regex_source.push_str(&class),
        }
        Ok(true)
    }

    fn back_reference(&self, at: usize) -> PatternFault {
        PatternFault {
            hint: Some("compare the parts in an expression, with `split` or `replace`"),
            ..self.fault(at, "back references cannot be used: patterns here take linear time")
        }
    }

    /// Translates an escape, in a class or outside.
    fn atom(&mut self, at: usize) -> Result<Atom, PatternFault> {
        let Some((_, c)) = self.chars.next() else {
            return Err(self.fault(at, "there is nothing after this `\\`"));
        };
        Ok(match c {
            'd' => Atom::Class("0-9"),
            'D' => Atom::Class("[^0-9]"),
            'w' => Atom::Class("0-9A-Za-z_"),
            'W' => Atom::Class("[^0-9A-Za-z_]"),
            's' => Atom::Class(BLANKS),
            'S' => Atom::Class(NOT_BLANKS),
            't' => Atom::Char('\t'),
            'n' => Atom::Char('\n'),
            'v' => Atom::Char('\u{b}'),
            'f' => Atom::Char('\u{c}'),
            'r' => Atom::Char('\r'),
            '0' => Atom::Char('\0'),
            'c' => match self.chars.next_if(|(_, c)| c.is_ascii_alphabetic()) {
                Some((_, letter)) => Atom::Char(char::from(letter as u8 % 32)),
                None => return Err(self.fault(at, "`\\c` wants a letter")),
            },
            'x' => match self.hex(2) {
                Some(code) => self.code(at, code)?,
                None => Atom::Char('x'),
            },
            'u' => self.unicode(at)?,
            'p' | 'P' if self.is_unicode => {
                let property = self.rest().strip_prefix('{').and_then(|rest| rest.split_once('}'));
                let Some((property, _)) = property else {
                    return Err(self.fault(at, "`\\p` wants a property: `\\p{L}`"));
                };
                let regex_source = format!("\\{c}{{{property}}}");
                self.skip(property.chars().count() + 2);
                if regex_syntax::Parser::new().parse(&regex_source).is_err() {
                    return Err(self
                        .fault(at, &format!("`{regex_source}` is not a property of characters")));
                }
                Atom::Property(regex_source)
            }
            other => Atom::Char(other),
        })
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        let code = u32::from_str_radix(self.rest().get(..digits)?, 16).ok();
        let is_hex = self.rest().chars().take(digits).all(|c| c.is_ascii_hexdigit());
        let code = code.filter(|_| is_hex)?;
        self.skip(digits);
        Some(code)
    }

    fn unicode(&mut self, at: usize) -> Result<Atom, PatternFault> {
        if self.is_unicode && self.rest().starts_with('{') {
            let digits = self.rest()[1..].split('}').next().map_or(0, str::len);
            self.skip(1);
            let code = self.hex(digits);
            self.skip(1);
            return self.code(at, code.unwrap_or(u32::MAX));
        }
        let Some(code) = self.hex(4) else { return Ok(Atom::Char('u')) };
        // A surrogate pair is one character.
        if (0xd800..0xdc00).contains(&code) && self.rest().starts_with("\\u") {
            self.skip(2);
            let low = self.hex(4).filter(|low| (0xdc00..0xe000).contains(low));
            let whole = low.map(|low| 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00));
            return self.code(at, whole.unwrap_or(u32::MAX));
        }
        self.code(at, code)
    }

    fn code(&self, at: usize, code: u32) -> Result<Atom, PatternFault> {
        let c = char::from_u32(code);
        c.map(Atom::Char).ok_or_else(|| self.fault(at, "this is not a whole character"))
    }

    fn class(&mut self, at: usize) -> Result<(), PatternFault> {
        let is_negated = self.chars.next_if(|(_, c)| *c == '^').is_some();
        if self.chars.next_if(|(_, c)| *c == ']').is_some() {
            // `[]` matches nothing, `[^]` anything.
            self.regex_source.push_str(if is_negated { "(?s:.)" } else { r"[^\s\S]" });
            return Ok(());
        }
        self.regex_source.push_str(if is_negated { "[^" } else { "[" });
        loop {
            let Some(&(from, c)) = self.chars.peek() else {
                return Err(self.fault(at, "this class is not closed"));
            };
            if c == ']' {
                self.skip(1);
                self.regex_source.push(']');
                return Ok(());
            }
            let first = self.member()?;
            let rest = self.rest();
            let is_range = rest.starts_with('-') && !rest.starts_with("-]") && rest.len() > 1;
            match first {
                Atom::Char(first) if is_range => {
                    self.skip(1);
                    match self.member()? {
                        Atom::Char(last) if last < first => {
                            return Err(self.fault(from, "this range is out of order"));
                        }
                        Atom::Char(last) => {
                            self.in_class(first);
                            self.regex_source.push('-');
                            self.in_class(last);
                        }
                        class => {
                            self.in_class(first);
                            self.in_class('-');
                            self.class_in_class(&class);
                        }
                    }
                }
                Atom::Char(first) => self.in_class(first),
                class => self.class_in_class(&class),
            }
        }
    }

    fn member(&mut self) -> Result<Atom, PatternFault> {
        match self.chars.next() {
            Some((at, '\\')) => match self.chars.next_if(|(_, c)| *c == 'b') {
                Some(_) => Ok(Atom::Char('\u{8}')),
                None => self.atom(at),
            },
            Some((_, c)) => Ok(Atom::Char(c)),
            None => Err(self.fault(self.source.len(), "this class is not closed")),
        }
    }

    fn in_class(&mut self, c: char) {
        if regex_syntax::is_meta_character(c) {
            self.regex_source.push('\\');
        }
        self.regex_source.push(c);
    }

    fn class_in_class(&mut self, class: &Atom) {
        match class {
            Atom::Char(c) => self.in_class(*c),
            Atom::Class(class) => self.regex_source.push_str(class),
            Atom::Property(class) => self.regex_source.push_str(class),
        }
    }
}

/// All but [`BLANKS`], for within a class.
const NOT_BLANKS: &str = r"[^\t\n\x0B\x0C\r \u{A0}\u{1680}\u{2000}-\u{200A}\u{2028}\u{2029}\u{202F}\u{205F}\u{3000}\u{FEFF}]";

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
