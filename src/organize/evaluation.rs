//! Evaluates rules: each rule in turn for each file, before paths are assigned.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value as Json;

use super::draft::Draft;
use super::note_templates::NoteTemplates;
use super::overlay::Overlay;
use super::plan::{Item, PlannedRule, Problem, ProblemKind, RuleFault, RuleResult};
use super::rule::{Action, Assigned, IfPresent, Rule};
use super::trace;
use super::world::{PlanError, World};
use crate::bases::date::Times;
use crate::bases::template::{Named, NothingToInsert, PreparedTemplate, Template};
use crate::bases::value::FileId;
use crate::bases::view::PreparedFilter;
use crate::bases::{Evaluator, Scope, Source};
use crate::note::fold::fold_key;
use crate::note::path::VaultPath;
use crate::note::{frontmatter, tag};

/// The rules of a plan, prepared to be evaluated for each file.
pub struct PreparedRules<'w> {
    world: &'w World<'w>,
    overlay: &'w Overlay<'w>,
    rules: Vec<PreparedRule<'w>>,
    /// By rule: the number of files it took, and its errors.
    took: Vec<usize>,
    faults: Vec<Option<RuleFault>>,
    created: BTreeMap<String, Draft>,
    note_templates: NoteTemplates,
}

/// A rule with resolved properties.
struct PreparedRule<'w> {
    rule: &'w Rule,
    evaluator: Evaluator<'w>,
    filter: Option<PreparedFilter>,
    templates: Vec<(&'w Template, PreparedTemplate)>,
    /// The files that its filter can accept, and those in its folders; `None`: all.
    candidates: Option<HashSet<FileId>>,
}

/// The result of evaluating the rules for a file.
#[derive(Default)]
pub struct Evaluation {
    /// The item; `None` if no rule took the file.
    pub draft: Option<Draft>,
    /// The numbers of the rules that took it.
    pub took: Vec<usize>,
    /// The trace of each rule, if wanted.
    pub traces: Vec<RuleResult>,
}

/// The purpose of an evaluation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To plan: counts errors.
    Plan,
    /// To check a file that is already planned: counts nothing.
    Recheck,
    /// To explain: includes traces, counts nothing.
    Explain,
}

