//! The indexed and cited text of a file: the whole note, the cards of a canvas, the pages of a PDF.
//! Other attachments are found by name.

use std::borrow::Cow;

use crate::note::canvas::{self, PieceKind};
use crate::note::markdown::{self, Document, Heading};
use crate::note::path::PathRef;

/// Separates the pages of a PDF in one text.
const PAGE_END: char = '\u{c}';

/// Extensions of images, sounds and films that Obsidian shows.
const MEDIA: &[&str] = &[
    "avif", "bmp", "gif", "jpeg", "jpg", "png", "svg", "webp", "flac", "m4a", "mp3", "ogg", "wav",
    "webm", "3gp", "mkv", "mov", "mp4", "ogv",
];

/// The kind of a file in searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Note,
    Canvas,
    Pdf,
    /// Found only by its name.
    Media,
}

impl Kind {
    /// The kind of a file by its extension; `None` if searches do not find it.
    pub fn of(path: PathRef<'_>) -> Option<Self> {
        let extension = path.extension()?;
        let is = |other: &str| extension.eq_ignore_ascii_case(other);
        match () {
            () if is("md") => Some(Self::Note),
            () if is("canvas") => Some(Self::Canvas),
            () if is("pdf") => Some(Self::Pdf),
            () => MEDIA.iter().any(|known| is(known)).then_some(Self::Media),
        }
    }
}

/// A text with its structure.
#[derive(Debug)]
pub struct Content<'t> {
    pub kind: Kind,
    pub text: Cow<'t, str>,
    /// For a canvas or a PDF: a heading without text at the beginning of each card or page.
    pub document: Document,
}

impl<'t> Content<'t> {
    /// The content of the file at `path` with this text, as far as known without reading a PDF.
    pub fn of(path: PathRef<'_>, text: &'t str) -> Self {
        match Kind::of(path).unwrap_or(Kind::Note) {
            Kind::Note => {
                let document = markdown::read(text);
                Self { kind: Kind::Note, text: text.into(), document }
            }
            Kind::Canvas => {
                // A damaged canvas is found by its name.
                let pieces = canvas::pieces(text).unwrap_or_default().into_iter();
                let cards = pieces.filter(|piece| piece.kind == PieceKind::Card);
                Self::parts(Kind::Canvas, cards.map(|piece| Cow::Owned(piece.text)))
            }
            kind @ (Kind::Pdf | Kind::Media) => Self::parts(kind, std::iter::empty()),
        }
    }

    /// The content of a PDF with this text, which [`joined`] made.
    pub fn of_pdf(text: &str) -> Content<'static> {
        Content::parts(Kind::Pdf, text.split(PAGE_END).map(Cow::Borrowed))
    }

    fn parts<'p>(kind: Kind, parts: impl Iterator<Item = Cow<'p, str>>) -> Content<'static> {
        let (mut text, mut document) = (String::new(), Document::default());
        for part in parts {
            if !text.is_empty() && !text.ends_with("\n\n") {
                text.push_str("\n\n");
            }
            let start = text.len();
            document.headings.push(Heading { level: 1, text: start..start, line: 0 });
            text.push_str(part.trim());
        }
        Content { kind, text: text.into(), document }
    }
}

/// Joins the texts of the pages of a PDF.
pub(super) fn joined(pages: &[String]) -> String {
    let mut text = String::new();
    for (at, page) in pages.iter().enumerate() {
        if at > 0 {
            text.push(PAGE_END);
        }
        text.extend(page.chars().filter(|c| *c != PAGE_END));
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::note::chunks;
    use crate::note::path::VaultPath;

    /// The number of the part of each chunk, and its text.
    fn chunks(content: &Content<'_>) -> Vec<(usize, String)> {
        let cut = chunks::cut(&content.text, &content.document).into_iter();
        cut.map(|it| (it.path[0], content.text[it.range].trim().to_owned())).collect()
    }

    #[test]
    fn cards_and_pages_are_chunks_of_their_own() {
        let pages = ["# not a heading", "", "```\nthird", " "].map(str::to_owned);
        let text = joined(&pages);
        let expected = [(0, pages[0].clone()), (2, pages[2].clone())];
        assert_eq!(chunks(&Content::of_pdf(&text)), expected);
        let path = VaultPath::from_disk("A.Canvas").expect("a path");
        let canvas = r#"{"nodes":[{"type":"text","text":"one"},{"type":"file","file":"B.md"},{"type":"text","text":"two"}]}"#;
        let content = Content::of(path.borrowed(), canvas);
        assert_eq!(chunks(&content), [(0, "one".to_owned()), (1, "two".to_owned())]);
        assert_eq!(Content::of(path.borrowed(), "{").text, "");
        for (name, kind) in [
            ("a.PDF", Some(Kind::Pdf)),
            ("a.jpeg", Some(Kind::Media)),
            ("a", None),
            ("a.txt", None),
        ] {
            assert_eq!(Kind::of(VaultPath::from_disk(name).expect("a path").borrowed()), kind);
        }
    }

    proptest! {
        #[test]
        fn a_chunk_is_of_one_page(pages in prop::collection::vec("(\\PC|[#`\n\u{c} ]|[a漢]{400}){0,6}", 1..6)) {
            let text = joined(&pages);
            let content = Content::of_pdf(&text);
            prop_assert_eq!(content.document.headings.len(), pages.len());
            for (page, chunk) in chunks(&content) {
                prop_assert!(pages[page].replace('\u{c}', "").contains(&chunk), "{}: {}", page, chunk);
            }
        }
    }
}
