//! Decodes a note's bytes into lines, and rejects files that are not text.
//!
//! A line ends with `\n`; a `\r` right before it belongs to the ending. A lone `\r` is ordinary
//! text, as it is for Git and Obsidian. A final newline ends the last line and starts no new one,
//! so an empty file has no lines.

use std::borrow::Cow;

use crate::note::code::ErrorCode;

/// How far to look for a NUL byte (as Git and ripgrep do).
const SNIFFED_BYTES: usize = 8 * 1024;

const BOM: &str = "\u{feff}";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text<'a> {
    body: Cow<'a, str>,
    encoding: Encoding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8 without a byte-order mark, the usual encoding of notes.
    Utf8,
    /// UTF-8 with a byte-order mark, which edits preserve.
    Utf8Bom,
    /// UTF-16, little-endian, with a byte-order mark. Read, never edited.
    Utf16Le,
    /// UTF-16, big-endian, with a byte-order mark. Read, never edited.
    Utf16Be,
}

impl Encoding {
    /// Whether the text can be edited: UTF-8 only.
    pub fn is_editable(self) -> bool {
        matches!(self, Self::Utf8 | Self::Utf8Bom)
    }
}

/// A line ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eol {
    /// `\n`
    Lf,
    /// `\r\n`
    CrLf,
}

impl Eol {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
        }
    }

    pub fn first_in(text: &str) -> Option<Self> {
        text.split_inclusive('\n').next().and_then(|line| Line::new(line).ending)
    }

    pub fn last_in(text: &str) -> Option<Self> {
        let end = text.rfind('\n')?;
        Some(if text[..end].ends_with('\r') { Self::CrLf } else { Self::Lf })
    }
}

/// A line, split into text and ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    pub text: &'a str,
    /// The ending; `None` for a last line without a newline.
    pub ending: Option<Eol>,
}

