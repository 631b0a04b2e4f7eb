//! Where to check for newer versions, if a person asks for it.

use serde::{Deserialize, Serialize};

/// The repository of this build, which the release job sets.
const REPOSITORY: Option<&str> = option_env!("STEWARD_REPOSITORY");

/// The `[update]` section.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The address that reports the newest version; empty for the project's, if this build knows
    /// it.
    pub url: String,
}

impl Settings {
    /// The address to ask; `None` if neither the settings nor this build name one.
    pub fn address(&self) -> Option<String> {
        match self.url.trim() {
            "" => newest_release(REPOSITORY?),
            url => Some(url.to_owned()),
        }
    }
}

/// The address of a repository's newest release, for the supported host.
fn newest_release(repository: &str) -> Option<String> {
    let path = repository.trim_end_matches('/').strip_prefix("https://github.com/")?;
    Some(format!("https://api.github.com/repos/{path}/releases/latest"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_come_before_the_build() {
        let own = Settings { url: " http://127.0.0.1:1/newest ".to_owned() };
        assert_eq!(own.address().as_deref(), Some("http://127.0.0.1:1/newest"));
        let newest = newest_release("https://github.com/owner/name/").unwrap();
        assert!(newest.ends_with("/repos/owner/name/releases/latest"), "{newest}");
        assert_eq!(newest_release("https://example.org/owner/name"), None);
    }
}
