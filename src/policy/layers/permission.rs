//! Compares the permission that the tool needs with the caller's maximum.

use super::Layer;
use crate::policy::call::{Call, Effect, Refusal, Verdict};
use crate::policy::settings::{Permission, Settings};

pub(super) struct Permissions(pub(super) Settings);

impl Layer for Permissions {
    fn name(&self) -> &'static str {
        "permission"
    }

    fn admit(&self, call: &Call) -> Verdict {
        let scope = call.caller.scope;
        if call.confirmed && !scope.is_person() {
            return Verdict::Refuse(Refusal::denied(
                self.name(),
                format!("a caller of the kind `{}` cannot agree in a person's name", scope.word()),
                "leave `confirmed` out: a person is asked where one is needed",
            ));
        }
        let most = self.0.most(scope);
        if call.permission > most {
            return Verdict::Refuse(Refusal::denied(
                self.name(),
                format!(
                    "`{}` needs the permission `{}`; a caller of the kind `{}` has `{}`",
                    call.tool,
                    call.permission.word(),
                    scope.word(),
                    most.word()
                ),
                "`[policy]` in the settings says how much each kind of caller may do",
            ));
        }
        Verdict::Pass
    }

    fn judge(&self, call: &Call, effects: &[Effect]) -> Verdict {
        let scope = call.caller.scope;
        let gone = effects.iter().find(|effect| effect.was_gone);
        match gone.filter(|_| self.0.most(scope) < Permission::Permanent) {
            None => Verdict::Pass,
            Some(effect) => Verdict::Refuse(Refusal::denied(
                self.name(),
                format!(
                    "`{}` was deleted for good: restoring it needs the permission `{}`; a caller \
                     of the kind `{}` has `{}`",
                    effect.path,
                    Permission::Permanent.word(),
                    scope.word(),
                    self.0.most(scope).word()
                ),
                "a person can bring it back, by `steward undo`",
            )),
        }
    }
}
