//! A path in the vault that cannot point outside it.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use crate::note::fold;

/// The longest name that the file systems hold, in bytes of UTF-8 (ext4, APFS and NTFS agree).
pub const MAX_NAME_BYTES: usize = 255;

/// The longest accepted path, in bytes (`PATH_MAX` on Linux).
pub const MAX_PATH_BYTES: usize = 4096;

/// The most components of an accepted path; deeper folders are not listed either.
pub const MAX_DEPTH: usize = 64;

/// A path inside the vault, relative to its root, `/` between components.
///
/// Invariant: no component is empty, `.` or `..`, none holds `/` or NUL, and there is no leading or
/// trailing slash. The empty path is the vault's root. A `VaultPath` is safe from traversal; the
/// room `vault` decides on protection, symbolic links and existence.
///
/// Cloning increments a reference count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VaultPath(Arc<str>);

/// Why a text is not a path in the vault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// `..` that climbs above the root, an absolute path elsewhere, a drive or a URL.
    #[error("`{path}` leads out of the vault")]
    Outside { path: String },
    /// The text cannot be a path.
    #[error("`{path}` is not a usable path: {reason}")]
    Invalid {
        /// The path as given, control characters escaped.
        path: String,
        /// Describes the error, so that the caller can fix it.
        reason: String,
    },
}

impl VaultPath {
    /// The vault's root, the empty path.
    pub fn root() -> Self {
        Self(Arc::from(""))
    }

    /// Parses a path as a person, a model or speech recognition gives it.
    ///
    /// Accepted and normalised: surrounding whitespace and quotes, a leading `/` or `./`, `\` for
    /// `/`, repeated and trailing slashes, NFD for NFC, U+00A0 and U+202F for space. `vault_root`
    /// is the vault's absolute path on this machine: an absolute path below it becomes relative.
    ///
    /// # Errors
    /// [`PathError::Outside`] if the path leaves the vault; [`PathError::Invalid`] for NUL, control
    /// characters, `..` that stays inside (the error names the plain path), a name over 255 bytes
    /// or a path over 4,096.
    pub fn parse(input: &str, vault_root: Option<&str>) -> Result<Self, PathError> {
        let trimmed = strip_quotes(input);
        let invalid = |reason: &str| PathError::Invalid {
            path: input.chars().take(200).flat_map(show).collect(),
            reason: reason.to_owned(),
        };
        let outside =
            || PathError::Outside { path: input.chars().take(200).flat_map(show).collect() };
        if let Some(c) = trimmed.chars().find(|c| c.is_control()) {
            return Err(invalid(&format!("it holds the control character U+{:04X}", c as u32)));
        }
        let normal = fold::normal(trimmed).replace('\\', "/");
        // Some characters take more bytes in NFC.
        if normal.len() > MAX_PATH_BYTES {
            return Err(invalid("it is longer than 4,096 bytes"));
        }
        let inside = vault_root.and_then(|root| strip_root(&normal, &fold::normal(root)));
        if inside.is_none() && looks_absolute(&normal) {
            return Err(outside());
        }
        let mut components: Vec<&str> = Vec::new();
        let mut climbed = false;
        for component in inside.unwrap_or(&normal).split('/') {
            match component {
                "" | "." => {}
                ".." if components.pop().is_some() => climbed = true,
                ".." => return Err(outside()),
                name if name.len() > MAX_NAME_BYTES => {
                    return Err(invalid(&format!(
                        "the name `{}…` has {} bytes; the limit is {MAX_NAME_BYTES}",
                        name.chars().take(24).collect::<String>(),
                        name.len()
                    )));
                }
                name => components.push(name),
            }
        }
        if components.len() > MAX_DEPTH {
            return Err(invalid(&format!("it is more than {MAX_DEPTH} folders deep")));
        }
        let path = Self(components.join("/").into());
        if climbed {
            return Err(invalid(&format!("it climbs with `..`; say `{path}` instead")));
        }
        Ok(path)
    }

    /// Where `..` in `input` leads if it stays inside the vault. Callers use it to detect, and say,
    /// that a refused path leads to something protected.
    pub fn parse_climbing(input: &str) -> Option<Self> {
        let normal = fold::normal(strip_quotes(input)).replace('\\', "/");
        let mut components: Vec<&str> = Vec::new();
        for component in normal.split('/') {
            match component {
                "" | "." => {}
                ".." => {
                    components.pop()?;
                }
                name => components.push(name),
            }
        }
        Self::from_disk(&components.join("/"))
    }

    /// Takes a path read from the disk, or built from one, in any spelling; normalises nothing.
    /// `None` if it breaks the invariant of [`VaultPath`].
    pub fn from_disk(path: &str) -> Option<Self> {
        let sound = |name: &str| !matches!(name, "" | "." | "..") && !name.contains('\0');
        (path.is_empty() || path.split('/').all(sound)).then(|| Self(Arc::from(path)))
    }

