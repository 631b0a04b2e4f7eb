//! `steward organize rules`: checks rule files, and enables and disables rules.

#![expect(clippy::disallowed_methods, reason = "a file of the person's, outside of the vault")]

use std::fmt::Write as _;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::json;

use super::agreed;
use crate::bases::diagnostic::{Diagnostic, Severity};
use crate::calls::Calls;
use crate::cli::{Failure, Result, Session, completions};
use crate::methods;
use crate::note::counted::counted;
use crate::organize::rules_file::MAX_BYTES;
use crate::organize::sentence::sentence;
use crate::protocol::organize::{
    EnabledRuleInfo, RulesDisableParams, RulesEnableParams, RulesListParams, RulesMarksParams,
};
use crate::tools::rules::{CheckedRules, RulesInput, check};

/// The program name recorded for rules that are enabled without a daemon.
const PROGRAM: &str = "steward";

#[derive(Debug, Clone, Subcommand)]
pub enum RulesAction {
    /// Describe rules and list probable mistakes, without running them
    #[command(after_help = "Exits with 1 where anything is found.")]
    Check {
        /// A rule file, or a note with a block `rules`; in the vault or outside, `-` is stdin [default: the files of
        /// `organize.rules`]
        files: Vec<PathBuf>,
    },
    /// List the enabled rules with their states
    List,
    /// Run rules automatically (shows them, and asks)
    Enable {
        /// A rule file, in the vault or outside; or the name of a rule that is enabled or in a file of `organize.rules`
        file: String,
        /// Only this rule of the file; repeat it for more [default: all that have `run`]
        #[arg(long, value_name = "NAME")]
        rule: Vec<String>,
        /// Let it put files into the trash without asking
        #[arg(long)]
        with_trash: bool,
        /// Have what it would do wait for you as a plan
        #[arg(long)]
        ask: bool,
        /// Skip the confirmation
        #[arg(long, short)]
        yes: bool,
    },
    /// Stop running a rule automatically
    Disable {
        /// Its name
        name: String,
    },
    /// List the files that rules with `once` took, or have them taken again
    Marks {
        /// A rule file, in the vault or outside; or the name of an enabled rule
        file: String,
        /// Only this rule of the file; repeat it for more
        #[arg(long, value_name = "NAME")]
        rule: Vec<String>,
        /// Only this file
        #[arg(long, value_name = "NOTE", add = completions::notes())]
        note: Option<String>,
        /// Forget that the rules took these files, so that they take them again
        #[arg(long)]
        forget: bool,
    },
    /// Show what changed in rule files since their rules were enabled
    Diff {
        /// Only this rule
        name: Option<String>,
    },
}

