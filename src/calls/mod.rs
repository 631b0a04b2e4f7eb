//! The one way to a tool, for every door: policy, a person's agreement, the tool, the audit.
//!
//! Floor 6: imports `policy`, `tools` and what is below them. Only this room calls
//! `tools::call`; `tests/architecture` holds it.
//!
//! What a call would change is judged where the tool has made up its mind and before anything is
//! done (`judge`), on the paths on which it would be done. A call that a person must agree to ends
//! there, having done nothing, and is made anew once they have: so nothing waits for a person, no
//! turn and no thread. Made anew it must come to the same changes, or it is refused.
//!
//! [`run`] is the one runner of all doors: queues, deadlines, cancelling, and a person asked in
//! between.
//!
//! In reading order: this page, [`call`] (what is asked), `judge`, `question`, [`saved_answers`] (answers
//! that came after their call), `hooked` (what hooks hear of it), [`audit`], `agreements`, [`run`] with
//! [`glances`] and [`tracker`].

mod agreements;
pub mod audit;
pub mod call;
pub mod glances;
mod hooked;
mod judge;
mod question;
pub mod run;
pub mod saved_answers;
pub mod tracker;

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use serde_json::Value;

use crate::edits::Gate;
use crate::hooks::{self, Hooks, Kind};
use crate::journal::Origin;
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::policy::{self, Call, Mode, Permission, Policy, Scope, Settings, layers};
use crate::store::audit::{ApprovalRow, AuditRow, AuditWanted};
use crate::store::{REPLACED, Store, StoreError};
use crate::tools::{self, Answer, Context, Definition, Facts, Registry, Tier, ToolError};
use crate::vault::{Cancel, View, Want, glance};

use agreements::Agreements;
use audit::Audit;
pub use call::{Answerer, Decision, Request, ShownChange};
pub use hooked::CALLER as HOOK_CALLER;
use judge::{Agreed, Judge, Judged};
pub use question::{Left, Outcome, Question};

/// What a person set, under its name in the store.
const MODE: &str = "mode";

/// The way to the tools of one vault. Clones share it.
#[derive(Debug, Clone)]
pub struct Calls(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    context: Context,
    /// Whether the vault lies on a disk of this machine: of others not even what is in memory can be
    /// had without waiting for them.
    is_near: bool,
    tools: ArcSwap<Registry>,
    tool_settings: ArcSwap<tools::Settings>,
    policy: Policy,
    store: Store,
    audit: Audit,
    agreements: Agreements,
    hooks: Hooks,
}

impl Calls {
    /// The way to the tools that work on `context`, of which no hook hears. Touches nothing yet.
    pub fn new(context: Context, settings: Settings, store: Store) -> Self {
        let nowhere = context.vault.root().to_owned();
        let none = Hooks::new(hooks::Settings::default(), nowhere.clone(), nowhere);
        Self::with_hooks(context, settings, store, none)
    }

    /// The same with hooks.
    pub fn with_hooks(context: Context, settings: Settings, store: Store, hooks: Hooks) -> Self {
        Self(Arc::new(Inner {
            hooks,
            tools: ArcSwap::from_pointee(Registry::built_in().clone()),
            audit: Audit::new(store.audit.clone(), &settings),
            agreements: Agreements::new(store.approvals.clone()),
            policy: Policy::new(settings, policy::clock()),
            tool_settings: ArcSwap::from_pointee(context.settings.clone()),
            is_near: context.vault.remote_file_system().is_none(),
            context,
            store,
        }))
    }

    /// What the tools work on.
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// The tools that can be called.
    pub fn tools(&self) -> Arc<Registry> {
        self.0.tools.load_full()
    }

    /// The tool of this name, or the lookup.
    fn known(&self, name: &str) -> Option<Arc<Definition>> {
        self.0.tools.load().get(name).or_else(|| tools::lookups().get(name)).cloned()
    }

    /// Has these tools be called from now on.
    pub fn set_tools(&self, tools: Registry) {
        self.0.tools.store(Arc::new(tools));
    }

    /// Gives the tools other settings, from the next call on.
    pub fn set_tool_settings(&self, settings: tools::Settings) {
        self.0.tool_settings.store(Arc::new(settings));
    }

    /// Takes other settings of what may run, from the next call on.
    pub fn set_settings(&self, settings: Settings) {
        self.0.audit.set(&settings);
        self.0.policy.replace(settings);
    }

    /// What holds.
    pub fn policy(&self) -> &Policy {
        &self.0.policy
    }

