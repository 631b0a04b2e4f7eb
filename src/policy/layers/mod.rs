//! The layers, one file each, in the order in which they are evaluated.

mod approval;
mod blast_radius;
mod input;
mod paths;
mod permission;
mod rate;
mod standing;

use super::call::{Call, Effect, Verdict};
use super::settings::Settings;
use super::{Clock, GuardedNotes};

/// A check that a call must pass.
pub trait Layer: Send + Sync {
    /// The layer's name in refusals, in the audit and in settings.
    fn name(&self) -> &'static str;

    /// Decides on a call before it runs.
    fn admit(&self, _call: &Call) -> Verdict {
        Verdict::Pass
    }

    /// Decides on what the call is about to change.
    fn judge(&self, _call: &Call, _effects: &[Effect]) -> Verdict {
        Verdict::Pass
    }

    /// The judged changes were made.
    fn applied(&self, _call: &Call, _effects: &[Effect]) {}

    /// The call was refused elsewhere or was a dry run: it does not count against limits.
    fn refund(&self, _call: &Call) {}
}

/// Finds the tool, in `calls`.
pub const EXISTS: &str = "exists";
/// Runs the user's hooks, in `calls`: on the call after `input`, on what it would change after
/// `blast_radius`.
pub const HOOKS: &str = "hooks";
/// Asks a person for approval.
pub const APPROVAL: &str = "approval";
/// Records the decision, in `calls`.
pub const AUDIT: &str = "audit";
/// Ends calls that take too long, in `calls`.
pub const TIME_LIMIT: &str = "time_limit";

/// The layers of this room that are not switched off.
pub(super) fn enabled(
    settings: &Settings,
    guarded: &GuardedNotes,
    clock: &Clock,
) -> Vec<Box<dyn Layer>> {
    let all: Vec<Box<dyn Layer>> = vec![
        Box::new(permission::Permissions(settings.clone())),
        Box::new(standing::Standing),
        Box::new(rate::Rate::new(settings, clock.clone())),
        Box::new(input::Input),
        Box::new(paths::Paths),
        Box::new(blast_radius::BlastRadius::new(settings, clock.clone())),
        Box::new(approval::Approval { guarded: guarded.clone() }),
    ];
    let on = |layer: &dyn Layer| !settings.off.iter().any(|off| off.word() == layer.name());
    all.into_iter().filter(|layer| on(layer.as_ref())).collect()
}
