//! `suggest_names`

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Value, json};

use super::Names;
use super::naming_conventions::Convention;
use super::prelude::*;
use super::text_file::{shown, size};
use crate::bases::date::Times;
use crate::bases::source::Source as _;
use crate::bases::value::FileId;
use crate::index::properties::VaultSnapshot;
use crate::note::code::ErrorCode;
use crate::note::counted::counted;
use crate::note::fold::fold_key;
use crate::note::path::{PathRef, VaultPath};
use crate::organize::shapes::pattern::Pattern;
use crate::organize::shapes::style::{Style, Vocabulary};
use crate::organize::suggest::{About, is_empty_name, makes_the_same, style_named, suggestions};
use crate::organize::{about, conventions};
use crate::vault::{Kind, Want};

/// Files of one call.
const MAX_FILES: usize = 500;

/// Characters of the preview.
const PREVIEW: usize = 160;

/// Suggests names for notes and attachments in the style of their folder, from the present name,
/// the property `title`, the first heading and date properties. Renames nothing: pass your choice
/// to plan_changes as items with `path` and `to`, or to move. Each suggestion has a reason, and
/// each file its first words, so that you can judge whether a name fits, or make a better one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuggestNames {
    /// The files, from the vault's root, or a folder for the files directly in it; 500 files at most.
    paths: Vec<String>,
    /// How to name them: a pattern such as `{YYYY-MM-DD} {Title Words}`, the id of a convention
    /// from describe_vault, or a style such as `kebab-case`. Default: as their folder names files,
    /// else the vault.
    convention: Option<String>,
}

/// The suggestions.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The files, in the order asked for.
    files: Vec<File>,
}

/// A file.
#[derive(Serialize, JsonSchema)]
pub struct File {
    /// Its path now.
    path: String,
    /// The pattern its name should fit.
    convention: Convention,
    /// Whether its name fits and is meaningful, so that it needs no other.
    fits: bool,
    /// Possible names, the best first; none if its name fits, or if nothing in it gives a name.
    suggestions: Vec<Suggested>,
    /// The first words of its text.
    preview: String,
    /// Bytes.
    size: u64,
}

/// A suggested name.
#[derive(Serialize, JsonSchema)]
pub struct Suggested {
    /// With the extension, which stays.
    name: String,
    /// The resulting path, for `to` of plan_changes.
    to: String,
    /// The source of the name.
    reason: String,
    /// The file that has this path or the same first suggestion; none if it is free.
    taken_by: Option<String>,
}

impl Tool for SuggestNames {
    const NAME: &'static str = "suggest_names";
    const TITLE: &'static str = "Suggest names for files";
    const TIER: Tier = Tier::Safe;
    const KIND: ToolKind = ToolKind::Search;
    const HEAVY: bool = true;
    const SELDOM: bool = true;
    const DRAWN: bool = true;
    const TOUCHES: &'static [Touch] = &[(Cow::Borrowed("paths"), Names::Path)];
    const EXAMPLE: &'static str = r#"{"paths": ["a.md"]}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        suggest(context, &self.paths, self.convention.as_deref(), &Proposed::default())
    }
}

/// Proposed words for the names of files.
#[derive(Debug, Clone, Default)]
pub struct Proposed {
    /// Who proposes them: a model.
    pub by: String,
    /// By path.
    pub words: BTreeMap<String, String>,
}

/// Suggests names like [`SuggestNames`], using proposed words for the files that have some.
pub fn suggest_proposed(
    context: &Context,
    paths: &[String],
    convention: Option<&str>,
    proposed: &Proposed,
) -> Result<Answer<Value>, ToolError> {
    let answer = suggest(context, paths, convention, proposed)?;
    Ok(Answer::new(answer.text, json!(answer.data)))
}

fn suggest(
    context: &Context,
    requested: &[String],
    convention: Option<&str>,
    proposed: &Proposed,
) -> Result<Answer<Output>, ToolError> {
    let convention = convention.filter(|text| !text.trim().is_empty());
    let paths = files(context, requested)?;
    let zone = context.clock.zone();
    let times = Times::new(&*zone);
    let snapshot = context.snapshot()?.in_zone(&times);
    let mut naming = Naming::new(&snapshot);
    let own = convention.map(|requested| naming.requested(requested)).transpose()?;
    let mut found = Vec::with_capacity(paths.len());
    for path in &paths {
        context.check_cancelled()?;
        let wanted = own.clone().unwrap_or_else(|| naming.of_folder(path));
        if let Some(file) = snapshot.file(path) {
            let words = proposed.words.get(path.as_str());
            let words = words.map(|words| (words.clone(), proposed.by.clone()));
            found.push(suggest_for(
                &snapshot,
                &times,
                &naming.vocabulary,
                (path, file),
                &wanted,
                words,
            ));
        }
    }
    mark_taken(context, &mut found);
    Ok(Answer::new(words(&found), Output { files: found }))
}