    /// The user's commands that hear of what happens.
    pub fn hooks(&self) -> &Hooks {
        &self.0.hooks
    }

    /// For whoever holds the vault alone: counts questions that an earlier run left open as
    /// refused, lets go of what the audit need not keep, and writes the audit in the background
    /// from now on.
    pub fn begin(&self) -> Result<(), StoreError> {
        self.0.store.audit.refuse_unanswered("the steward ended before anyone answered")?;
        self.0.audit.run();
        Ok(())
    }

    /// Writes what is left of the audit, and closes its connection to the store.
    pub fn end(&self) {
        self.0.audit.end();
        self.0.store.database.end();
    }

    /// The mode that holds, and whether a person set it while the steward ran.
    ///
    /// # Errors
    /// [`StoreError`]: what was set cannot be read, so nothing may be changed.
    pub fn mode(&self) -> Result<(Mode, bool), StoreError> {
        if self.0.store.settings.get(REPLACED)?.is_some() {
            return Ok((Mode::ReadOnly, true));
        }
        let set = self.0.store.settings.get(MODE)?.and_then(|word| Mode::parse(&word));
        Ok(match set {
            Some(mode) => (mode, true),
            None => (self.0.policy.settings().mode, false),
        })
    }

    /// The mode that holds in a conversation: one that was chosen for it alone never lets more be done.
    fn mode_in(&self, conversation: Option<&str>) -> Result<Mode, StoreError> {
        let (mode, _) = self.mode()?;
        let Some(id) = conversation.and_then(|name| name.parse().ok()) else { return Ok(mode) };
        let chosen = self.0.store.conversations.mode_of(id)?;
        Ok(chosen.and_then(|word| Mode::parse(&word)).map_or(mode, |own| mode.stricter(own)))
    }

    /// Sets the mode from the next call on, for later runs too; `None` goes back to the settings'.
    ///
    /// # Errors
    /// [`StoreError`]: it is as it was.
    pub fn set_mode(&self, mode: Option<Mode>) -> Result<(), StoreError> {
        tracing::info!(mode = mode.map_or("as in the settings", Mode::word), "the mode was set");
        self.0.store.settings.set(MODE, mode.map(Mode::word))?;
        self.0.store.settings.set(REPLACED, None)
    }

    /// What a person agreed to for good.
    pub fn agreements(&self) -> Result<Vec<ApprovalRow>, StoreError> {
        self.0.agreements.list()
    }

    /// Takes back what a person agreed to for good; whether there was such a thing.
    pub fn revoke(&self, id: i64) -> Result<bool, StoreError> {
        self.0.agreements.revoke(id)
    }

    /// Rows of the audit, up to this moment.
    pub fn audited(&self, wanted: &AuditWanted) -> Result<Vec<AuditRow>, StoreError> {
        self.0.audit.flush();
        self.0.store.audit.rows(wanted)
    }

    /// Calls a tool, on a thread that may block.
    pub fn call(&self, request: Request, cancel: &Cancel) -> Outcome {
        let tool = match self.known(&request.tool) {
            Some(tool) => Ok(tool),
            None => self.tools().find(&request.tool).cloned(),
        };
        self.run(tool, request, None, cancel)
    }

    /// The same on a thread that must not wait. `None` where it would have to, or would ask somebody:
    /// then nothing came of it and nothing is written down, and it is to be called on another thread.
    pub fn glance(&self, request: &Request) -> Option<Result<Answer<Facts>, ToolError>> {
        let tool = self.known(&request.tool)?;
        if !tool.quick || !self.0.is_near {
            return None;
        }
        let settings = self.0.policy.settings();
        let is_heard = [Kind::BeforeToolCall, Kind::AfterToolCall]
            .into_iter()
            .any(|kind| self.hears(request, kind));
        // Where a caller may look is found out on the disk.
        if is_heard || !self.sees_all(&settings, request.caller.scope) || self.0.audit.is_full() {
            return None;
        }
        let look = || self.run(Ok(tool), request.clone(), None, &Cancel::default());
        match glance::at_a_glance(look)? {
            Outcome::Answered(result) => Some(result),
            Outcome::Ask(_) => None,
        }
    }

