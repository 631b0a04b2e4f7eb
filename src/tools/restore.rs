//! `restore`

use super::history;
use super::prelude::*;
use super::relinked::Relinked;
use crate::journal::TrashItem;
use crate::note::code::ErrorCode;
use crate::note::fold::fold_key;
use crate::note::path::VaultPath;

/// Restores a deleted file or folder to its former path or to another. Never overwrites: if the
/// path is taken, the copy is named `name (restored).md`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Restore {
    /// The file or folder to restore: an `item` of list_trash, or its former path or name. If the path was deleted
    /// several times, the last deletion is meant.
    item: String,
    /// The path to restore to, from the vault's root, including the name. Default: the former path.
    to: Option<String>,
}

/// The result.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Its name in the trash.
    item: String,
    /// Where it is now.
    path: String,
    /// `file`, `folder` or `link`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The change set, for `undo`.
    change_set: u64,
    /// Links in other files that would now lead to it, rewritten to keep their targets.
    links: Relinked,
    /// Notes for a person.
    notes: Vec<String>,
}

impl Tool for Restore {
    const NAME: &'static str = "restore";
    const TITLE: &'static str = "Restore from the trash";
    const TIER: Tier = Tier::Cautious;
    const KIND: ToolKind = ToolKind::Other;
    const SELDOM: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Trashed: item);
    const EXAMPLE: &'static str = r#"{"item": "deleted.md"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let items = history::visible(context, context.journal.trash().list()?);
        let item = find(items, &self.item)?;
        let to = match &self.to {
            Some(to) => Some(context.vault.new_path(to)?),
            None => None,
        };
        let (restored, links) = context.editor().restore(&item, to.as_ref())?;
        let links = Relinked::of(context.vault.view(), &links);
        let set = restored.applied.change_set;
        let kind = item.kind.word();
        let mut text = format!("restored the {kind} `{}`, change set {set}", restored.path);
        for line in links.text(false).iter().chain(&restored.notes) {
            text.push('\n');
            text.push_str(line);
        }
        let data = Output {
            item: item.id,
            path: restored.path.as_str().to_owned(),
            kind,
            change_set: set.0,
            links,
            notes: restored.notes,
        };
        Ok(Answer::new(text, data))
    }
}

/// The requested item: by its id, former path or name; the newest first.
fn find(items: Vec<TrashItem>, requested: &str) -> Result<TrashItem, ToolError> {
    let key = fold_key(requested.trim().trim_matches('/'));
    let named = |item: &TrashItem, key: &str| {
        let was = item.was.as_ref().map_or(item.id.as_str(), VaultPath::as_str);
        let (path, name) = (fold_key(was), fold_key(was.rsplit('/').next().unwrap_or(was)));
        let bare = |text: &str| text.strip_suffix(".md").is_some_and(|stem| stem == key);
        (path == key || bare(&path), name == key || bare(&name))
    };
    let exact = items.iter().position(|item| fold_key(&item.id) == key);
    let by_path = || items.iter().position(|item| named(item, &key).0);
    if let Some(at) = exact.or_else(by_path) {
        return Ok(items.into_iter().nth(at).expect("it was found there"));
    }
    let by_name: Vec<&TrashItem> = items.iter().filter(|item| named(item, &key).1).collect();
    let mut places: Vec<&str> = by_name
        .iter()
        .map(|item| item.was.as_ref().map_or(item.id.as_str(), VaultPath::as_str))
        .collect();
    places.sort_unstable();
    places.dedup();
    match (&by_name[..], places.len()) {
        ([], _) => {
            let near = items
                .iter()
                .map(|item| item.was.as_ref().map_or(item.id.as_str(), VaultPath::as_str))
                .filter(|was| strsim::jaro_winkler(&fold_key(was), &key) > 0.85)
                .take(5)
                .map(|was| format!("`{was}`"))
                .collect::<Vec<_>>();
            let hint = if near.is_empty() {
                "list_trash shows what can be restored".to_owned()
            } else {
                format!("did you mean {}?", near.join(" or "))
            };
            let shown: String = requested.chars().flat_map(crate::note::path::show).collect();
            let message = format!("`{shown}` is not in the trash");
            Err(ToolError::not_found(message, hint))
        }
        ([newest, ..], 1) => Ok((*newest).clone()),
        (_, _) => Err(ToolError {
            data: Some(serde_json::json!({ "candidates": places })),
            ..ToolError::new(
                ErrorCode::AmbiguousPath,
                format!("several deleted things are called `{}`", requested.trim()),
                format!("say which: {}", places.join(", ")),
            )
        }),
    }
}
