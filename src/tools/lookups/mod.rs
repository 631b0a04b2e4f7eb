//! Reads of the transports other than tools: notes as resources, prompts, and completion.
//!
//! A lookup is called like a tool, so that permission, rate, paths, hooks and the audit apply, but it is not listed as
//! one, and its name is that of the client's method. Names of a protocol belong to that protocol's room.

mod complete;
mod likely;
mod own_prompts;
mod prompt_notes;
mod prompts;
mod resource;
mod resources;

use std::sync::LazyLock;

pub use likely::{Likely, likely};
pub use prompts::prompt_folders;

use super::{Definition, Registry};

pub fn lookups() -> &'static Registry {
    static ALL: LazyLock<Registry> = LazyLock::new(|| {
        [
            Definition::of::<complete::Complete>(),
            Definition::of::<prompts::GetPrompt>(),
            Definition::of::<prompts::ListPrompts>(),
            Definition::of::<resources::ListResources>(),
            Definition::of::<resource::ReadResource>(),
        ]
        .into_iter()
        .collect()
    });
    &ALL
}
