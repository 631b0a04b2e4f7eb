//! Globs as `list_files` and `search_files` take them.
//!
//! `*` is any run within a segment, `**` as a whole segment is any number of segments, `?` one
//! character, `{a,b}` one of several. `[` and `]` are themselves, since note names hold them. There
//! is no escape: `\` is `/`, as in every path. A brace without its partner is itself; two around one
//! choice alone (`{draft}`) can be meant either way ([`Glob::with_lone_braces`]).
//!
//! Case, Unicode form and kinds of space do not count: literal text goes through
//! [`fold_key`], and is compared with a path that went through it too.
//!
//! Matching is greedy with one point of return per level (a star in a segment, a `**` among the
//! segments), so it costs at most pattern × path; alternates are unfolded beforehand, up to a cap.
//!
//! What a glob says of every path that it means ([`Glob::prefix`], [`Glob::name`],
//! [`Glob::name_beginning`], [`Glob::ending`], [`Glob::needle`], [`Glob::depth`]) lets whoever has a
//! hundred thousand paths look at few of them.

mod braces;
mod wild;

use braces::Lone;
use wild::Wild;

use crate::note::code::ErrorCode;
use crate::note::fold::fold_key;

/// The longest pattern, in bytes.
pub const MAX_PATTERN_BYTES: usize = 1024;

/// The most patterns that the braces of one glob may unfold to.
pub const MAX_ALTERNATIVES: usize = 256;

/// The deepest nesting of braces.
const MAX_DEPTH: usize = 16;

/// A glob ready to match paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    alternatives: Vec<Vec<Segment>>,
    has_slash: bool,
}

/// Why a text is no glob.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    /// Nothing to match.
    #[error("the pattern is empty")]
    Empty,
    /// Longer than [`MAX_PATTERN_BYTES`].
    #[error("the pattern has {bytes} bytes; it can have {MAX_PATTERN_BYTES}")]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The braces stand for more than [`MAX_ALTERNATIVES`] patterns, or are nested too deep.
    #[error("the braces in `{pattern}` stand for more than {MAX_ALTERNATIVES} patterns")]
    TooManyAlternatives {
        /// The pattern as given.
        pattern: String,
    },
    /// A `..` segment.
    #[error("the pattern `{pattern}` climbs with `..`")]
    Climbs {
        /// The pattern as given.
        pattern: String,
    },
}

impl GlobError {
    /// The stable word for this failure.
    pub fn code(&self) -> ErrorCode {
        ErrorCode::InvalidPattern
    }

    /// What to do about it.
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

/// One component of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    /// `**`: any number of components.
    AnyDepth,
    /// A component without wildcards.
    Exact(String),
    /// A component with some.
    Wild(Wild),
}

impl Glob {
    /// Takes a glob as a person or a model writes it. A leading `/` or `./`, a trailing `/` and
    /// empty segments do not count.
    ///
    /// # Errors
    /// An empty or overlong pattern, braces that stand for too many patterns, a `..` segment.
    pub fn parse(pattern: &str) -> Result<Self, GlobError> {
        Self::read(pattern, Lone::Choice)
    }

    /// The same with braces around one choice alone as themselves: `{draft}.md`, `{{date}}`. `None`
    /// where there are no such braces.
    ///
    /// # Errors
    /// As [`Glob::parse`].
    pub fn with_lone_braces(pattern: &str) -> Result<Option<Self>, GlobError> {
        let literal = Self::read(pattern, Lone::Text)?;
        Ok(Some(literal).filter(|literal| Self::parse(pattern).as_ref() != Ok(literal)))
    }

