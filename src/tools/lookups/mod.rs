//! What doors read beside the tools: notes as resources, prompts, and what could be meant by what is typed.
//!
//! A lookup is called like a tool, so that permission, rate, paths, hooks and the audit hold for it, but it is
//! none: no list offers it to a model, and its name is that of the method by which a client asks. What a
//! protocol calls things is that protocol's room's affair.

mod complete;
mod likely;
mod prompts;
mod resource;
mod resources;

use std::sync::LazyLock;

pub use likely::{Likely, likely};
pub use prompts::template_folder;

use super::{Definition, Registry};

/// All lookups.
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
