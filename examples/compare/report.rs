//! The figures as rows: on the screen as they come, and as a page at the end.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// The part of the page after this heading is written by hand, and kept.
const BY_HAND: &str = "## What is missed, and why";

/// One figure compared with another.
pub struct Row {
    what: String,
    notes: usize,
    steward: String,
    compared: String,
    ratio: String,
    target: String,
    met: Option<bool>,
    /// The page with a profile, as a link from this one.
    why: Option<String>,
}

impl Row {
    /// `what`, in the vault of `notes` notes; 0 if the vault does not matter.
    pub fn new(what: impl Into<String>, notes: usize) -> Self {
        Self {
            what: what.into(),
            notes,
            steward: String::new(),
            compared: String::new(),
            ratio: String::new(),
            target: String::new(),
            met: None,
            why: None,
        }
    }

    /// The steward's time and the other program's, in milliseconds: the target is to be at least
    /// `least` times as fast.
    pub fn quicker(mut self, steward: f64, compared: f64, name: &str, least: f64) -> Self {
        let ratio = compared / steward;
        (self.steward, self.compared) = (time(steward), format!("{name} {}", time(compared)));
        self.ratio = format!("{}x", short(ratio));
        self.target = format!("≥ {}x", short(least));
        self.met = Some(ratio >= least);
        self
    }

    /// The same if the steward may take at most `most` times as long.
    pub fn within(mut self, steward: f64, compared: f64, name: &str, most: f64) -> Self {
        let ratio = steward / compared;
        (self.steward, self.compared) = (time(steward), format!("{name} {}", time(compared)));
        self.ratio = share(ratio);
        self.target = format!("≤ {}", share(most));
        self.met = Some(ratio <= most);
        self
    }

    /// The bytes that it uses, which may be at most `most` times those of `compared`.
    pub fn no_larger(mut self, steward: u64, compared: u64, name: &str, most: f64) -> Self {
        let megabytes = |bytes: u64| format!("{} MB", short(bytes as f64 / 1_048_576.0));
        let ratio = steward as f64 / compared as f64;
        (self.steward, self.compared) =
            (megabytes(steward), format!("{name} {}", megabytes(compared)));
        (self.ratio, self.target) = (share(ratio), format!("≤ {}", share(most)));
        self.met = Some(ratio <= most);
        self
    }

    /// Events per second; the target is at least `least` times as many.
    pub fn more(mut self, steward: f64, compared: f64, name: &str, least: f64) -> Self {
        let ratio = steward / compared;
        self.steward = format!("{} a second", short(steward));
        self.compared = format!("{name} {} a second", short(compared));
        self.ratio = format!("{}x", short(ratio));
        self.target = format!("≥ {}x", short(least));
        self.met = Some(ratio >= least);
        self
    }

    /// A figure without a comparison, with its maximum.
    pub fn alone(mut self, figure: f64, unit: &str, most: f64) -> Self {
        self.steward = format!("{} {unit}", short(figure));
        self.target = format!("≤ {} {unit}", short(most));
        self.met = Some(figure <= most);
        self
    }

    /// A share without a comparison, with its minimum.
    pub fn at_least(mut self, share: f64, least: f64) -> Self {
        (self.steward, self.target) = (short(share), format!("≥ {}", short(least)));
        self.met = Some(share >= least);
        self
    }

    /// Marks the row as one without a target.
    pub fn told(mut self) -> Self {
        (self.target, self.met) = (String::new(), None);
        self
    }

    fn verdict(&self) -> &'static str {
        match self.met {
            Some(true) => "met",
            Some(false) => "**missed**",
            None => "",
        }
    }

    fn place(&self) -> String {
        match self.notes {
            0 => String::new(),
            notes => thousands(notes),
        }
    }
}

/// A separate table for a subject with many rows.
struct Detail {
    heading: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Everything measured in one run.
#[derive(Default)]
pub struct Page {
    rows: Vec<Row>,
    details: Vec<Detail>,
    said: Vec<String>,
}

impl Page {
    /// Adds a figure.
    pub fn add(&mut self, row: Row) {
        println!(
            "  {:<58} {:>16}   {:<30} {:>9}  {:<10} {}",
            row.what,
            row.steward,
            row.compared,
            row.ratio,
            row.target,
            row.verdict().trim_matches('*'),
        );
        self.rows.push(row);
    }

    /// A line of a separate table, which starts with its first line.
    pub fn detail(&mut self, heading: &str, columns: &[&str], row: Vec<String>) {
        println!("    {heading}: {}", row.join("   "));
        let at = self.details.iter().position(|detail| detail.heading == heading);
        let at = at.unwrap_or_else(|| {
            let columns = columns.iter().map(|&column| column.to_owned()).collect();
            self.details.push(Detail { heading: heading.to_owned(), columns, rows: Vec::new() });
            self.details.len() - 1
        });
        self.details[at].rows.push(row);
    }

    /// Records something that was omitted, and why.
    pub fn say(&mut self, text: impl Into<String>) {
        let text = text.into();
        println!("  {text}");
        if !self.said.contains(&text) {
            self.said.push(text);
        }
    }

    /// The number of figures so far.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// The missed targets among the figures from this one on.
    pub fn missed_from(&self, first: usize) -> Vec<String> {
        let missed = self.rows[first..].iter().filter(|row| row.met == Some(false));
        missed.map(|row| format!("{}: {}", row.what, row.steward)).collect()
    }

