//! The tools: one file each, one line each in the list below.
//!
//! Floor 5. A model, the chat view, the command line, an MCP client and a person
//! with a WebSocket client call the same tools with the same JSON and get the same answer.
//!
//! A tool's file holds its input and output types and `run`. The doc comments of the input are the
//! manual that a model reads; names, JSON Schemas, MCP listing, command-line flags and
//! documentation follow from the one definition. Other reads of the transports are in
//! [`mod@lookups`].
//!
//! Invariants: an answer depends on the caller only through what it may see; input is checked against its type before
//! anything happens; a panic in a tool is an error of that call alone.

mod base_lines;
mod clock;
mod context;
mod conversations;
mod departed;
mod destination;
pub mod enabled;
mod error;
mod facts;
mod graph;
mod history;
mod host;
mod image;
mod jobs;
mod long_line;
mod lookups;
mod mentions;
mod naming_conventions;
mod once_marks;
mod organize_events;
mod paging;
mod plans;
mod prelude;
mod read_update;
mod registry;
mod relinked;
pub mod rule_marks;
pub mod rules;
mod rules_input;
mod running_jobs;
mod same_names;
mod stop_job;
mod stored_job;
mod text_file;
pub mod time_text;
mod tool;
mod undo_job;

mod apply_patch;
mod apply_plan;
mod copy;
mod create_folder;
mod daily_note;
mod delete;
mod describe_vault;
mod directory_tree;
mod edit_file;
mod find_duplicates;
mod foreign;
mod get_active_note;
mod get_conversation;
mod get_file_info;
mod get_links;
mod get_properties;
mod link_mentions;
mod list_changes;
mod list_files;
mod list_jobs;
mod list_links;
mod list_tags;
mod list_trash;
mod memory_search;
#[path = "move.rs"]
mod move_;
mod open_note;
mod plan_changes;
mod query_notes;
mod read_file;
mod related_notes;
mod rename_tag;
mod restore;
mod rollback_job;
mod search_files;
mod search_notes;
mod set_properties;
mod show_plan;
mod suggest_names;
mod undo;
mod unlinked_mentions;
mod vault_outline;
mod write_file;

pub use apply_plan::ApplyPlan;
pub use clock::Clock;
pub use context::{Context, Settings};
pub use conversations::{ConversationItem, ConversationView};
pub use copy::Copy;
pub use daily_note::DailyNote;
pub use delete::Delete;
pub use describe_vault::DescribeVault;
pub use edit_file::EditFile;
pub use error::ToolError;
pub use facts::Facts;
pub use foreign::{External, Foreign};
pub use get_links::GetLinks;
pub use host::{Host, OpenNote};
pub use image::Image;
pub use jobs::settle;
pub use list_changes::ListChanges;
pub use list_files::ListFiles;
pub use list_jobs::ListJobs;
pub use list_tags::ListTags;
pub use list_trash::ListTrash;
pub use lookups::{Likely, likely, lookups, prompt_folders};
pub use memory_search::MemorySearch;
pub use move_::Move;
pub use organize_events::{Listeners, OrganizeEvent};
pub use plan_changes::PlanChanges;
pub use query_notes::QueryNotes;
pub use read_file::ReadFile;
pub use read_update::ReadUpdate;
pub use registry::{Definition, ForeignTools, Made, Registry, call};
pub use restore::Restore;
pub use rollback_job::RollbackJob;
pub use running_jobs::{JobProgress, RunningJobs};
pub use search_files::SearchFiles;
pub use search_notes::SearchNotes;
pub use show_plan::ShowPlan;
pub use stop_job::{StoppedJob, stop_job};
pub use suggest_names::{Proposed, SuggestNames, suggest_proposed};
pub use text_file::size;
pub use tool::{Answer, Basis, Names, Tier, Tool, ToolKind, Touch};
pub use undo::Undo;
pub use vault_outline::opening;
pub use write_file::WriteFile;

registry::tools! {
    apply_patch::ApplyPatch,
    apply_plan::ApplyPlan,
    copy::Copy,
    create_folder::CreateFolder,
    daily_note::DailyNote,
    delete::Delete,
    describe_vault::DescribeVault,
    directory_tree::DirectoryTree,
    edit_file::EditFile,
    find_duplicates::FindDuplicates,
    get_active_note::GetActiveNote,
    get_conversation::GetConversation,
    get_file_info::GetFileInfo,
    get_links::GetLinks,
    get_properties::GetProperties,
    link_mentions::LinkMentions,
    list_changes::ListChanges,
    list_files::ListFiles,
    list_jobs::ListJobs,
    list_links::ListLinks,
    list_tags::ListTags,
    list_trash::ListTrash,
    memory_search::MemorySearch,
    move_::Move,
    open_note::OpenNote,
    plan_changes::PlanChanges,
    query_notes::QueryNotes,
    read_file::ReadFile,
    related_notes::RelatedNotes,
    rename_tag::RenameTag,
    restore::Restore,
    rollback_job::RollbackJob,
    search_files::SearchFiles,
    search_notes::SearchNotes,
    set_properties::SetProperties,
    show_plan::ShowPlan,
    suggest_names::SuggestNames,
    undo::Undo,
    unlinked_mentions::UnlinkedMentions,
    vault_outline::VaultOutline,
    write_file::WriteFile,
}