impl<'a> Line<'a> {
    /// Splits a line with its ending, as [`str::split_inclusive`] returns it.
    pub fn new(raw: &'a str) -> Self {
        match raw.strip_suffix('\n') {
            None => Self { text: raw, ending: None },
            Some(text) => match text.strip_suffix('\r') {
                None => Self { text, ending: Some(Eol::Lf) },
                Some(text) => Self { text, ending: Some(Eol::CrLf) },
            },
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not text but {kind} of {size} bytes ({reason})")]
pub struct NotText {
    /// The probable type with its article: "a PNG image", "binary data".
    pub kind: &'static str,
    pub size: usize,
    pub reason: NotTextReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotTextReason {
    /// A NUL byte in the first 8 KB.
    #[error("NUL at byte {at}")]
    Nul { at: usize },
    /// Not UTF-8.
    #[error("invalid UTF-8 at byte {at}")]
    InvalidUtf8 {
        /// The offset of the first offending byte.
        at: usize,
    },
    /// A UTF-16 byte-order mark followed by invalid UTF-16.
    #[error("invalid UTF-16")]
    InvalidUtf16,
}

impl NotText {
    pub fn code(&self) -> ErrorCode {
        ErrorCode::BinaryFile
    }
}

impl<'a> Text<'a> {
    /// Decodes a file's bytes. `name` is the file's name or path; its extension only helps to
    /// describe a file that is not text, and it may be empty.
    ///
    /// # Errors
    /// [`NotText`] for a NUL byte in the first 8 KB, invalid UTF-8, and invalid text after a UTF-16
    /// byte-order mark.
    pub fn decode(bytes: &'a [u8], name: &str) -> Result<Self, NotText> {
        let fault = |reason| NotText { kind: kind(bytes, name), size: bytes.len(), reason };
        let wide = match bytes {
            [0xff, 0xfe, rest @ ..] => Some((Encoding::Utf16Le, rest)),
            [0xfe, 0xff, rest @ ..] => Some((Encoding::Utf16Be, rest)),
            _ => None,
        };
        if let Some((encoding, rest)) = wide {
            let body = decode_wide(encoding, rest).ok_or(fault(NotTextReason::InvalidUtf16))?;
            return Ok(Self { body: Cow::Owned(body), encoding });
        }
        if let Some(at) = memchr::memchr(0, &bytes[..bytes.len().min(SNIFFED_BYTES)]) {
            return Err(fault(NotTextReason::Nul { at }));
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|error| fault(NotTextReason::InvalidUtf8 { at: error.valid_up_to() }))?;
        Ok(match text.strip_prefix(BOM) {
            Some(body) => Self { body: Cow::Borrowed(body), encoding: Encoding::Utf8Bom },
            None => Self { body: Cow::Borrowed(text), encoding: Encoding::Utf8 },
        })
    }

    /// The text without byte-order mark, with its line endings unchanged.
    pub fn body(&self) -> &str {
        &self.body
    }

    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The bytes before the body: the byte-order mark of UTF-8, if there is one.
    pub fn lead(&self) -> &'static [u8] {
        match self.encoding {
            Encoding::Utf8Bom => BOM.as_bytes(),
            _ => &[],
        }
    }

    /// The lines in order; callers number them from 1.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = Line<'_>> {
        self.body.split_inclusive('\n').map(Line::new)
    }

    /// The number of lines. Counts them each time: keep the result.
    pub fn line_count(&self) -> usize {
        let newlines = memchr::memchr_iter(b'\n', self.body.as_bytes()).count();
        newlines + usize::from(!self.body.is_empty() && !self.ends_with_newline())
    }

    /// Whether the last line has an ending.
    pub fn ends_with_newline(&self) -> bool {
        self.body.ends_with('\n')
    }

    /// The most frequent line ending; `\n` if both are equally frequent. `None` without any.
    pub fn dominant_eol(&self) -> Option<Eol> {
        let newlines = self.body.bytes().filter(|&byte| byte == b'\n').count();
        let wide = self.body.matches("\r\n").count();
        match (newlines, wide * 2 > newlines) {
            (0, _) => None,
            (_, true) => Some(Eol::CrLf),
            (_, false) => Some(Eol::Lf),
        }
    }
}

fn decode_wide(encoding: Encoding, bytes: &[u8]) -> Option<String> {
    let (pairs, []) = bytes.as_chunks::<2>() else { return None };
    let unit = |pair: &[u8; 2]| match encoding {
        Encoding::Utf16Be => u16::from_be_bytes(*pair),
        _ => u16::from_le_bytes(*pair),
    };
    let text = char::decode_utf16(pairs.iter().map(unit)).collect::<Result<String, _>>().ok()?;
    // UTF-32 starts with the same mark; its NULs give it away.
    (!text.bytes().take(SNIFFED_BYTES).any(|byte| byte == 0)).then_some(text)
}

/// The probable type of a binary file: by its first bytes, otherwise by its extension.
fn kind(bytes: &[u8], name: &str) -> &'static str {
    const MAGIC: [(&[u8], &str); 17] = [
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"BM", "a BMP image"),
        (b"%PDF", "a PDF document"),
        (b"PK\x03\x04", "a ZIP archive or Office document"),
        (b"\x1f\x8b", "a gzip archive"),
        (b"7z\xbc\xaf", "a 7z archive"),
        (b"ID3", "an MP3 audio file"),
        (b"\xff\xfb", "an MP3 audio file"),
        (b"OggS", "an Ogg audio file"),
        (b"fLaC", "a FLAC audio file"),
        (b"\x1a\x45\xdf\xa3", "a Matroska or WebM video"),
        (b"SQLite format 3", "an SQLite database"),
        (b"\x7fELF", "a program"),
        (b"wOF", "a font"),
        (b"\xd0\xcf\x11\xe0", "an old Office document"),
    ];
    if let Some((_, kind)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return kind;
    }
    match (bytes.get(..4), bytes.get(4..8), bytes.get(8..12)) {
        (Some(b"RIFF"), _, Some(b"WEBP")) => return "a WebP image",
        (Some(b"RIFF"), _, Some(b"WAVE")) => return "a WAV audio file",
        (_, Some(b"ftyp"), Some(b"avif" | b"heic")) => return "an image",
        (_, Some(b"ftyp"), Some(b"M4A ")) => return "an M4A audio file",
        (_, Some(b"ftyp"), _) => return "an MP4 video",
        _ => {}
    }
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    match extension.as_deref().unwrap_or_default() {
        "png" | "jpg" | "jpeg" | "gif" | "webp" | "bmp" | "avif" | "heic" | "tif" | "tiff"
        | "ico" => "an image",
        "pdf" => "a PDF document",
        "mp3" | "m4a" | "wav" | "ogg" | "flac" | "3gp" | "opus" | "aac" => "an audio file",
        "mp4" | "mov" | "mkv" | "webm" | "ogv" | "avi" => "a video",
        "zip" | "gz" | "7z" | "rar" | "tar" | "xz" => "an archive",
        "docx" | "xlsx" | "pptx" | "odt" | "ods" | "odp" | "doc" | "xls" | "ppt" => {
            "an Office document"
        }
        "md" | "txt" | "canvas" | "json" | "csv" | "base" => "damaged or differently encoded text",
        _ => "binary data",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8]) -> Text<'_> {
        Text::decode(bytes, "").unwrap()
    }

    #[test]
    fn what_a_line_is() {
        for (bytes, lines) in [
            (&b""[..], vec![]),
            (b"\n", vec![""]),
            (b"a", vec!["a"]),
            (b"a\n", vec!["a"]),
            (b"a\n\n", vec!["a", ""]),
            (b"a\r\nb\rc\nd\r", vec!["a", "b\rc", "d\r"]),
            (b"\xef\xbb\xbfa\nb", vec!["a", "b"]),
        ] {
            let text = decode(bytes);
            assert_eq!(text.lines().map(|line| line.text).collect::<Vec<_>>(), lines, "{bytes:?}");
            assert_eq!(text.line_count(), lines.len(), "{bytes:?}");
        }
        for lines in [254, 255, 256, 510, 511, 1_000] {
            assert_eq!(decode("\n".repeat(lines).as_bytes()).line_count(), lines);
            assert_eq!(decode("ab\n".repeat(lines).as_bytes()).line_count(), lines);
        }
    }

    #[test]
    fn endings() {
        let text = decode(b"a\r\nb\nc");
        let endings: Vec<_> = text.lines().map(|line| line.ending).collect();
        assert_eq!(endings, [Some(Eol::CrLf), Some(Eol::Lf), None]);
        assert_eq!(text.dominant_eol(), Some(Eol::Lf));
        assert_eq!(decode(b"a\r\nb\r\nc\n").dominant_eol(), Some(Eol::CrLf));
        assert_eq!(decode(b"a\rb").dominant_eol(), None);
        assert_eq!(Eol::first_in("\r\n\n"), Some(Eol::CrLf));
        assert_eq!(Eol::last_in("\r\n\nx"), Some(Eol::Lf));
        assert_eq!(Eol::last_in("x"), None);
    }

    #[test]
    fn wide_text_is_read_and_not_edited() {
        for bytes in [&b"\xff\xfea\0\n\0\x3d\xd8\x00\xde"[..], b"\xfe\xff\0a\0\n\xd8\x3d\xde\x00"] {
            let text = decode(bytes);
            assert_eq!(text.body(), "a\n😀");
            assert!(!text.encoding().is_editable());
        }
        assert!(decode(b"\xef\xbb\xbfa").encoding().is_editable());
    }

    #[test]
    fn what_is_no_text_says_what_it_is() {
        for (bytes, name, message) in [
            (&b"\x89PNG\r\n\x1a\n\0\0\0"[..], "a.md", "a PNG image of 11 bytes (NUL at byte 8)"),
            (
                b"caf\xe9",
                "x/note.md",
                "damaged or differently encoded text of 4 bytes (invalid UTF-8 at byte 3)",
            ),
            (b"\0", "memo.M4A", "an audio file of 1 bytes (NUL at byte 0)"),
            (b"\0", "thing", "binary data of 1 bytes (NUL at byte 0)"),
            (b"\xff\xfea", "", "binary data of 3 bytes (invalid UTF-16)"),
            (b"\xff\xfe\x00\xd8", "", "binary data of 4 bytes (invalid UTF-16)"),
            (b"\xff\xfe\0\0a\0\0\0", "", "binary data of 8 bytes (invalid UTF-16)"),
        ] {
            let fault = Text::decode(bytes, name).unwrap_err();
            assert_eq!(fault.to_string(), format!("not text but {message}"));
        }
    }

    #[test]
    fn a_late_nul_is_text() {
        let mut bytes = vec![b'a'; SNIFFED_BYTES];
        bytes.push(0);
        assert_eq!(decode(&bytes).line_count(), 1);
    }
}