    /// Links the page that shows why targets were missed, for the figures from this one on.
    pub fn explain_from(&mut self, first: usize, page: &str) {
        let missed = self.rows[first..].iter_mut().filter(|row| row.met == Some(false));
        missed.for_each(|row| row.why = Some(page.to_owned()));
    }

    /// The numbers of met targets and of all targets.
    pub fn met(&self) -> (usize, usize) {
        let decided = self.rows.iter().filter_map(|row| row.met);
        (decided.clone().filter(|met| *met).count(), decided.count())
    }

    /// Writes the page to `path`, keeping its hand-written part.
    ///
    /// # Errors
    ///
    /// The file system's.
    pub fn write(&self, path: &Path, about: &str) -> Result<()> {
        let before = fs::read_to_string(path).unwrap_or_default();
        let by_hand = before.find(BY_HAND).map_or("", |at| &before[at..]);
        let mut text = String::from("# How fast it is\n\n");
        text.push_str(about);
        let (met, all) = self.met();
        let _ = writeln!(text, "\n## Targets\n\n{met} of {all} are met.\n");
        text.push_str("| what | notes | steward | compared with | ratio | target | |\n");
        text.push_str("|---|---|---|---|---|---|---|\n");
        // Rows of one subject are grouped: all of its sizes.
        let first = |what: &str| self.rows.iter().position(|row| row.what == what);
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by_key(|row| (first(&row.what), row.notes));
        for row in rows {
            let why = row.why.as_ref().map(|why| format!(" ([where the time goes]({why}))"));
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {}{} |",
                row.what,
                row.place(),
                row.steward,
                row.compared,
                row.ratio,
                row.target,
                row.verdict(),
                why.unwrap_or_default()
            );
        }
        if !self.said.is_empty() {
            text.push('\n');
            self.said.iter().for_each(|line| {
                let _ = writeln!(text, "- {line}");
            });
        }
        for detail in &self.details {
            let _ = writeln!(text, "\n## {}\n", detail.heading);
            let _ = writeln!(text, "| {} |", detail.columns.join(" | "));
            let _ = writeln!(text, "|{}", "---|".repeat(detail.columns.len()));
            for row in &detail.rows {
                let cells = row.iter().map(|cell| cell.replace('|', "\\|"));
                let _ = writeln!(text, "| {} |", cells.collect::<Vec<_>>().join(" | "));
            }
        }
        let by_hand = if by_hand.is_empty() { BY_HAND } else { by_hand };
        let _ = write!(text, "\n{}\n", by_hand.trim_end());
        fs::write(path, text).with_context(|| format!("could not write `{}`", path.display()))
    }
}

/// Milliseconds, formatted for a person.
pub fn time(milliseconds: f64) -> String {
    match milliseconds {
        ms if ms < 0.001 => format!("{:.0} ns", ms * 1e6),
        ms if ms < 1.0 => format!("{} µs", short(ms * 1e3)),
        ms if ms < 10_000.0 => format!("{} ms", short(ms)),
        ms => format!("{} s", short(ms / 1e3)),
    }
}

/// A number with its significant digits.
pub fn short(number: f64) -> String {
    match number.abs() {
        n if n >= 10_000.0 => thousands(number.round() as usize),
        n if n >= 100.0 => format!("{number:.0}"),
        n if n >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

/// A ratio, as a fraction if it is small.
fn share(ratio: f64) -> String {
    if ratio > 0.0 && ratio < 0.4 {
        format!("1/{:.0}", 1.0 / ratio)
    } else {
        format!("{}x", short(ratio))
    }
}

/// A whole number in groups of three digits.
pub fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_right() {
        for (number, said) in [
            (0.004, "4.00 µs"),
            (0.25, "250 µs"),
            (12.345, "12.3 ms"),
            (12_345.0, "12.3 s"),
            (0.000_45, "450 ns"),
        ] {
            assert_eq!(time(number), said);
        }
        assert_eq!(thousands(100_000), "100,000");
        assert_eq!((share(0.05), share(0.97)), ("1/20".to_owned(), "0.97x".to_owned()));
    }

    #[test]
    fn a_page_says_what_is_missed_and_keeps_what_was_written_by_hand() {
        let folder = tempfile::tempdir().expect("room for a file");
        let path = folder.path().join("page.md");
        fs::write(&path, format!("old\n\n{BY_HAND}\n\nThe disk.\n")).expect("written");
        let mut page = Page::default();
        page.add(Row::new("b", 1_000).quicker(1.0, 30.0, "rg", 25.0));
        page.add(Row::new("a", 1_000).within(2.0, 1.0, "rg", 1.25));
        page.add(Row::new("b", 100).quicker(1.0, 20.0, "rg", 25.0));
        assert_eq!((page.missed_from(0).len(), page.missed_from(page.count()).len()), (2, 0));
        page.explain_from(2, "b.md");
        page.write(&path, "About.\n").expect("written");
        let text = fs::read_to_string(&path).expect("read");
        assert!(
            !text.contains("old") && text.ends_with(&format!("{BY_HAND}\n\nThe disk.\n")),
            "{text}"
        );
        assert!(text.contains("1 of 3 are met."), "{text}");
        let line = |start: &str| text.find(start).expect("a row");
        assert_eq!(text.matches("[where the time goes](b.md)").count(), 1, "{text}");
        assert!(line("| b | 100 |") < line("| b | 1,000 |"), "{text}");
        assert!(
            line("| b | 1,000 | 1.00 ms | rg 30.0 ms | 30.0x | ≥ 25.0x | met |") < line("| a |")
        );
    }
}
