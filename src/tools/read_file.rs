//! `read_file`

use std::fmt::Write as _;
use std::sync::Arc;

use super::ReadUpdate;
use super::image::{EncodedImage, Image, described};
use super::long_line::{CUT, MAX_CHARACTERS, Piece, shortened};
use super::prelude::*;
use super::text_file::{self, TextFile};
use crate::media::image::Format;
use crate::media::pdf::{self, BadPdf, Bounds};
use crate::note::code::ErrorCode;
use crate::note::counted::counted;
use crate::note::path::VaultPath;
use crate::note::text::{Encoding, Text};
use crate::vault::nonblocking;

/// Lines in one answer.
const MAX_LINES: usize = 2_000;

/// Bytes of text in one answer.
const MAX_BYTES: usize = 100 << 10;

/// Pages of a PDF in one answer.
const MAX_PAGES: usize = 200;

/// Bytes of an answer for the description of the file and of the rest.
const AROUND: usize = 500;

/// Reads a text file of the vault, whole or a range of lines. Lines are numbered as `N: text`; the
/// numbers are not part of the file. Case does not matter in the path, and `.md` may be omitted.
/// Returns at most 2,000 lines, 100 KB and 2,000 characters per line, and says how to continue.
/// Returns an image as such, and a PDF as its text by page. Pass `revision` to a later change to
/// have it refused if the file has changed since.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadFile {
    /// The file, from the vault's root: `Projects/Garden.md`, or just `projects/garden`; or a
    /// note's name or alias.
    path: String,
    /// The first line to read, from 1. Default: 1.
    start_line: Option<i64>,
    /// The last line to read; -1 is the end. Default: -1.
    end_line: Option<i64>,
    /// To continue in a line that was cut: the first character of `start_line` to read, from 1.
    /// Reads only that line.
    start_character: Option<i64>,
    /// The first page of a PDF, from 1.
    start_page: Option<i64>,
}

/// The result.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The real path.
    path: String,
    /// The text of these lines, without numbers and with long lines cut. A piece that does not reach its line's end has
    /// no newline.
    content: String,
    /// The first line; 0 if the file is empty.
    start_line: usize,
    /// The last line.
    end_line: usize,
    /// Lines in the file; a final newline does not count as one more.
    total_lines: usize,
    /// The next line, if the requested range has more.
    next_start_line: Option<usize>,
    /// Lines cut before their end.
    cut_lines: Vec<usize>,
    /// The next character of the line requested by `start_character`, if it is not at its end.
    next_start_character: Option<usize>,
    /// Identity of the file's bytes, for `expected_revision`.
    revision: String,
    /// Bytes of the whole file.
    size: u64,
    /// `utf-8`, `utf-8 with BOM`, `utf-16le` or `utf-16be`; for other files the media type.
    encoding: &'static str,
    /// An image's size, instead of lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<ImageSize>,
    /// The pages of a PDF in `content`, each below its number, instead of lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pages: Option<Pages>,
}

/// The size of an image, in pixels.
#[derive(Serialize, JsonSchema)]
struct ImageSize {
    width: u32,
    height: u32,
}

/// Pages of a PDF.
#[derive(Serialize, JsonSchema)]
struct Pages {
    first: usize,
    last: usize,
    total: usize,
    next_start_page: Option<usize>,
}

