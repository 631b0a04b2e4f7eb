//! The images and texts attached to a message, for clients that show or edit it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::info::numbered;
use crate::agent::attachments::{Attachments, Image};
use crate::agent::entry::Entry;
use crate::agent::{Conversations, memory};
use crate::conversation::{ConversationId, Item};
use crate::llm::Message;
use crate::media::image::{Format, scaled_to};
use crate::protocol::attachments::{
    AttachedImage, AttachedText, AttachmentsParams, AttachmentsResult,
};
use crate::protocol::error::{ErrorObject, Kind, Result};

/// The longer side of a thumbnail in pixels: twice the displayed size, for dense screens.
const THUMBNAIL: u32 = 320;

/// The attachments of a message, on any branch.
///
/// # Errors
/// Kinds `unknown_session` and `failed`; `not_found` if there is no such message of a person.
pub fn attachments(
    conversations: &Conversations,
    params: &AttachmentsParams,
) -> Result<AttachmentsResult> {
    let id = numbered(&params.session_id)?;
    let Some(attached) = find(conversations, id, &params.message_id)? else {
        let error =
            ErrorObject::new(Kind::NotFound, "there is no such message in the conversation");
        return Err(error.hint("`messageId` is that of a person's message"));
    };
    if params.thumbnails {
        let images = attached.images.iter().map(|image| thumbnail(image).unwrap_or_default());
        return Ok(AttachmentsResult { images: images.collect(), texts: Vec::new() });
    }
    let image = |image: &Image| AttachedImage {
        mime_type: image.mime().to_owned(),
        data: image.base64().to_owned(),
    };
    let images = attached.images.iter().map(image).collect();
    let texts = attached.excerpts.into_iter();
    let texts = texts.map(|one| AttachedText { path: one.path, text: one.text }).collect();
    Ok(AttachmentsResult { images, texts })
}

fn find(
    conversations: &Conversations,
    id: ConversationId,
    message: &str,
) -> Result<Option<Attachments>> {
    let of = |items: Vec<Option<Item>>| {
        items.iter().rev().flatten().find_map(|item| match memory::entry(item) {
            Ok(Some(Entry::Message {
                message: Message::User { .. },
                id: Some(id),
                attached,
                ..
            })) if id == message => Some(attached),
            _ => None,
        })
    };
    if let Some(found) = of(conversations.history_with_gaps(id)?) {
        return Ok(Some(found));
    }
    for branch in conversations.branches(id)? {
        let items = conversations.branch_with_gaps(id, branch.number)?;
        if let Some(found) = of(items) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// `None` for an image that cannot be decoded.
fn thumbnail(image: &Image) -> Option<AttachedImage> {
    let bytes = STANDARD.decode(image.base64()).ok()?;
    let made = scaled_to(Format::of(&bytes)?, &bytes, THUMBNAIL).ok()?;
    Some(AttachedImage { mime_type: made.mime.to_owned(), data: STANDARD.encode(&made.bytes) })
}
