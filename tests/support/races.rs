//! An editor that saves at the same moment as the steward (cases 67 and 69).

use std::fs;
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use serde_json::json;
use vault_steward::note::code::ErrorCode;
use vault_steward::tools::{self, Context, Registry};

/// How a race ended, episode by episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ended {
    /// The steward's change was made.
    pub applied: usize,
    /// It was refused, since the editor was first.
    pub refused: usize,
}

/// How an editor saves.
pub type Save = fn(&Path, &str);

/// Truncates the file, then writes: what most editors do.
pub fn in_place(note: &Path, text: &str) {
    fs::write(note, text).expect("saved");
}

/// Writes a file next to it, then renames that over it: what careful editors and sync clients do.
pub fn by_rename(note: &Path, text: &str) {
    let temp = note.with_extension("swp");
    fs::write(&temp, text).expect("written");
    fs::rename(&temp, note).expect("renamed");
}

/// `episodes` times: the steward changes `note.md` while an editor saves it. The editor's text is
/// in the note afterwards, or in `recovery`; the steward's text is there, or the caller was told
/// that it is not.
///
/// # Errors
///
/// The episode in which a text was lost, and how.
pub fn race(
    context: &Context,
    place: &Path,
    recovery: &Path,
    episodes: usize,
    save: Save,
) -> Result<Ended, String> {
    let note = place.join("note.md");
    let mut ended = Ended::default();
    // The usual duration of the steward's change: the editor's save can hit any point of it.
    let mut usual = Duration::from_micros(200);
    for episode in 0..episodes {
        fs::write(&note, "base\n").expect("reset");
        context.vault.rescan().map_err(|error| error.to_string())?;
        let typed = format!("typed {episode}\n");
        let (tool, arguments) = if episode % 2 == 0 {
            let read = call(context, "read_file", json!({ "path": "note" }))?;
            let revision = read["revision"].clone();
            let write =
                json!({ "path": "note", "content": "steward\n", "expected_revision": revision });
            ("write_file", write)
        } else {
            let edit = json!({ "path": "note", "old_text": "base", "new_text": "steward" });
            ("edit_file", edit)
        };
        let start = Barrier::new(2);
        // The golden ratio spreads the moments evenly over the whole duration, and a little beyond.
        let moment = usual.mul_f64((episode as f64 * 0.618_033_988_75).fract() * 1.2);
        let (answer, took) = std::thread::scope(|scope| {
            let editor = scope.spawn(|| {
                start.wait();
                let begun = Instant::now();
                while begun.elapsed() < moment {
                    std::hint::spin_loop();
                }
                save(&note, &typed);
            });
            start.wait();
            let begun = Instant::now();
            let answer = Registry::built_in()
                .find(tool)
                .and_then(|tool| tools::call(tool, context, &arguments));
            let took = begun.elapsed();
            editor.join().expect("the editor ends");
            (answer, took)
        });
        usual = usual.mul_f64(0.9) + took.min(Duration::from_millis(20)).mul_f64(0.1);
        let text = fs::read_to_string(&note).map_err(|error| error.to_string())?;
        match answer {
            Ok(_) => ended.applied += 1,
            Err(error) if matches!(error.code, ErrorCode::StaleRevision | ErrorCode::NoMatch) => {
                ended.refused += 1;
                if text != typed {
                    return Err(format!("episode {episode}: refused, but the note holds {text:?}"));
                }
            }
            Err(error) => return Err(format!("episode {episode}: {error}")),
        }
        // The editor saved last (its text is there), or into the displaced version; then that must
        // have been rescued.
        let kept = text == typed || rescued(recovery).contains(&typed) || {
            context.vault.stop();
            rescued(recovery).contains(&typed)
        };
        if !kept {
            return Err(format!("episode {episode}: {typed:?} is lost, the note holds {text:?}"));
        }
    }
    Ok(ended)
}

fn call(
    context: &Context,
    tool: &str,
    arguments: serde_json::Value,
) -> Result<serde_json::Value, String> {
    let tool = Registry::built_in().find(tool);
    tool.and_then(|tool| tools::call(tool, context, &arguments))
        .map(|answer| answer.data.value())
        .map_err(|error| error.to_string())
}

fn rescued(recovery: &Path) -> Vec<String> {
    let entries = fs::read_dir(recovery).into_iter().flatten().flatten();
    entries.map(|entry| fs::read_to_string(entry.path()).expect("text")).collect()
}
