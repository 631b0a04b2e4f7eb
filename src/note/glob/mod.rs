//! The globs of `list_files` and `search_files`.
//!
//! `*` matches any run within a component, `**` as a whole component any number of components, `?`
//! one character, `{a,b}` one of several. `[` and `]` are literal, since note names contain them.
//! `\` is `/`, as in every path. An unmatched brace is literal.
//!
//! Two spellings are ambiguous: braces around a single choice (`{draft}`), and `\` before one of
//! `{}[]*?`, which other programs use as an escape. [`Glob::parse`] reads a choice and a folder,
//! [`Glob::literal`] the characters themselves; a caller with the names uses the reading that
//! matches one.
//!
//! Matching ignores case, Unicode form and kinds of space: literal text and paths both go through
//! [`fold_key`].
//!
//! Matching is greedy with one backtracking point per level (a star in a component, a `**` among
//! the components), so it costs at most pattern × path; alternatives are expanded beforehand, up to
//! a limit.
//!
//! The properties that all matching paths share ([`Glob::prefix`], [`Glob::name`],
//! [`Glob::name_beginning`], [`Glob::ending`], [`Glob::needle`], [`Glob::depth`]) let a caller with
//! a hundred thousand paths test only a few.

mod braces;
mod wild;

use braces::Signs;
use wild::Wild;

use crate::note::code::ErrorCode;
use crate::note::fold::fold_key;

/// The longest pattern, in bytes.
pub const MAX_PATTERN_BYTES: usize = 1024;

/// The most patterns that one glob may expand to.
pub const MAX_ALTERNATIVES: usize = 256;

/// The deepest nesting of braces.
const MAX_DEPTH: usize = 16;

/// The signs that `\` can escape in a literal reading.
const SIGNS: &str = "{}[]*?";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    alternatives: Vec<Vec<Segment>>,
    has_slash: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    #[error("the pattern is empty")]
    Empty,
    /// Longer than [`MAX_PATTERN_BYTES`].
    #[error("the pattern has {bytes} bytes; the limit is {MAX_PATTERN_BYTES}")]
    TooLong { bytes: usize },
    /// The braces expand to more than [`MAX_ALTERNATIVES`] patterns, or are nested too deep.
    #[error("the braces in `{pattern}` make more than {MAX_ALTERNATIVES} patterns")]
    TooManyAlternatives { pattern: String },
    #[error("the pattern `{pattern}` climbs with `..`")]
    Climbs { pattern: String },
}

impl GlobError {
    pub fn code(&self) -> ErrorCode {
        ErrorCode::InvalidPattern
    }

    pub fn hint(&self) -> &'static str {
        match self {
            Self::Empty => "use `*` for everything in the folder, `**` for everything below it",
            Self::TooLong { .. } | Self::TooManyAlternatives { .. } => {
                "use a wider pattern, or several calls"
            }
            Self::Climbs { .. } => "name the folder to look in by `path`",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    /// `**`: any number of components.
    AnyDepth,
    /// A component without wildcards.
    Exact(String),
    /// A component with wildcards.
    Wild(Wild),
}

impl Glob {
    /// Parses a glob as a person or a model writes it. Ignores a leading `/` or `./`, a trailing
    /// `/` and empty components.
    ///
    /// # Errors
    /// An empty or too long pattern, braces that expand to too many patterns, a `..` component.
    pub fn parse(pattern: &str) -> Result<Self, GlobError> {
        Self::read(pattern, Signs::Syntax)
    }

    /// Like [`Glob::parse`], but braces around a single choice are literal (`{draft}.md`, `{{date}}`), and
    /// so is a sign after `\` (`\{draft\}.md`, `\[x\]`, `5 \* 5`). `None` if that makes no difference.
    pub fn literal(pattern: &str) -> Result<Option<Self>, GlobError> {
        let literal = Self::read(pattern, Signs::Literal)?;
        Ok(Some(literal).filter(|literal| Self::parse(pattern).as_ref() != Ok(literal)))
    }

