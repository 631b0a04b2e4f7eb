//! The only way to call a tool: policy, a person's approval, the tool, the audit. Every transport
//! uses it.
//!
//! Floor 6. Only this room calls `tools::call`; `tests/architecture` checks it.
//!
//! `judge` checks the planned changes after the tool has decided on them and before the tool
//! applies any, by their final paths. A call that needs a person's approval ends there without any
//! effect, and runs again once the person has approved. So no queue slot and no thread waits for a
//! person. The second run must lead to the same changes; otherwise it is refused.
//!
//! [`run`] runs the calls of all transports: queues, deadlines, cancellation, and questions to a
//! person.
//!
//! In reading order: this file, [`call`] (requests), `judge`, `question`, [`saved_answers`]
//! (answers that arrive after their call has ended), `hook_events` (data for hooks), [`audit`],
//! `agreements`, [`run`] with [`throttle`] and [`tracker`].

mod agreements;
pub mod audit;
pub mod call;
mod hook_events;
mod judge;
mod question;
pub mod run;
pub mod saved_answers;
pub mod throttle;
pub mod tracker;

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use serde_json::Value;

use crate::edits::Gate;
use crate::hooks::{Hooks, Kind};
use crate::journal::Origin;
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::policy::{
    self, Call, ForeignCall, Mode, Permission, Policy, RuleApproval, Scope, Settings, layers,
};
use crate::store::audit::{ApprovalRow, AuditFilter, AuditRow};
use crate::store::{REPLACED, Store, StoreError};
use crate::tools::{
    self, Answer, Context, Definition, Facts, Foreign, ForeignTools, Registry, Tier, ToolError,
};
use crate::vault::{self, View, Want, nonblocking};

use agreements::StandingApprovals;
use audit::Audit;
pub use call::{Answerer, Decision, Request, ShownChange};
pub use hook_events::{CALLER as HOOK_CALLER, StepShown};
use judge::{Agreed, Judge, Judged};
pub use question::{Outcome, Question, UnansweredQuestion};

/// The store's key for the mode that a person set.
const MODE: &str = "mode";

/// Cancels a call, by request or by deadline.
pub type Cancel = vault::Cancel;

/// Calls the tools of one vault. Clones share their state.
#[derive(Debug, Clone)]
pub struct Calls(Arc<SharedCalls>);

#[derive(Debug)]
struct SharedCalls {
    context: Context,
    /// Whether the vault is on a local disk. On a network file system even cached reads can block.
    is_local: bool,
    tools: ArcSwap<Registry>,
    foreign: OnceLock<Arc<dyn ForeignTools>>,
    tool_settings: ArcSwap<tools::Settings>,
    policy: Policy,
    store: Store,
    audit: Audit,
    agreements: StandingApprovals,
    hooks: Hooks,
}

impl Calls {
    /// Calls tools on `context`. Does no I/O yet.
    pub fn new(context: Context, settings: Settings, store: Store, hooks: Hooks) -> Self {
        Self(Arc::new(SharedCalls {
            hooks,
            tools: ArcSwap::from_pointee(Registry::built_in().clone()),
            foreign: OnceLock::new(),
            audit: Audit::new(store.audit.clone(), &settings),
            agreements: StandingApprovals::new(store.approvals.clone()),
            policy: Policy::new(settings, policy::clock()),
            tool_settings: ArcSwap::from_pointee(context.settings.clone()),
            is_local: context.vault.remote_file_system().is_none(),
            context,
            store,
        }))
    }

    /// The vault, journal and index that the tools work on.
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// The callable tools.
    pub fn tools(&self) -> Arc<Registry> {
        self.0.tools.load_full()
    }

    /// The tool or the lookup with this name.
    fn known(&self, name: &str) -> Option<Arc<Definition>> {
        self.0.tools.load().get(name).or_else(|| tools::lookups().get(name)).cloned()
    }

    /// Replaces the callable tools.
    pub fn set_tools(&self, tools: Registry) {
        self.0.tools.store(Arc::new(tools));
    }

    /// Also offers the tools of third-party servers, from the next turn or call on.
    pub fn add_foreign(&self, foreign: Arc<dyn ForeignTools>) {
        if self.0.foreign.set(foreign).is_ok() {
            self.renew_tools();
        }
    }

    /// Updates the foreign tools, for a new turn or a list. Quick, but reads the disk.
    pub fn renew_tools(&self) {
        let Some(tools) = self.0.foreign.get().and_then(|foreign| foreign.renewed()) else {
            return;
        };
        let mut all = Registry::built_in().clone();
        tools.into_iter().for_each(|tool| all.insert(tool));
        self.set_tools(all);
    }

    /// The same for a call of a tool that is not built in.
    fn renew_tools_for(&self, name: &str) {
        if Registry::built_in().get(name).is_none() {
            self.renew_tools();
        }
    }

