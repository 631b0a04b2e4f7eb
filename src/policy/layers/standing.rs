//! Limits enabled rules: they apply plans, in the mode `auto`, within what a person agreed to. This layer cannot
//! be switched off.

use super::Layer;
use crate::policy::call::{Action, Call, Effect, Refusal, Verdict};
use crate::policy::caller::Scope;
use crate::policy::settings::Mode;

/// The only tool that enabled rules call.
const TOOL: &str = "apply_plan";

pub(super) struct Standing;

impl Standing {
    fn refuse(&self, reason: impl Into<String>, hint: &str) -> Verdict {
        Verdict::Refuse(Refusal::denied(self.name(), reason, hint))
    }
}

impl Layer for Standing {
    fn name(&self) -> &'static str {
        "standing"
    }

    fn admit(&self, call: &Call) -> Verdict {
        if call.caller.scope != Scope::Rule {
            return Verdict::Pass;
        }
        if call.tool != TOOL {
            return self.refuse("rules apply plans and call no other tool", "");
        }
        if call.mode != Mode::Auto {
            let reason =
                format!("the mode is `{}`: rules change nothing automatically", call.mode.word());
            return self.refuse(reason, "a person can apply the plan");
        }
        match call.agreement {
            Some(_) => Verdict::Pass,
            None => self.refuse(
                "no person has enabled this rule",
                "`steward organize rules enable` does it",
            ),
        }
    }

    fn judge(&self, call: &Call, effects: &[Effect]) -> Verdict {
        if call.caller.scope != Scope::Rule {
            return Verdict::Pass;
        }
        let Some(agreement) = call.agreement else {
            return self.refuse("no person has enabled this rule", "");
        };
        if !agreement.trash && effects.iter().any(|one| one.shown == Action::Delete) {
            let hint = "a person can apply the plan, or enable the rule with `--with-trash`";
            return self.refuse(
                "it moves files to the trash, and was enabled without that permission",
                hint,
            );
        }
        // Writes together with a move are updated links.
        let moves = effects.iter().any(|one| one.action == Action::Move);
        let counts = |one: &&Effect| !(moves && one.action == Action::Write);
        let is_inside = |one: &Effect| {
            one.paths().all(|path| {
                agreement.folders.iter().any(|folder| {
                    let leads_there = one.action == Action::CreateFolder && folder.is_within(path);
                    path.is_within(folder) || leads_there
                })
            })
        };
        if !effects.iter().filter(counts).all(is_inside) {
            let folders: Vec<String> =
                agreement.folders.iter().map(|folder| format!("`{folder}`")).collect();
            let reason = format!("it would change something outside of {}", folders.join(", "));
            return self.refuse(reason, "a rule touches the folders that it was enabled for");
        }
        let is_folder =
            |one: &Effect| matches!(one.action, Action::CreateFolder | Action::RemoveFolder);
        let files = |one: &&Effect| counts(one) && !is_folder(one);
        let files: usize = effects.iter().filter(files).map(|one| one.files.max(1)).sum();
        if files > agreement.left {
            let reason = format!(
                "it would change {files} files, and rules may change {} more now",
                agreement.left
            );
            let hint = "`organize.auto_items` and `organize.auto_per_hour` have the limits";
            return self.refuse(reason, hint);
        }
        Verdict::Pass
    }
}
