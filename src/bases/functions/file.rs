//! Methods and fields of files.

use std::sync::Arc;

use crate::note::markdown;

use super::super::context::{Context, moment};
use super::super::value::{FileId, Link, Outcome, Value};
use super::{Type, one, optional, repeated, text_of};

const TEXT: &[Type] = &[Type::Text];
/// Null leads nowhere: `this` without a file.
const LINKED: &[Type] = &[Type::File, Type::Link, Type::Text, Type::Null];

functions! { FUNCTIONS of File:
    "name" -> Text, Plain(|context, value, _| Ok(Value::text(shown_name(&context.source().path(file_id(value)))))):
        "Its name: of a note without .md, of another file with its extension.";
    "basename" -> Text,
        Plain(|context, value, _| Ok(Value::text(split_extension(&context.source().path(file_id(value))).0))):
        "Its name without the extension.";
    "path" -> Text, Plain(|context, value, _| Ok(Value::Text(context.source().path(file_id(value))))):
        "Its path from the top of the vault.";
    "folder" -> Text, Plain(folder): "The path of its folder; / at the top.";
    "ext" -> Text, Plain(|context, value, _| Ok(Value::text(split_extension(&context.source().path(file_id(value))).1))):
        "Its extension, without the point.";
    "size" -> Number, Plain(|context, value, _| Ok(Value::Number(context.source().size(file_id(value)) as f64))):
        "Its size in bytes.";
    "ctime" -> Date, Plain(|context, value, _| Ok(moment(context.source().created(file_id(value))))):
        "When it was made.";
    "mtime" -> Date, Plain(|context, value, _| Ok(moment(context.source().modified(file_id(value))))):
        "When it was last changed.";
    "properties" -> Object,
        Plain(|context, value, _| Ok(Value::Object(context.source().properties(file_id(value))))):
        "All properties of the note.";
    "tags" -> List, Plain(tags): "The tags of text and properties, without #.";
    "links" -> List, Plain(links):
        "The links of properties and text, embeds and links to its own headings among them.";
    "embeds" -> List, Plain(embeds): "The embeds of the text.";
    "backlinks" -> List, Plain(backlinks): "Links to the files that link to it, each once.";
    "file" -> File, Plain(|_, value, _| Ok(value.clone())): "The file itself.";
    "words" -> Number, Plain(words) extension: "How many words the note has.";
    "text" -> Text, Plain(text) extension: "The note's text, after its properties.";
    "headings" -> List, Plain(headings) extension: "The headings of the note, as texts.";
    "asLink"(optional("display", &[Type::Any])) -> Link, Plain(as_link):
        "A link to it, with another text to show.";
    "hasLink"(one("otherFile", LINKED)) -> Bool,
        Plain(|context, value, args| Ok(Value::Bool(has_link_to(context, file_id(value), args.first())))):
        "Whether it links to a file.";
    "hasProperty"(one("name", TEXT)) -> Bool, Plain(has_property):
        "Whether the note has a property.";
    "hasTag"(repeated("values", TEXT)) -> Bool, Plain(has_tag):
        "Whether it has one of the tags, or a tag nested below one of them.";
    "inFolder"(one("folder", TEXT)) -> Bool, Plain(in_folder):
        "Whether it is in a folder, at any depth.";
    "similarity"(one("text", TEXT)) -> Number,
        Plain(|context, value, args| context.source().similarity(file_id(value), text_of(args, 0)).map(Value::Number)) extension:
        "How near its nearest passage is in meaning to a text, from 0 to 1.";
}

fn file_id(value: &Value) -> FileId {
    match value {
        Value::File(file) => *file,
        _ => FileId(u32::MAX),
    }
}

