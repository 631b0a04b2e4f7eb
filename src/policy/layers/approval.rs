//! What a person must agree to whatever its size.

use std::sync::PoisonError;

use super::Layer;
use crate::note::path::VaultPath;
use crate::policy::Rules;
use crate::policy::active::Find;
use crate::policy::call::{Call, Effect, Reason, Refusal, Verdict};
use crate::policy::settings::{Mode, Permission};

/// The most things that load or run by themselves in one question.
const MAX_FINDS: usize = 100;

/// The most bytes of text that name them.
const MAX_FIND_BYTES: usize = 64 << 10;

pub(super) struct Approval {
    pub(super) rules: Rules,
}

impl Layer for Approval {
    fn name(&self) -> &'static str {
        super::APPROVAL
    }

    fn judge(&self, call: &Call, effects: &[Effect]) -> Verdict {
        let mut reasons = Vec::new();
        let mut ask = |text: String, is_mode: bool| {
            let (lasting, personal) = (is_mode, !is_mode);
            reasons.push(Reason { layer: super::APPROVAL, text, lasting, personal });
        };
        if call.permission == Permission::Permanent {
            ask("it deletes past the trash".to_owned(), false);
        }
        if !call.caller.scope.is_person() {
            // Obsidian loads it whenever the note is shown: what a model writes there, told to by
            // some other note, carries texts out of the vault.
            let found =
                effects.iter().flat_map(|one| one.active.iter().map(move |find| (one, find)));
            let found: Vec<String> = found.map(|(effect, find)| active(effect, find)).collect();
            let bytes: usize = found.iter().map(String::len).sum();
            if found.len() > MAX_FINDS || bytes > MAX_FIND_BYTES {
                return Verdict::Refuse(Refusal::denied(
                    super::APPROVAL,
                    format!(
                        "it puts {} things into the vault that load or run by themselves, more \
                         than a person can look at in one question",
                        found.len()
                    ),
                    "write them in several calls",
                ));
            }
            found.into_iter().for_each(|text| ask(text, false));
            // Every model is told it as the person's own words.
            let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(note) = &*rules
                && effects.iter().any(|effect| touches(effect, note))
            {
                ask(format!("it changes `{note}`, which instructs the agent in your name"), false);
            }
        }
        if call.mode == Mode::Ask && !effects.is_empty() {
            ask("the mode is `ask`".to_owned(), true);
        }
        if reasons.is_empty() { Verdict::Pass } else { Verdict::Ask(reasons) }
    }
}

fn active(effect: &Effect, find: &Find) -> String {
    let text = crate::note::path::visible(&find.text);
    format!(
        "it puts into `{}`, line {}, what loads or runs by itself: {text}",
        effect.path, find.line
    )
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