    /// Replaces the settings of the tools; the next call uses them.
    pub fn set_tool_settings(&self, settings: tools::Settings) {
        self.0.tool_settings.store(Arc::new(settings));
    }

    /// Replaces the policy's settings; the next call uses them.
    pub fn set_settings(&self, settings: Settings) {
        self.0.audit.set(&settings);
        self.0.policy.replace(settings);
    }

    pub fn policy(&self) -> &Policy {
        &self.0.policy
    }

    /// The hooks: the user's commands that receive calls and may refuse them.
    pub fn hooks(&self) -> &Hooks {
        &self.0.hooks
    }

    /// Starts the background work; only the process that holds the vault's lock may call it. Marks
    /// questions left open by an earlier run as refused, then trims and writes the audit in the
    /// background.
    pub fn begin(&self) -> Result<(), StoreError> {
        self.0.store.audit.refuse_unanswered("the steward ended before anyone answered")?;
        self.0.audit.run();
        Ok(())
    }

    /// Writes the rest of the audit and closes its connection to the store.
    pub fn end(&self) {
        self.0.audit.end();
        self.0.store.database.end();
    }

    /// The current mode, and whether a person set it at run time.
    ///
    /// # Errors
    /// [`StoreError`]: the stored mode cannot be read, so that no change may be made.
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

    /// The mode for a conversation. A mode chosen for the conversation can only be stricter.
    fn mode_in(&self, conversation: Option<&str>) -> Result<Mode, StoreError> {
        // If the database turns out to be damaged, earlier permissions no longer count.
        self.0.store.database.wait_for_check();
        let (mode, _) = self.mode()?;
        let Some(id) = conversation.and_then(|name| name.parse().ok()) else { return Ok(mode) };
        let chosen = self.0.store.conversations.mode_of(id)?;
        Ok(chosen.and_then(|word| Mode::parse(&word)).map_or(mode, |own| mode.stricter(own)))
    }

    /// Sets the mode from the next call on and for later runs; `None` returns to the mode of the
    /// settings.
    ///
    /// # Errors
    /// [`StoreError`]: the mode is unchanged.
    pub fn set_mode(&self, mode: Option<Mode>) -> Result<(), StoreError> {
        tracing::info!(mode = mode.map_or("as in the settings", Mode::word), "the mode was set");
        self.0.store.settings.set(MODE, mode.map(Mode::word))?;
        self.0.store.settings.set(REPLACED, None)
    }

    /// The permanent approvals of a person.
    pub fn agreements(&self) -> Result<Vec<ApprovalRow>, StoreError> {
        self.0.agreements.list()
    }

    /// Revokes a permanent approval; whether it existed.
    pub fn revoke(&self, id: i64) -> Result<bool, StoreError> {
        self.0.agreements.revoke(id)
    }