impl<'w> PreparedRules<'w> {
    /// Prepares rules in the order of evaluation: by priority, then as given.
    pub fn new(world: &'w World<'w>, overlay: &'w Overlay<'w>, rules: &'w [Rule]) -> Self {
        let mut ordered: Vec<&Rule> = rules.iter().collect();
        ordered.sort_by_key(|rule| std::cmp::Reverse(rule.priority));
        let ready = |rule: &'w Rule| {
            let this = rule.this.as_ref().and_then(|path| world.snapshot.file(path));
            let scope = Scope {
                source: overlay,
                formulas: &rule.formulas,
                this: this.or(world.scope.this),
                ..world.scope
            };
            let prepared = |template: &'w Template| (template, template.prepare(overlay));
            PreparedRule {
                rule,
                evaluator: Evaluator::new(scope),
                filter: rule.when.as_ref().map(|filter| PreparedFilter::new(filter, overlay)),
                templates: rule.templates().into_iter().map(prepared).collect(),
                candidates: None,
            }
        };
        let rules: Vec<PreparedRule<'w>> = ordered.into_iter().map(ready).collect();
        Self {
            world,
            overlay,
            took: vec![0; rules.len()],
            faults: vec![None; rules.len()],
            rules,
            created: BTreeMap::new(),
            note_templates: NoteTemplates::default(),
        }
    }

    /// The files that any rule can take, by path; only in `within` if given.
    pub fn files(&mut self, within: Option<&VaultPath>) -> Vec<FileId> {
        let snapshot = self.world.snapshot;
        if let Some(within) = within.filter(|within| !within.is_root()) {
            let file = snapshot.file(within).into_iter();
            return file.chain(snapshot.within(within.as_str())).collect();
        }
        let mut is_any = false;
        for ready in &mut self.rules {
            let folders = (!ready.rule.within.iter().any(VaultPath::is_root)
                && !ready.rule.within.is_empty())
            .then(|| {
                let folders = ready.rule.within.iter();
                folders.flat_map(|folder| snapshot.within(folder.as_str())).collect::<Vec<_>>()
            });
            let selected = ready.filter.as_ref().and_then(|filter| filter.candidates(self.overlay));
            let fewer = match (folders, selected) {
                (Some(folders), Some(selected)) if selected.len() < folders.len() => Some(selected),
                (Some(folders), _) => Some(folders),
                (None, selected) => selected,
            };
            is_any |= fewer.is_none();
            ready.candidates = fewer.map(|files| files.into_iter().collect());
        }
        let can_be = |file: &FileId| {
            self.rules.iter().any(|ready| {
                ready.candidates.as_ref().is_none_or(|candidates| candidates.contains(file))
            })
        };
        snapshot.files().filter(|file| is_any || can_be(file)).collect()
    }

    /// The existing files among these, in their order.
    pub fn existing(&self, only: &HashSet<VaultPath>) -> Vec<FileId> {
        let snapshot = self.world.snapshot;
        let mut files: Vec<FileId> = only.iter().filter_map(|path| snapshot.file(path)).collect();
        files.sort_unstable();
        files
    }

    /// Evaluates all rules for a file. The overlay shows its current state before, and its state at the last rule after.
    pub fn evaluate(&mut self, file: FileId, purpose: Purpose) -> Result<Evaluation, PlanError> {
        self.evaluate_for(file, purpose, None, &[])
    }

    /// Evaluates the rules again for a file that is already planned. The overlay shows its planned state before, and the
    /// state after this evaluation. Rules that take a note once are skipped if their numbers are in `took`.
    pub fn evaluate_again(
        &mut self,
        file: FileId,
        planned: &Draft,
        took: &[usize],
    ) -> Result<Evaluation, PlanError> {
        self.evaluate_for(file, Purpose::Recheck, Some(planned), took)
    }

    fn evaluate_for(
        &mut self,
        file: FileId,
        purpose: Purpose,
        planned: Option<&Draft>,
        took: &[usize],
    ) -> Result<Evaluation, PlanError> {
        if self.world.cancel.is_cancelled() {
            return Err(PlanError::Cancelled);
        }
        let mut evaluation = Evaluation { draft: planned.cloned(), ..Evaluation::default() };
        let mut stopped_by: Option<&str> = None;
        for at in 0..self.rules.len() {
            let rule = self.rules[at].rule;
            let explains = purpose == Purpose::Explain;
            if let Some(by) = stopped_by {
                if explains {
                    evaluation.traces.push(trace::not_evaluated(rule, by));
                    continue;
                }
                break;
            }
            let outside = !rule.within.is_empty() && {
                let path = self.path(file);
                !rule.within.iter().any(|folder| path.is_within(folder))
            };
            let is_untouched = evaluation.draft.is_none() && purpose == Purpose::Plan;
            let cannot = is_untouched
                && self.rules[at].candidates.as_ref().is_some_and(|found| !found.contains(&file));
            if outside || cannot {
                if explains {
                    evaluation.traces.push(trace::outside(rule));
                }
                continue;
            }
            let was_taken = rule.once && {
                let path = evaluation
                    .draft
                    .as_ref()
                    .map_or_else(|| self.path(file), |draft| draft.path.clone());
                took.contains(&at) || (self.world.taken_once)(&rule.hash, &path)
            };
            if was_taken {
                if explains {
                    evaluation.traces.push(trace::taken_once(rule));
                }
                continue;
            }
            let ready = &mut self.rules[at];
            let holds = match &ready.filter {
                Some(filter) => filter.holds(file, &mut ready.evaluator),
                None => Ok(true),
            };
            if self.world.snapshot.is_cancelled() {
                return Err(PlanError::Cancelled);
            }
            let takes = match holds {
                Ok(holds) => holds,
                Err(failed) => {
                    if purpose == Purpose::Plan {
                        let message = format!("`{}`: {}", failed.expression, failed.error.message);
                        self.count_fault(at, file, message);
                    }
                    false
                }
            };
            let parts = match (explains, &self.rules[at].rule.when) {
                (true, Some(filter)) => trace::parts(filter, file, &mut self.rules[at].evaluator),
                _ => Vec::new(),
            };
            if !takes {
                if explains {
                    evaluation.traces.push(RuleResult { parts, ..trace::evaluated(rule, false) });
                }
                continue;
            }
            let before = evaluation
                .draft
                .take()
                .unwrap_or_else(|| Draft::new(self.path(file), self.world.on_conflict(rule)));
            let after = self.apply_actions(at, file, &before);
            if explains {
                let mut effects = trace::effects(&before, &after);
                effects.extend(parts);
                evaluation
                    .traces
                    .push(RuleResult { parts: effects, ..trace::evaluated(rule, true) });
            }
            if purpose == Purpose::Plan {
                self.took[at] += 1;
            }
            evaluation.took.push(at);
            let goes_on = rule.continues && !after.item.trash;
            if goes_on || purpose == Purpose::Recheck {
                let whole = after.wanted.clone().unwrap_or_else(|| after.path.clone());
                self.overlay.set_item(file, &after.item, &whole);
            }
            evaluation.draft = Some(after);
            if !goes_on {
                stopped_by = Some(&rule.name);
            }
        }
        Ok(evaluation)
    }

    /// The counts and errors of the rules.
    pub fn results(&self) -> (Vec<PlannedRule>, Vec<RuleFault>) {
        let rules = self.rules.iter().zip(&self.took).map(|(ready, took)| PlannedRule {
            name: ready.rule.name.clone(),
            hash: ready.rule.hash.clone(),
            took: *took,
        });
        (rules.collect(), self.faults.iter().flatten().cloned().collect())
    }

    /// The notes that rules create, by path.
    pub fn created(&mut self) -> Vec<Draft> {
        std::mem::take(&mut self.created).into_values().collect()
    }

    fn path(&self, file: FileId) -> VaultPath {
        VaultPath::from_disk(&self.overlay.path(file)).unwrap_or_else(VaultPath::root)
    }

    fn count_fault(&mut self, at: usize, file: FileId, message: String) {
        let path = self.world.snapshot.path(file).to_string();
        let rule = self.rules[at].rule.name.clone();
        match &mut self.faults[at] {
            Some(fault) => fault.files += 1,
            none => *none = Some(RuleFault { rule, files: 1, path, message }),
        }
    }

    /// Applies the actions of a rule to a file. If a template gives no text, none of the actions is applied.
    fn apply_actions(&mut self, at: usize, file: FileId, before: &Draft) -> Draft {
        let rule = self.rules[at].rule;
        let mut draft = before.clone();
        draft.item.rules.push(rule.name.clone());
        if rule.once {
            draft.item.once.push(rule.hash.clone());
        }
        let mut created = Vec::new();
        for action in &rule.actions {
            if let Err(nothing) = self.act(at, action, file, &mut draft, &mut created) {
                let mut draft = before.clone();
                draft.item.rules.push(rule.name.clone());
                let message = format!("rule `{}`: {nothing}", rule.name);
                let is_all = !draft.item.does_anything() && draft.wanted.is_none();
                draft.add(Problem { kind: ProblemKind::NothingToInsert, message, blocks: is_all });
                return draft;
            }
        }
        for new in created {
            match self.created.get_mut(&new.item.path) {
                Some(known) if !known.item.rules.contains(&rule.name) => {
                    known.item.rules.push(rule.name.clone());
                }
                Some(_) => {}
                None => {
                    self.created.insert(new.item.path.clone(), new);
                }
            }
        }
        draft
    }

    fn act(
        &mut self,
        at: usize,
        action: &Action,
        file: FileId,
        draft: &mut Draft,
        created: &mut Vec<Draft>,
    ) -> Result<(), NothingToInsert> {
        self.rules[at].evaluator.begin(Some(file));
        let now = draft.wanted.clone().unwrap_or_else(|| draft.path.clone());
        let edits = matches!(
            action,
            Action::Set { .. }
                | Action::Remove(_)
                | Action::Tag(_)
                | Action::Untag(_)
                | Action::Append(_)
                | Action::Prepend(_)
                | Action::Fill(_)
        );
        if edits && !draft.path.is_note() {
            let message = "it is not a note, so it has no properties, tags or text to change";
            draft.add(Problem::warning(ProblemKind::NotApplicable, message));
            return Ok(());
        }
        match action {
            Action::Move(template) => {
                let folder = self.named(at, template, draft)?;
                self.request_path(at, draft, &folder.text, now.name());
            }
            Action::Archive => {
                let archive = self.world.settings.archive_folder.trim_matches('/');
                let folder = now.parent().unwrap_or_else(VaultPath::root);
                let is_there = VaultPath::from_disk(archive).is_some_and(|own| now.is_within(&own));
                if !is_there {
                    let whole = format!("{archive}/{}", folder.as_str());
                    self.request_path(at, draft, whole.trim_matches('/'), now.name());
                }
            }
            Action::Rename(template) => {
                let name = self.named(at, template, draft)?.text;
                // A name may include the extension, which stays anyway.
                let has = |extension: &&str| {
                    let ending = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
                    ending.is_some_and(|(_, own)| own.eq_ignore_ascii_case(extension))
                };
                let name = match now.extension().filter(|extension| !has(extension)) {
                    Some(extension) => format!("{name}.{extension}"),
                    None => name,
                };
                let folder = now.parent().unwrap_or_else(VaultPath::root);
                self.request_path(at, draft, folder.as_str(), &name);
            }
            Action::Set { values, if_present } => {
                for (name, assigned) in values {
                    let value = self.assigned(at, assigned)?;
                    self.set(file, draft, name, value, *if_present);
                }
            }
            Action::Remove(names) => {
                for name in names {
                    let is = |other: &String| fold_key(other) == fold_key(name);
                    draft.item.set.retain(|other, _| !is(other));
                    let properties = self.world.snapshot.properties(file);
                    let has = properties.0.iter().any(|(own, _)| fold_key(own) == fold_key(name));
                    if has && !draft.item.remove.iter().any(is) {
                        draft.item.remove.push(name.clone());
                    }
                }
            }
            Action::Tag(tags) => {
                for template in tags {
                    let text = self.prepared(at, template).text(&mut self.rules[at].evaluator)?;
                    self.tag(file, draft, &text);
                }
            }
            Action::Untag(tags) => {
                for gone in tags {
                    let is = |other: &String| tag::key(other) == tag::key(gone);
                    draft.item.tag.retain(|other| !is(other));
                    if self.overlay.frontmatter_tags(file, &draft.item).iter().any(is) {
                        draft.item.untag.push(gone.clone());
                    }
                }
            }
            Action::Append(template) => {
                let text = self.prepared(at, template).text(&mut self.rules[at].evaluator)?;
                append(&mut draft.item.append, &text);
            }
            Action::Prepend(template) => {
                let text = self.prepared(at, template).text(&mut self.rules[at].evaluator)?;
                let mut whole = text;
                append(&mut whole, &draft.item.prepend.clone());
                draft.item.prepend = whole;
            }
            Action::Fill(template) => {
                let name = self.prepared(at, template).text(&mut self.rules[at].evaluator)?;
                self.fill(file, draft, &name, &now);
            }
            Action::Create { path, template } => {
                let named = self.named(at, path, draft)?;
                let name = match template {
                    Some(template) => {
                        Some(self.prepared(at, template).text(&mut self.rules[at].evaluator)?)
                    }
                    None => None,
                };
                created.extend(self.create(at, &named.text, name.as_deref(), draft));
            }
            Action::Trash => draft.item.trash = true,
        }
        Ok(())
    }

    fn prepared(&self, at: usize, template: &Template) -> PreparedTemplate {
        let known = self.rules[at].templates.iter().find(|(own, _)| std::ptr::eq(*own, template));
        known.map_or_else(|| template.prepare(self.overlay), |(_, prepared)| prepared.clone())
    }

    fn named(
        &mut self,
        at: usize,
        template: &Template,
        draft: &mut Draft,
    ) -> Result<Named, NothingToInsert> {
        let named = self.prepared(at, template).named(&mut self.rules[at].evaluator)?;
        if named.is_changed {
            let message =
                format!("characters that are not allowed in names were replaced: `{}`", named.text);
            draft.add(Problem::warning(ProblemKind::NameChanged, message));
        }
        if named.is_shortened {
            let message = format!("the name was too long and ends earlier: `{}`", named.text);
            draft.add(Problem::warning(ProblemKind::NameChanged, message));
        }
        Ok(named)
    }

    /// Sets the requested path.
    fn request_path(&self, at: usize, draft: &mut Draft, folder: &str, name: &str) {
        let whole = format!("{folder}/{name}");
        match VaultPath::from_disk(whole.trim_start_matches('/')) {
            Some(path) => {
                draft.wanted = (path != draft.path).then_some(path);
                draft.on_conflict = self.world.on_conflict(self.rules[at].rule);
            }
            None => draft.block(ProblemKind::InvalidPath, format!("`{whole}` is not a path")),
        }
    }

    fn assigned(&mut self, at: usize, assigned: &Assigned) -> Result<Json, NothingToInsert> {
        Ok(match assigned {
            Assigned::Value(value) => value.clone(),
            Assigned::Template(template) => {
                self.prepared(at, template).value(&mut self.rules[at].evaluator)?
            }
            Assigned::List(all) => {
                let all = all.iter().map(|one| self.assigned(at, one));
                Json::Array(all.collect::<Result<_, _>>()?)
            }
        })
    }

    fn set(&self, file: FileId, draft: &mut Draft, name: &str, value: Json, if_present: IfPresent) {
        let key = fold_key(name);
        let is = |other: &String| fold_key(other) == key;
        let times = Times::new(self.world.scope.zone);
        let compare = crate::bases::compare::Compare { source: self.overlay, times: &times };
        let below = self.world.snapshot.properties(file);
        let below = below.0.iter().find(|(own, _)| fold_key(own) == key).map(|(_, own)| own);
        let below = below.map(|own| compare.json(own));
        let is_removed = draft.item.remove.iter().any(is);
        let own = draft.item.set.iter().find(|(other, _)| is(other)).map(|(_, own)| own.clone());
        let present = own.or_else(|| below.clone().filter(|_| !is_removed));
        let value = match (if_present, present) {
            (IfPresent::Keep, Some(present)) if !present.is_null() => return,
            (IfPresent::Merge, Some(Json::Array(mut all))) => {
                let new = match value {
                    Json::Array(new) => new,
                    one => vec![one],
                };
                for one in new {
                    if !all.contains(&one) {
                        all.push(one);
                    }
                }
                Json::Array(all)
            }
            _ => value,
        };
        draft.item.remove.retain(|other| !is(other));
        draft.item.set.retain(|other, _| !is(other));
        if below.as_ref() != Some(&value) {
            draft.item.set.insert(name.to_owned(), value);
        }
    }

    fn tag(&self, file: FileId, draft: &mut Draft, text: &str) {
        let name = super::content::bare(text);
        if !tag::is_name(name) {
            let message =
                format!("`{name}` is not a tag: tags have letters, digits, `_`, `-` and `/`");
            return draft.add(Problem::warning(ProblemKind::NotApplicable, message));
        }
        let is = |other: &String| tag::key(other) == tag::key(name);
        draft.item.untag.retain(|other| !is(other));
        if !self.overlay.frontmatter_tags(file, &draft.item).iter().any(is) {
            draft.item.tag.push(name.to_owned());
        }
    }

    /// Inserts an Obsidian template into a note without text.
    fn fill(&mut self, file: FileId, draft: &mut Draft, name: &str, path: &VaultPath) {
        let is_empty = self.world.snapshot.text(file).is_none_or(|text| text.trim().is_empty());
        if !is_empty || !draft.item.append.is_empty() || !draft.item.prepend.is_empty() {
            let message = format!("it has text, so the template `{name}` is not put into it");
            return draft.add(Problem::warning(ProblemKind::NotApplicable, message));
        }
        let text = match self.note_templates.filled(self.world, name, path) {
            Ok(text) => text,
            Err(reason) => {
                return draft.add(Problem::warning(ProblemKind::NotApplicable, reason));
            }
        };
        let found = frontmatter::find(&text, 0);
        let properties = found.as_ref().and_then(|found| found.properties.as_ref().ok());
        for property in properties.into_iter().flatten() {
            self.set(file, draft, &property.name, property.value.clone(), IfPresent::Keep);
        }
        let begin = found.map_or(0, |found| found.range.end);
        draft.item.append.push_str(&text[begin..]);
    }

    /// The item of a note to create next to another; `None` if it exists.
    fn create(
        &mut self,
        at: usize,
        path: &str,
        template: Option<&str>,
        beside: &mut Draft,
    ) -> Option<Draft> {
        let whole = if path.to_lowercase().ends_with(".md") {
            path.to_owned()
        } else {
            format!("{path}.md")
        };
        let path = VaultPath::from_disk(&whole)?;
        let is_there = !self.world.vault.catalogue().folded(&path.fold_key()).is_empty();
        if is_there {
            return None;
        }
        let text = match template.map(|name| self.note_templates.filled(self.world, name, &path)) {
            None => String::new(),
            Some(Ok(text)) => text,
            Some(Err(reason)) => {
                beside.add(Problem::warning(ProblemKind::NotApplicable, reason));
                return None;
            }
        };
        let rule = self.rules[at].rule;
        let mut draft = Draft::new(path, self.world.on_conflict(rule));
        draft.item =
            Item { create: true, append: text, rules: vec![rule.name.clone()], ..draft.item };
        Some(draft)
    }
}

/// Appends a text on its own line.
fn append(text: &mut String, more: &str) {
    if !text.is_empty() && !text.ends_with('\n') && !more.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}
