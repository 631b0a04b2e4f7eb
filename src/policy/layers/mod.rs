//! The layers, one file each, in the order in which they are asked.

mod approval;
mod blast_radius;
mod input;
mod paths;
mod permission;
mod rate;
mod standing;

use super::call::{Call, Effect, Verdict};
use super::settings::Settings;
use super::{Clock, Rules};

/// One reason for which a call may not run.
pub trait Layer: Send + Sync {
    /// What refusals and the audit call it.
    fn name(&self) -> &'static str;

    /// Looks at a call before anything is done for it.
    fn admit(&self, _call: &Call) -> Verdict {
        Verdict::Pass
    }

    /// Looks at what the call is about to change.
    fn judge(&self, _call: &Call, _effects: &[Effect]) -> Verdict {
        Verdict::Pass
    }

    /// What was judged has been done.
    fn applied(&self, _call: &Call, _effects: &[Effect]) {}

    /// The call was refused elsewhere or was a dry run: takes back what was counted for it.
    fn give_back(&self, _call: &Call) {}
}

/// The name of the layer that finds the tool, in `calls`.
pub const EXISTS: &str = "exists";
/// The name of the layer that asks the user's own commands, in `calls`: about the call after
/// `input`, about what it would change after `blast_radius`.
pub const HOOKS: &str = "hooks";
/// The name of the layer that asks a person.
pub const APPROVAL: &str = "approval";
/// The name of the layer that writes down what was decided, in `calls`.
pub const AUDIT: &str = "audit";
/// The name of the layer that ends what takes too long, in `calls`.
pub const TIME_LIMIT: &str = "time_limit";

/// The names of all layers in their order. `calls` carries out those that act and do not only
/// decide.
pub const ALL: [&str; 12] = [
    EXISTS,
    "permission",
    "standing",
    "rate",
    "input",
    "paths",
    "blast_radius",
    HOOKS,
    "dry_run",
    APPROVAL,
    AUDIT,
    TIME_LIMIT,
];

/// The deciding layers that are on.
pub(super) fn of(settings: &Settings, rules: &Rules, clock: &Clock) -> Vec<Box<dyn Layer>> {
    let all: Vec<Box<dyn Layer>> = vec![
        Box::new(permission::Permissions(settings.clone())),
        Box::new(standing::Standing),
        Box::new(rate::Rate::new(settings, clock.clone())),
        Box::new(input::Input),
        Box::new(paths::Paths),
        Box::new(blast_radius::BlastRadius::new(settings, clock.clone())),
        Box::new(approval::Approval { rules: rules.clone() }),
    ];
    let on = |layer: &dyn Layer| !settings.off.iter().any(|off| off.word() == layer.name());
    all.into_iter().filter(|layer| on(layer.as_ref())).collect()
}