    pub fn borrowed(&self) -> PathRef<'_> {
        PathRef::from(self)
    }

    /// An owned copy of a borrowed path.
    pub(super) fn of_ref(path: PathRef<'_>) -> Self {
        Self(Arc::from(path.as_str()))
    }

    /// The path as text; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path as shared text.
    pub fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }

    /// Whether this is the vault's root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The last component; empty for the root.
    pub fn name(&self) -> &str {
        self.borrowed().name()
    }

    /// The last component without its extension: `a/b.c.md` gives `b.c`.
    pub fn stem(&self) -> &str {
        self.borrowed().stem()
    }

    /// The last component's extension without the dot, as spelt; `None` for `a`, `.a` and `a.`.
    pub fn extension(&self) -> Option<&str> {
        self.borrowed().extension()
    }

    /// Whether the name ends in a file extension, and not in text after a dot such as `v2.0` or
    /// `Dr. Who`.
    pub fn has_type(&self) -> bool {
        let is_type = |extension: &str| {
            extension.len() <= 12
                && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
                && !extension.bytes().all(|byte| byte.is_ascii_digit())
        };
        self.extension().is_some_and(is_type)
    }

    /// Whether this names a Markdown note (`.md` in any case).
    pub fn is_note(&self) -> bool {
        self.borrowed().is_note()
    }

    /// The parent folder; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        self.borrowed().parent().map(|parent| Self(Arc::from(parent.as_str())))
    }

    /// The components from the root down.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.borrowed().components()
    }

    /// This path with one more component. `None` if `name` is not a single component.
    pub fn join(&self, name: &str) -> Option<Self> {
        if matches!(name, "" | "." | "..") || name.contains(['/', '\0']) {
            return None;
        }
        if self.is_root() {
            return Some(Self(Arc::from(name)));
        }
        let mut path = String::with_capacity(self.0.len() + 1 + name.len());
        path.push_str(&self.0);
        path.push('/');
        path.push_str(name);
        Some(Self(Arc::from(path)))
    }

    /// This path followed by all components of `rest`; this path if `rest` is empty. `None` if a
    /// part of `rest` is not a component.
    pub fn join_all(&self, rest: &str) -> Option<Self> {
        if rest.is_empty() {
            Some(self.clone())
        } else {
            rest.split('/').try_fold(self.clone(), |at, name| at.join(name))
        }
    }

    /// Whether this path is `folder` or in it, compared by whole components.
    pub fn is_within<'f>(&self, folder: impl Into<PathRef<'f>>) -> bool {
        self.relative_to(folder).is_some()
    }

    /// The part of this path below `folder`; empty if they are equal, `None` if this path is not in
    /// `folder`.
    pub fn relative_to<'f>(&self, folder: impl Into<PathRef<'f>>) -> Option<&str> {
        self.borrowed().relative_to(folder)
    }

    /// The fold key of this path; see [`fold::fold_key`].
    pub fn fold_key(&self) -> String {
        fold::fold_key(&self.0)
    }
}

impl fmt::Display for VaultPath {
    /// The path with control and invisible characters escaped, `/` for the root.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.borrowed().fmt(f)
    }
}

impl Borrow<str> for VaultPath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for VaultPath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// A borrowed [`VaultPath`], which the catalogue returns without a copy.
///
/// Invariant: as for [`VaultPath`]; created only from one, or by the catalogue from the text of
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathRef<'a>(&'a str);

impl<'a> PathRef<'a> {
    /// Takes text that is known to be a path.
    pub(crate) fn of(path: &'a str) -> Self {
        debug_assert!(VaultPath::from_disk(path).is_some(), "only paths are kept");
        Self(path)
    }

    /// The path as text; empty for the root.
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// An owned copy.
    pub fn to_path(self) -> VaultPath {
        VaultPath::of_ref(self)
    }

    /// Whether this is the vault's root.
    pub fn is_root(self) -> bool {
        self.0.is_empty()
    }

    /// The last component; empty for the root.
    pub fn name(self) -> &'a str {
        match self.0.rfind('/') {
            Some(slash) => &self.0[slash + 1..],
            None => self.0,
        }
    }

    /// The last component without its extension: `a/b.c.md` gives `b.c`.
    pub fn stem(self) -> &'a str {
        let name = self.name();
        match name.rfind('.') {
            Some(dot) if dot > 0 => &name[..dot],
            _ => name,
        }
    }

    /// The last component's extension without the dot, as spelt; `None` for `a`, `.a` and `a.`.
    pub fn extension(self) -> Option<&'a str> {
        let name = self.name();
        match name.rfind('.') {
            Some(dot) if dot > 0 && dot + 1 < name.len() => Some(&name[dot + 1..]),
            _ => None,
        }
    }

    /// Whether this names a Markdown note (`.md` in any case).
    pub fn is_note(self) -> bool {
        self.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
    }

    /// The parent folder; `None` for the root.
    pub fn parent(self) -> Option<PathRef<'a>> {
        match self.0.rfind('/') {
            Some(slash) => Some(Self(&self.0[..slash])),
            None if self.is_root() => None,
            None => Some(Self("")),
        }
    }

    /// The components from the root down.
    pub fn components(self) -> impl DoubleEndedIterator<Item = &'a str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// Whether this path is `folder` or in it, compared by whole components.
    pub fn is_within<'f>(self, folder: impl Into<PathRef<'f>>) -> bool {
        self.relative_to(folder).is_some()
    }

    /// The part of this path below `folder`; empty if they are equal, `None` if this path is not in
    /// `folder`.
    pub fn relative_to<'f>(self, folder: impl Into<PathRef<'f>>) -> Option<&'a str> {
        let folder = folder.into();
        if folder.is_root() {
            return Some(self.0);
        }
        let rest = self.0.strip_prefix(folder.0)?;
        match rest.strip_prefix('/') {
            Some(below) => Some(below),
            None if rest.is_empty() => Some(rest),
            None => None,
        }
    }
}