impl Tool for ReadFile {
    const NAME: &'static str = "read_file";
    const TITLE: &'static str = "Read a file";
    const TIER: Tier = Tier::Safe;
    const LONG_ANSWER: bool = true;
    const QUICK: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const EXAMPLE: &'static str = r#"{"path": "a.md"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let file = text_file::read(context, &self.path)?;
        let text = match content(&file)? {
            ReadableFile::Text(text) => text,
            ReadableFile::Image(format) => return image(&file, &self, format),
            ReadableFile::Pdf => return pages(context, &file, &self),
        };
        if self.start_page.is_some() {
            return Err(has_none(&file, "text, and has no pages", "count lines: `start_line`"));
        }
        let total_lines = text.line_count();
        let (first, last) = range(&self, total_lines, file.path.as_str())?;
        if let Some(character) = self.start_character {
            let requested = Within { line: first, character, end_line: self.end_line };
            return piece(&file, &text, &requested, context.max_chars);
        }
        let page =
            page(&text, first, last, context.max_chars.saturating_sub(AROUND).min(MAX_BYTES));
        let end_line = (first + page.lines).saturating_sub(1);
        let next_start_line = (end_line < last).then_some(end_line + 1);
        let mut shown = page.numbered;
        shown.push_str(&match (total_lines, next_start_line) {
            (0, _) => "[empty file]".to_owned(),
            (_, None) => format!("[lines {first}-{end_line} of {total_lines}]"),
            (_, Some(next)) => {
                format!("[lines {first}-{end_line} of {total_lines}; go on with start_line {next}]")
            }
        });
        if !page.cut.is_empty() {
            let lines = counted(page.cut.len(), "line");
            let _ = write!(
                shown,
                "\n[{lines} cut to {MAX_CHARACTERS} characters; more of one with its number as \
                 start_line, and start_character {}]",
                MAX_CHARACTERS + 1
            );
        }
        let data = Output {
            content: page.plain,
            start_line: if total_lines == 0 { 0 } else { first },
            end_line,
            total_lines,
            next_start_line,
            cut_lines: page.cut,
            ..without_lines(&file, encoding(text.encoding()))
        };
        Ok(Answer::new(format!("{}\n{shown}", file.path), data))
    }

    fn read_updates(read: &Output) -> Vec<ReadUpdate> {
        if read.image.is_some() || read.pages.is_some() {
            // The content of an image or a PDF is not its file's text.
            return Vec::new();
        }
        // The rest of a cut line is not known.
        let whole = read.cut_lines.first().map_or(read.end_line, |cut| cut.saturating_sub(1));
        vec![ReadUpdate::Read {
            path: read.path.clone(),
            revision: read.revision.clone(),
            first: read.start_line as u64,
            last: read.end_line.min(whole) as u64,
            lines: read.total_lines as u64,
        }]
    }
}

enum ReadableFile<'a> {
    Text(Text<'a>),
    Image(Format),
    Pdf,
}

/// By its bytes, regardless of its name; only a PDF can also be text.
fn content(file: &TextFile) -> Result<ReadableFile<'_>, ToolError> {
    let bytes = &file.content.bytes;
    let is_pdf = pdf::is_pdf(bytes);
    if is_pdf && file.path.name().to_ascii_lowercase().ends_with(".pdf") {
        return Ok(ReadableFile::Pdf);
    }
    match file.text() {
        Ok(text) => Ok(ReadableFile::Text(text)),
        Err(_) if is_pdf => Ok(ReadableFile::Pdf),
        Err(not_text) => Format::of(bytes).map(ReadableFile::Image).ok_or(not_text),
    }
}

fn has_none(file: &TextFile, what: &str, hint: &str) -> ToolError {
    ToolError::invalid(format!("`{}` is {what}", file.path), hint)
}

/// Whether a range of lines is requested.
fn asks_for_lines(input: &ReadFile) -> bool {
    input.start_line.or(input.end_line).or(input.start_character).is_some()
}

fn without_lines(file: &TextFile, encoding: &'static str) -> Output {
    Output {
        path: file.path.as_str().to_owned(),
        content: String::new(),
        start_line: 0,
        end_line: 0,
        total_lines: 0,
        next_start_line: None,
        cut_lines: Vec::new(),
        next_start_character: None,
        revision: file.content.revision.to_string(),
        size: file.content.bytes.len() as u64,
        encoding,
        image: None,
        pages: None,
    }
}

/// An image instead of lines.
fn image(file: &TextFile, input: &ReadFile, format: Format) -> Result<Answer<Output>, ToolError> {
    if asks_for_lines(input) || input.start_page.is_some() {
        let hint = "give its `path` alone";
        return Err(has_none(file, "an image and has no lines", hint));
    }
    if nonblocking::would_block() {
        // Decoding takes long; the answer is discarded and made on another thread.
        return Err(ToolError::cancelled());
    }
    let EncodedImage { image, size, original } = Image::of(&file.path, &file.content, format)?;
    let text = described(&file.path, format, file.content.bytes.len(), size, original);
    let data = Output {
        image: Some(ImageSize { width: original.0, height: original.1 }),
        ..without_lines(file, format.mime())
    };
    Ok(Answer { image: Some(Arc::new(image)), ..Answer::new(text, data) })
}