pub fn run(session: &Session, action: &RulesAction) -> Result<ExitCode> {
    match action {
        RulesAction::Check { files } => return check_files(session, files),
        RulesAction::List => list(session)?,
        RulesAction::Enable { file, rule, with_trash, ask, yes } => {
            let params = RulesEnableParams {
                file: absolute(file),
                names: rule.clone(),
                with_trash: *with_trash,
                ask: *ask,
                ..RulesEnableParams::default()
            };
            enable(session, params, *yes)?;
        }
        RulesAction::Marks { file, rule, note, forget } => {
            let params = RulesMarksParams {
                file: absolute(file),
                names: rule.clone(),
                path: note.clone(),
                forget: *forget,
            };
            marks(session, &params)?;
        }
        RulesAction::Disable { name } => disable(session, name)?,
        RulesAction::Diff { name } => diff(session, name.as_deref())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn check_files(session: &Session, files: &[PathBuf]) -> Result<ExitCode> {
    let set: Vec<PathBuf> = session.config()?.organize.rules.iter().map(PathBuf::from).collect();
    let files = if files.is_empty() { &set } else { files };
    if files.is_empty() {
        let hint = "name one, or list yours in the setting `organize.rules`";
        return Err(Failure::usage("no rule file was given", hint));
    }
    let checked = session.here(false, |context| {
        let mut checked = Vec::with_capacity(files.len());
        for file in files {
            let name = file.display().to_string();
            let text = outside(file)?;
            let given = match &text {
                Some(text) => {
                    let is_note =
                        file.extension().is_some_and(|end| end.eq_ignore_ascii_case("md"));
                    let source = if name == "-" { "stdin" } else { &name };
                    RulesInput::Text { text, source, is_note }
                }
                None => RulesInput::File(&name),
            };
            checked.push(check(context, given)?);
        }
        Ok(checked)
    })?;
    let found = checked.iter().map(|one| one.found.len()).sum::<usize>();
    let data: Vec<_> = checked.iter().map(data).collect();
    let text: Vec<_> = checked.iter().map(words).collect();
    session.output.answer(&json!({ "files": data }), text.join("\n\n"))?;
    Ok(if found > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// A name that is not a file here is a file in the vault, or a rule.
fn absolute(file: &str) -> String {
    let here = dunce::canonicalize(file).ok().filter(|path| path.is_file());
    here.and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_else(|| file.to_owned())
}

fn list(session: &Session) -> Result<()> {
    let params = RulesListParams::default();
    let found = session.ask_or(&params, false, |calls| methods::rules::list(calls, &params))?;
    let mut text: Vec<String> = found.rules.iter().map(described).collect();
    if text.is_empty() {
        text.push(
            "No rule runs automatically. To enable one: steward organize rules enable FILE".into(),
        );
    } else if let Some(held) = &found.held {
        text.push(format!("None of them runs now: {held}."));
    }
    session.output.answer(&found, text.join("\n\n"))
}

fn described(rule: &EnabledRuleInfo) -> String {
    let mut text = format!("{}  {}  {}\n  {}", rule.name, rule.state, rule.source, rule.does);
    let trash = match (rule.actions.iter().any(|one| one == "trash"), rule.with_trash) {
        (true, true) => ", to the trash without asking",
        (true, false) => ", asks before the trash",
        _ => "",
    };
    let _ = write!(text, "\n  May touch: {}{trash}.", rule.folders.join(", "));
    if let Some(reason) = &rule.reason {
        let _ = write!(text, "\n  Does not run: {reason}.");
    }
    if let Some(plan) = rule.waiting {
        let _ = write!(text, "\n  Plan {plan} waits for you: steward organize show {plan}");
    }
    text
}

fn enable(session: &Session, params: RulesEnableParams, yes: bool) -> Result<()> {
    let make = |params: &RulesEnableParams| {
        let work = |calls: &Calls| methods::rules::enable(calls, params.clone(), PROGRAM);
        session.ask_or(params, false, work)
    };
    let shown = make(&RulesEnableParams { dry_run: true, ..params.clone() })?;
    let text: Vec<String> = shown.rules.iter().map(described).collect();
    let question = match &shown.rules[..] {
        [rule] => format!("run `{}` automatically from now on", rule.name),
        rules => format!("run these {} rules automatically from now on", rules.len()),
    };
    if !agreed(yes, &text.join("\n\n"), &question)? {
        return Err(Failure::other("denied", "nothing was enabled", ""));
    }
    let hashes = shown.rules.iter().map(|rule| rule.hash.clone()).collect();
    let enabled = make(&RulesEnableParams { agreed: hashes, ..params })?;
    let mut text: Vec<String> = enabled.rules.iter().map(described).collect();
    text.push(
        "Enabled for notes that change from now on; for the existing notes, make a plan."
            .to_owned(),
    );
    session.output.answer(&enabled, text.join("\n\n"))
}

fn disable(session: &Session, name: &str) -> Result<()> {
    let params = RulesDisableParams { name: name.to_owned() };
    let found = session.ask_or(&params, false, |calls| methods::rules::disable(calls, &params))?;
    session.output.answer(&found, format!("`{name}` no longer runs automatically."))
}

fn diff(session: &Session, name: Option<&str>) -> Result<()> {
    let params = RulesListParams { diff: true };
    let mut found = session.ask_or(&params, false, |calls| methods::rules::list(calls, &params))?;
    found.rules.retain(|rule| name.is_none_or(|name| rule.name == name));
    if let Some(name) = name.filter(|_| found.rules.is_empty()) {
        let hint = "`steward organize rules list` shows those that are";
        return Err(Failure::other("not_found", format!("no rule `{name}` is enabled"), hint));
    }
    let mut diffs: Vec<&str> = Vec::new();
    for diff in found.rules.iter().filter_map(|rule| rule.diff.as_deref()) {
        // Rules of one file share its diff.
        if !diffs.contains(&diff) {
            diffs.push(diff);
        }
    }
    let text = if diffs.is_empty() {
        "Nothing changed since the rules were enabled.".to_owned()
    } else {
        diffs.join("\n")
    };
    session.output.answer(&found, text)
}

fn marks(session: &Session, params: &RulesMarksParams) -> Result<()> {
    let found =
        session.ask_or(params, false, |calls| methods::rules::marks(calls, params.clone()))?;
    let mut text = Vec::new();
    for rule in &found.rules {
        let number = match (rule.files.len(), params.forget) {
            (0, false) => "processed no file yet".to_owned(),
            (0, true) => "had processed no file".to_owned(),
            (1, false) => "processed 1 file, and will not process it again".to_owned(),
            (1, true) => "will process this file again".to_owned(),
            (number, false) => format!("processed {number} files, and will not process them again"),
            (number, true) => format!("will process these {number} files again"),
        };
        let files = rule.files.iter().map(|file| format!("\n  {}", file.path));
        text.push(format!("{}  {}  {number}{}", rule.name, rule.source, files.collect::<String>()));
    }
    session.output.answer(&found, text.join("\n\n"))
}

/// The text of a file, if there is one of this name here and not only in the vault.
pub(super) fn outside(file: &Path) -> Result<Option<String>> {
    let mut bytes = Vec::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().lock().take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(file)
            .and_then(|open| open.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes))
    };
    match read {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let message = format!("could not read `{}`: {error}", file.display());
            return Err(Failure::other("io_error", message, "name a rule file or a note"));
        }
    }
    String::from_utf8(bytes).map(Some).map_err(|_| {
        let message = format!("`{}` is not text", file.display());
        Failure::other("binary_file", message, "save it as UTF-8")
    })
}

fn data(checked: &CheckedRules) -> serde_json::Value {
    let rules = checked.rules.iter().zip(&checked.fits).map(|(rule, fits)| {
        json!({ "name": rule.name, "hash": rule.hash, "does": sentence(rule), "fits": fits })
    });
    let found = checked.found.iter().map(|one: &Diagnostic| {
        let severity = if one.severity == Severity::Error { "error" } else { "warning" };
        json!({
            "kind": one.kind.as_str(), "severity": severity, "message": one.message, "hint": one.hint,
            "line": one.line, "column": one.column,
        })
    });
    json!({
        "source": checked.source, "rules": rules.collect::<Vec<_>>(), "found": found.collect::<Vec<_>>(),
    })
}

fn words(checked: &CheckedRules) -> String {
    let mut text = String::new();
    for (rule, fits) in checked.rules.iter().zip(&checked.fits) {
        let files = counted(*fits, "file");
        let _ = writeln!(text, "{}\n  {}\n  Fits {files} now.\n", rule.name, sentence(rule));
    }
    for found in &checked.found {
        let _ = writeln!(text, "{}\n", found.render(&checked.source));
    }
    let count = |severity| checked.found.iter().filter(|one| one.severity == severity).count();
    let counted_text = |count: usize, what: &str| match count {
        0 => String::new(),
        count => format!(", {}", counted(count, what)),
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let rules = checked.rules.len();
    let _ = write!(
        text,
        "{}: {}{}{}",
        checked.source,
        counted(rules, "rule"),
        counted_text(errors, "error"),
        counted_text(warnings, "warning"),
    );
    text
}
