//! Whether the computer runs on battery. Linux shows that in files; on other systems it is always
//! false.

#![expect(clippy::disallowed_methods, reason = "files of the system, outside every vault")]

use std::fs;
use std::path::Path;

/// Linux's folder with the power supplies of the computer and its devices.
pub(super) const SUPPLIES: &str = "/sys/class/power_supply";

/// Whether a battery of the computer is being discharged while no mains is connected.
pub(super) fn is_on_battery(supplies: &Path) -> bool {
    let Ok(supplies) = fs::read_dir(supplies) else { return false };
    let mut is_discharging = false;
    for supply in supplies.flatten() {
        let is = |name: &str, value: &str| {
            fs::read_to_string(supply.path().join(name)).is_ok_and(|text| text.trim() == value)
        };
        if is("type", "Mains") && is("online", "1") {
            return false;
        }
        // A mouse's battery is listed there, too.
        is_discharging |=
            is("type", "Battery") && !is("scope", "Device") && is("status", "Discharging");
    }
    is_discharging
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Shows a supply with these files.
    pub fn show(supplies: &Path, name: &str, files: &[(&str, &str)]) {
        let folder = supplies.join(name);
        fs::create_dir_all(&folder).expect("made");
        for (file, text) in files {
            fs::write(folder.join(file), format!("{text}\n")).expect("written");
        }
    }

    #[test]
    fn only_a_battery_of_the_computer_without_mains_counts() {
        let battery = |status| [("type", "Battery"), ("scope", "System"), ("status", status)];
        let mains = |online| [("type", "Mains"), ("online", online), ("status", "")];
        let mouse = [("type", "Battery"), ("scope", "Device"), ("status", "Discharging")];
        for (supplies, expected) in [
            (&[] as &[[(&str, &str); 3]], false),
            (&[mains("0")], false),
            (&[mouse], false),
            (&[battery("Discharging")], true),
            (&[mouse, battery("Discharging"), mains("0")], true),
            (&[battery("Charging"), battery("Discharging")], true),
            // The plug supplies less than the computer uses.
            (&[battery("Discharging"), mains("1")], false),
            (&[mains("1"), battery("Discharging")], false),
            (&[battery("Charging"), mains("0")], false),
            (&[battery("Full")], false),
            (&[battery("Not charging")], false),
            (&[battery("Unknown")], false),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            for (number, files) in supplies.iter().enumerate() {
                show(folder.path(), &format!("SUPPLY{number}"), files);
            }
            assert_eq!(is_on_battery(folder.path()), expected, "{supplies:?}");
        }
        let folder = tempfile::tempdir().expect("a folder");
        assert!(!is_on_battery(&folder.path().join("missing")));
        show(folder.path(), "BAT0", &[("type", "Battery")]);
        assert!(!is_on_battery(folder.path()), "it does not say its status");
    }
}
