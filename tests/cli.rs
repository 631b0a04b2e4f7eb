//! The command line as a user meets it: the real program with its own home folder.
#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

#[path = "support/mod.rs"]
mod door;
#[path = "support/machine.rs"]
mod machine;
#[cfg(unix)]
#[path = "support/manual.rs"]
mod manual;
#[allow(dead_code, reason = "the tests of `llm` use all of it")]
#[path = "support/models.rs"]
mod models;
#[path = "support/posted.rs"]
mod posted;
#[allow(dead_code, reason = "the tests of the agent use all of it")]
#[path = "agent/script.rs"]
mod script;
#[path = "cli/support.rs"]
mod support;
// The name by which the other test programs use it.
#[cfg(unix)]
use support as home;
#[cfg(target_os = "linux")]
#[path = "support/terminal.rs"]
mod terminal;

#[path = "cli/agents.rs"]
mod agents;
#[path = "cli/automatic.rs"]
mod automatic;
#[path = "cli/call.rs"]
mod call;
#[path = "cli/chat.rs"]
mod chat;
#[path = "cli/chat_http.rs"]
mod chat_http;
#[cfg(target_os = "linux")]
#[path = "cli/chat_terminal.rs"]
mod chat_terminal;
#[path = "cli/client.rs"]
mod client;
#[cfg(target_os = "linux")]
#[path = "cli/confinement.rs"]
mod confinement;
#[path = "cli/conflicts.rs"]
mod conflicts;
#[path = "cli/conversations.rs"]
mod conversations;
#[path = "cli/daemon.rs"]
mod daemon;
#[path = "cli/discovery.rs"]
mod discovery;
#[path = "cli/doors.rs"]
mod doors;
#[path = "cli/drafts.rs"]
mod drafts;
#[cfg(target_os = "linux")]
#[path = "cli/endurance.rs"]
mod endurance;
#[cfg(target_os = "linux")]
#[path = "cli/full.rs"]
mod full;
#[cfg(target_os = "linux")]
#[path = "cli/guests.rs"]
mod guests;
#[cfg(target_os = "linux")]
#[path = "cli/handles.rs"]
mod handles;
#[path = "cli/history.rs"]
mod history;
#[cfg(unix)]
#[path = "cli/hooks.rs"]
mod hooks;
#[path = "cli/installed.rs"]
mod installed;
#[path = "cli/json.rs"]
mod json;
#[cfg(target_os = "linux")]
#[path = "cli/keyring.rs"]
mod keyring;
#[cfg(unix)]
#[path = "cli/knowledge.rs"]
mod knowledge;
#[path = "cli/links.rs"]
mod links;
#[path = "cli/live.rs"]
mod live;
#[path = "cli/llm.rs"]
mod llm;
#[path = "cli/logins.rs"]
mod logins;
#[cfg(target_os = "linux")]
#[path = "cli/looks.rs"]
mod looks;
#[path = "cli/memory.rs"]
mod memory;
#[cfg(unix)]
#[path = "cli/moved.rs"]
mod moved;
#[path = "cli/naming.rs"]
mod naming;
#[path = "cli/organize.rs"]
mod organize;
#[cfg(unix)]
#[path = "cli/pdfs.rs"]
mod pdfs;
#[path = "cli/plugin.rs"]
mod plugin;
#[path = "cli/policy.rs"]
mod policy;
#[path = "cli/prompts.rs"]
mod prompts;
#[path = "cli/proposals.rs"]
mod proposals;
#[path = "cli/query.rs"]
mod query;
#[cfg(target_os = "linux")]
#[path = "cli/readings.rs"]
mod readings;
#[cfg(unix)]
#[path = "cli/servers.rs"]
mod servers;
#[path = "cli/service.rs"]
mod service;
#[path = "cli/settings.rs"]
mod settings;
#[path = "cli/shape.rs"]
mod shape;
#[cfg(target_os = "linux")]
#[path = "cli/terminal_questions.rs"]
mod terminal_questions;
#[path = "cli/verbs.rs"]
mod verbs;
#[path = "cli/view.rs"]
mod view;
#[path = "cli/workflows.rs"]
mod workflows;
