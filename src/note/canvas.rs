//! A canvas (JSON Canvas 1.0): which files its nodes show and which links its cards hold.

use serde_json::Value;

use super::link::is_external;
use super::markdown;

/// What a canvas holds that leads into the vault.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Canvas {
    /// In the order of the nodes.
    pub links: Vec<CanvasLink>,
}

/// A file that a node shows, or a link in a card's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CanvasLink {
    /// Which node, as a JSON path: `nodes[3].file`, `nodes[4].text`.
    pub node: String,
    /// The number of the node, from 0.
    pub number: usize,
    /// What it names: for a file node the whole path from the vault's root, for a card a linkpath.
    pub path: String,
    /// The part of it meant, with its `#`; empty: all.
    pub subpath: String,
    /// Whether `path` is a whole path, which is not resolved as a link.
    pub is_file: bool,
}

/// A canvas that is no JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a canvas: {reason}")]
pub struct CanvasError {
    /// What the parser says.
    pub reason: String,
}

/// Reads a canvas. An empty file is an empty canvas, as Obsidian makes them.
///
/// # Errors
/// [`CanvasError`] if it is no JSON object. Nodes of an unknown kind are
/// passed over.
pub fn read(text: &str) -> Result<Canvas, CanvasError> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Ok(Canvas::default());
    }
    let file: Value =
        serde_json::from_str(text).map_err(|error| CanvasError { reason: error.to_string() })?;
    if !file.is_object() {
        return Err(CanvasError { reason: "it is no object".to_owned() });
    }
    let mut links = Vec::new();
    let nodes = file.get("nodes").and_then(Value::as_array);
    for (number, node) in nodes.into_iter().flatten().enumerate() {
        let field = |name: &str| node.get(name).and_then(Value::as_str);
        match field("type") {
            Some("file") => links.extend(field("file").map(|path| CanvasLink {
                node: format!("nodes[{number}].file"),
                number,
                path: path.to_owned(),
                subpath: field("subpath").unwrap_or_default().to_owned(),
                is_file: true,
            })),
            Some("text") => card(&mut links, number, field("text").unwrap_or_default()),
            _ => {}
        }
    }
    Ok(Canvas { links })
}

fn card(links: &mut Vec<CanvasLink>, number: usize, text: &str) {
    for link in markdown::read(text).links.iter().filter(|link| link.counts()) {
        let path = link.linkpath(text);
        if link.kind.is_wiki() || !is_external(&path) {
            links.push(CanvasLink {
                node: format!("nodes[{number}].text"),
                number,
                path: path.into_owned(),
                subpath: link.subpath(text).into_owned(),
                is_file: false,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_cards() {
        let text = r##"{"nodes":[{"id":"1","type":"group","label":"[[no]]"},
            {"type":"file","file":"a/b.md","subpath":"#h"},
            {"type":"text","text":"[[c#d|e]] `[[no]]` [x](f%20g.md) [y](https://z)"},
            {"type":"link","url":"https://x"}, 5]}"##;
        let found: Vec<_> = read(text)
            .expect("a canvas")
            .links
            .into_iter()
            .map(|link| (link.node, link.path + &link.subpath, link.is_file))
            .collect();
        let node = |node: &str, path: &str, file| (node.to_owned(), path.to_owned(), file);
        assert_eq!(
            found,
            [
                node("nodes[1].file", "a/b.md#h", true),
                node("nodes[2].text", "c#d", false),
                node("nodes[2].text", "f g.md", false)
            ]
        );
        assert_eq!(read(" \n"), Ok(Canvas::default()));
        assert!(read("[]").is_err() && read("{").is_err());
    }
}
