//! The bodies of the fuzz targets: one function per target, from any bytes to a panic at a broken
//! invariant.
//!
//! They are here and not under `fuzz/`, so that the ordinary tests replay the collected inputs
//! through the same code, on stable Rust and on every platform.

#![allow(dead_code, reason = "each fuzz target runs one of these")]

use serde_json::Value;

use vault_steward::bases::check::Checker;
use vault_steward::bases::parse::{self, Options};
use vault_steward::bases::{base_file, blocks, classic};
use vault_steward::index::search::Pattern;
use vault_steward::index::text::signature;
use vault_steward::llm::response::ResponseDecoder;
use vault_steward::llm::{Origin, TurnEvent, Wire};
use vault_steward::mcp::{self, Dispatched};
use vault_steward::media::pdf;
use vault_steward::note::edit::{Edit, apply_edit};
use vault_steward::note::frontmatter::{self, Frontmatter, Property, edit::PropertyChange};
use vault_steward::note::glob::Glob;
use vault_steward::note::markdown;
use vault_steward::note::patch::{self, Action, FilePatch};
use vault_steward::note::path::{MAX_NAME_BYTES, MAX_PATH_BYTES, VaultPath};
use vault_steward::note::relink::{self, Goal, LinkReference};
use vault_steward::note::search_query::{self, SearchedFile};
use vault_steward::note::{base, canvas, diff, fold, merge, names};
use vault_steward::organize::rules_file;
use vault_steward::organize::sentence::sentence;
use vault_steward::protocol::{self, ClientNotification, envelope};
use vault_steward::servers::oauth::challenge::Challenge;
use vault_steward::smarthole::frames::{self, Incoming};
use vault_steward::smarthole::{Notification, Priority, name};
use vault_steward::tools::Registry;

/// Separates the fields of an input: a character that neither notes nor paths contain, and that is
/// visible in a hex dump of a corpus.
const SEPARATOR: u8 = 0x1e;

/// Paths: an accepted path stays in the vault and has a spelling that parses to it.
pub fn fuzz_paths(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let key = fold::fold_key(&text);
    assert_eq!(fold::fold_key(&key), key, "the key of a key is itself");
    if let Err(fault) = names::check_new_name(&text) {
        let suggested = names::check_new_name(&fault.suggestion);
        assert_eq!(suggested, Ok(()), "a suggested name is legal");
    }
    if let Some(path) = VaultPath::parse_climbing(&text) {
        check_components(&path);
    }
    for root in [None, Some("/home/me/Vault")] {
        let Ok(path) = VaultPath::parse(&text, root) else { continue };
        check_components(&path);
        assert!(!path.as_str().contains(['\\', '\u{a0}', '\u{202f}']), "it is normalised");
        assert!(!path.as_str().contains(char::is_control), "it can be shown");
        assert!(path.components().all(|name| name.len() <= MAX_NAME_BYTES), "names fit");
        let spelt = format!("./{path}/", path = path.as_str());
        if spelt.len() <= MAX_PATH_BYTES && !path.is_root() {
            assert_eq!(VaultPath::parse(&spelt, root).as_ref(), Ok(&path), "{spelt} means itself");
        }
    }
}

fn check_components(path: &VaultPath) {
    let sound = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(['/', '\0']);
    assert!(path.is_root() || path.as_str().split('/').all(sound), "{path:?} stays inside");
    assert_eq!(VaultPath::from_disk(path.as_str()).as_ref(), Some(path));
}

