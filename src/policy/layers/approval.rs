//! What a person must agree to whatever its size.

use std::sync::PoisonError;

use super::Layer;
use crate::note::path::VaultPath;
use crate::policy::Rules;
use crate::policy::call::{Call, Effect, Reason, Verdict};
use crate::policy::settings::{Mode, Permission};

pub(super) struct Approval {
    pub(super) rules: Rules,
}

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
        // Every model is told it as the person's own words.
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(note) = &*rules
            && !call.caller.scope.is_person()
            && effects.iter().any(|effect| touches(effect, note))
        {
            let text = format!("it changes `{note}`, which instructs the agent in your name");
            return ask(text, false);
        }
        if call.mode == Mode::Ask && !effects.is_empty() {
            return ask("the mode is `ask`".to_owned(), true);
        }
        Verdict::Pass
    }
}

/// Whether something is done to a note, or to a folder that holds it or is to hold it. The note may
/// be named without its ending, and in any case.
fn touches(effect: &Effect, note: &VaultPath) -> bool {
    let note = note.fold_key();
    let with_ending = format!("{note}.md");
    let mut paths = effect.paths().map(VaultPath::fold_key);
    paths.any(|path| {
        path == note
            || path == with_ending
            || note.strip_prefix(&path).is_some_and(|rest| rest.starts_with('/'))
    })
}