/// The requested files, without duplicates.
fn files(context: &Context, requested: &[String]) -> Result<Vec<VaultPath>, ToolError> {
    let mut paths: Vec<VaultPath> = Vec::new();
    for requested in requested {
        let found = context.find(requested, Want::Any)?;
        if context
            .vault
            .catalogue()
            .get(found.path.as_str())
            .is_some_and(|entry| entry.kind == Kind::Folder)
            || found.path.is_root()
        {
            let catalogue = context.vault.catalogue();
            let inside =
                catalogue.directly_in(&found.path).filter(|entry| entry.kind == Kind::File);
            let inside = inside.map(|entry| entry.path().to_path());
            paths.extend(inside.filter(|path| context.vault.view().shows(path)));
        } else {
            paths.push(found.path);
        }
    }
    let mut seen = HashSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    if paths.is_empty() {
        let hint = "give `paths`: files, or a folder with files directly in it";
        return Err(ToolError::invalid("no file was given", hint));
    }
    if paths.len() > MAX_FILES {
        let message =
            format!("{} files were given, and names are suggested for {MAX_FILES}", paths.len());
        return Err(ToolError::new(ErrorCode::TooMany, message, "give fewer at once"));
    }
    Ok(paths)
}

/// Naming conventions by folder.
#[derive(Default)]
struct Naming {
    vocabulary: Vocabulary,
    /// The stems in each folder, notes apart from others.
    stems: HashMap<(String, bool), Vec<String>>,
    known: HashMap<(String, bool), Vec<conventions::Convention>>,
}

impl Naming {
    fn new(snapshot: &VaultSnapshot<'_>) -> Self {
        let mut naming = Self::default();
        for file in snapshot.files() {
            let path = snapshot.path(file);
            let Some(path) = VaultPath::from_disk(&path) else { continue };
            if path.is_note() {
                naming.vocabulary.learn(path.stem());
            }
            naming.stems.entry(key(&path)).or_default().push(path.stem().to_owned());
        }
        naming
    }

    /// The convention of the file's folder for similar files, if there is a clear one; else the
    /// vault's.
    fn of_folder(&mut self, path: &VaultPath) -> Vec<conventions::Convention> {
        let key = key(path);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let own: Vec<&str> =
            self.stems.get(&key).into_iter().flatten().map(String::as_str).collect();
        let found = conventions::find(&own, &self.vocabulary);
        // In a folder with few names the best pattern may be the file's own.
        let is_listed =
            |found: &&conventions::Convention| found.matching * 2 > own.len() && found.matching > 2;
        let mut wanted: Vec<conventions::Convention> =
            found.iter().filter(is_listed).cloned().collect();
        if wanted.is_empty() {
            wanted = self.of_all(path.is_note());
        }
        self.known.insert(key, wanted.clone());
        wanted
    }

    fn of_all(&mut self, notes: bool) -> Vec<conventions::Convention> {
        let key = ("/".to_owned(), notes);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let all = self.stems.iter().filter(|((_, are_notes), _)| *are_notes == notes);
        let all: Vec<&str> = all.flat_map(|(_, stems)| stems).map(String::as_str).collect();
        let mut found = conventions::find(&all, &self.vocabulary);
        found.truncate(2);
        self.known.insert(key, found.clone());
        found
    }

    /// The convention that a caller names.
    fn requested(&mut self, requested: &str) -> Result<Vec<conventions::Convention>, ToolError> {
        let unused = |pattern: Pattern| vec![conventions::Convention::unused(pattern, "")];
        if requested.contains('{') {
            return Pattern::parse(requested)
                .map(unused)
                .map_err(|error| unknown(requested, &error.to_string()));
        }
        if let Some(pattern) = style_named(requested) {
            return Ok(unused(pattern));
        }
        // An id is a pattern without its braces.
        let common = conventions::common().find(|common| common.pattern.id() == requested);
        if let Some(common) = common {
            return Ok(vec![common]);
        }
        let folders: Vec<(String, bool)> = self.stems.keys().cloned().collect();
        for folder in folders {
            let stems: Vec<&str> =
                self.stems.get(&folder).into_iter().flatten().map(String::as_str).collect();
            let mut found = conventions::find(&stems, &self.vocabulary).into_iter();
            if let Some(found) = found.find(|found| found.pattern.id() == requested) {
                return Ok(vec![found]);
            }
        }
        let mut all = self.of_all(true).into_iter().chain(self.of_all(false));
        let found = all.find(|found| found.pattern.id() == requested);
        found.map(|found| vec![found]).ok_or_else(|| unknown(requested, "no folder uses it"))
    }
}

fn key(path: &VaultPath) -> (String, bool) {
    let folder = path.parent().map_or_else(String::new, |folder| folder.as_str().to_owned());
    (folder, path.is_note())
}