/// Globs: a pattern, then a path. No pattern hangs, and text without wildcards matches itself.
pub fn fuzz_glob(data: &[u8]) {
    let [pattern, path, ..] = fields::<2>(data);
    if let Ok(name) = VaultPath::parse(&format!("./{path}/"), None)
        && !name.is_root()
        && path.trim() == path
        && !path.contains('\\')
    {
        let escaped: String = path
            .chars()
            .flat_map(|c| "{}[]*?".contains(c).then_some('\\').into_iter().chain([c]))
            .collect();
        if let Ok(literal) = Glob::literal(&escaped) {
            let glob = literal.or_else(|| Glob::parse(&escaped).ok());
            let is_found = glob.is_none_or(|glob| glob.matches(&name.fold_key()));
            assert!(is_found, "{escaped} matches what it spells");
        }
    }
    let Ok(glob) = Glob::parse(&pattern) else { return };
    let path = fold::fold_key(&path);
    assert!(!glob.matches(&path) || glob.anywhere().matches(&path), "anywhere is here, too");
    assert_eq!(glob.anywhere().anywhere(), glob.anywhere());
    if let Ok(literal) = VaultPath::parse(&format!("./{pattern}/"), None)
        && pattern.trim() == pattern
        && !pattern.contains(['*', '?', '{', '}'])
    {
        assert!(glob.matches(&literal.fold_key()), "{pattern} matches itself");
    }
}

/// Expressions, in both dialects: a parsed expression prints to text that parses to the same, and
/// is checked; an error has its position.
pub fn fuzz_expression(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Err(error) = classic::parse(&text) {
        assert!(error.at.end as usize <= text.len() && !error.render("rule").is_empty());
    }
    for options in [
        Options::default(),
        Options { allows_extensions: true, is_summary: true, ..Options::default() },
    ] {
        match parse::parse(&text, options) {
            Ok(expression) => {
                let printed = expression.to_string();
                let again = parse::parse(&printed, options).expect("what is printed is read");
                assert_eq!(again.to_string(), printed, "and printed as it was");
                assert_eq!(again.properties, expression.properties);
                for found in Checker::new(None).check(&expression) {
                    assert!(found.at.end as usize <= text.len() && found.at.start <= found.at.end);
                }
            }
            Err(error) => {
                assert!(error.at.end as usize <= text.len() && error.at.start <= error.at.end);
                assert!(error.render("x").lines().count() >= 3);
            }
        }
    }
}

/// Bases, as files and in notes: an error has its position, and a parsed base has a view.
pub fn fuzz_base_file(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines = text.split('\n').count();
    let blocks = blocks::blocks(&text, "base");
    for text in std::iter::once(&*text).chain(blocks.iter().map(|block| &*block.text)) {
        let found = match base_file::read(text) {
            Ok(base) => {
                assert!(base.view(None).is_some(), "there is always a view");
                base.check(&Checker::new(None))
            }
            Err(errors) => {
                assert!(!errors.is_empty());
                errors
            }
        };
        for found in found {
            assert!(found.at.end as usize <= text.len() && found.line as usize <= lines);
            assert!(!found.render("x.base").is_empty());
        }
    }
}

/// Rule files, as files and in notes: an error has its position, and a parsed rule has a sentence.
pub fn fuzz_rules_file(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines = text.split('\n').count();
    let base = "filters: a\nformulas: {f: 'a + 1'}\nviews: [{type: table, name: V}]";
    let find = |asked: &str| match VaultPath::from_disk(asked) {
        Some(path) if asked.ends_with(".base") => Ok((path, base.to_owned())),
        _ => Err("there is no such base".to_owned()),
    };
    for read in [rules_file::read(&text, &find), rules_file::read_note(&text, &find)] {
        let found = match read {
            Ok(file) => {
                assert!(!file.rules.is_empty());
                for rule in &file.rules {
                    assert!(!sentence(rule).is_empty() && rule.hash.len() == 64);
                }
                file.warnings
            }
            Err(errors) => {
                assert!(!errors.is_empty());
                errors
            }
        };
        for found in found {
            // JSON that is not valid YAML is rewritten, on its own lines.
            let is_json = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            assert!(is_json || found.line as usize <= lines);
            assert!(!found.render("rules.yaml").is_empty());
        }
    }
}

