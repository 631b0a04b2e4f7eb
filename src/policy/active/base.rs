//! Active content of a base: YAML with formulas.

use std::sync::LazyLock;

use regex::Regex;

use super::{ActiveContent, address, html};
use crate::note::frontmatter::scalars::{self, Scalar};

/// Functions of a base that render their argument.
static SHOWS: LazyLock<Regex> = LazyLock::new(|| {
    let built = Regex::new(r"(?i)\b(?:image|html)\b");
    built.expect("the pattern is a regular expression")
});

/// The active content of a base. `line` is the line number of its first line.
pub(super) fn found(yaml: &str, line: usize) -> Vec<ActiveContent> {
    let Some(scalars) = scalars::read(yaml) else {
        return vec![ActiveContent::unreadable(line, "a base", yaml)];
    };
    let mut found = Vec::new();
    for Scalar { key, value, line: own } in scalars {
        let line = line + own - 1;
        let is_shown = key.rsplit('.').next().is_some_and(|key| key.eq_ignore_ascii_case("image"));
        if is_shown || SHOWS.is_match(&value) || address::is_outside(&address::clean(&value)) {
            let text = format!("in a base `{key}: {value}`");
            found.push(ActiveContent::new(line, "base", &format!("{key}: {value}"), text));
        }
        found.extend(html::found(&value, |_| line));
    }
    found
}