    /// Calls `tool`, or says that there is none.
    fn run(
        &self,
        tool: Result<Arc<Definition>, ToolError>,
        mut request: Request,
        agreed: Option<Agreed>,
        cancel: &Cancel,
    ) -> Outcome {
        let begun = Instant::now();
        let mut row = audit::begin(&request);
        row.id = agreed.as_ref().map_or(0, |agreed| agreed.row);
        row.answered_by = agreed.as_ref().map(|agreed| agreed.by.program.clone());
        let end = |row: &mut AuditRow, result: &Result<Answer<Facts>, ToolError>| {
            row.microseconds = i64::try_from(begun.elapsed().as_micros()).unwrap_or(i64::MAX);
            audit::result(row, result);
        };
        let record = |row: AuditRow| {
            if self.0.policy.is_on(layers::AUDIT) {
                self.0.audit.record(row);
            }
        };
        let settle = |mut row: AuditRow, result: &Result<Answer<Facts>, ToolError>| {
            end(&mut row, result);
            record(row);
        };
        let tool = match tool {
            Ok(tool) => tool,
            Err(error) => {
                (row.decision, row.layer) = ("refused".to_owned(), Some(layers::EXISTS.to_owned()));
                let result = Err(error);
                settle(row, &result);
                return Outcome::Answered(result);
            }
        };
        tool.name_arguments(&mut request.arguments);
        if request.caller.scope == Scope::Mcp {
            tool.spare_what_exists(&mut request.arguments);
        }
        let judged = self.judge(&tool, &mut request, agreed, cancel);
        let Judged { result, seen, question } = judged;
        if glance::is_broken() {
            return Outcome::Answered(result);
        }
        audit::judged(&mut row, tool.places(&request.arguments), &seen);
        let Some(question) = question else {
            end(&mut row, &result);
            self.tell_after_call(&request, &row, &seen, &result);
            record(row);
            return Outcome::Answered(result);
        };
        row.layer = Some(question.layer.to_owned());
        // A person's own program asks by itself and calls again with their agreement.
        if request.caller.scope.is_person() {
            let error = Err(question.needed());
            row.decision = "refused".to_owned();
            settle(row, &error);
            return Outcome::Answered(error);
        }
        row.decision = "asked".to_owned();
        let row = match self.0.audit.asked(row) {
            Ok(row) => row,
            Err(error) => {
                // What could not survive a restart as refused is not asked at all.
                tracing::error!(%error, "a question could not be written down");
                let hint = error.hint();
                let text = format!("nobody could be asked: {error}");
                return Outcome::Answered(Err(ToolError::new(ErrorCode::IoError, text, hint)));
            }
        };
        Outcome::Ask(Box::new(Question::new(self.clone(), request, question, row)))
    }

    fn judge(
        &self,
        tool: &Definition,
        request: &mut Request,
        agreed: Option<Agreed>,
        cancel: &Cancel,
    ) -> Judged {
        let policy = &self.0.policy;
        let settings = policy.settings();
        let mut standing = match self.admit(tool, request, &settings) {
            Ok(standing) => standing,
            Err(judged) => return *judged,
        };
        // What a person agreed to has been before the hooks, and is done as it was shown.
        if agreed.is_none() {
            let asked = self.ask_before_call(tool, request, cancel);
            if !matches!(asked, Ok(None)) {
                policy.give_back(&standing.call(tool, request));
            }
            match asked {
                Ok(None) => {}
                Ok(Some(arguments)) => {
                    // Judged like any other arguments.
                    request.arguments = arguments;
                    tool.name_arguments(&mut request.arguments);
                    standing = match self.admit(tool, request, &settings) {
                        Ok(standing) => standing,
                        Err(judged) => return *judged,
                    };
                }
                Err(refusal) => return Judged::refused(refusal),
            }
        }
        let request = &*request;
        let (call, view) = (standing.call(tool, request), standing.view.clone());
        let judge = Arc::new(Judge::new(self, &call, request, agreed, cancel));
        let mut context = self.0.context.clone();
        context.settings = (**self.0.tool_settings.load()).clone();
        context.room = request.room.unwrap_or(usize::MAX);
        context.most = settings.most(request.caller.scope);
        context.gate = Some(Arc::clone(&judge) as Arc<dyn Gate>);
        context.origin = Origin {
            caller: request.caller.name.clone(),
            conversation: request.conversation.clone(),
            turn: request.turn.clone(),
            confirmed: judge.has_agreement(),
        };
        if let Some(view) = view {
            context.vault = context.vault.seen_through(view);
        }
        // It has conversations of its own, and what was said in others is nothing for a program.
        if request.caller.scope == Scope::Acp {
            context.conversations = None;
        }
        let limited = settings.call_seconds > 0 && policy.is_on(layers::TIME_LIMIT);
        let seconds = u64::from(settings.call_seconds);
        context.cancel = match limited {
            true => cancel.until(Instant::now() + Duration::from_secs(seconds)),
            false => cancel.clone(),
        };
        let result = tools::call(tool, &context, &request.arguments);
        let late = context.cancel.is_late();
        let result = result.map_err(|error| match error {
            error if late && error.code == ErrorCode::Cancelled => ToolError::new(
                ErrorCode::Timeout,
                format!("`{}` took longer than {seconds} seconds", tool.name),
                "ask for less at once; `[policy] call_seconds` in the settings has the limit",
            ),
            error => error,
        });
        let judged = judge.end(result);
        if request.dry_run || judged.did_nothing() || glance::is_broken() {
            policy.give_back(&call);
        }
        judged
    }