/// Edits: kind and position as numbers, then the file, then two texts. Everything that the edit
/// does not name stays.
pub fn fuzz_edit(data: &[u8]) {
    let [kind, start, end, file, first, second] = fields::<6>(data);
    let number = |text: &str| text.parse::<i64>().unwrap_or_default();
    let (start, end) = (number(&start), number(&end));
    let edit = match number(&kind) {
        0 => Edit::Replace { old_text: first, new_text: second, replace_all: false },
        1 => Edit::Replace { old_text: first, new_text: second, replace_all: true },
        2 => Edit::InsertAfter { line: start, content: first },
        3 => Edit::InsertBefore { line: start, content: first },
        4 => Edit::DeleteLines { start, end },
        _ => Edit::ReplaceLines { start, end, content: first },
    };
    let Ok(edited) = apply_edit(file.as_bytes(), &edit) else { return };
    let new = std::str::from_utf8(&edited.bytes).expect("edited text is text");
    let bom = '\u{feff}';
    assert!(!file.starts_with(bom) || new.starts_with(bom), "the byte-order mark stays");
    match edit {
        Edit::Replace { replace_all, .. } => {
            assert!(edited.replacements > 0 && (replace_all || edited.replacements == 1));
        }
        _ => {
            let (file, new) = match file.strip_prefix(bom) {
                Some(body) => (body, &new[bom.len_utf8()..]),
                None => (&*file, new),
            };
            let lines: Vec<&str> = file.split_inclusive('\n').collect();
            let after = &lines[edited.first_line - 1 + edited.lines_removed..];
            assert!(new.ends_with(&after.concat()), "what comes after stays to the byte");
            let before = lines[..edited.first_line - 1].concat();
            let kept = before.trim_end_matches(['\r', '\n']);
            assert!(new.starts_with(kept), "what comes before stays");
            assert!(after.is_empty() || new.starts_with(&before), "to the byte");
        }
    }
}

/// Patches: a file, then a patch. An applied patch can be written as a diff and reversed.
pub fn fuzz_patch(data: &[u8]) {
    let [file, text] = fields::<2>(data);
    let Ok(patches) = patch::parse(&text) else { return };
    for found in patches {
        let _ = patch::apply(None, &found);
        let _ = patch::apply(Some(file.as_bytes()), &found.reverse());
        let Ok(applied) = patch::apply(Some(file.as_bytes()), &found) else { continue };
        assert_eq!(applied.places.len(), applied.hunks);
        let new = applied.bytes.unwrap_or_default();
        let new = std::str::from_utf8(&new).expect("patched text is text");
        let hunks = diff::hunks(&file, new);
        let again = FilePatch { path: "n".to_owned(), action: Action::Modify, hunks };
        let there = patch::apply(Some(file.as_bytes()), &again).expect("a diff applies");
        assert_eq!(there.bytes.as_deref(), Some(new.as_bytes()), "a diff gives the new bytes");
        let back = patch::apply(Some(new.as_bytes()), &again.reverse()).expect("and back");
        assert_eq!(back.bytes.as_deref(), Some(file.as_bytes()), "reversed, the old");
    }
}

/// Merges: a text, then two versions of it. A part that one side left unchanged equals the other's, the order does not
/// matter, and no line is invented.
pub fn fuzz_merge(data: &[u8]) {
    let [base, one, other] = fields::<3>(data);
    let [base, one, other] = [base.as_bytes(), one.as_bytes(), other.as_bytes()];
    for side in [one, other].iter().filter(|side| !side.contains(&0) && !base.contains(&0)) {
        assert_eq!(merge::lines(base, base, side).as_deref(), Ok(*side), "only the other changed");
        assert_eq!(merge::lines(base, side, base).as_deref(), Ok(*side), "only the one changed");
        assert_eq!(merge::lines(base, side, side).as_deref(), Ok(*side), "both changed it alike");
    }
    assert_eq!(merge::without(base, one, base).as_deref(), Some(one), "nothing came since");
    assert_eq!(merge::following(base, one, base).as_deref(), Some(one), "no link follows");
    let _ = (merge::without(base, one, other), merge::following(base, one, other));
    let merged = merge::lines(base, one, other);
    assert_eq!(merged.as_deref().ok(), merge::lines(base, other, one).as_deref().ok());
    let Ok(merged) = merged else { return };
    let lines = |text| -> Vec<String> {
        let text: &str = std::str::from_utf8(text).expect("what was joined is text");
        text.lines().map(|line| line.trim_end_matches('\r').to_owned()).collect()
    };
    let (merged, base, one, other) = (lines(&merged), lines(base), lines(one), lines(other));
    assert!(merged.iter().all(|line| one.contains(line) || other.contains(line)), "no line is new");
    // A line that was there twice may have been removed at either place.
    let once = |line: &&String| base.iter().filter(|other| other == line).count() == 1;
    let stays = |line: &&String| one.contains(*line) && other.contains(*line);
    let mut stayed = base.iter().filter(once).filter(stays);
    assert!(stayed.all(|line| merged.contains(line)), "what nobody took is there");
    let new = |line: &&String| !base.contains(*line);
    assert!(
        one.iter().chain(&other).filter(new).all(|line| merged.contains(line)),
        "so is what came"
    );
}

