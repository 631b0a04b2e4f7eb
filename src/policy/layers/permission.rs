//! What the tool needs against what the caller has.

use super::Layer;
use crate::policy::call::{Call, Refusal, Verdict};
use crate::policy::caller::Scope;
use crate::policy::settings::{Permission, Settings};

pub(super) struct Permissions {
    client: Permission,
    mcp: Permission,
    voice: Permission,
}

impl Permissions {
    pub(super) fn of(settings: &Settings) -> Self {
        Self { client: settings.client, mcp: settings.mcp, voice: settings.voice }
    }

    fn most(&self, scope: Scope) -> Permission {
        match scope {
            Scope::Person => Permission::Permanent,
            Scope::Client => self.client,
            Scope::Mcp => self.mcp,
            Scope::Voice => self.voice,
        }
    }
}

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
        let most = self.most(scope);
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
}