fn unknown(requested: &str, why: &str) -> ToolError {
    ToolError::invalid(
        format!("`{requested}` is not a convention: {why}"),
        "give a pattern such as `{YYYY-MM-DD} {Title Words}`, a style such as `kebab-case`, or an `id` that describe_vault shows; {number}, {3 digits}, {code}, {version}, {emoji}, {id of 12 digits} stand for what \
         they say",
    )
}

fn suggest_for(
    snapshot: &VaultSnapshot<'_>,
    times: &Times<'_>,
    vocabulary: &Vocabulary,
    (path, file): (&VaultPath, FileId),
    wanted: &[conventions::Convention],
    proposed: Option<(String, String)>,
) -> File {
    let text = snapshot.text(file);
    let heading = text.as_deref().and_then(about::heading);
    let about = About {
        name: path.stem(),
        title: about::title(snapshot, file),
        heading,
        proposed,
        dates: about::dates(snapshot, times, file),
    };
    let patterns: Vec<Pattern> = wanted.iter().map(|found| found.pattern.clone()).collect();
    let fitting = patterns.iter().find(|pattern| {
        pattern.fits(about.name, vocabulary) || makes_the_same(about.name, pattern, vocabulary)
    });
    let is_named =
        fitting.is_some_and(|pattern| !(pattern.has_words() && is_empty_name(about.name)));
    // Words are proposed only for files that should get another name.
    let asks = !is_named || about.proposed.is_some();
    let made = if asks { suggestions(&about, &patterns, vocabulary) } else { Vec::new() };
    let is_named = is_named && made.is_empty();
    let folder = path.parent().unwrap_or_else(VaultPath::root);
    let full = |stem: &str| match path.extension() {
        Some(extension) => format!("{stem}.{extension}"),
        None => stem.to_owned(),
    };
    let suggestions = made.into_iter().filter_map(|made| {
        let name = full(&made.name);
        let to = folder.join(&name)?.as_str().to_owned();
        Some(Suggested { name, to, reason: made.reason, taken_by: None })
    });
    let convention = fitting.and_then(|fitting| wanted.iter().find(|one| one.pattern == *fitting));
    let empty =
        conventions::Convention::unused(Pattern { slots: Vec::new(), style: Style::Any }, "");
    File {
        path: path.as_str().to_owned(),
        convention: Convention::of(convention.or(wanted.first()).unwrap_or(&empty)),
        fits: is_named,
        suggestions: suggestions.collect(),
        preview: text.as_deref().map(preview).unwrap_or_default(),
        size: snapshot.size(file),
    }
}

/// The first words of a text, on one line.
fn preview(text: &str) -> String {
    let mut preview = String::new();
    for word in text.split_whitespace() {
        if preview.chars().count() + word.chars().count() > PREVIEW {
            preview.push('…');
            break;
        }
        if !preview.is_empty() {
            preview.push(' ');
        }
        preview.push_str(word);
    }
    preview
}

/// Marks suggestions whose path another file has, or that an earlier file was suggested.
fn mark_taken(context: &Context, files: &mut [File]) {
    let catalogue = context.vault.catalogue();
    let mut firsts: HashMap<String, String> = HashMap::new();
    for file in files {
        for suggestion in &mut file.suggestions {
            let key = fold_key(&suggestion.to);
            let there = catalogue.folded(&key).into_iter().map(|entry| entry.path());
            // A name that differs only in case is the file's own.
            let there = there
                .filter(|there| there.as_str() != file.path)
                .find(|there| context.vault.view().shows(*there));
            let there = there.map(|there: PathRef<'_>| there.as_str().to_owned());
            suggestion.taken_by = there.or_else(|| firsts.get(&key).cloned());
        }
        // Free names first.
        file.suggestions.sort_by_key(|suggestion| suggestion.taken_by.is_some());
        if let Some(first) = file.suggestions.first() {
            firsts.entry(fold_key(&first.to)).or_insert_with(|| file.path.clone());
        }
    }
}

fn words(files: &[File]) -> String {
    let mut lines = Vec::new();
    for file in files {
        lines.push(format!("{}  {}", shown(&file.path), size(file.size)));
        if !file.preview.is_empty() {
            lines.push(format!("  begins: {}", shown(&file.preview)));
        }
        if file.fits {
            lines.push(format!("  fits {}", file.convention.pattern));
        } else if file.suggestions.is_empty() {
            lines.push(format!("  nothing in it gives a name like {}", file.convention.pattern));
        }
        for suggestion in &file.suggestions {
            let taken = match &suggestion.taken_by {
                Some(other) => format!("; taken by `{}`", shown(other)),
                None => String::new(),
            };
            lines.push(format!("  → {}  ({}{taken})", shown(&suggestion.name), suggestion.reason));
        }
    }
    let open = files.iter().filter(|file| !file.suggestions.is_empty()).count();
    lines.push(format!(
        "[{} of {} could have another name; nothing is renamed]",
        open,
        counted(files.len(), "file")
    ));
    lines.join("\n")
}
