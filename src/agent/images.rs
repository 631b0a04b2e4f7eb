//! The images in a history. Entries refer to files of the vault; a request gets the images themselves.
//!
//! So stored conversations stay small, and an image is sent only while its file is unchanged. A
//! request has few images: each takes about as much context as a page of text.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::llm::{Block, BlockKind, Message};
use crate::locks::lock;
use crate::tools::Image;

/// The most images in a request.
const MAX_IMAGES: usize = 8;

/// Beyond [`MAX_IMAGES`], this many of the oldest are left out together, since a vendor's cache
/// ends at the first change.
const AT_ONCE: usize = 4;

const LEFT_OUT: &str = "[this image is left out by now, to save room: `read_file` gives it again]";
const GONE: &str = "[this image is no longer there: its file was changed or removed]";

/// Whether a history refers to an image.
pub(super) fn are_in(messages: &[Message]) -> bool {
    messages.iter().flat_map(blocks).any(is_reference)
}

fn blocks(message: &Message) -> impl Iterator<Item = &Block> {
    let results = match message {
        Message::ToolResults { results } => results.as_slice(),
        _ => &[],
    };
    results.iter().flat_map(|result| &result.content)
}

fn is_reference(block: &Block) -> bool {
    matches!(block.kind, BlockKind::ImageFile { .. })
}

/// The history with references to the newest images replaced by the images, and the others by a
/// note.
pub(super) fn filled(
    mut messages: Vec<Message>,
    load: impl Fn(&str, &str) -> Option<Arc<Image>>,
) -> Vec<Message> {
    let count = messages.iter().flat_map(blocks).filter(|block| is_reference(block)).count();
    let mut older = count.saturating_sub(MAX_IMAGES).div_ceil(AT_ONCE) * AT_ONCE;
    for message in &mut messages {
        let Message::ToolResults { results } = message else { continue };
        for block in results.iter_mut().flat_map(|result| &mut result.content) {
            let BlockKind::ImageFile { path, revision } = &block.kind else { continue };
            if older > 0 {
                older -= 1;
                *block = Block::text(LEFT_OUT);
                continue;
            }
            *block = match load(path, revision) {
                Some(image) => {
                    let (mime, base64) = (image.mime.to_owned(), STANDARD.encode(&image.bytes));
                    Block { kind: BlockKind::Image { mime, base64 }, native: None }
                }
                None => Block::text(GONE),
            };
        }
    }
    messages
}

/// Caches the latest images, so that requests do not decode them again. Clones share the cache.
#[derive(Debug, Clone, Default)]
pub(super) struct Recent(Arc<Mutex<VecDeque<Arc<Image>>>>);

impl Recent {
    pub fn add(&self, image: Arc<Image>) {
        let mut images = lock(&self.0);
        images.retain(|known| (&known.path, &known.revision) != (&image.path, &image.revision));
        images.push_back(image);
        if images.len() > MAX_IMAGES {
            images.pop_front();
        }
    }

    /// The cached image of this file, else the result of `read`.
    pub fn get(
        &self,
        path: &str,
        revision: &str,
        read: impl FnOnce() -> Option<Image>,
    ) -> Option<Arc<Image>> {
        let known = {
            let images = lock(&self.0);
            images.iter().find(|image| image.path == path && image.revision == revision).cloned()
        };
        known.or_else(|| {
            let image = Arc::new(read()?);
            self.add(Arc::clone(&image));
            Some(image)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::ToolResult;

    fn history(images: usize) -> Vec<Message> {
        let result = |number: usize| {
            let (path, revision) = (format!("{number}.png"), "r".to_owned());
            let image = Block { kind: BlockKind::ImageFile { path, revision }, native: None };
            let content = vec![Block::text("t"), image];
            ToolResult { call_id: "c".into(), name: "read_file".into(), content, is_error: false }
        };
        (0..images).map(|number| Message::ToolResults { results: vec![result(number)] }).collect()
    }

    fn image(path: &str, revision: &str) -> Option<Arc<Image>> {
        let (path, revision) = (path.to_owned(), revision.to_owned());
        Some(Arc::new(Image { path, revision, mime: "image/png", bytes: b"abc".to_vec() }))
    }

    /// Whether each image is still included.
    fn are_included(messages: &[Message]) -> Vec<bool> {
        let second = messages.iter().map(|message| blocks(message).nth(1).expect("an image"));
        second.map(|block| matches!(block.kind, BlockKind::Image { .. })).collect()
    }

    #[test]
    fn the_newest_images_are_given_and_the_oldest_go_together() {
        for (images, older) in [(1, 0), (8, 0), (9, 4), (12, 4), (13, 8)] {
            let history = history(images);
            assert!(are_in(&history));
            let filled = filled(history, image);
            let expected: Vec<bool> = (0..images).map(|number| number >= older).collect();
            assert_eq!(are_included(&filled), expected, "{images}");
            assert!(!are_in(&filled));
        }
    }

    #[test]
    fn an_image_that_is_gone_leaves_a_note() {
        let filled = filled(history(1), |_, _| None);
        let BlockKind::Text { text } = &blocks(&filled[0]).nth(1).unwrap().kind else { panic!() };
        assert_eq!(text, GONE);
    }

    #[test]
    fn an_image_that_was_just_read_is_not_read_again() {
        let recent = Recent::default();
        for number in 0..20 {
            recent.add(image(&format!("{number}.png"), "r").unwrap());
        }
        assert!(recent.get("19.png", "r", || unreachable!("it is known")).is_some());
        assert!(recent.get("19.png", "other", || None).is_none());
        assert!(recent.get("0.png", "r", || None).is_none(), "only a few are kept");
        let read = || Some(Arc::unwrap_or_clone(image("0.png", "r")?));
        assert!(recent.get("0.png", "r", read).is_some());
        assert!(recent.get("0.png", "r", || unreachable!("it is known")).is_some());
    }
}
