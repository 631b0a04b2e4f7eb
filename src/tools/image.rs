//! The image of an answer.

use super::ToolError;
use super::text_file::size;
use crate::media::image::{BadImage, Format, Scaled, scaled};
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::vault::{FileContent, Vault, Want};

/// An image of an answer, for models with vision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub path: String,
    pub revision: String,
    pub mime: &'static str,
    /// The encoded image: upright, scaled and without metadata.
    pub bytes: Vec<u8>,
}

/// An image with its width and height in pixels, encoded and in its file.
pub(super) struct EncodedImage {
    pub image: Image,
    pub size: (u32, u32),
    pub original: (u32, u32),
}

impl Image {
    /// The image of a file that an earlier answer named; `None` if the file is gone or has changed.
    pub fn again(vault: &Vault, path: &str, revision: &str) -> Option<Self> {
        let found = vault.resolve(path, Want::File).ok()?;
        let content = vault.read(&found.path).ok()?;
        let is_same = found.path.as_str() == path && content.revision.to_string() == revision;
        let format = Format::of(&content.bytes).filter(|_| is_same)?;
        Some(Self::of(&found.path, &content, format).ok()?.image)
    }

    pub(super) fn of(
        path: &VaultPath,
        content: &FileContent,
        format: Format,
    ) -> Result<EncodedImage, ToolError> {
        let made = scaled(format, &content.bytes).map_err(|fault| bad(path, format, &fault))?;
        let Scaled { mime, bytes, size, original } = made;
        let (path, revision) = (path.as_str().to_owned(), content.revision.to_string());
        Ok(EncodedImage { image: Self { path, revision, mime, bytes }, size, original })
    }
}

fn bad(path: &VaultPath, format: Format, fault: &BadImage) -> ToolError {
    let message = format!("`{path}` is a {} image that {fault}", format.name());
    let (code, hint) = match fault {
        BadImage::TooLarge { .. } => (ErrorCode::TooLarge, "save a smaller copy of it"),
        BadImage::Damaged(_) => (
            ErrorCode::BinaryFile,
            "open it in an image viewer; if that fails, too, restore it from a backup",
        ),
    };
    ToolError::new(code, message, hint)
}

/// The line about an image in the text of the answer.
pub(super) fn described(
    path: &VaultPath,
    format: Format,
    bytes: usize,
    shown: (u32, u32),
    original: (u32, u32),
) -> String {
    let (name, (width, height)) = (format.name(), original);
    let scaled = if shown == original {
        String::new()
    } else {
        format!(", scaled to {} × {}", shown.0, shown.1)
    };
    format!(
        "{path}\n{name} image, {width} × {height} pixels, {}{scaled}\n[the image follows for a model that sees; \
         a person opens the file]",
        size(bytes as u64)
    )
}