    /// Lets the layers decide that look at a call before it runs.
    fn admit(
        &self,
        tool: &Definition,
        request: &Request,
        settings: &Settings,
    ) -> Result<Standing, Box<Judged>> {
        let permission = permission(tool, &request.arguments);
        // Who only looks need not wait for the database.
        let mode = match permission {
            Permission::None | Permission::Read => Ok(settings.mode),
            _ => self.mode_in(request.conversation.as_deref()),
        };
        let mode = mode.map_err(|error| {
            let text = format!("it cannot be told what may be changed: {error}");
            let code = if error.is_full() { ErrorCode::StorageFull } else { ErrorCode::IoError };
            let error = ToolError::new(code, text, error.hint());
            Box::new(Judged::refused_early(Err(error)))
        })?;
        let (view, write) = self.places(settings, request.caller.scope);
        let standing = Standing { permission, mode, view, write };
        match self.0.policy.admit(&standing.call(tool, request)) {
            Ok(()) => Ok(standing),
            Err(refusal) => Err(Box::new(Judged::refused(refusal))),
        }
    }

    /// Whether no settings say what the caller may see and change of the vault.
    fn sees_all(&self, settings: &Settings, scope: Scope) -> bool {
        let free = settings.read.is_empty() && settings.write.is_empty();
        free || scope.is_person() || !self.0.policy.is_on("paths")
    }

    /// What a caller of this kind may see of the vault, by the settings of now.
    pub fn view(&self, scope: Scope) -> View {
        self.places(&self.0.policy.settings(), scope).0.unwrap_or_default()
    }

    /// What the caller may see, and what it may change; `None` for all.
    fn places(&self, settings: &Settings, scope: Scope) -> (Option<View>, Option<Vec<VaultPath>>) {
        if self.sees_all(settings, scope) {
            return (None, None);
        }
        let vault = &self.0.context.vault;
        let real = |names: &[String]| -> Vec<VaultPath> {
            let one = |name: &String| match vault.resolve(name, Want::Folder) {
                Ok(found) => Some(found.path),
                // Not there yet: taken as it is spelt.
                Err(_) => vault.parse(name).ok(),
            };
            names.iter().filter_map(one).collect()
        };
        let view = (!settings.read.is_empty()).then(|| View::of(real(&settings.read)));
        let seen = view.clone().unwrap_or_default();
        let write = match settings.write.is_empty() {
            true => seen.parts(&VaultPath::root()),
            // Nobody changes what they may not see.
            false => real(&settings.write).iter().flat_map(|one| seen.parts(one)).collect(),
        };
        (view, Some(write))
    }
}

/// What holds for one call with these arguments.
struct Standing {
    permission: Permission,
    mode: Mode,
    view: Option<View>,
    write: Option<Vec<VaultPath>>,
}

impl Standing {
    fn call<'a>(&'a self, tool: &'a Definition, request: &'a Request) -> Call<'a> {
        Call {
            tool: &tool.name,
            permission: self.permission,
            schema: &tool.input_schema,
            arguments: &request.arguments,
            caller: &request.caller,
            confirmed: request.confirmed,
            dry_run: request.dry_run,
            mode: self.mode,
            turn: request.turn.as_deref(),
            write: self.write.as_deref(),
        }
    }
}

fn permission(tool: &Definition, arguments: &Value) -> Permission {
    match tool.tier {
        Tier::Safe => Permission::Read,
        Tier::Cautious => Permission::Write,
        Tier::Dangerous if tool.is_permanent(arguments) => Permission::Permanent,
        Tier::Dangerous => Permission::Move,
    }
}