/// The text of a PDF instead of lines.
fn pages(
    context: &Context,
    file: &TextFile,
    input: &ReadFile,
) -> Result<Answer<Output>, ToolError> {
    if asks_for_lines(input) {
        return Err(has_none(file, "a PDF and has no lines", "count pages: `start_page`"));
    }
    let wanted = input.start_page.unwrap_or(1);
    let Some(first) = usize::try_from(wanted).ok().filter(|first| *first > 0) else {
        let message = format!("`start_page` is {wanted}");
        return Err(ToolError::invalid(message, "pages count from 1"));
    };
    if nonblocking::would_block() {
        return Err(ToolError::cancelled());
    }
    let (path, bytes) = (&file.path, &file.content.bytes);
    let bounds = Bounds {
        bytes: context.max_chars.saturating_sub(AROUND).min(MAX_BYTES),
        pages: MAX_PAGES,
        is_over: &|| context.cancel.is_cancelled(),
    };
    let read = pdf::read(bytes, first, &bounds).map_err(|fault| bad_pdf(path, first, &fault))?;
    let (last, total) = (first + read.pages.len() - 1, read.total);
    let next_start_page = (last < total).then_some(last + 1);
    let mut content = String::new();
    for (at, page) in read.pages.iter().enumerate() {
        let number = first + at;
        let _ = if page.is_empty() {
            writeln!(content, "[page {number}: no text]")
        } else {
            writeln!(content, "[page {number}]\n{page}")
        };
    }
    let size = text_file::size(bytes.len() as u64);
    let mut text = format!("{path}\nPDF, {}, {size}\n{content}", counted(total, "page"));
    if read.pages.iter().all(String::is_empty) {
        text.push_str("[no text on these pages: they may be images, such as a scan]\n");
    }
    if read.is_cut {
        text.push_str("[the page is longer than an answer may be, and is cut]\n");
    }
    let more = next_start_page.map(|next| format!("; go on with start_page {next}"));
    let _ = write!(text, "[pages {first}-{last} of {total}{}]", more.unwrap_or_default());
    let pages = Some(Pages { first, last, total, next_start_page });
    Ok(Answer::new(text, Output { content, pages, ..without_lines(file, "application/pdf") }))
}

fn bad_pdf(path: &VaultPath, first: usize, fault: &BadPdf) -> ToolError {
    let (code, hint) = match fault {
        BadPdf::Encrypted => (ErrorCode::BinaryFile, "save a copy without a password"),
        BadPdf::TooLarge => (ErrorCode::TooLarge, "split it, or save it again in another program"),
        BadPdf::Damaged(_) => {
            (ErrorCode::BinaryFile, "open it in a PDF viewer and save it again there")
        }
        BadPdf::Cancelled => return ToolError::cancelled(),
        BadPdf::NoPage { total } => {
            let has = counted(*total, "page");
            let message = format!("`{path}` has {has}; there is no page {first}");
            return ToolError::invalid(message, "pages count from 1");
        }
    };
    ToolError::new(code, format!("`{path}` is a PDF that {fault}"), hint)
}

/// A position within a line.
struct Within {
    line: usize,
    character: i64,
    end_line: Option<i64>,
}

