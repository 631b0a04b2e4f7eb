//! Third-party programs in the settings that the daemon runs.

use super::Config;
use crate::servers::ServerEntry;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsideProgram {
    /// The part of the settings, such as "the hook `x`".
    pub part: String,
    /// The program and its arguments; never empty.
    pub command: Vec<String>,
    /// Whether it works for the agent, so that Landlock must confine it. A hook is the person's
    /// own.
    pub is_held_in: bool,
}

/// All of them, in the order of the settings.
pub fn programs(config: &Config) -> Vec<OutsideProgram> {
    let hooks = config.hooks.commands.iter().map(|(name, hook)| OutsideProgram {
        part: format!("the hook `{name}`"),
        command: hook.command.clone(),
        is_held_in: false,
    });
    let guests = config.agents.0.iter().filter(|(_, agent)| agent.enabled && agent.is_guest());
    let guests = guests.map(|(name, agent)| OutsideProgram {
        part: format!("the agent `{name}`"),
        command: agent.command.clone(),
        is_held_in: true,
    });
    // A server at an address is not a program on this machine.
    let is_program = |entry: &ServerEntry| entry.enabled && entry.url.is_none();
    let servers = config.servers.entries.iter().filter(|(_, entry)| is_program(entry));
    let servers = servers.map(|(name, entry)| OutsideProgram {
        part: format!("the server `{name}`"),
        command: entry.line(),
        is_held_in: true,
    });
    hooks.chain(guests).chain(servers).collect()
}
