//! Changes that need approval at any size.

use super::Layer;
use crate::locks::read;
use crate::note::path::VaultPath;
use crate::policy::GuardedNotes;
use crate::policy::active::Finding;
use crate::policy::call::{Call, Effect, Reason, Refusal, Verdict};
use crate::policy::settings::{Mode, Permission};

/// Maximum number of active contents in one question.
const MAX_FINDS: usize = 100;

/// Maximum bytes of text that describes them.
const MAX_FIND_BYTES: usize = 64 << 10;

pub(super) struct Approval {
    pub(super) guarded: GuardedNotes,
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
            ask("it deletes without the trash".to_owned(), false);
        }
        if !call.caller.scope.is_person() {
            // Obsidian loads active content whenever it shows the note. A model that follows
            // instructions in another note could leak texts with it.
            let found =
                effects.iter().flat_map(|one| one.active.iter().map(move |find| (one, find)));
            let found: Vec<String> = found.map(|(effect, find)| active(effect, find)).collect();
            let bytes: usize = found.iter().map(String::len).sum();
            if found.len() > MAX_FINDS || bytes > MAX_FIND_BYTES {
                return Verdict::Refuse(Refusal::denied(
                    super::APPROVAL,
                    format!(
                        "it adds {} things that load or run automatically, more than a person can \
                         look at in one question",
                        found.len()
                    ),
                    "write them in several calls",
                ));
            }
            found.into_iter().for_each(|text| ask(text, false));
            let guarded = read(&self.guarded);
            // The note is given to every model as the person's own words.
            if let Some(note) = &guarded.instructions
                && effects.iter().any(|effect| touches(effect, note))
            {
                ask(format!("it changes `{note}`, which instructs the agent in your name"), false);
            }
            // A person sends these as their own words.
            if let Some(folder) = &guarded.prompts
                && let Some(path) = effects.iter().flat_map(Effect::paths).find(|path| {
                    is_within(&path.fold_key(), &folder.fold_key())
                        || is_within(&folder.fold_key(), &path.fold_key())
                })
            {
                ask(format!("it changes `{path}`, a prompt that you send in your name"), false);
            }
        }
        if let Some(foreign) = call.foreign.filter(|foreign| !foreign.is_allowed) {
            let server = foreign.server;
            ask(
                format!("it is a tool of the server `{server}`, and its effects are unknown"),
                // Notes in later arguments would leave the machine unseen.
                !foreign.reaches_out,
            );
        }
        if call.mode == Mode::Ask && (call.foreign.is_some() || !effects.is_empty()) {
            ask("the mode is `ask`".to_owned(), true);
        }
        if reasons.is_empty() { Verdict::Pass } else { Verdict::Ask(reasons) }
    }
}

fn active(effect: &Effect, find: &Finding) -> String {
    let text = crate::note::path::visible(&find.text);
    format!(
        "it adds content that loads or runs automatically to `{}`, line {}: {text}",
        effect.path, find.line
    )
}

/// Whether an effect touches a note or a folder that contains it before or after. The note's name may lack
/// `.md`, and its case is ignored.
fn touches(effect: &Effect, note: &VaultPath) -> bool {
    let note = note.fold_key();
    let with_ending = format!("{note}.md");
    let mut paths = effect.paths().map(VaultPath::fold_key);
    paths.any(|path| path == with_ending || is_within(&note, &path))
}

/// Whether the first path is the second or in it.
fn is_within(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
