//! Output: answers to stdout, notices to stderr.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use clap::ValueEnum;
use serde::Serialize;

use super::failure::{Failure, Result};
use super::pager;
use crate::note::path::visible_lines;

/// The widest aligned table cell, in characters.
const WIDEST: usize = 60;

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Also into files and pipes
    Always,
    /// Not at all
    Never,
}

#[derive(Debug, Clone, Copy)]
pub struct Output {
    json: bool,
    color_stdout: bool,
    color_stderr: bool,
    quiet: bool,
    paged: bool,
}

/// The colours, by meaning.
#[derive(Debug, Clone, Copy)]
pub enum Paint {
    /// Names and headings.
    Bold,
    /// Success.
    Green,
    /// Warnings.
    Yellow,
    /// Failures.
    Red,
}

impl Output {
    /// JSON or text, coloured as `color` says.
    pub fn new(json: bool, color: Color) -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let on = |terminal: bool| match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && !set("NO_COLOR") && !dumb,
        };
        Self {
            json,
            color_stdout: on(io::stdout().is_terminal()),
            color_stderr: on(io::stderr().is_terminal()),
            quiet: false,
            paged: false,
        }
    }

    /// The same without notices, for later requests of a command that already printed them.
    pub fn quiet(&self) -> Self {
        Self { quiet: true, ..*self }
    }

    /// The same with a pager for answers longer than the terminal.
    pub fn paged(&self) -> Self {
        Self { paged: true, ..*self }
    }

    pub fn json(&self) -> bool {
        self.json
    }

    /// Whether stdout is coloured.
    pub fn color_stdout(&self) -> bool {
        self.color_stdout
    }

    /// Whether stderr is coloured, for the log.
    pub fn color_stderr(&self) -> bool {
        self.color_stderr
    }

    /// Prints a text to stdout and ends its last line. On a terminal, control sequences and invisible
    /// characters are escaped; into a file or pipe the text goes unchanged.
    pub fn text(&self, text: &str) -> Result<()> {
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        match io::stdout().is_terminal() {
            true if self.paged && pager::show(&visible(text)) => Ok(()),
            true => self.raw(format!("{}{end}", visible(text)).as_bytes()),
            false => self.raw(format!("{text}{end}").as_bytes()),
        }
    }

    pub fn raw(&self, bytes: &[u8]) -> Result<()> {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            written => Ok(written?),
        }
    }

    /// Prints one JSON value to stdout: indented on a terminal, one line into a pipe.
    pub fn json_value(&self, value: &impl Serialize) -> Result<()> {
        let text = if io::stdout().is_terminal() {
            serde_json::to_string_pretty(value)
        } else {
            serde_json::to_string(value)
        };
        self.text(&text.map_err(io::Error::from)?)
    }

    /// Prints `value` as JSON with `--json`, else `text`.
    pub fn answer(&self, value: &impl Serialize, text: impl AsRef<str>) -> Result<()> {
        if self.json { self.json_value(value) } else { self.text(text.as_ref()) }
    }

    /// `text`, coloured if stdout is.
    pub fn paint(&self, paint: Paint, text: impl Display) -> String {
        colored(self.color_stdout, paint, text)
    }

    /// Prints a failure: with `--json` as one JSON value on stdout, else as a line and a hint on stderr.
    pub fn report(&self, failure: &Failure) -> ExitCode {
        if self.json {
            // If stdout cannot be written either, the exit code remains.
            let _ = self.json_value(&failure.json());
        } else {
            self.error(&failure.message, failure.hint.as_deref());
        }
        ExitCode::from(failure.exit)
    }

    /// Prints an error and its hint to stderr. Lines after the first show its place in a text.
    fn error(&self, message: &str, hint: Option<&str>) {
        let mark = colored(self.color_stderr, Paint::Red, "error:");
        self.remark(&format!("{mark} {message}"));
        if let Some(hint) = hint {
            let mark = colored(self.color_stderr, Paint::Bold, "hint:");
            self.remark(&format!("{mark} {hint}"));
        }
    }

    pub fn notice(&self, notice: &str) {
        if self.quiet {
            return;
        }
        let mark = colored(self.color_stderr, Paint::Bold, "note:");
        self.remark(&format!("{mark} {notice}"));
    }

    /// Prints a line to stderr; ignores errors.
    fn remark(&self, line: &str) {
        let _ = writeln!(io::stderr().lock(), "{}", visible(line));
    }

    /// Formats rows as aligned columns, two spaces apart. A cell wider than [`WIDEST`] shifts only
    /// the rest of its row.
    pub fn table(&self, rows: &[Vec<String>]) -> String {
        let mut widths: Vec<usize> = Vec::new();
        for row in rows {
            for (column, cell) in row.iter().enumerate() {
                if widths.len() <= column {
                    widths.push(0);
                }
                let width = cell.chars().count();
                if width <= WIDEST {
                    widths[column] = widths[column].max(width);
                }
            }
        }
        let mut text = String::new();
        for (index, row) in rows.iter().enumerate() {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                line.push_str(&format!("{cell:<width$}  ", width = widths[column]));
            }
            let line = line.trim_end();
            match index {
                0 => text.push_str(&self.paint(Paint::Bold, line)),
                _ => text.push_str(line),
            }
            text.push('\n');
        }
        text
    }
}

/// Escapes control sequences and invisible characters, except the colours of [`Paint`].
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for (at, piece) in text.split('\u{1b}').enumerate() {
        let colour = ["[0m", "[1m", "[31m", "[32m", "[33m"];
        if at > 0 {
            let ours = colour.iter().any(|code| piece.starts_with(code));
            shown.push_str(if ours { "\u{1b}" } else { "\\u{1b}" });
        }
        shown.push_str(&visible_lines(piece));
    }
    shown
}

fn colored(on: bool, paint: Paint, text: impl Display) -> String {
    let code = match paint {
        Paint::Bold => 1,
        Paint::Green => 32,
        Paint::Yellow => 33,
        Paint::Red => 31,
    };
    if on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_a_terminal_but_our_own_colours() {
        let text = "\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}\u{1b}[2J a\u{202e}b\u{9b}1m\r\n\tc\rd 👩\u{200d}🌾\n";
        let shown = "\u{1b}[31mred\u{1b}[0m \\u{1b}]0;title\\u{7}\\u{1b}[2J a\\u{202e}b\\u{9b}1m\r\n\tc\\rd \
                     👩\u{200d}🌾\n";
        assert_eq!(visible(text), shown);
    }
}
