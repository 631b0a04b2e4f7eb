//! Links of canvases: changes only bytes inside the strings that contain them.

use super::{Decide, LinkReference, Replacement, Rewritten, rewrite_note};
use crate::note::canvas::{self, Piece, PieceKind};

/// Rewrites the links of a canvas: files that its nodes show, pictures behind groups, links in the
/// text of cards. An invalid canvas has no links.
pub fn rewrite_canvas(text: &str, decide: Decide<'_>) -> Rewritten {
    let mut rewritten = Rewritten::default();
    for piece in canvas::pieces(text).unwrap_or_default() {
        match piece.kind {
            PieceKind::File => {
                let reference = LinkReference { path: &piece.text, is_file: true, extension: true };
                let Some(goal) = decide(reference) else { continue };
                match goal.paths.first() {
                    None => rewritten.stuck.push((piece.number, piece.text.clone())),
                    Some(path) => {
                        let whole = 0..piece.text.len();
                        rewritten.edits.push(in_json(&piece, whole, path));
                        rewritten.links += 1;
                    }
                }
            }
            PieceKind::Card => {
                let inside = rewrite_note(&piece.text, decide);
                rewritten.links += inside.links;
                let edits = inside.edits.into_iter();
                rewritten.edits.extend(edits.map(|edit| in_json(&piece, edit.range, &edit.text)));
                let stuck = inside.stuck.into_iter();
                rewritten.stuck.extend(stuck.map(|(_, path)| (piece.number, path)));
            }
        }
    }
    rewritten.edits.sort_by_key(|edit| edit.range.start);
    rewritten
}

/// An edit of a string's text as an edit of the JSON it is written in.
fn in_json(piece: &Piece, range: std::ops::Range<usize>, text: &str) -> Replacement {
    let written = serde_json::Value::String(text.to_owned()).to_string();
    let inside = written[1..written.len() - 1].to_owned();
    Replacement { range: piece.raw(range.start)..piece.raw(range.end), text: inside }
}
