//! The commented settings file that `steward config init` writes.

#![expect(clippy::disallowed_methods, reason = "the settings file, which is never in a vault")]

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

/// The template: prose after `# `, settings at their defaults after a bare `#`, so that removing
/// the bare ones changes nothing. A test compares them with the defaults.
pub const TEMPLATE: &str = include_str!("template.toml");

/// Writes the file and creates its folders; never overwrites a file.
pub fn write(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(TEMPLATE.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::config::file::parse;

    fn uncommented() -> String {
        let line = |line: &str| match line.strip_prefix('#') {
            Some(setting) if !setting.is_empty() && !setting.starts_with(' ') => setting.to_owned(),
            _ => line.to_owned(),
        };
        TEMPLATE.lines().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn every_commented_default_is_the_default() {
        let path = Path::new("config.toml");
        assert_eq!(parse(TEMPLATE.as_bytes(), path).unwrap().config, Config::default());
        assert_eq!(parse(uncommented().as_bytes(), path).unwrap().config, Config::default());
    }

    #[test]
    fn every_setting_is_in_the_file() {
        let written: toml::Table = uncommented().parse().unwrap();
        let defaults = serde_json::to_value(Config::default()).unwrap();
        for (section, settings) in defaults.as_object().unwrap() {
            let Some(settings) = settings.as_object() else { continue };
            for (key, value) in settings {
                if value.is_null() {
                    assert!(TEMPLATE.contains(&format!("# {key} = ")), "{section}.{key}");
                } else {
                    assert!(written[section].get(key).is_some(), "{section}.{key} is missing");
                }
            }
        }
    }
}
