//! The stable error codes, the same for every caller and every tool.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a call failed, as one stable word. Programs branch on it; the message is for people and may
/// change.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// Nothing is at the path, and no name is similar enough.
    NotFound,
    AmbiguousPath,
    /// The path is in a folder that tools never touch.
    ProtectedPath,
    OutsideVault,
    /// No file can have this name.
    InvalidPath,
    /// The arguments do not fit the tool or each other.
    InvalidInput,
    /// Something is already where a new thing should go.
    AlreadyExists,
    /// A file is needed, something else is there.
    NotAFile,
    /// A folder is needed, something else is there.
    NotAFolder,
    /// Larger than the tool handles.
    TooLarge,
    BinaryFile,
    /// The text to replace is not in the file.
    NoMatch,
    /// The text to replace is in the file more than once.
    MultipleMatches,
    /// The file changed since it was read.
    StaleRevision,
    /// The patch is malformed or does not fit the files.
    PatchFailed,
    /// The regular expression or glob is malformed.
    InvalidPattern,
    InvalidExpression,
    /// The operating system does not allow it.
    PermissionDenied,
    StorageFull,
    /// Any other failure of the file system.
    IoError,
    /// The policy or the person said no.
    Denied,
    /// A person has to agree first; the caller can ask for that agreement itself.
    ApprovalNeeded,
    /// A person has to agree first and has not answered yet; the same call may succeed once they have.
    ApprovalPending,
    /// It was called too often in too short a time.
    RateLimited,
    /// The caller withdrew the call.
    Cancelled,
    /// It took longer than it may.
    Timeout,
    /// Obsidian is not connected, and nothing else can do it.
    HostUnavailable,
    /// The plan has changed since, or no longer fits the vault.
    StalePlan,
    /// The operation is not possible in the job's state.
    WrongState,
    /// A plan would change more files than the settings allow.
    TooMany,
    /// A rule file is malformed, or a rule is invalid.
    InvalidRule,
}

// The codes on the wire, in the order of the reference.
words!(pub ErrorCode::as_str, ALL {
    NotFound => "not_found", AmbiguousPath => "ambiguous_path", ProtectedPath => "protected_path",
    OutsideVault => "outside_vault", InvalidPath => "invalid_path",
    InvalidInput => "invalid_input", AlreadyExists => "already_exists", NotAFile => "not_a_file",
    NotAFolder => "not_a_folder", TooLarge => "too_large", BinaryFile => "binary_file",
    NoMatch => "no_match", MultipleMatches => "multiple_matches",
    StaleRevision => "stale_revision", PatchFailed => "patch_failed",
    InvalidPattern => "invalid_pattern", InvalidExpression => "invalid_expression",
    PermissionDenied => "permission_denied", StorageFull => "storage_full", IoError => "io_error",
    Denied => "denied", ApprovalNeeded => "approval_needed", ApprovalPending => "approval_pending",
    RateLimited => "rate_limited", Cancelled => "cancelled", Timeout => "timeout",
    HostUnavailable => "host_unavailable", StalePlan => "stale_plan", WrongState => "wrong_state",
    TooMany => "too_many", InvalidRule => "invalid_rule",
});

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_is_what_serde_writes_and_reads() {
        for code in ErrorCode::ALL {
            let written = serde_json::to_value(code).unwrap();
            assert_eq!(written, code.as_str());
            assert_eq!(serde_json::from_value::<ErrorCode>(written).unwrap(), code);
        }
    }

    #[test]
    fn the_list_is_whole_and_without_repeats() {
        let schema = serde_json::to_string(&schemars::schema_for!(ErrorCode)).unwrap();
        for (at, code) in ErrorCode::ALL.iter().enumerate() {
            assert_eq!(*code as usize, at, "{code} stands out of order");
            assert!(schema.contains(&format!("\"{code}\"")), "{code}");
        }
        assert_eq!(ErrorCode::InvalidRule as usize + 1, ErrorCode::ALL.len());
    }
}