    /// The rows of the audit up to now.
    pub fn audited(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError> {
        self.0.audit.flush();
        self.0.store.audit.rows(filter)
    }

    /// Calls a tool; may block.
    pub fn call(&self, request: Request, cancel: &Cancel) -> Outcome {
        self.renew_tools_for(&request.tool);
        let tool = match self.known(&request.tool) {
            Some(tool) => Ok(tool),
            None => self.tools().find(&request.tool).cloned(),
        };
        self.run(tool, request, None, cancel)
    }

    /// Calls a tool without blocking. `None` if the call would block or would ask a person: it then
    /// had no effect and left no audit row, and the caller has to use [`Self::call`] on a thread
    /// that may block.
    pub fn call_nonblocking(&self, request: &Request) -> Option<Result<Answer<Facts>, ToolError>> {
        let tool = self.known(&request.tool)?;
        if !tool.quick || !self.0.is_local || tool.name != request.tool {
            return None;
        }
        let settings = self.0.policy.settings();
        let has_hook = [Kind::BeforeToolCall, Kind::AfterToolCall]
            .into_iter()
            .any(|kind| self.receives(request, kind));
        // The view of a restricted caller requires disk reads.
        if has_hook || !self.sees_all(&settings, request.caller.scope) || self.0.audit.is_full() {
            return None;
        }
        let attempt = || self.run(Ok(tool), request.clone(), None, &Cancel::default());
        match nonblocking::attempt(attempt)? {
            Outcome::Answered(result) => Some(result),
            Outcome::Ask(_) => None,
        }
    }

    /// Calls `tool`, or answers with its error.
    fn run(
        &self,
        tool: Result<Arc<Definition>, ToolError>,
        mut request: Request,
        agreed: Option<Agreed>,
        cancel: &Cancel,
    ) -> Outcome {
        let started = Instant::now();
        if let Ok(tool) = &tool {
            // Policy, hooks and the audit know a tool by one name.
            request.tool.clone_from(&tool.name);
        }
        let mut row = audit::begin(&request);
        row.id = agreed.as_ref().map_or(0, |agreed| agreed.row);
        row.answered_by = agreed.as_ref().map(|agreed| agreed.by.program.clone());
        let end = |row: &mut AuditRow, result: &Result<Answer<Facts>, ToolError>| {
            row.microseconds = i64::try_from(started.elapsed().as_micros()).unwrap_or(i64::MAX);
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
            tool.protect_existing(&mut request.arguments);
        }
        let judged = self.judge(&tool, &mut request, agreed, cancel);
        let Judged { result, judgement, question } = judged;
        if nonblocking::is_aborted() {
            return Outcome::Answered(result);
        }
        audit::judged(&mut row, tool.places(&request.arguments), &judgement);
        let Some(question) = question else {
            end(&mut row, &result);
            audit::server_fault(&mut row, &result);
            self.notify_after_call(&request, &row, &judgement, &result);
            record(row);
            return Outcome::Answered(result);
        };
        row.layer = Some(question.layer.to_owned());
        // A person's own program asks the person itself and calls again with the approval.
        if request.caller.scope.is_person() {
            let error = Err(question.needed());
            row.decision = "refused".to_owned();
            settle(row, &error);
            return Outcome::Answered(error);
        }
        row.decision = "asked".to_owned();
        let row = match self.0.audit.write_question(row) {
            Ok(row) => row,
            Err(error) => {
                // A question that a restart could not mark as refused is not asked at all.
                tracing::error!(%error, "a question could not be recorded");
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
        let mut admitted = match self.admit(tool, request, &settings) {
            Ok(admitted) => admitted,
            Err(judged) => return *judged,
        };
        // The hooks have seen an approved call before; it runs exactly as it was shown.
        if agreed.is_none() {
            let asked = self.ask_before_call(tool, request, cancel);
            if !matches!(asked, Ok(None)) {
                policy.refund(&admitted.call(tool, request));
            }
            match asked {
                Ok(None) => {}
                Ok(Some(arguments)) => {
                    // The policy judges the replaced arguments like any others.
                    request.arguments = arguments;
                    tool.name_arguments(&mut request.arguments);
                    admitted = match self.admit(tool, request, &settings) {
                        Ok(admitted) => admitted,
                        Err(judged) => return *judged,
                    };
                }
                Err(refusal) => return Judged::refused(refusal),
            }
        }
        let proposes = admitted.call(tool, request).only_proposes();
        request.dry_run |= proposes;
        let request = &*request;
        let (call, view) = (admitted.call(tool, request), admitted.view.clone());
        let judge = Arc::new(Judge::new(self, &call, request, agreed, cancel));
        let mut context = self.0.context.clone();
        context.settings = (**self.0.tool_settings.load()).clone();
        context.max_chars = request.max_chars.unwrap_or(usize::MAX);
        context.most = settings.most(request.caller.scope);
        context.rules.clone_from(&request.rules);
        context.gate = Some(Arc::clone(&judge) as Arc<dyn Gate>);
        context.origin = Origin {
            caller: request.caller.name.clone(),
            conversation: request.conversation.clone(),
            turn: request.turn.clone(),
            confirmed: judge.has_agreement(),
        };
        if let Some(view) = view {
            context.vault = context.vault.in_view(view);
        }
        // An ACP client has its own conversations and must not read the others.
        if request.caller.scope == Scope::Acp {
            context.conversations = None;
        }
        // A server has its own time limit.
        let limited =
            settings.call_seconds > 0 && tool.foreign.is_none() && policy.is_on(layers::TIME_LIMIT);
        let seconds = u64::from(settings.call_seconds);
        context.cancel = if limited {
            cancel.until(Instant::now() + Duration::from_secs(seconds))
        } else {
            cancel.clone()
        };
        let checked = match tool.foreign {
            Some(_) => judge.check_foreign().map_err(ToolError::from),
            None => Ok(()),
        };
        let result = checked.and_then(|()| tools::call(tool, &context, &request.arguments));
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
        if request.dry_run || judged.did_nothing() || nonblocking::is_aborted() {
            policy.refund(&call);
        }
        judged
    }

    /// Runs the policy layers that decide before the tool runs.
    fn admit(
        &self,
        tool: &Definition,
        request: &Request,
        settings: &Settings,
    ) -> Result<Admitted, Box<Judged>> {
        let permission = permission(tool, &request.arguments);
        // A call that only reads does not wait for the database.
        let mode = match permission {
            Permission::None | Permission::Read => Ok(settings.mode),
            _ => self.mode_in(request.conversation.as_deref()),
        };
        let mode = mode.map(|mode| match request.mode.map_or(mode, |own| mode.stricter(own)) {
            Mode::Plan if request.applies_proposal => Mode::Ask,
            mode => mode,
        });
        let mode = mode.map_err(|error| {
            let text = format!("the mode cannot be read, so nothing may be changed: {error}");
            let code = if error.is_full() { ErrorCode::StorageFull } else { ErrorCode::IoError };
            let error = ToolError::new(code, text, error.hint());
            Box::new(Judged::refused_early(error))
        })?;
        let (view, write) = self.places(settings, request.caller.scope);
        let agreement = self.agreed_for_rules(request);
        let admitted = Admitted { permission, mode, view, write, agreement };
        match self.0.policy.admit(&admitted.call(tool, request)) {
            Ok(()) => Ok(admitted),
            Err(refusal) => Err(Box::new(Judged::refused(refusal))),
        }
    }

    /// The person's approval of the rules that make the call; `None` if one of them is not enabled, has to ask, or
    /// cannot be read.
    fn agreed_for_rules(&self, request: &Request) -> Option<RuleApproval> {
        if request.caller.scope != Scope::Rule || request.rules.is_empty() {
            return None;
        }
        let enabled = &self.0.store.enabled_rules;
        let settings = &self.0.tool_settings.load().organize;
        let hour = self.0.context.clock.now().timestamp_millis() - 3_600_000;
        let done = enabled.hits_after(hour).ok()?.len();
        let mut agreement = RuleApproval {
            folders: Vec::new(),
            trash: true,
            left: settings.auto_items.min(settings.auto_per_hour.saturating_sub(done)),
        };
        for id in &request.rules {
            let row = enabled.get(*id).ok()??;
            if row.state != "automatic" || !settings.automatic {
                return None;
            }
            let folders: Vec<String> = serde_json::from_str(&row.folders).ok()?;
            let folders = folders.iter().map(|folder| match folder.as_str() {
                "" | "/" => Some(VaultPath::root()),
                folder => VaultPath::from_disk(folder),
            });
            agreement.folders.extend(folders.collect::<Option<Vec<_>>>()?);
            agreement.trash &= row.with_trash;
        }
        Some(agreement)
    }

    /// The context of tools for callers of this kind under the current settings. Without a gate: only for reading.
    pub fn context_for(&self, scope: Scope) -> Context {
        let mut context = self.0.context.clone();
        context.settings = (**self.0.tool_settings.load()).clone();
        context.vault = context.vault.in_view(self.view(scope));
        context
    }

    /// Whether no settings restrict what the caller may see and change.
    fn sees_all(&self, settings: &Settings, scope: Scope) -> bool {
        let free = settings.read.is_empty() && settings.write.is_empty();
        free || scope.is_person() || !self.0.policy.is_on("paths")
    }

    /// The part of the vault that a caller of this kind may see under the current settings.
    pub fn view(&self, scope: Scope) -> View {
        self.places(&self.0.policy.settings(), scope).0.unwrap_or_default()
    }

    /// The folders that the caller may see and may change; `None` is everything.
    fn places(&self, settings: &Settings, scope: Scope) -> (Option<View>, Option<Vec<VaultPath>>) {
        if self.sees_all(settings, scope) {
            return (None, None);
        }
        let vault = &self.0.context.vault;
        let real = |names: &[String]| -> Vec<VaultPath> {
            let one = |name: &String| match vault.resolve(name, Want::Folder) {
                Ok(found) => Some(found.path),
                // The folder does not exist yet: taken as spelt.
                Err(_) => vault.parse(name).ok(),
            };
            names.iter().filter_map(one).collect()
        };
        let view = (!settings.read.is_empty()).then(|| View::of(real(&settings.read)));
        let shown = view.clone().unwrap_or_default();
        let write = if settings.write.is_empty() {
            shown.parts(&VaultPath::root())
        } else {
            // A caller cannot change what it cannot see.
            real(&settings.write).iter().flat_map(|one| shown.parts(one)).collect()
        };
        (view, Some(write))
    }
}

/// The permission, mode and limits that apply to one call.
struct Admitted {
    permission: Permission,
    mode: Mode,
    view: Option<View>,
    write: Option<Vec<VaultPath>>,
    agreement: Option<RuleApproval>,
}

impl Admitted {
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
            agreement: self.agreement.as_ref(),
            foreign: tool.foreign.as_ref().map(foreign_call),
        }
    }
}

fn foreign_call(foreign: &Foreign) -> ForeignCall<'_> {
    let Foreign { server, is_allowed, reaches_out } = foreign;
    ForeignCall { server, is_allowed: *is_allowed, reaches_out: *reaches_out }
}

fn permission(tool: &Definition, arguments: &Value) -> Permission {
    match tool.tier {
        Tier::Safe => Permission::Read,
        Tier::Cautious => Permission::Write,
        Tier::Dangerous if tool.is_permanent(arguments) => Permission::Permanent,
        Tier::Dangerous | Tier::Unknown => Permission::Move,
    }
}
