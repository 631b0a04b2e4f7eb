//! The slash commands, such as `/new`.

use strsim::damerau_levenshtein;

use crate::protocol::proposals::ProposalPart;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    New,
    End,
    /// Undo the changes of the last turn.
    Undo,
    /// Show what the agent proposed.
    Proposals,
    /// Apply what it proposed, or these parts.
    Apply(Vec<ProposalPart>),
    Reject(Vec<ProposalPart>),
    /// Show the model, or choose another one.
    Model(Option<String>),
    /// Show the agents, or choose the one that answers in this conversation.
    Agent(Option<String>),
    /// Show the tool calls of the last turn, or one of them, in full.
    Tools(Option<usize>),
    /// List conversations, or continue one.
    Conversations(Option<String>),
    Usage,
    Trash,
    Yes,
    Always,
    /// Refuse, with an optional comment.
    No(Option<String>),
    Quit,
    Help,
}

/// A line that looks like a command but is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error("there is no command `/{name}`{}", near(near_names))]
    Unknown { name: String, near_names: Vec<&'static str> },
    #[error("`/{name}` {takes}")]
    Wrong { name: &'static str, takes: &'static str },
}

fn near(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`/{name}`")).collect();
    match &names[..] {
        [] => "; `/help` names them all".to_owned(),
        names => format!("; did you mean {}?", names.join(" or ")),
    }
}

/// Each command, its argument, and its description.
pub const COMMANDS: [(&str, &str, &str); 17] = [
    ("new", "", "start a new conversation"),
    ("end", "", "end this conversation; the next message starts a new one"),
    ("undo", "", "undo what the last turn changed"),
    ("proposals", "", "show what the agent proposes in the mode `plan`"),
    ("apply", "[N|N.HUNK…]", "apply what it proposes, or parts of it"),
    ("reject", "[N|N.HUNK…]", "reject what it proposes, or parts of it"),
    ("model", "[PROVIDER/MODEL]", "show the model, or switch to another one"),
    ("agent", "[NAME]", "show the agents, or choose who answers in this conversation"),
    ("tools", "[N]", "show the tool calls of the last turn, or one in full"),
    ("conversations", "[N]", "list conversations, or continue one"),
    ("usage", "", "show tokens used and what they cost"),
    ("trash", "", "list the trash; `steward restore` restores from it"),
    ("yes", "", "allow what you are asked, once"),
    ("always", "", "always allow it, where that is offered"),
    ("no", "[WHY NOT]", "refuse it, with a reason for the agent"),
    ("quit", "", "leave; also `exit`, Ctrl-D, or Ctrl-C twice"),
    ("help", "", "show this help"),
];

/// Parses a line; `None` if it is a message.
pub fn read(line: &str) -> Option<Result<Command, CommandError>> {
    // As in other shells.
    if matches!(line.trim(), "exit" | "quit" | "/exit") {
        return Some(Ok(Command::Quit));
    }
    let rest = line.trim().strip_prefix('/')?;
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    // A path such as `/home/ana` is not a command.
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphabetic()) {
        return None;
    }
    let argument = Some(argument.trim()).filter(|argument| !argument.is_empty());
    Some(command(name, argument))
}

/// The name of a prompt and what follows it, in a line that could be one: no built-in command has that name.
pub fn prompt(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim().strip_prefix('/')?;
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '-');
    let is_ours = name.eq_ignore_ascii_case("exit")
        || COMMANDS.iter().any(|(known, ..)| known.eq_ignore_ascii_case(name));
    (is_name && !is_ours).then_some((name, arguments.trim()))
}

fn command(name: &str, argument: Option<&str>) -> Result<Command, CommandError> {
    let lower = name.to_ascii_lowercase();
    let Some((name, takes, _)) = COMMANDS.iter().find(|(known, ..)| *known == lower) else {
        return Err(CommandError::Unknown { name: lower.clone(), near_names: near_names(&lower) });
    };
    if argument.is_some() && takes.is_empty() {
        return Err(CommandError::Wrong { name, takes: "takes nothing more" });
    }
    let number = |argument: &str| {
        let wrong = CommandError::Wrong { name, takes: "takes a number" };
        argument.parse::<usize>().map_err(|_| wrong)
    };
    let parts = || {
        let wrong = CommandError::Wrong { name, takes: "takes numbers, such as `1` or `2.3`" };
        ProposalPart::read_all(argument.unwrap_or_default()).ok_or(wrong)
    };
    Ok(match *name {
        "new" => Command::New,
        "end" => Command::End,
        "undo" => Command::Undo,
        "proposals" => Command::Proposals,
        "apply" => Command::Apply(parts()?),
        "reject" => Command::Reject(parts()?),
        "model" => Command::Model(argument.map(str::to_owned)),
        "agent" => Command::Agent(argument.map(str::to_owned)),
        "tools" => Command::Tools(argument.map(number).transpose()?),
        "conversations" => {
            Command::Conversations(argument.map(number).transpose()?.map(|n| n.to_string()))
        }
        "usage" => Command::Usage,
        "trash" => Command::Trash,
        "yes" => Command::Yes,
        "always" => Command::Always,
        "no" => Command::No(argument.map(str::to_owned)),
        "quit" => Command::Quit,
        _ => Command::Help,
    })
}

