//! Linux's limits for watching folders.

#![expect(clippy::disallowed_methods, reason = "the system's limits, outside every vault")]

use super::checks::Doctor;
use crate::note::counted::counted;

pub(super) fn check(doctor: &Doctor<'_>, folders: usize) {
    let limit = |name: &str| -> Option<usize> {
        let path = format!("/proc/sys/fs/inotify/{name}");
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    let Some(watches) = limit("max_user_watches") else {
        return doctor.warn(
            "limits",
            "inotify's limits cannot be read",
            "if changes are noticed late, the system may not offer inotify",
        );
    };
    // Other programs (editors, sync tools, Obsidian itself) share the user's watches.
    if folders.saturating_mul(2) > watches {
        doctor.warn(
            "limits",
            format!(
                "{} to watch, and fs.inotify.max_user_watches is {watches}",
                counted(folders, "folder")
            ),
            format!("`sudo sysctl fs.inotify.max_user_watches={}`", (folders * 4).max(65_536)),
        );
    } else {
        doctor
            .ok("limits", format!("{watches} inotify watches for {}", counted(folders, "folder")));
    }
}