    fn read(pattern: &str, signs: Signs) -> Result<Self, GlobError> {
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(GlobError::TooLong { bytes: pattern.len() });
        }
        let pattern = pattern.trim();
        let slashed = match signs {
            Signs::Syntax => pattern.replace('\\', "/"),
            Signs::Literal => slashed_between_escapes(pattern),
        };
        let expanded = braces::expand(&slashed, signs)
            .ok_or_else(|| GlobError::TooManyAlternatives { pattern: pattern.to_owned() })?;
        let mut alternatives = Vec::with_capacity(expanded.len());
        for alternative in &expanded {
            let mut segments = Vec::new();
            for text in alternative.split('/') {
                match text {
                    "" | "." => {}
                    ".." => return Err(GlobError::Climbs { pattern: pattern.to_owned() }),
                    // `**/**` means the same as `**`.
                    "**" if segments.last() == Some(&Segment::AnyDepth) => {}
                    "**" => segments.push(Segment::AnyDepth),
                    text => segments.push(segment(text)),
                }
            }
            if !segments.is_empty() && !alternatives.contains(&segments) {
                alternatives.push(segments);
            }
        }
        if alternatives.is_empty() {
            return Err(GlobError::Empty);
        }
        let has_slash = alternatives.iter().any(|segments| segments.len() > 1);
        Ok(Self { alternatives, has_slash })
    }

    /// Matches the entry with this name directly in the listed folder; no character is a wildcard.
    pub fn of_name(name: &str) -> Self {
        let alternatives = vec![vec![Segment::Exact(fold_key(name))]];
        Self { alternatives, has_slash: true }
    }

    /// Whether `folded_path` matches: a path below the listed folder, `/` between components,
    /// already through [`fold_key`]. A trailing `**` requires at least one component: `a/**`
    /// matches everything below `a`, not `a`.
    pub fn matches(&self, folded_path: &str) -> bool {
        !folded_path.is_empty()
            && self.alternatives.iter().any(|segments| match_path(segments, folded_path))
    }

    /// Whether any alternative has more than one component, or the glob is that of a name
    /// ([`Glob::of_name`]). Otherwise the glob matches only entries of the listed folder (or, as
    /// `**`, everything).
    pub fn has_slash(&self) -> bool {
        self.has_slash
    }

    /// The folded path of the folder that contains all matches; empty if unknown.
    pub fn prefix(&self) -> String {
        let [segments] = &self.alternatives[..] else { return String::new() };
        let exact = segments[..segments.len() - 1].iter().map_while(|segment| match segment {
            Segment::Exact(name) => Some(name.as_str()),
            Segment::AnyDepth | Segment::Wild(_) => None,
        });
        exact.collect::<Vec<_>>().join("/")
    }

    /// Whether the glob matches exactly what is below its [`Glob::prefix`].
    pub fn is_all_below_prefix(&self) -> bool {
        let [segments] = &self.alternatives[..] else { return false };
        let Some((Segment::AnyDepth, above)) = segments.split_last() else { return false };
        above.iter().all(|segment| matches!(segment, Segment::Exact(_)))
    }

    /// The folded last component of all matches; `None` if it varies.
    pub fn name(&self) -> Option<&str> {
        let [segments] = &self.alternatives[..] else { return None };
        match segments.last() {
            Some(Segment::Exact(name)) => Some(name),
            Some(Segment::AnyDepth | Segment::Wild(_)) | None => None,
        }
    }

    /// The folded text with which the last component of every match begins; empty if there is none.
    pub fn name_beginning(&self) -> &str {
        let mut beginnings = self.alternatives.iter().map(|segments| match segments.last() {
            Some(Segment::Exact(name)) => name.as_str(),
            Some(Segment::Wild(wild)) => wild.beginning(),
            Some(Segment::AnyDepth) | None => "",
        });
        let first = beginnings.next().unwrap_or_default();
        beginnings.fold(first, common_beginning)
    }

    /// The ending that alone decides on a match, at any depth: `.md` for `**/*.md`. Empty for `**`,
    /// which matches everything.
    pub fn ending(&self) -> Option<&str> {
        let [segments] = &self.alternatives[..] else { return None };
        match &segments[..] {
            [Segment::AnyDepth] => Some(""),
            [Segment::AnyDepth, Segment::Wild(wild)] => wild.ending(),
            _ => None,
        }
    }

