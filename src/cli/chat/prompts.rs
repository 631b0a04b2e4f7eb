//! The person's own prompts, typed as `/name`.

use super::commands;
use super::link::Link;
use super::names::Names;
use crate::cli::Result;
use crate::locks::{read, write};
use crate::protocol::prompts::{PromptGetParams, PromptSelection, PromptsParams};
use crate::protocol::session::{EmbeddedResource, PromptContent};

/// Requests the names of all prompts; without an answer none are offered.
pub async fn load(names: &Names, link: &mut Link<'_>) {
    let Ok(found) = link.call(&PromptsParams {}).await else { return };
    let found = found.prompts.into_iter().map(|prompt| prompt.name);
    *write(names) = found.collect();
}

/// The message with a prompt's text instead of its name; `None` if `text` names none. Requests the
/// names again if the typed one is not among them.
pub async fn filled(
    names: &Names,
    link: &mut Link<'_>,
    text: &str,
) -> Result<Option<Vec<PromptContent>>> {
    let Some((name, arguments)) = commands::prompt(text) else { return Ok(None) };
    let is_known = |names: &Names| read(names).iter().any(|known| known == name);
    if !is_known(names) {
        load(names, link).await;
    }
    if !is_known(names) {
        return Ok(None);
    }
    let params = PromptGetParams {
        name: name.to_owned(),
        arguments: Some(arguments.to_owned()),
        ..PromptGetParams::default()
    };
    let filled = link.call(&params).await?;
    let selection = filled.selection.map(|PromptSelection { path, text }| {
        PromptContent::Resource { resource: EmbeddedResource { uri: path, text } }
    });
    let text = PromptContent::Text { text: filled.text };
    Ok(Some(std::iter::once(text).chain(selection).collect()))
}

/// The message with the text of the person's prompt instead of its name, if it begins with one.
pub async fn expanded(
    names: &Names,
    link: &mut Link<'_>,
    message: Vec<PromptContent>,
) -> Result<Vec<PromptContent>> {
    let Some((PromptContent::Text { text }, rest)) = message.split_first() else {
        return Ok(message);
    };
    match filled(names, link, text).await? {
        Some(filled) => Ok([&filled[..], rest].concat()),
        None => Ok(message),
    }
}