fn last(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The folder of a path; empty at the root.
fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Splits a file name into stem and extension.
fn split_extension(path: &str) -> (&str, &str) {
    match last(path).rsplit_once('.') {
        Some((stem, ext)) if !stem.is_empty() => (stem, ext),
        _ => (last(path), ""),
    }
}

/// The value of `file.name` for a path.
pub(in crate::bases) fn shown_name(path: &str) -> &str {
    let (stem, ext) = split_extension(path);
    if ext.eq_ignore_ascii_case("md") { stem } else { last(path) }
}

fn folder(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    let path = context.source().path(file_id(value));
    Ok(Value::text(match parent(&path) {
        "" => "/",
        folder => folder,
    }))
}

fn tags(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    let tags = context.source().tags(file_id(value));
    context.made_list(tags.into_iter().map(Value::Text).collect())
}

fn links(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    let links = context.source().links(file_id(value));
    context.made_list(links.into_iter().map(displayed).collect())
}

fn embeds(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    let embeds = context.source().embeds(file_id(value));
    context.made_list(embeds.into_iter().map(displayed).collect())
}

/// A link of a text, with its target as the default display: `[[Other#Section]]` as `Other >
/// Section`, like Obsidian.
fn displayed(link: Arc<Link>) -> Value {
    if link.display.is_some() {
        return Value::Link(link);
    }
    let parts = link.target.split('#').filter(|part| !part.is_empty());
    let display = parts.collect::<Vec<_>>().join(" > ");
    Value::Link(Arc::new(Link { display: Some(display.into()), ..Link::clone(&link) }))
}

fn backlinks(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    let source = context.source();
    let files = source.backlinks(file_id(value));
    let link = |file| {
        let path = source.path(file);
        let display = Some(split_extension(&path).0.into());
        Value::Link(Arc::new(Link { target: path, display, from: None, is_external: false }))
    };
    context.made_list(files.into_iter().map(link).collect())
}

fn text(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    match context.source().text(file_id(value)) {
        Some(text) => context.made_text(text),
        None => Ok(Value::Null),
    }
}

fn words(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    let Some(text) = context.source().text(file_id(value)) else { return Ok(Value::Null) };
    context.charge(text.len() as u64 / 64)?;
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    Ok(Value::Number(text.split_whitespace().filter(is_word).count() as f64))
}

fn headings(context: &mut Context<'_>, value: &Value, _: &[Value]) -> Outcome {
    let Some(text) = context.source().text(file_id(value)) else { return Ok(Value::Null) };
    context.charge(text.len() as u64 / 64)?;
    let headings = markdown::read(&text).headings;
    context
        .made_list(headings.into_iter().map(|heading| Value::text(&text[heading.text])).collect())
}

fn as_link(context: &mut Context<'_>, value: &Value, args: &[Value]) -> Outcome {
    let display = match args.first() {
        None | Some(Value::Null) => None,
        Some(display) => Some(context.text(display)?.into()),
    };
    let target = context.source().path(file_id(value));
    Ok(Value::Link(Arc::new(Link { target, display, from: None, is_external: false })))
}

/// Whether a file links to another, given as a file, link or text: by resolved targets, else by the linkpath as
/// written.
pub(super) fn has_link_to(context: &Context<'_>, file: FileId, to: Option<&Value>) -> bool {
    let source = context.source();
    let link = match to {
        Some(Value::File(to)) => return source.links_to(file, *to),
        Some(Value::Link(link)) => Arc::clone(link),
        Some(Value::Text(text)) => Arc::new(Link::of_text(text, Some(file))),
        _ => return false,
    };
    match context.compare().leads_to(&link) {
        Some(to) => source.links_to(file, to),
        None => source.links(file).iter().any(|other| other.path() == link.path()),
    }
}

fn has_property(context: &mut Context<'_>, value: &Value, args: &[Value]) -> Outcome {
    let (source, file, name) = (context.source(), file_id(value), text_of(args, 0));
    let Some(column) = source.column(name) else { return Ok(Value::Bool(false)) };
    // A property without a value exists.
    let has = || source.properties(file).get(name).is_some();
    Ok(Value::Bool(!matches!(source.property(file, column), Value::Null) || has()))
}

fn has_tag(context: &mut Context<'_>, value: &Value, args: &[Value]) -> Outcome {
    let (source, file) = (context.source(), file_id(value));
    Ok(Value::Bool((0..args.len()).any(|at| source.has_tag(file, text_of(args, at)))))
}

fn in_folder(context: &mut Context<'_>, value: &Value, args: &[Value]) -> Outcome {
    let path = context.source().path(file_id(value));
    Ok(Value::Bool(lies_in(&path, text_of(args, 0))))
}

/// Whether a path is in a folder, at any depth. `/` is the root.
pub(in crate::bases) fn lies_in(path: &str, folder: &str) -> bool {
    let folder = folder.trim_matches('/');
    folder.is_empty()
        || parent(path)
            .strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
