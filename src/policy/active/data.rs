//! Active content of frontmatter, which is YAML, and of canvases, which are JSON.

use super::{ActiveContent, address, markdown};
use crate::note::canvas;
use crate::note::frontmatter::{self, scalars};

/// Words in names of properties whose value plugins load when they show the note.
const LOADED: &str = "cover banner image img thumb icon poster photo picture avatar background logo header hero \
    wallpaper src embed video audio media";

/// The active content of a canvas: pages, images, and the text of cards.
pub(super) fn canvas(text: &str) -> Vec<ActiveContent> {
    let Some(strings) = canvas::strings(text) else {
        return vec![ActiveContent::unreadable(1, "a canvas", text)];
    };
    let mut found = Vec::new();
    for string in strings {
        let address = address::clean(&string.value);
        if string.key == "url" && !address.is_empty() {
            found.push(ActiveContent::shown(string.line, "the page", &address));
        } else if !matches!(string.key.as_str(), "text" | "label") && address::is_outside(&address)
        {
            found.push(ActiveContent::shown(string.line, "the address", &address));
        } else {
            found.extend(at(string.line, markdown::prose(&string.value)));
        }
    }
    found
}

pub(super) fn note(text: &str) -> Vec<ActiveContent> {
    // Frontmatter, too: a renderer without it shows it as prose.
    let mut found = markdown::prose(text);
    if let Some(block) = frontmatter::find(text, 0) {
        let line = text[..block.yaml.start].matches('\n').count() + 1;
        found.extend(properties(&text[block.yaml], line));
    }
    found
}

/// The active content of a note's properties. `line` is the line number of the block's first line.
fn properties(yaml: &str, line: usize) -> Vec<ActiveContent> {
    let Some(scalars) = scalars::read(yaml) else {
        return vec![ActiveContent::unreadable(line, "frontmatter", yaml)];
    };
    let mut found = Vec::new();
    for scalar in scalars {
        let address = address::clean(&scalar.value);
        let key = scalar.key.to_lowercase();
        if LOADED.split(' ').any(|word| key.contains(word)) && address::is_outside(&address) {
            let text = format!("the property `{}: {address}`", scalar.key);
            found.push(ActiveContent::new(line + scalar.line - 1, "property", &address, text));
        }
        found.extend(at(line + scalar.line - 1, markdown::prose(&scalar.value)));
    }
    found
}

/// Sets the line number of findings.
fn at(line: usize, found: Vec<ActiveContent>) -> impl Iterator<Item = ActiveContent> {
    found.into_iter().map(move |found| ActiveContent { line, ..found })
}