    /// The longest folded text that every match contains; empty if there is none.
    pub fn needle(&self) -> &str {
        let [segments] = &self.alternatives[..] else { return "" };
        let texts = segments.iter().flat_map(|segment| match segment {
            Segment::AnyDepth => Vec::new(),
            Segment::Exact(name) => vec![name.as_str()],
            Segment::Wild(wild) => wild.texts().collect(),
        });
        texts.max_by_key(|text| text.len()).unwrap_or_default()
    }

    /// The number of components of all matches; `None` if it varies.
    pub fn depth(&self) -> Option<usize> {
        let depth = self.alternatives.first()?.len();
        let fixed = |segments: &Vec<Segment>| {
            segments.len() == depth && !segments.contains(&Segment::AnyDepth)
        };
        self.alternatives.iter().all(fixed).then_some(depth)
    }

    /// The same glob at any depth, with `**/` before it.
    pub fn anywhere(&self) -> Self {
        let deepen = |segments: &Vec<Segment>| match segments.first() {
            Some(Segment::AnyDepth) => segments.clone(),
            _ => std::iter::once(Segment::AnyDepth).chain(segments.iter().cloned()).collect(),
        };
        Self { alternatives: self.alternatives.iter().map(deepen).collect(), has_slash: true }
    }
}

/// Parses one component and folds the literal text between the wildcards.
fn segment(text: &str) -> Segment {
    let wild = Wild::parse(text);
    match wild.is_text() {
        Some(text) => Segment::Exact(text.to_owned()),
        None => Segment::Wild(wild),
    }
}

/// The pattern with `/` for every `\` that escapes nothing.
fn slashed_between_escapes(pattern: &str) -> String {
    let mut slashed = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match (character, characters.clone().next()) {
            ('\\', Some(sign)) if SIGNS.contains(sign) => {
                slashed.extend(['\\', sign]);
                characters.next();
            }
            ('\\', _) => slashed.push('/'),
            _ => slashed.push(character),
        }
    }
    slashed
}

fn match_path(pattern: &[Segment], path: &str) -> bool {
    if let [Segment::AnyDepth, segment] = pattern {
        // Only the last component counts, below any folder.
        return match_segment(segment, path.rfind('/').map_or(path, |slash| &path[slash + 1..]));
    }
    // `left` is the rest to match; `None` once the last component is consumed.
    let (mut at, mut left) = (0, Some(path));
    let mut retry: Option<(usize, &str)> = None;
    loop {
        match (pattern.get(at), left) {
            (None, None) => return true,
            (Some(Segment::AnyDepth), Some(rest)) => {
                if at + 1 == pattern.len() {
                    return true;
                }
                retry = Some((at + 1, rest));
                at += 1;
                continue;
            }
            (Some(segment), Some(rest)) => {
                let (name, below) = first(rest);
                if match_segment(segment, name) {
                    at += 1;
                    left = below;
                    continue;
                }
            }
            _ => {}
        }
        // The last `**` consumes one more component. Backtracking further cannot help: this `**`
        // can reach whatever an earlier one could.
        let Some((after, from)) = retry else { return false };
        let Some(below) = first(from).1 else { return false };
        retry = Some((after, below));
        at = after;
        left = Some(below);
    }
}

/// The part of `a` with which `b` begins too.
fn common_beginning<'a>(a: &'a str, b: &str) -> &'a str {
    let alike = a.chars().zip(b.chars()).take_while(|(a, b)| a == b);
    &a[..alike.map(|(character, _)| character.len_utf8()).sum()]
}

/// The first component and the rest.
fn first(path: &str) -> (&str, Option<&str>) {
    match path.split_once('/') {
        Some((name, below)) => (name, Some(below)),
        None => (path, None),
    }
}

fn match_segment(segment: &Segment, name: &str) -> bool {
    match segment {
        Segment::AnyDepth => true,
        Segment::Exact(text) => text == name,
        Segment::Wild(wild) => wild.matches(name),
    }
}

#[cfg(test)]
mod tests;