    fn read(pattern: &str, lone: Lone) -> Result<Self, GlobError> {
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(GlobError::TooLong { bytes: pattern.len() });
        }
        let slashed = pattern.trim().replace('\\', "/");
        let expanded = braces::expand(&slashed, lone)
            .ok_or_else(|| GlobError::TooManyAlternatives { pattern: pattern.to_owned() })?;
        let mut alternatives = Vec::with_capacity(expanded.len());
        for alternative in &expanded {
            let mut segments = Vec::new();
            for text in alternative.split('/') {
                match text {
                    "" | "." => {}
                    ".." => return Err(GlobError::Climbs { pattern: pattern.to_owned() }),
                    // `**/**` says no more than `**`.
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

    /// What means the entry of this name in the listed folder alone; no character is a wildcard.
    pub fn of_name(name: &str) -> Self {
        let alternatives = vec![vec![Segment::Exact(fold_key(name))]];
        Self { alternatives, has_slash: true }
    }

    /// Whether `folded_path` is meant: a path below the folder that is listed, `/` between
    /// components, already through [`fold_key`]. A trailing `**` asks for at least one component:
    /// `a/**` is all below `a`, not `a`.
    pub fn matches(&self, folded_path: &str) -> bool {
        !folded_path.is_empty()
            && self.alternatives.iter().any(|segments| match_path(segments, folded_path))
    }

    /// Whether any alternative has more than one segment, or it is a name's ([`Glob::of_name`]). Without, the glob speaks of the listed
    /// folder's own entries (or, as `**`, of all).
    pub fn has_slash(&self) -> bool {
        self.has_slash
    }

    /// The folded path of the folder below which everything lies that this glob means; empty where
    /// nothing is known of it.
    pub fn prefix(&self) -> String {
        let [segments] = &self.alternatives[..] else { return String::new() };
        let exact = segments[..segments.len() - 1].iter().map_while(|segment| match segment {
            Segment::Exact(name) => Some(name.as_str()),
            Segment::AnyDepth | Segment::Wild(_) => None,
        });
        exact.collect::<Vec<_>>().join("/")
    }

    /// Whether it means everything below the folder of its [`Glob::prefix`], and nothing else.
    pub fn is_all_below_prefix(&self) -> bool {
        let [segments] = &self.alternatives[..] else { return false };
        let Some((Segment::AnyDepth, above)) = segments.split_last() else { return false };
        above.iter().all(|segment| matches!(segment, Segment::Exact(_)))
    }

    /// The folded last component of every path that this glob means; `None` where that is open.
    pub fn name(&self) -> Option<&str> {
        let [segments] = &self.alternatives[..] else { return None };
        match segments.last() {
            Some(Segment::Exact(name)) => Some(name),
            Some(Segment::AnyDepth | Segment::Wild(_)) | None => None,
        }
    }

    /// The folded text with which the last component of every path begins that this glob means; empty
    /// if there is none.
    pub fn name_beginning(&self) -> &str {
        let mut beginnings = self.alternatives.iter().map(|segments| match segments.last() {
            Some(Segment::Exact(name)) => name.as_str(),
            Some(Segment::Wild(wild)) => wild.beginning(),
            Some(Segment::AnyDepth) | None => "",
        });
        let first = beginnings.next().unwrap_or_default();
        beginnings.fold(first, common_beginning)
    }

    /// The ending by which alone this glob tells what it means, at any depth: `.md` of `**/*.md`.
    /// Empty for `**`, which means everything.
    pub fn ending(&self) -> Option<&str> {
        let [segments] = &self.alternatives[..] else { return None };
        match &segments[..] {
            [Segment::AnyDepth] => Some(""),
            [Segment::AnyDepth, Segment::Wild(wild)] => wild.ending(),
            _ => None,
        }
    }

    /// The longest folded text that stands in every path this glob means; empty if there is none.
    pub fn needle(&self) -> &str {
        let [segments] = &self.alternatives[..] else { return "" };
        let texts = segments.iter().flat_map(|segment| match segment {
            Segment::AnyDepth => Vec::new(),
            Segment::Exact(name) => vec![name.as_str()],
            Segment::Wild(wild) => wild.texts().collect(),
        });
        texts.max_by_key(|text| text.len()).unwrap_or_default()
    }

    /// How many components a path has that this glob means; `None` if that is open.
    pub fn depth(&self) -> Option<usize> {
        let depth = self.alternatives.first()?.len();
        let fixed = |segments: &Vec<Segment>| {
            segments.len() == depth && !segments.contains(&Segment::AnyDepth)
        };
        self.alternatives.iter().all(fixed).then_some(depth)
    }

    /// The same glob with `**/` before it: at any depth.
    pub fn anywhere(&self) -> Self {
        let deepen = |segments: &Vec<Segment>| match segments.first() {
            Some(Segment::AnyDepth) => segments.clone(),
            _ => std::iter::once(Segment::AnyDepth).chain(segments.iter().cloned()).collect(),
        };
        Self { alternatives: self.alternatives.iter().map(deepen).collect(), has_slash: true }
    }
}

/// Reads one segment, folding the literal text between the wildcards.
fn segment(text: &str) -> Segment {
    match text.contains(['*', '?']) {
        true => Segment::Wild(Wild::parse(text)),
        false => Segment::Exact(fold_key(text)),
    }
}

fn match_path(pattern: &[Segment], path: &str) -> bool {
    if let [Segment::AnyDepth, segment] = pattern {
        // Whatever is above, so that only the last component counts.
        return match_segment(segment, path.rfind('/').map_or(path, |slash| &path[slash + 1..]));
    }
    // `left` is what is still to match; `None` once the last component is taken.
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
        // The last `**` takes one component more. Going back further cannot help: whatever an
        // earlier one could reach, this one can too.
        let Some((after, from)) = retry else { return false };
        let Some(below) = first(from).1 else { return false };
        retry = Some((after, below));
        at = after;
        left = Some(below);
    }
}

/// What of `a` stands at the beginning of `b`, too.
fn common_beginning<'a>(a: &'a str, b: &str) -> &'a str {
    let alike = a.chars().zip(b.chars()).take_while(|(a, b)| a == b);
    &a[..alike.map(|(character, _)| character.len_utf8()).sum()]
}

/// The first component and what comes below it.
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
