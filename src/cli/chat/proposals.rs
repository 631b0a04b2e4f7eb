//! The agent's proposals in the mode `plan`: shown after its turn, and applied or rejected by a
//! command.

use super::calls::changed;
use super::look::Look;
use super::markdown::style::Style;
use super::safe;
use super::talk::Chat;
use super::transcript::OutputPart;
use crate::cli::{Failure, Result};
use crate::note::counted::counted;
use crate::note::path::{visible, visible_lines};
use crate::protocol::proposals::{
    ProposalInfo, ProposalPart, ProposalsApplyParams, ProposalsListParams, ProposalsRejectParams,
    ProposedChange,
};

/// The most diff lines shown in total.
const MAX_LINES: usize = 200;

/// Shows the waiting proposals of this conversation; if a person asked, also says that there are
/// none.
pub async fn show(talk: &mut Chat<'_>, was_asked: bool) -> Result<()> {
    let mut waiting = Vec::new();
    if let Some(session_id) = talk.conversation.clone() {
        let params = ProposalsListParams { session_id: Some(session_id) };
        waiting = talk.link.call(&params).await?.waiting;
    }
    let proposals: Vec<_> = waiting.into_iter().flat_map(|one| one.proposals).collect();
    if proposals.is_empty() {
        return if was_asked {
            talk.view.remark(Style::DIM, "no proposed change waits in this conversation")
        } else {
            Ok(())
        };
    }
    let text = list_proposals(&proposals, talk.view.look);
    talk.view.show(vec![OutputPart::Remark(text)])?;
    let words = if talk.stays {
        "/apply applies all of it, /apply 1 or /apply 1.2 a part; /reject drops it"
    } else {
        "in `steward chat`, /apply applies it and /reject drops it"
    };
    talk.view.remark(Style::DIM, words)
}

/// Applies the waiting proposals, or parts of them.
pub async fn apply(talk: &mut Chat<'_>, only: Vec<ProposalPart>) -> Result<()> {
    let params = ProposalsApplyParams { session_id: conversation(talk)?, turn: None, only };
    let done = talk.link.call(&params).await?;
    let mut words = format!("applied {} of {}", done.applied, done.total);
    if let Some(set) = done.change_set {
        words.push_str(&format!("; `steward undo {set}` undoes it"));
    }
    talk.view.remark(Style::GREEN, &words)?;
    match done.failed {
        Some(why) => talk.view.remark(Style::RED, &safe::line(&why)),
        None => Ok(()),
    }
}

/// Rejects the waiting proposals, or parts of them.
pub async fn reject(talk: &mut Chat<'_>, only: Vec<ProposalPart>) -> Result<()> {
    let params = ProposalsRejectParams { session_id: conversation(talk)?, turn: None, only };
    let done = talk.link.call(&params).await?;
    talk.view.remark(Style::DIM, &format!("rejected {}; nothing was changed", done.rejected))
}

fn conversation(talk: &Chat<'_>) -> Result<String> {
    talk.conversation.clone().ok_or_else(|| {
        Failure::other(
            "unknown_session",
            "there is no current conversation",
            "send a message first",
        )
    })
}

/// The proposals with their diffs. Invisible characters are escaped, not removed: a person decides on what they see.
fn list_proposals(proposals: &[ProposalInfo], look: Look) -> String {
    let changes: usize = proposals.iter().map(|one| one.changes.len()).sum();
    let changes = counted(changes, "proposed change");
    let head = format!("? {changes}; nothing has been changed yet");
    let mut text = look.paint(Style::YELLOW, &head) + "\n";
    let mut room = MAX_LINES;
    for proposal in proposals {
        for change in &proposal.changes {
            text.push_str(&change_line(proposal.number, change));
            let several = change.hunks.len() > 1;
            let hunks =
                change.hunks.iter().map(|hunk| (several.then_some(hunk.number), &hunk.diff));
            let whole = (change.hunks.is_empty(), &change.diff);
            let diffs = hunks.chain([(None, whole.1)].into_iter().filter(|_| whole.0));
            for (hunk, diff) in diffs.filter(|(_, diff)| !diff.is_empty()) {
                if let Some(hunk) = hunk {
                    text.push_str(&format!("    {}.{hunk}\n", proposal.number));
                }
                text.push_str(&changed(&visible_lines(diff), room, look));
                room = room.saturating_sub(diff.lines().count());
            }
        }
    }
    text
}

fn change_line(number: u64, change: &ProposedChange) -> String {
    let from = change.from.as_deref().map(|from| format!("`{}` to ", visible(from)));
    let (from, action) = (from.unwrap_or_default(), change.action.replace('_', " "));
    format!("  {number}  {} {from}`{}`\n", visible(&action), visible(&change.path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::proposals::ProposedHunk;

    #[test]
    fn each_hunk_is_shown_with_its_number() {
        let hunk = |number, diff: &str| ProposedHunk { number, diff: diff.to_owned() };
        let hunks = vec![hunk(1, "@@ -1 +1 @@\n-a\n+b\n"), hunk(2, "@@ -9 +9 @@\n-c\n+d\n")];
        let edit = ProposedChange {
            action: "write".into(),
            path: "a.md".into(),
            hunks,
            ..Default::default()
        };
        let moved = ProposedChange {
            action: "move".into(),
            path: "c.md".into(),
            from: Some("b.md".into()),
            ..Default::default()
        };
        let info =
            |number, change| ProposalInfo { number, title: String::new(), changes: vec![change] };
        let look = Look { styled: false, live: false };
        let text = list_proposals(&[info(1, edit), info(2, moved)], look);
        assert_eq!(
            text,
            "? 2 proposed changes; nothing has been changed yet\n  1  write `a.md`\n    1.1\n    @@ -1 +1 @@\n    -a\n    +b\n    \
             1.2\n    @@ -9 +9 @@\n    -c\n    +d\n  2  move `b.md` to `c.md`\n"
        );
    }
}
