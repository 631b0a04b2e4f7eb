//! The causes of a missed target: processor time and system calls of the daemon while it repeats the slow work.
//! Recorded with `perf`, written as small tables.
//!
//! In reading order: this file (the page), `taken` (`perf` and its output), `drive` (the daemon's
//! work).

mod drive;
mod taken;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::peers::on_path;
use crate::report::{Page, short, thousands};
use crate::rows::Ground;
use taken::Taken;

/// Profiles of one run, which become a page for each kind.
pub struct Profiles {
    perf: PathBuf,
    folder: PathBuf,
    about: String,
    /// The finished pages, by kind.
    pages: BTreeMap<String, String>,
}

impl Profiles {
    /// Profiles that are written to `folder`; `None`, with a message, if this machine has no
    /// `perf`.
    pub fn at(folder: &Path, about: &str, page: &mut Page) -> Option<Self> {
        let Some(perf) = on_path("perf") else {
            page.say("`perf` is not installed (Debian's package is `linux-perf`), so no profile was taken");
            return None;
        };
        let (folder, about) = (folder.to_owned(), about.to_owned());
        Some(Self { perf, folder, about, pages: BTreeMap::new() })
    }

    /// Records the profiles that show why targets of this kind were missed on this ground, and
    /// writes them; returns a link from the page to them, or `None` if a profile does not show it.
    ///
    /// # Errors
    ///
    /// The daemon failed, or the page cannot be written. Limits of `perf` are noted on the page.
    pub fn take(
        &mut self,
        kind: &str,
        missed: &[String],
        ground: &Ground<'_>,
        page: &mut Page,
    ) -> Result<Option<String>> {
        let mut taken_any = false;
        let mut text = String::new();
        let _ = writeln!(text, "\n## {} notes\n\nMissed:\n", thousands(ground.notes));
        missed.iter().for_each(|what| {
            let _ = writeln!(text, "- {what}");
        });
        for scene in drive::scenes(kind) {
            println!("    profile: {}", scene.name);
            match scene.taken(&self.perf, ground)? {
                Some(taken) => {
                    written(&mut text, scene.name, &taken);
                    taken_any = true;
                }
                None => page.say(format!("`perf` could not look at the daemon for `{kind}`")),
            }
        }
        if !taken_any {
            return Ok(None);
        }
        let whole = self.pages.entry(kind.to_owned()).or_insert_with(|| {
            format!(
                "# Where the time goes: {kind}\n\nWritten by `benches/compare --profile`. Shares are \
                 of the processor's time that the daemon took, kernel and program; a function that \
                 was put into another counts there.\n\n{}\n",
                self.about
            )
        });
        whole.push_str(&text);
        fs::create_dir_all(&self.folder)?;
        let path = self.folder.join(format!("{kind}.md"));
        fs::write(&path, whole).with_context(|| format!("could not write `{}`", path.display()))?;
        // The folder is next to the page.
        let folder = self.folder.file_name().unwrap_or_default().to_string_lossy();
        Ok(Some(format!("{folder}/{kind}.md")))
    }
}

/// One scene as tables.
fn written(text: &mut String, name: &str, taken: &Taken) {
    let times = taken.times.max(1) as f64;
    let _ = write!(text, "\n### {name}\n\n{} times", thousands(taken.times));
    let each = taken.took.as_secs_f64() * 1e3 / times;
    let _ = write!(text, " at {} ms each", short(each));
    if let Some(processor) = taken.processor {
        let each = processor.as_secs_f64() * 1e3 / times;
        let _ = write!(text, ", {} ms of them on a processor", short(each));
    }
    if let Some(switches) = taken.switches {
        let _ = write!(text, ", {} waits for something", short(switches as f64 / times));
    }
    text.push_str(".\n");
    if !taken.hot.is_empty() {
        text.push_str("\n| share | function | in |\n|---|---|---|\n");
        for hot in &taken.hot {
            let name = hot.name.replace('|', "\\|");
            let _ = writeln!(text, "| {:.1} % | `{name}` | {} |", hot.share, hot.place);
        }
    }
    if !taken.calls.is_empty() {
        text.push_str(
            "\n| call to the system | each time | of the time in calls |\n|---|---|---|\n",
        );
        for call in &taken.calls {
            let each = short(call.count as f64 / taken.traced.max(1) as f64);
            let _ = writeln!(text, "| `{}` | {each} | {:.1} % |", call.name, call.share);
        }
    }
}
