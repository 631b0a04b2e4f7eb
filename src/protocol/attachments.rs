//! `_vault/attachments`: the images and texts that went with a person's message.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AttachmentsParams {
    pub session_id: String,
    /// Its id in events and in `_vault/conversation` with `updates`.
    pub message_id: String,
    /// Scale the images down to thumbnails, and leave out the texts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub thumbnails: bool,
}

/// What went with the message, in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AttachmentsResult {
    pub images: Vec<AttachedImage>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<AttachedText>>", optional)]
    pub texts: Vec<AttachedText>,
}

/// An image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AttachedImage {
    /// The media type. Empty, as is `data`, for a thumbnail of an image that cannot be decoded.
    pub mime_type: String,
    /// In base64.
    pub data: String,
}

/// A part of a note, or another text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AttachedText {
    /// The path of the note. Left out: the text is from no note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub path: Option<String>,
    pub text: String,
}
