//! Checks whether the versions of plugin and daemon are compatible. Obsidian updates one, a package
//! manager the other, so either may be newer.
//!
//! The daemon decides for both and answers with a text, so that any version of the plugin can show
//! the command to run.

use serde_json::json;

use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::initialize::InitializeParams;
use crate::protocol::version::{MIN_PLUGIN, Version};

/// The name by which the plugin introduces itself.
const PLUGIN: &str = "obsidian";

/// Refuses a plugin that is too old for this daemon, and a client that this daemon of version `own` is too old for.
/// `update` says how the daemon's program is updated.
pub(super) fn check(params: &InitializeParams, own: &str, update: &str) -> Result<()> {
    let Some(info) = &params.client_info else { return Ok(()) };
    let refuse = |message: String, hint: String| {
        let detail = json!({ "daemon": own, "client": info.version, "minPlugin": MIN_PLUGIN });
        Err(ErrorObject::new(Kind::Outdated, message).hint(hint).detail(detail))
    };
    let is_plugin = info.name == PLUGIN;
    let client = if is_plugin { "the plugin in Obsidian" } else { "this client" };
    let version = Version::parse(&info.version);
    if is_plugin && version.is_some_and(|version| Some(version) < Version::parse(MIN_PLUGIN)) {
        let message = format!(
            "{client} is version {}, and the daemon, {own}, works with {MIN_PLUGIN} and later",
            info.version
        );
        return refuse(message, "`steward plugin update`, then restart Obsidian".to_owned());
    }
    let ours = params.client_capabilities.meta.as_ref().and_then(|meta| meta.vault.as_ref());
    let required = ours.and_then(|ours| Version::parse(ours.min_daemon.as_deref()?));
    match required {
        Some(required) if Some(required) > Version::parse(own) => {
            let message = format!(
                "{client} needs version {required} or later of the daemon, and this is version {own}"
            );
            refuse(
                message,
                format!("{update}; then `steward service restart`, or `steward serve` again"),
            )
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(name: &str, version: &str, min_daemon: Option<&str>, own: &str) -> Option<String> {
        let mut params = json!({
            "protocolVersion": 1, "clientInfo": { "name": name, "version": version },
        });
        if let Some(min) = min_daemon {
            params["clientCapabilities"] = json!({ "_meta": { "vault": { "minDaemon": min } } });
        }
        let params = serde_json::from_value(params).unwrap();
        let refused = check(&params, own, "`brew upgrade vault-steward`").err()?;
        assert_eq!(refused.data.kind, Kind::Outdated);
        Some(format!("{} ({})", refused.message, refused.data.hint.unwrap()))
    }

    #[test]
    fn the_older_of_the_two_is_named_with_its_command() {
        let old_plugin = refusal("obsidian", "0.0.9", None, "0.1.0").unwrap();
        assert!(
            old_plugin.contains("version 0.0.9") && old_plugin.contains("steward plugin update")
        );
        let old_daemon = refusal("obsidian", "0.4.0", Some("0.3.0"), "0.2.7").unwrap();
        assert!(
            old_daemon.contains("needs version 0.3.0")
                && old_daemon.contains("this is version 0.2.7")
        );
        assert!(
            old_daemon.contains("brew upgrade") && old_daemon.contains("steward service restart")
        );
        for (name, version, min_daemon, own) in [
            ("obsidian", "0.1.0", None, "0.1.0"),
            // The minor version before and after.
            ("obsidian", "0.1.3", Some("0.1.0"), "0.2.0"),
            ("obsidian", "0.2.0", Some("0.1.0"), "0.1.0"),
            ("another", "0.0.1", None, "0.1.0"),
            ("obsidian", "unknown", Some("unknown"), "0.1.0"),
        ] {
            assert_eq!(refusal(name, version, min_daemon, own), None, "{name} {version} {own}");
        }
    }
}