/// Notes and canvases: every part found is in its range, in order, on whole characters.
pub fn fuzz_links(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let document = markdown::read(&text);
    let mut last = 0;
    for link in &document.links {
        assert!(link.range.start >= last, "links are in order");
        last = link.range.start;
        let whole = &text[link.range.clone()];
        let opens = if link.kind.is_wiki() { ["[[", "![["] } else { ["[", "!["] };
        let closes = if link.kind.is_wiki() { "]]" } else { ")" };
        assert!(opens.iter().any(|open| whole.starts_with(open)) && whole.ends_with(closes));
        let parts = [Some(&link.path), link.subpath.as_ref(), link.display.as_ref()];
        for part in parts.into_iter().flatten().chain(&link.title) {
            assert!(link.range.start <= part.start && part.end <= link.range.end, "{link:?}");
            assert!(text.get(part.clone()).is_some(), "on character boundaries");
        }
        assert!(!text[link.path.clone()].contains('#') && link.counts());
        let subpath = link.subpath.clone().map(|range| text[range].to_owned());
        assert!(subpath.is_none_or(|subpath| subpath.starts_with('#')));
        let (_, _) = (link.linkpath(&text), link.subpath(&text));
        let lines = text[..link.range.start].matches('\n').count();
        assert_eq!(link.line, lines + 1, "the line it begins in");
    }
    let headings = document.headings.iter().map(|heading| heading.text.clone());
    let blocks = document.blocks.iter().map(|block| block.id.clone());
    let tags = document.tags.iter().map(|tag| tag.name.clone());
    let mut end = 0;
    for block in &document.block_ranges {
        assert!(block.range.start >= end && !block.range.is_empty(), "blocks are in order");
        assert!(text.get(block.range.clone()).is_some(), "on character boundaries");
        end = block.range.end;
    }
    for range in headings.chain(blocks).chain(tags) {
        assert!(text.get(range).is_some(), "on character boundaries");
    }
    if let Some(found) = &document.frontmatter {
        // The links of an unclosed block are read as text.
        let body = if found.is_closed() { found.range.end } else { found.range.start };
        assert!(body == document.body && text.get(found.yaml.clone()).is_some());
        for property in found.properties.iter().flatten() {
            assert!(text.get(property.key.clone()).is_some(), "on character boundaries");
            assert!(text.get(property.at.clone()).is_some(), "on character boundaries");
        }
    }
    let _ = base::mentions(&text, "a.md");
    if let Ok(canvas) = canvas::read(&text) {
        assert!(canvas.links.iter().all(|link| !link.node.is_empty()), "each says where it is");
    }
}

/// Searches: a query, then a note. Every query is parsed, in the same way with white space around
/// it, and words that only rank exclude no file.
pub fn fuzz_search_query(data: &[u8]) {
    let [query, text] = fields::<2>(data);
    let read = search_query::parse(&query);
    assert!(!read.understood.is_empty() && read.words.iter().all(|word| !word.is_empty()));
    let between = search_query::parse(&format!(" {query}\n"));
    assert_eq!(read.understood, between.understood, "blanks around it say nothing");
    for path in ["Folder/a.md", "a.canvas"] {
        let path = VaultPath::from_disk(path).expect("a path");
        let file = SearchedFile::new(&path, &text);
        if read.filter.holds(&file) {
            assert!(read.filter.without_words().holds(&file), "less is asked for");
        }
    }
}

