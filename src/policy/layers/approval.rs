//! What a person must agree to whatever its size.

use super::Layer;
use crate::policy::call::{Call, Effect, Reason, Verdict};
use crate::policy::settings::{Mode, Permission};

pub(super) struct Approval;

impl Layer for Approval {
    fn name(&self) -> &'static str {
        super::APPROVAL
    }

    fn judge(&self, call: &Call, effects: &[Effect]) -> Verdict {
        let ask =
            |text: String, lasting| Verdict::Ask(Reason { layer: super::APPROVAL, text, lasting });
        if call.permission == Permission::Permanent {
            return ask("it deletes past the trash".to_owned(), false);
        }
        // Obsidian loads it whenever the note is shown: what a model writes there, told to by some
        // other note, carries texts out of the vault.
        let remote = effects.iter().find_map(|one| Some((one, one.remote.as_ref()?)));
        if let Some((effect, what)) = remote.filter(|_| !call.caller.scope.is_person()) {
            let text =
                format!("it puts into `{}` what loads or runs by itself: {what}", effect.path);
            return ask(text, false);
        }
        if call.mode == Mode::Ask && !effects.is_empty() {
            return ask("the mode is `ask`".to_owned(), true);
        }
        Verdict::Pass
    }
}