impl<'a> From<&'a VaultPath> for PathRef<'a> {
    fn from(path: &'a VaultPath) -> Self {
        Self(path.as_str())
    }
}

impl PartialEq<VaultPath> for PathRef<'_> {
    fn eq(&self, other: &VaultPath) -> bool {
        self.0 == other.as_str()
    }
}

impl PartialEq<PathRef<'_>> for VaultPath {
    fn eq(&self, other: &PathRef<'_>) -> bool {
        self.as_str() == other.0
    }
}

impl fmt::Display for PathRef<'_> {
    /// The path with control and invisible characters escaped, `/` for the root.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str("/");
        }
        // Fast case: most paths are printable ASCII.
        if self.0.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return f.write_str(self.0);
        }
        self.0.chars().flat_map(show).try_for_each(|c| fmt::Write::write_char(f, c))
    }
}

/// Whether a character shows nothing or changes the writing direction: harmless in a file,
/// misleading in a name or a message.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// The character in a form that is safe to print: control characters, invisible characters, and
/// characters that change the writing direction or end a line are escaped (`\u{202e}`). U+200C and
/// U+200D stay, since emoji and several scripts need them.
pub fn show(c: char) -> impl Iterator<Item = char> {
    let (escaped, plain) =
        if is_hidden(c) { (Some(c.escape_default()), None) } else { (None, Some(c)) };
    escaped.into_iter().flatten().chain(plain)
}

/// One line of text, with each character as [`show`] returns it.
pub fn visible(text: &str) -> String {
    text.chars().flat_map(show).collect()
}

/// Several lines of text, made safe like [`visible`] does; line breaks (`\n`, `\r\n`) and tabs
/// stay.
pub fn visible_lines(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix("\r\n") {
            Some(line) => (line, "\r\n"),
            None => line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n")),
        };
        for (at, piece) in line.split('\t').enumerate() {
            shown.push_str(if at > 0 { "\t" } else { "" });
            shown.push_str(&visible(piece));
        }
        shown.push_str(end);
    }
    shown
}

fn is_hidden(c: char) -> bool {
    // Fillers that are drawn as nothing or as a blank; other line separators.
    let is_blank = matches!(
        c,
        '\u{34f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{3164}'
            | '\u{ffa0}'
    );
    let joins = matches!(c, '\u{200c}' | '\u{200d}');
    c.is_control() || is_blank || (is_invisible(c) && !joins)
}

fn strip_quotes(input: &str) -> &str {
    const PAIRS: [(char, char); 6] =
        [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('‘', '’'), ('«', '»')];
    let mut text = input.trim();
    while let Some(inner) = PAIRS
        .iter()
        .find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close))
        .filter(|inner| !inner.is_empty())
    {
        text = inner.trim();
    }
    text
}

/// The part of an absolute path below the vault's root, compared by whole components.
fn strip_root<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    // Windows writes canonical paths as `\\?\C:\…`, people write `C:\…`.
    let root = root.replace('\\', "/");
    let root = root.strip_prefix("//?/").unwrap_or(&root).trim_end_matches('/');
    if root.is_empty() {
        return None;
    }
    let path = path.strip_prefix("//?/").unwrap_or(path);
    let rest = match path.get(..root.len()) {
        // Drive letters are case-insensitive.
        Some(start) if root.contains(':') && start.eq_ignore_ascii_case(root) => {
            &path[root.len()..]
        }
        _ => path.strip_prefix(root)?,
    };
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// Whether the path can only be absolute on this machine. A single leading slash can also mean the
/// vault's root, as models often write it, unless the first folder is a system folder.
fn looks_absolute(path: &str) -> bool {
    const SYSTEM: [&str; 18] = [
        "bin", "boot", "dev", "etc", "home", "lib", "lib64", "mnt", "opt", "private", "proc",
        "root", "run", "sbin", "sys", "tmp", "usr", "var",
    ];
    let mut letters = path.chars();
    let drive = letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.next() == Some(':')
        && matches!(letters.next(), None | Some('/'));
    let scheme = path.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || c == '+')
    });
    let scheme = scheme || path.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("file:/"));
    let home = path == "~" || path.starts_with("~/");
    let share = path.starts_with("//");
    let system = path.strip_prefix('/').and_then(|rest| rest.split('/').next());
    drive || scheme || home || share || system.is_some_and(|first| SYSTEM.contains(&first))
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