/// The `WWW-Authenticate` of a server: parsed, written and parsed again it is the same, whatever
/// precedes it.
pub fn fuzz_challenge(data: &[u8]) {
    let header = String::from_utf8_lossy(data);
    let Some(read) = Challenge::read([&*header]) else { return };
    let plain = |scope: &String| scope.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
    assert!(read.scopes.iter().all(plain), "a scope can be sent on: {read:?}");
    let quoted = |name: &str, value: &Option<String>| {
        let value = value.as_ref().map(|value| value.replace('\\', "\\\\").replace('"', "\\\""));
        value.map(|value| format!("{name}=\"{value}\""))
    };
    let scope = Some(read.scopes.join(" ")).filter(|scope| !scope.is_empty());
    let parameters = [
        quoted("resource_metadata", &read.resource_metadata),
        quoted("scope", &scope),
        quoted("error", &read.error),
    ];
    let parameters: Vec<String> = parameters.into_iter().flatten().collect();
    let again = format!("Basic realm=\"Bearer\", Bearer {}", parameters.join(", "));
    if again.len() < 8 << 10 {
        assert_eq!(Challenge::read([&*again]), Some(read), "{again}");
    }
}

/// A PDF, intact or damaged: it never ends the program, its text is within the limit, and it is the
/// same when the file is read again from a later page.
pub fn fuzz_pdf(data: &[u8]) {
    let read = |first, bytes| {
        pdf::read(data, first, &pdf::Bounds { bytes, pages: 50, is_over: &|| false })
    };
    let Ok(text) = read(1, 4_096) else { return };
    assert!(!text.pages.is_empty() && text.pages.len() <= text.total);
    let bytes: usize = text.pages.iter().map(String::len).sum();
    assert!(bytes <= 4_096 && text.pages.iter().all(|page| !page.contains('\r')));
    if let Some(second) = text.pages.get(1).filter(|_| !text.is_cut) {
        assert_eq!(read(2, 4_096).expect("the file was read").pages.first(), Some(second));
    }
}

/// Links that get another path: the path, their display texts, a note or canvas. Edits are inside
/// links, in order; the result parses to the same links, the edited ones with the new path.
pub fn fuzz_relink(data: &[u8]) {
    let [path, shown, text] = fields::<3>(data);
    let mut asked_of = 0;
    let mut decide = |asked: LinkReference<'_>| {
        asked_of += 1;
        // Some stay unchanged.
        let new = (shown.clone(), path.clone());
        (asked.path != path && asked.path.len() % 4 != 3).then(|| Goal {
            paths: vec![path.clone()],
            shown: vec![new.clone()],
            alias: Some(new),
        })
    };
    let is_canvas = canvas::read(&text).is_ok_and(|canvas| !canvas.links.is_empty());
    let rewritten = if is_canvas {
        relink::rewrite_canvas(&text, &mut decide)
    } else {
        relink::rewrite_note(&text, &mut decide)
    };
    assert!(rewritten.links + rewritten.stuck.len() <= asked_of, "each is asked for once");
    let mut last = 0;
    for edit in &rewritten.edits {
        assert!(edit.range.start >= last, "edits are in order");
        last = edit.range.end;
    }
    let new = relink::replaced(&text, &rewritten.edits);
    if is_canvas {
        let (old, new) = (canvas::read(&text), canvas::read(&new));
        let [old, new] = [old, new].map(|canvas| canvas.expect("a canvas stays one").links);
        assert_eq!(old.len(), new.len(), "as many links");
        let turned = old.iter().zip(&new).filter(|(old, new)| old.path != new.path);
        assert!(turned.clone().all(|(_, new)| new.path == path), "with the new path");
        assert_eq!(turned.count(), rewritten.links);
        return;
    }
    let (old, now) = (markdown::read(&text).links, markdown::read(&new).links);
    assert_eq!(old.len(), now.len(), "as many links");
    for edit in &rewritten.edits {
        let inside = |range: &std::ops::Range<usize>| {
            range.start <= edit.range.start && edit.range.end <= range.end
        };
        assert!(old.iter().any(|link| inside(&link.range)), "edits lie in links");
    }
    let turned =
        old.iter().zip(&now).filter(|(old, now)| old.linkpath(&text) != now.linkpath(&new));
    assert!(turned.clone().all(|(_, now)| now.linkpath(&new) == path), "with the new path");
    assert_eq!(turned.count(), rewritten.links);
}