/// A line from one of its characters to its end.
fn piece(
    file: &TextFile,
    text: &Text<'_>,
    requested: &Within,
    room: usize,
) -> Result<Answer<Output>, ToolError> {
    let Within { line: number, character, end_line } = *requested;
    let wrong = |message: String, hint: &str| Err(ToolError::invalid(message, hint.to_owned()));
    if end_line.is_some_and(|end| usize::try_from(end) != Ok(number)) {
        let hint = "leave `end_line` out: `start_character` reads on in one line";
        return wrong(
            format!(
                "`start_character` and `end_line` {} do not go together",
                end_line.unwrap_or(0)
            ),
            hint,
        );
    }
    let line = text.lines().nth(number.saturating_sub(1)).map_or("", |line| line.text);
    let most = room.saturating_sub(AROUND).min(MAX_BYTES);
    let first = usize::try_from(character).ok().filter(|first| *first > 0);
    let Some((first, piece)) = first.and_then(|first| Some((first, Piece::of(line, first, most)?)))
    else {
        let length = counted(line.chars().count(), "character");
        let message = format!("`start_character` is {character}, and line {number} has {length}");
        return wrong(message, "they count from 1");
    };
    let Piece { text: shown, last, total } = piece;
    let (is_end, total_lines) = (last == total, text.line_count());
    let (mark, more) = if is_end {
        ("", String::new())
    } else {
        (CUT, format!("; go on with start_line {number}, start_character {}", last + 1))
    };
    let data = Output {
        content: if is_end { format!("{shown}\n") } else { shown.to_owned() },
        start_line: number,
        end_line: number,
        total_lines,
        next_start_line: (is_end && number < total_lines).then_some(number + 1),
        cut_lines: if is_end { Vec::new() } else { vec![number] },
        next_start_character: (!is_end).then_some(last + 1),
        ..without_lines(file, encoding(text.encoding()))
    };
    let text = format!(
        "{}\n{number}: {shown}{mark}\n[line {number} of {total_lines}, characters {first}-{last} of {total}{more}]",
        file.path
    );
    Ok(Answer::new(text, data))
}

/// The requested lines, both ends from 1 and within the file; 1 to 0 for an empty file.
fn range(input: &ReadFile, total: usize, path: &str) -> Result<(usize, usize), ToolError> {
    let wrong =
        |message: String| ToolError::invalid(message, "lines count from 1; -1 is the last line");
    let line = |number: i64, name: &str| match number {
        -1 => Ok(total.max(1)),
        1.. => Ok(usize::try_from(number).unwrap_or(usize::MAX)),
        _ => Err(wrong(format!("`{name}` is {number}"))),
    };
    let first = line(input.start_line.unwrap_or(1), "start_line")?;
    let last = line(input.end_line.unwrap_or(-1), "end_line")?.min(total);
    if total == 0 && first == 1 {
        return Ok((1, 0));
    }
    if first > total {
        return Err(wrong(format!(
            "`{path}` has {}; there is no line {first}",
            counted(total, "line")
        )));
    }
    if last < first {
        return Err(wrong(format!("`end_line` {last} comes before `start_line` {first}")));
    }
    Ok((first, last))
}

#[derive(Default)]
struct Page {
    numbered: String,
    plain: String,
    lines: usize,
    cut: Vec<usize>,
}

/// As many of these lines as fit into `most` bytes, but at least one.
fn page(text: &Text, first: usize, last: usize, most: usize) -> Page {
    let mut page = Page::default();
    // Room for a whole ordinary note with its line numbers.
    let room = text.body().len().min(MAX_BYTES / 8);
    page.numbered.reserve(room + room / 8);
    page.plain.reserve(room + 1);
    let requested = text.lines().enumerate().skip(first - 1).take((last + 1).saturating_sub(first));
    for (at, line) in requested.take(MAX_LINES) {
        let (shown, cut) = shortened(line.text);
        let number = at + 1;
        let before = page.numbered.len();
        let more = if cut { CUT } else { "" };
        let _ = writeln!(page.numbered, "{number}: {shown}{more}");
        if page.lines > 0 && page.numbered.len() > most {
            page.numbered.truncate(before);
            break;
        }
        page.plain.push_str(shown);
        page.plain.push('\n');
        page.lines += 1;
        if cut {
            page.cut.push(number);
        }
    }
    page
}

fn encoding(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Utf8 => "utf-8",
        Encoding::Utf8Bom => "utf-8 with BOM",
        Encoding::Utf16Le => "utf-16le",
        Encoding::Utf16Be => "utf-16be",
    }
}