/// Commands with the same beginning, or else within two edits.
fn near_names(name: &str) -> Vec<&'static str> {
    let names = || COMMANDS.iter().map(|(known, ..)| *known);
    let matching: Vec<_> = names().filter(|known| known.starts_with(name)).collect();
    if !matching.is_empty() {
        return matching;
    }
    let most = (name.len() / 3).max(1);
    let mut near: Vec<_> = names().map(|known| (damerau_levenshtein(known, name), known)).collect();
    near.sort_unstable();
    near.into_iter().filter(|(slips, _)| *slips <= most).take(3).map(|(_, known)| known).collect()
}

pub fn help() -> String {
    let heads: Vec<String> =
        COMMANDS.iter().map(|(name, takes, _)| format!("/{name} {takes}")).collect();
    let width = heads.iter().map(String::len).max().unwrap_or(0);
    let lines =
        heads.iter().zip(COMMANDS).map(|(head, (.., does))| format!("{head:width$}  {does}"));
    let lines: Vec<String> = lines.collect();
    format!(
        "{}\nYour own prompts are commands, too: `steward prompts` lists them.\nAnything else is a message. End a line with \\ to continue it; Tab completes commands \
         and, after [[, the names of notes.",
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_distinguished_from_messages() {
        for line in ["exit", " quit\n", "/exit", "/quit"] {
            assert_eq!(read(line), Some(Ok(Command::Quit)), "{line:?}");
        }
        assert_eq!(read("exit strategy for the shed"), None);
        assert_eq!(read("/trash"), Some(Ok(Command::Trash)));
        assert_eq!(read("/new"), Some(Ok(Command::New)));
        assert_eq!(read("  /Tools 3 "), Some(Ok(Command::Tools(Some(3)))));
        assert_eq!(read("/conversations 12"), Some(Ok(Command::Conversations(Some("12".into())))));
        assert_eq!(read("/model a/b"), Some(Ok(Command::Model(Some("a/b".into())))));
        for message in ["hello", "/home/ana/Notes is full", "/", "/ new", "and /new", "/2"] {
            assert_eq!(read(message), None, "{message}");
        }
        for (name, ..) in COMMANDS {
            assert!(matches!(read(&format!("/{name}")), Some(Ok(_))), "{name}");
            assert!(help().contains(&format!("/{name}")));
        }
    }

    #[test]
    fn a_prompt_has_a_name_that_no_command_has() {
        assert_eq!(prompt(" /weekly-review  last week "), Some(("weekly-review", "last week")));
        assert_eq!(prompt("/übersetzen"), Some(("übersetzen", "")));
        for line in ["/new", "/Trash x", "/exit", "/home/ana", "/", "/ x", "summarize", "/a_b"] {
            assert_eq!(prompt(line), None, "{line}");
        }
    }

    #[test]
    fn the_reference_has_every_command() {
        let reference = include_str!("../../../docs/cli.md");
        for (name, ..) in COMMANDS {
            assert!(reference.contains(&format!("`/{name}`")), "{name}");
        }
    }

    #[test]
    fn a_misspelt_command_gets_a_suggestion() {
        for (typed, says) in [
            ("/udno", "there is no command `/udno`; did you mean `/undo`?"),
            ("/conv", "there is no command `/conv`; did you mean `/conversations`?"),
            ("/ne", "there is no command `/ne`; did you mean `/new`?"),
            ("/frobnicate", "there is no command `/frobnicate`; `/help` names them all"),
            ("/new x", "`/new` takes nothing more"),
            ("/tools all", "`/tools` takes a number"),
        ] {
            assert_eq!(read(typed).unwrap().unwrap_err().to_string(), says);
        }
    }
}
