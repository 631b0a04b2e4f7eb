//! The files of a workflow: its definition, and the folder with a run's recording.

#![expect(
    clippy::disallowed_methods,
    reason = "files that a person names, read and written as they are"
)]

use std::path::Path;

use serde_json::{Value, json};

use super::{Failure, Result};
use crate::organize::workflow::MAX_BYTES;
use crate::protocol::workflows::WorkflowResult;
use crate::workflows::replay::Recording;
use crate::workflows::report::key;

/// The file in a recording's folder that describes the run.
const RUN: &str = "run.json";

/// Reads a definition; `-` is stdin.
pub fn definition(file: &Path) -> Result<String> {
    let bytes = if file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut bytes).map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    let shown = file.display();
    let bytes = bytes.map_err(|error| {
        Failure::other("io_error", format!("could not read `{shown}`: {error}"), "check its name")
    })?;
    if bytes.len() > MAX_BYTES {
        let hint = "split it into several";
        return Err(Failure::other("too_large", format!("`{shown}` is larger than 1 MB"), hint));
    }
    String::from_utf8(bytes).map_err(|_| {
        Failure::other("binary_file", format!("`{shown}` is not text"), "save it as UTF-8")
    })
}

/// Writes the recording of a run into a folder, which is created if it is missing: one file per
/// step, and one for the run.
pub fn write(folder: &Path, result: &WorkflowResult) -> Result<()> {
    if result.cut {
        let hint = "run it with `--direct` while no daemon runs, or with less to do";
        let message = "the run is too large to record through the daemon";
        return Err(Failure::other("too_large", message, hint));
    }
    let failed = |error: std::io::Error| {
        let message = format!("could not write into `{}`: {error}", folder.display());
        Failure::other("io_error", message, "check that the folder can be written")
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let put = |name: &str, value: &Value| {
        std::fs::write(folder.join(name), format!("{value:#}\n")).map_err(failed)
    };
    for step in &result.steps {
        if !matches!(&*step.state, "skipped" | "not_run") {
            let item = step.item.and_then(|item| usize::try_from(item).ok());
            put(&format!("{}.step.json", key(&step.step, item)), &json!(step))?;
        }
    }
    // Written last: a folder without this file is not a recording.
    put(
        RUN,
        &json!({
            "workflow": result.workflow,
            "dry_run": result.run.is_none(),
            "inputs": result.inputs,
            "now": result.now,
            "offset": result.offset,
        }),
    )
}

/// Refuses a folder that has a recording, before another run starts.
pub fn check_free(folder: &Path) -> Result<()> {
    let has_steps = std::fs::read_dir(folder).is_ok_and(|mut entries| {
        entries.any(|entry| {
            entry.is_ok_and(|entry| entry.file_name().to_string_lossy().ends_with(".json"))
        })
    });
    if has_steps {
        let message = format!("`{}` has a recording already", folder.display());
        let hint = "name another folder, or delete that one";
        return Err(Failure::other("already_exists", message, hint));
    }
    Ok(())
}

pub fn read(folder: &Path) -> Result<Recording> {
    let failed = |name: &Path, reason: String| {
        let message = format!("could not read `{}`: {reason}", name.display());
        Failure::other("io_error", message, "`--record` makes a recording")
    };
    let json = |name: &Path| -> Result<Value> {
        let text =
            std::fs::read_to_string(name).map_err(|error| failed(name, error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| failed(name, error.to_string()))
    };
    let mut whole = json(&folder.join(RUN))?;
    let entries = std::fs::read_dir(folder).map_err(|error| failed(folder, error.to_string()))?;
    let mut steps = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| failed(folder, error.to_string()))?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(".step.json")) {
            steps.push(json(&path)?);
        }
    }
    whole["steps"] = Value::Array(steps);
    serde_json::from_value(whole).map_err(|error| failed(folder, error.to_string()))
}