/// The planner of the text index: a pattern, then a text. If a line matches, the signature of its
/// piece of the text allows it.
pub fn fuzz_planner(data: &[u8]) {
    let mut fields = data.splitn(2, |&byte| byte == SEPARATOR);
    let pattern = String::from_utf8_lossy(fields.next().unwrap_or_default()).into_owned();
    let text = fields.next().unwrap_or_default();
    let Ok(pattern) = Pattern::compile(&pattern, None) else { return };
    let pieces: Vec<&[u8]> = signature::chunks(text).collect();
    assert_eq!(pieces.concat(), text, "the pieces are the text");
    for piece in pieces {
        let allowed = pattern.plan().allows(&signature::sign(piece));
        let mut lines = piece.split(|byte| *byte == b'\n');
        assert!(allowed || !lines.any(|line| pattern.is_match(line)), "{:?}", pattern.plan());
    }
}

/// Properties: a name, a value as JSON (`-` removes it), a note. The value that was set is read
/// again, and only the property's own lines change.
pub fn fuzz_properties(data: &[u8]) {
    let [name, value, text] = fields::<3>(data);
    let value = match value.as_str() {
        "-" => None,
        json => match serde_json::from_str(json) {
            Ok(value) => Some(value),
            Err(_) => return,
        },
    };
    let changes = [PropertyChange { name: name.clone(), value }];
    let Ok(edited) = frontmatter::edit::apply(&text, &changes) else { return };
    let new = &edited.text;
    let again = frontmatter::edit::apply(new, &changes).expect("a second time goes, too");
    assert!(again.text == *new && again.unchanged.len() == 1, "and changes nothing");
    let start = text.len() - text.trim_start_matches('\u{feff}').len();
    let (old, block) = (frontmatter::find(&text, start), frontmatter::find(new, start));
    let body = old.as_ref().map_or(start, |found| found.range.end);
    assert!(new.ends_with(&text[body..]) && new.starts_with(&text[..start]), "the body stays");
    let properties = |block: &Option<Frontmatter>| -> Vec<Property> {
        block.iter().flat_map(|found| found.properties.clone()).flatten().collect()
    };
    let spelt = [&edited.set[..], &edited.removed, &edited.unchanged].concat().remove(0);
    let (was, is): (Vec<_>, Vec<_>) = (properties(&old), properties(&block));
    let find = |all: &[Property]| all.iter().find(|property| property.name == spelt).cloned();
    let is_list = ["tags", "aliases", "cssclasses"].contains(&&*spelt.to_lowercase());
    let read = find(&is).map(|property| property.value);
    assert!(is_list || read == changes[0].value, "what was set is read: {read:?}");
    let others = |all: &[Property]| -> Vec<_> {
        let others = all.iter().filter(|property| property.name != spelt);
        others.map(|property| (property.name.clone(), property.value.clone())).collect()
    };
    assert_eq!(others(&was), others(&is), "the other properties stay");
    let (Some(property), Some(old), Some(_)) = (find(&was), old, block) else { return };
    let mut yaml = text[old.yaml].lines().map(str::trim);
    if yaml
        .find(|line| !line.is_empty() && !line.starts_with('#'))
        .is_none_or(|l| l.starts_with('{'))
    {
        return;
    }
    let before = text[..property.key.start].rfind('\n').map_or(0, |newline| newline + 1);
    let end = property.at.end.max(property.key.end);
    let after = text[end..].find('\n').map_or(text.len(), |newline| end + newline + 1);
    assert!(new.starts_with(&text[..before]), "the lines before stay");
    assert!(new.ends_with(&text[after..]), "the lines after stay");
}

