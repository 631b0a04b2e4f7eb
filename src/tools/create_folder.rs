//! `create_folder`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool::touches;
use super::{Answer, Context, Tier, Tool, ToolError, Touch, twins};
use crate::journal::{Change, Outcome};
use crate::vault::{VaultError, Want};

pub(super) struct CreateFolder;

/// Makes a folder, and missing folders above it. An existing folder, in any case, is no error; if a folder or note
/// elsewhere has the name, nothing is made and the answer says which (`create` makes it anyway). write_file and move
/// make missing folders themselves.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The folder, from the vault's root.
    path: String,
    /// Make it although a folder or a note answers to this name already.
    #[serde(default)]
    create: bool,
}

/// The result.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The real path.
    path: String,
    /// Whether it is new.
    created: bool,
    /// The change set this is part of: what `undo` takes; none where nothing had to be done.
    change_set: Option<u64>,
}

impl Tool for CreateFolder {
    const NAME: &'static str = "create_folder";
    const TITLE: &'static str = "Create a folder";
    const TIER: Tier = Tier::Cautious;
    const IDEMPOTENT: bool = true;
    const SELDOM: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const EXAMPLE: &'static str = r#"{"path": "New"}"#;
    type Input = Input;
    type Output = Output;

    fn run(context: &Context, input: Input) -> Result<Answer<Output>, ToolError> {
        let (path, change_set) = match context.vault.resolve(&input.path, Want::Folder) {
            Ok(found) => (found.path, None),
            Err(VaultError::NotFound { .. }) => {
                let path = context.vault.new_path(&input.path)?;
                if !input.create {
                    twins::refuse(context, &path, Want::Any)?;
                }
                let applied = context.editor().apply(
                    format!("create the folder `{path}`"),
                    vec![Change::CreateFolder { path: path.clone() }],
                )?;
                // Another program may have been faster.
                let made = applied
                    .outcomes
                    .iter()
                    .any(|outcome| matches!(outcome, Outcome::Folders(made) if !made.is_empty()));
                (path, made.then_some(applied.change_set.0))
            }
            Err(error) => return Err(error.into()),
        };
        let created = change_set.is_some();
        let text = match created {
            true => format!("created the folder `{path}`"),
            false => format!("the folder `{path}` is there already"),
        };
        Ok(Answer::new(text, Output { path: path.as_str().to_owned(), created, change_set }))
    }
}
