//! Versions of the programs that talk to each other.

/// The oldest plugin that the daemon of this version works with.
pub const MIN_PLUGIN: &str = "0.1.0";

/// A released version. What follows a `-` or `+` does not count: no two releases differ by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    major: u64,
    minor: u64,
    patch: u64,
}

impl Version {
    /// The version of this program.
    pub fn own() -> Self {
        Self::parse(env!("CARGO_PKG_VERSION")).expect("Cargo demands a version of three numbers")
    }

    /// `1.2.3`, also with a `v` before it, as tags have.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut numbers = text.split(['-', '+']).next()?.split('.').map(str::parse);
        let mut next = || numbers.next()?.ok();
        let version = Self { major: next()?, minor: next()?, patch: next()? };
        numbers.next().is_none().then_some(version)
    }

    /// The oldest version that this one has to work with: the previous minor version, or the first
    /// release.
    #[cfg(test)]
    pub fn oldest_partner(self) -> Self {
        let before = Self { minor: self.minor.saturating_sub(1), patch: 0, ..self };
        before.max(Self { major: 0, minor: 1, patch: 0 })
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        let read = |text| Version::parse(text);
        assert!(read("0.10.0") > read("0.9.9") && read("v1.0.0") > read("0.99.99"));
        assert_eq!(read("1.2.3-beta.1+5"), read("v1.2.3"));
        for none in ["", "1", "1.2", "1.2.3.4", "1.2.x", "-1.2.3", "latest"] {
            assert_eq!(read(none), None, "{none}");
        }
        assert_eq!(Version::own().to_string(), env!("CARGO_PKG_VERSION"));
    }

    /// Obsidian updates the plugin, a package manager the program: each works with the other of the minor
    /// version before.
    #[test]
    fn the_minor_version_before_is_supported() {
        let (own, oldest) = (Version::own(), Version::parse(MIN_PLUGIN).unwrap());
        assert!(oldest <= own.oldest_partner(), "{MIN_PLUGIN} is too new for {own}");
        let of = |text| Version::parse(text).unwrap().oldest_partner().to_string();
        assert_eq!(
            (of("0.1.4"), of("0.7.2"), of("1.0.3")),
            ("0.1.0".into(), "0.6.0".into(), "1.0.0".into())
        );
    }
}
