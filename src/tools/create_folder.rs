//! `create_folder`

use super::prelude::*;
use super::same_names;
use crate::journal::{Change, Outcome};
use crate::vault::{VaultError, Want};

/// Creates a folder, and missing folders above it. An existing folder, in any case, is no error. If
/// a folder or note elsewhere has this name, nothing is created and the answer names it (`create`
/// creates the folder anyway). write_file and move create missing folders themselves.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateFolder {
    /// The folder, from the vault's root.
    path: String,
    /// Create it even if another folder or note has this name.
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
    /// The change set, for `undo`; none if nothing had to be done.
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
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let (path, change_set) = match context.vault.resolve(&self.path, Want::Folder) {
            Ok(found) => (found.path, None),
            Err(VaultError::NotFound { .. }) => {
                let path = context.vault.new_path(&self.path)?;
                if !self.create {
                    same_names::refuse(context, &path, Want::Any)?;
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
        let text = if created {
            format!("created the folder `{path}`")
        } else {
            format!("the folder `{path}` already exists")
        };
        Ok(Answer::new(text, Output { path: path.as_str().to_owned(), created, change_set }))
    }
}