/// Answers of models: the API format, the size of a piece, then the stream. Any input ends in an
/// answer or an error, its deltas are within blocks that began, and the piece size makes no
/// difference.
pub fn fuzz_stream(data: &[u8]) {
    let [wire, chunk, stream @ ..] = data else { return };
    let wire = [Wire::Anthropic, Wire::Responses, Wire::Chat, Wire::Gemini][usize::from(wire % 4)];
    let whole = read_stream(wire, stream, stream.len());
    let pieces = read_stream(wire, stream, usize::from(*chunk));
    assert_eq!(pieces, whole, "where the bytes are cut makes no difference");
}

/// The result of a stream, without the ids created here.
fn read_stream(wire: Wire, stream: &[u8], chunk: usize) -> (Vec<usize>, usize, String) {
    const LIMIT: usize = 64 << 10;
    let origin = Origin { wire, endpoint: String::new(), model: String::new() };
    let mut reading = ResponseDecoder::new(origin, false, LIMIT);
    let mut events = Vec::new();
    let mut fed = stream.chunks(chunk.max(1)).map(|part| reading.feed(part, &mut events));
    let stopped = fed.find(|fed| !matches!(fed, Ok(false)));
    let turn = match stopped {
        Some(Err(error)) => Err(error),
        _ => reading.finish(&mut events),
    };
    let mut lengths = Vec::new();
    for event in &events {
        match event {
            TurnEvent::Start { block, .. } => {
                assert!(*block >= lengths.len(), "blocks begin in order");
                lengths.resize(block + 1, 0);
            }
            TurnEvent::Text { block, delta }
            | TurnEvent::Thinking { block, delta }
            | TurnEvent::ToolArgs { block, delta } => lengths[*block] += delta.len(),
            TurnEvent::End { block } => assert!(*block < lengths.len(), "what ends began"),
            TurnEvent::Retry { .. } => panic!("a single answer is not begun again"),
        }
    }
    // An oversized piece is detected later if the pieces are larger; everything else is the same.
    match turn {
        Ok(turn) => (lengths, turn.content.len(), format!("{:?}", turn.stop)),
        Err(error) => (lengths, error.detail.partial.len(), format!("{:?}", error.kind)),
    }
}

/// The first `N` fields of an input as text; missing ones are empty.
fn fields<const N: usize>(data: &[u8]) -> [String; N] {
    let mut fields = data.splitn(N, |&byte| byte == SEPARATOR);
    std::array::from_fn(|_| String::from_utf8_lossy(fields.next().unwrap_or_default()).into_owned())
}

/// Frames of SmartHole: none breaks the parser, an accepted frame is within the limits, and its
/// answer is one object without a `null`, which would crash SmartHole.
pub fn fuzz_smarthole(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let answers = |id: &str, reason: &str| {
        assert!(!id.is_empty() && id.len() <= 1_000, "a name is one");
        let frames = [frames::ack(id), frames::reject(id, reason)];
        frames.iter().for_each(|frame| check_answer(frame, id));
    };
    match frames::read(&text) {
        Some(Incoming::Message(heard)) => {
            assert!(!heard.text.is_empty() && heard.text.trim() == heard.text);
            let reason = heard.how.reason.as_deref().unwrap_or_default();
            assert!(reason.chars().count() <= 1_000, "a reason has its limit");
            answers(&heard.id, reason);
            let kept = serde_json::to_string(&heard.how).expect("it can be written");
            assert_eq!(
                serde_json::from_str::<frames::Delivery>(&kept).ok(),
                Some(heard.how),
                "{kept}"
            );
            for priority in [Priority::Normal, Priority::High] {
                let shown = Notification::of(&heard.id, &heard.text, &heard.text, priority);
                let Some(shown) = shown else { continue };
                assert!(!shown.title.is_empty() && !shown.body.is_empty(), "something is shown");
                check_answer(&frames::notification(&shown), &heard.id);
            }
        }
        Some(Incoming::Empty { id }) => answers(&id, "the message is empty"),
        Some(Incoming::Registered | Incoming::Refused { .. }) | None => {}
    }
    if let Some(name) = name::registered(&text) {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        assert!(name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.len() <= 64);
        assert!(name.chars().all(fits), "{name} is taken");
        assert_eq!(name::registered(&name).as_ref(), Some(&name), "it stays as it is");
    }
}

