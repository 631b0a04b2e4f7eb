//! Parses a query in one pass. Malformed parts are read as words.

use regex::RegexBuilder;

use super::{Comparison, Filter, Pattern, Query, SearchScope, Text};
use crate::note::fold;

/// The most words, phrases, patterns and properties of a query; the rest is ignored.
pub const MAX_TERMS: usize = 256;

/// The most regular expressions in one query.
pub const MAX_PATTERNS: usize = 16;

/// The deepest nesting of groups and operators.
const MAX_DEPTH: usize = 32;

/// Characters of the longest regular expression.
const MAX_PATTERN: usize = 1_000;

/// Bytes of the largest compiled regular expression.
const MAX_COMPILED: usize = 2 << 20;

/// The deepest nesting of groups in a regular expression.
const PATTERN_NESTING: u32 = 64;

/// The operators. `None` are those that say whether case counts.
const OPERATORS: [(&str, Option<SearchScope>); 12] = [
    ("file:", Some(SearchScope::FileName)),
    ("path:", Some(SearchScope::Path)),
    ("content:", Some(SearchScope::Content)),
    ("tag:", Some(SearchScope::Tag)),
    ("line:", Some(SearchScope::Line)),
    ("block:", Some(SearchScope::Block)),
    ("section:", Some(SearchScope::Section)),
    ("task:", Some(SearchScope::Task)),
    ("task-todo:", Some(SearchScope::OpenTask)),
    ("task-done:", Some(SearchScope::DoneTask)),
    ("match-case:", None),
    ("ignore-case:", None),
];

/// Parses a query. Case does not matter unless an operator says so.
pub fn parse(text: &str) -> Query {
    let mut reader =
        QueryParser { text, at: 0, depth: 0, terms: 0, patterns: 0, ignored: Vec::new() };
    let around = Around { level: Level::File, match_case: false, stops: "" };
    let filter = reader.expression(around);
    let mut words = Vec::new();
    filter.words(&mut words);
    let understood = filter.sentence();
    Query { words, filter, understood, ignored: reader.ignored }
}

/// The syntax allowed in a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    /// Everything.
    File,
    /// A part of a text: no properties.
    Part,
    /// A name, path or tag: no places in texts either.
    Name,
    /// A property's value: bounds and `null`, besides.
    Value,
}

/// The context of an expression.
#[derive(Clone, Copy)]
struct Around {
    level: Level,
    match_case: bool,
    /// The characters that end it.
    stops: &'static str,
}

struct QueryParser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    terms: usize,
    patterns: usize,
    ignored: Vec<String>,
}

