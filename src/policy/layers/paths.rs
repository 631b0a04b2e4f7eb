//! Which folders a caller may change, and whether anything may be changed at all.
//!
//! Which folders a caller may see is enforced by the vault's view that the tool is given; the vault
//! enforces protected paths for every caller.

use super::Layer;
use crate::policy::call::{Call, Effect, Refusal, Verdict};
use crate::policy::settings::Mode;

pub(super) struct Paths;

impl Layer for Paths {
    fn name(&self) -> &'static str {
        "paths"
    }

    fn admit(&self, call: &Call) -> Verdict {
        if call.mode == Mode::ReadOnly && call.changes() {
            return Verdict::Refuse(Refusal::denied(
                self.name(),
                "the mode is `read-only`: nothing is changed",
                "a person can change it with `steward mode auto`; a dry run shows what would be \
                 done",
            ));
        }
        if call.foreign.is_some() && call.only_proposes() {
            return Verdict::Refuse(Refusal::denied(
                self.name(),
                "the mode is `plan`, and the effects of a server's tool are unknown",
                "say what you would call it for; a person can change the mode with `steward mode auto`",
            ));
        }
        Verdict::Pass
    }

    fn judge(&self, call: &Call, effects: &[Effect]) -> Verdict {
        let Some(allowed) = call.write else { return Verdict::Pass };
        let outside = effects
            .iter()
            .flat_map(Effect::paths)
            .any(|path| !allowed.iter().any(|folder| path.is_within(folder)));
        if !outside {
            return Verdict::Pass;
        }
        // The paths are not named: the caller may not be allowed to see them.
        let named: Vec<String> = allowed.iter().map(|folder| format!("`{folder}`")).collect();
        Verdict::Refuse(Refusal::denied(
            self.name(),
            format!("it would change something outside of {}", named.join(", ")),
            "`[policy] read` and `write` in the settings name the folders that this caller may \
             change",
        ))
    }
}