fn check_answer(frame: &str, id: &str) {
    let value: Value = serde_json::from_str(frame).expect("it is JSON");
    assert_eq!(value["payload"]["messageId"], id);
    fn has_null(value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Array(items) => items.iter().any(has_null),
            Value::Object(fields) => fields.values().any(has_null),
            _ => false,
        }
    }
    assert!(!has_null(&value), "{frame}");
}

/// A message of the local protocol: handles bytes as if they had come in one text frame, up to
/// typed params and to the text of a refusal.
///
/// # Panics
///
/// A refusal that is not JSON, or a message that is parsed differently after it was written again.
pub fn fuzz_message(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    hear_as_mcp(text);
    match envelope::Incoming::parse(text) {
        Ok(envelope::Incoming::Request { id, method, params }) => {
            let again = serde_json::json!({
                "jsonrpc": "2.0", "id": id, "method": method, "params": params,
            });
            assert_eq!(
                envelope::Incoming::parse(&again.to_string()),
                Ok(envelope::Incoming::Request {
                    id: id.clone(),
                    method: method.clone(),
                    params: params.clone()
                }),
                "a request written again reads the same"
            );
            if let Err(error) = protocol::check(&method, params) {
                readable(&envelope::failure(Some(&id), &error));
            }
        }
        Ok(envelope::Incoming::Notification { method, params }) => {
            let _ = ClientNotification::parse(&method, params);
        }
        Ok(envelope::Incoming::Answer { .. }) => {}
        Err(refusal) => readable(&envelope::failure(refusal.id.as_ref(), &refusal.error)),
    }
}

/// An immediate reply to an MCP client is one message, over HTTP and over stdio.
fn hear_as_mcp(text: &str) {
    for headers in [None, Some(mcp::Headers::default())] {
        let Dispatched::Response(response) =
            mcp::dispatch(text, headers.as_ref(), Registry::built_in(), &mcp::Settings::default())
        else {
            continue;
        };
        let message: Value = serde_json::from_str(&response.text).expect("an answer is JSON");
        assert_eq!(message["jsonrpc"], "2.0");
        assert!(!response.text.contains('\n'), "a message is a line");
        let has = |part: &str| message.get(part).is_some();
        assert!(has("result") != has("error"), "it says one thing: {message}");
        assert!(message["error"].is_null() || message["error"]["code"].is_i64(), "{message}");
    }
}

fn readable(text: &str) {
    let value: Value = serde_json::from_str(text).expect("a refusal is JSON");
    assert!(value["error"]["data"]["kind"].is_string(), "a refusal has a kind");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// JSON of any shape, mixed with the words of the protocol.
    fn json() -> impl Strategy<Value = serde_json::Value> {
        let word = prop_oneof![
            Just("2.0".to_owned()),
            Just("tools/call".to_owned()),
            Just("$/cancel_request".to_owned()),
            Just("initialize".to_owned()),
            ".{0,12}",
        ];
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            word.prop_map(Into::into),
        ];
        let key = prop_oneof![
            Just("jsonrpc".to_owned()),
            Just("id".to_owned()),
            Just("method".to_owned()),
            Just("params".to_owned()),
            Just("name".to_owned()),
            Just("protocolVersion".to_owned()),
            Just("requestId".to_owned()),
            "[a-z]{0,4}",
        ];
        leaf.prop_recursive(4, 32, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                prop::collection::btree_map(key.clone(), inner, 0..6).prop_map(|entries| {
                    serde_json::Value::Object(entries.into_iter().collect())
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            fuzz_message(&bytes);
        }

        #[test]
        fn any_json(value in json()) {
            fuzz_message(value.to_string().as_bytes());
        }
    }
}