impl<'t> QueryParser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn is_end(&self, around: Around) -> bool {
        self.rest().chars().next().is_none_or(|c| around.stops.contains(c))
    }

    /// Whether a term ends here.
    fn is_parted(&self, around: Around) -> bool {
        self.is_end(around) || self.rest().starts_with(char::is_whitespace)
    }

    fn ignore(&mut self, what: &str, why: &str) {
        let shown: String = what.chars().take(80).collect();
        let more = if shown.len() < what.len() { "…" } else { "" };
        self.ignored.push(format!("`{shown}{more}` {why}"));
    }

    fn expression(&mut self, around: Around) -> Filter {
        let (mut any, mut all) = (Vec::new(), Vec::new());
        loop {
            self.skip_blanks();
            if self.is_end(around) {
                break;
            }
            if self.terms >= MAX_TERMS {
                self.ignore(self.rest(), &format!("was left out: {MAX_TERMS} words are read"));
                self.at = self.text.len();
                break;
            }
            if !all.is_empty() && self.or(around) {
                any.push(join_filters(std::mem::take(&mut all), Filter::All))
            } else {
                all.push(self.term(around))
            }
        }
        if !all.is_empty() || any.is_empty() {
            any.push(join_filters(all, Filter::All));
        }
        join_filters(any, Filter::Any)
    }

    /// Parses an `OR` that an operand follows.
    fn or(&mut self, around: Around) -> bool {
        let Some(after) = self.rest().strip_prefix("OR") else { return false };
        let behind = after.trim_start();
        let is_last = behind.chars().next().is_none_or(|c| around.stops.contains(c));
        let is_or = !is_last && (behind.len() < after.len() || behind.starts_with('('));
        if is_or {
            self.at = self.text.len() - behind.len();
        }
        is_or
    }

    fn term(&mut self, around: Around) -> Filter {
        let read = match self.rest().chars().next() {
            Some('-') => self.negation(around),
            Some(c) if is_quote(c) => self.phrase(around),
            Some('/') => self.pattern(around),
            Some('(') => self.group(around),
            Some('[') => self.property(around),
            _ => self.operator(around),
        };
        read.unwrap_or_else(|| self.word(around))
    }

    fn negation(&mut self, around: Around) -> Option<Filter> {
        let start = self.at;
        self.at += 1;
        if self.is_parted(around) || self.rest().starts_with('-') {
            self.at = start;
            return None;
        }
        Some(Filter::Not(Box::new(self.term(around))))
    }

    fn phrase(&mut self, around: Around) -> Option<Filter> {
        let start = self.at;
        let mut text = String::new();
        let opened = self.rest().chars().next().unwrap_or_default();
        let closes = |c: char| c == '"' || opened != '"' && is_quote(c);
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                c if closes(c) => {
                    self.at += at + c.len_utf8();
                    return Some(self.text(text, true, around));
                }
                '\\' => match chars.next() {
                    Some((_, escaped @ ('"' | '\\'))) => text.push(escaped),
                    other => {
                        text.push(c);
                        text.extend(other.map(|(_, c)| c));
                    }
                },
                _ => text.push(c),
            }
        }
        let quote = opened.len_utf8();
        if self.rest().len() > quote {
            let raw = &self.rest()[..quote];
            self.ignore(raw, "was left out: no second one closes the phrase");
            self.at += quote;
            self.skip_blanks();
            if !self.is_end(around) {
                return Some(self.term(around));
            }
        }
        self.at = start;
        None
    }

    fn pattern(&mut self, around: Around) -> Option<Filter> {
        let start = self.at;
        let source = &self.rest()[1..pattern_end(self.rest())?];
        self.at += source.len() + 2;
        if source.is_empty() || !self.is_parted(around) {
            self.at = start;
            return None;
        }
        self.patterns += 1;
        let why = if self.patterns > MAX_PATTERNS {
            format!("is one pattern too many ({MAX_PATTERNS} are read)")
        } else if source.chars().count() > MAX_PATTERN {
            format!("is too long for a pattern (the limit is {MAX_PATTERN} characters)")
        } else {
            match compile(source, around.match_case) {
                Ok(regex) => {
                    self.terms += 1;
                    return Some(Filter::Pattern(Pattern { regex, match_case: around.match_case }));
                }
                Err(why) => why,
            }
        };
        let raw = &self.text[start..self.at];
        Some(self.literally(raw, &why, around))
    }

    fn group(&mut self, around: Around) -> Option<Filter> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        let start = self.at;
        self.at += 1;
        self.depth += 1;
        let stops = if around.stops.contains(']') { ")]" } else { ")" };
        let inside = self.expression(Around { stops, ..around });
        self.depth -= 1;
        let is_closed = self.rest().starts_with(')');
        self.at += usize::from(is_closed);
        if inside.is_empty() {
            let raw = self.text[start..self.at].trim_end();
            return Some(self.literally(raw, "holds nothing", around));
        }
        if !is_closed {
            self.ignore(&self.text[start..self.at], "has no `)`: it was read to the end");
        }
        Some(inside)
    }

    fn property(&mut self, around: Around) -> Option<Filter> {
        let start = self.at;
        for literal in ["[[", "[ ]"] {
            let Some(after) = self.rest().strip_prefix(literal) else { continue };
            let length = match literal {
                "[[" => 4 + after.find("]]")?,
                _ => 3,
            };
            self.at += length;
            let raw = &self.text[start..self.at];
            return Some(match around.level {
                Level::File => self.literally(raw, "is not a property", around),
                _ => self.text(raw.to_owned(), false, around),
            });
        }
        if around.level != Level::File {
            return None;
        }
        let ignored = self.ignored.len();
        self.at += 1;
        let inside = Around { level: Level::Name, stops: ":]", ..around };
        let name = self.expression(inside);
        let raw = self.text[start + 1..self.at].trim();
        // A name of several words needs no quotes.
        let name = if name.is_only_words() && !matches!(name, Filter::Any(_)) {
            self.text(raw.to_owned(), true, inside)
        } else {
            name
        };
        let mut value = None;
        if self.rest().starts_with(':') {
            self.at += 1;
            let read = self.expression(Around { level: Level::Value, stops: "]", ..around });
            value = (!read.is_empty()).then(|| Box::new(read));
        }
        if raw.is_empty() || !self.rest().starts_with(']') {
            self.ignored.truncate(ignored);
            self.at = start;
            self.ignore("[", "begins no property");
            return None;
        }
        self.at += 1;
        Some(Filter::Property { name: Box::new(name), value })
    }

    fn operator(&mut self, around: Around) -> Option<Filter> {
        let is_here = |name: &str| {
            self.rest().get(..name.len()).is_some_and(|here| here.eq_ignore_ascii_case(name))
        };
        let (name, place) = *OPERATORS.iter().find(|(name, _)| is_here(name))?;
        let inside = match place {
            None => Around { match_case: name.starts_with('m'), ..around },
            Some(SearchScope::FileName | SearchScope::Path | SearchScope::Tag) => {
                Around { level: Level::Name, ..around }
            }
            Some(_) => Around { level: Level::Part, ..around },
        };
        let raw = &self.rest()[..name.len()];
        let fits = place.is_none() || matches!(around.level, Level::File | Level::Part);
        if !fits || self.depth >= MAX_DEPTH {
            self.ignore(raw, "is not an operator here");
            return None;
        }
        self.at += name.len();
        if self.is_parted(around) {
            return Some(self.literally(raw, "is followed by nothing", around));
        }
        self.depth += 1;
        let read = self.term(inside);
        self.depth -= 1;
        Some(match place {
            Some(place) => Filter::Within(place, Box::new(read)),
            None => read,
        })
    }

    /// Reads to the next blank or stop character outside brackets.
    fn word(&mut self, around: Around) -> Filter {
        let rest = self.rest();
        let (mut round, mut square) = (0_usize, 0_usize);
        let ends = |(at, c): &(usize, char)| {
            match c {
                '(' => round += 1,
                '[' => square += 1,
                ')' if round > 0 => {
                    round -= 1;
                    return false;
                }
                ']' if square > 0 => {
                    square -= 1;
                    return false;
                }
                _ => {}
            }
            *at > 0 && (c.is_whitespace() || around.stops.contains(*c))
        };
        let word = &rest[..rest.char_indices().find(ends).map_or(rest.len(), |(at, _)| at)];
        self.at += word.len();
        if around.level == Level::Value {
            if word == "null" {
                self.terms += 1;
                return Filter::Null;
            }
            if let Some(compared) = self.comparison(word, around) {
                self.terms += 1;
                return Filter::Compared(compared);
            }
        }
        self.text(word.to_owned(), false, around)
    }

    /// Parses a bound: a comparison with a number or date, blanks allowed.
    fn comparison(&mut self, word: &str, around: Around) -> Option<Comparison> {
        let after = word.strip_prefix(['<', '>'])?;
        let bound = after.strip_prefix('=').unwrap_or(after);
        let mut compared = Comparison {
            is_less: word.starts_with('<'),
            or_equal: bound.len() < after.len(),
            bound: bound.to_owned(),
        };
        if bound.is_empty() {
            let behind = self.rest().trim_start();
            let ends = |c: char| c.is_whitespace() || around.stops.contains(c);
            compared.bound = behind[..behind.find(ends).unwrap_or(behind.len())].to_owned();
        }
        if !compared.is_sound() {
            self.ignore(word, "compares with no number or date");
            return None;
        }
        if bound.is_empty() {
            self.skip_blanks();
            self.at += compared.bound.len();
        }
        Some(compared)
    }

    fn text(&mut self, text: String, is_quoted: bool, around: Around) -> Filter {
        self.terms += 1;
        let match_case = around.match_case;
        let key = if match_case { fold::normal(&text).into_owned() } else { fold::fold_key(&text) };
        Filter::Text(Text { text, key, match_case, is_quoted })
    }

    fn literally(&mut self, raw: &str, why: &str, around: Around) -> Filter {
        self.ignore(raw, &format!("{why}: it is searched for as text"));
        self.text(raw.to_owned(), false, around)
    }
}

/// Quotes of any kind, as phones and word processors set them.
fn is_quote(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '„')
}

/// The only one, or all of them together.
fn join_filters(mut parts: Vec<Filter>, together: fn(Vec<Filter>) -> Filter) -> Filter {
    match parts.len() {
        1 => parts.remove(0),
        _ => together(parts),
    }
}

/// The offset of the `/` that closes the pattern at the start of `text`.
fn pattern_end(text: &str) -> Option<usize> {
    let mut in_class = false;
    let mut bytes = text.bytes().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'/' if !in_class => return Some(at),
            b'\\' => drop(bytes.next()),
            b'[' => in_class = true,
            b']' => in_class = false,
            b'\n' => return None,
            _ => {}
        }
    }
    None
}

fn compile(source: &str, match_case: bool) -> Result<regex::Regex, String> {
    let built = RegexBuilder::new(source)
        .case_insensitive(!match_case)
        .multi_line(true)
        .crlf(true)
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_COMPILED)
        .nest_limit(PATTERN_NESTING)
        .build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "is too large a pattern".to_owned(),
        error => {
            let error = error.to_string();
            let reason = error.lines().last().unwrap_or_default();
            let reason = reason.strip_prefix("error: ").unwrap_or(reason);
            format!("is not a pattern that can be used ({reason})")
        }
    })
}
