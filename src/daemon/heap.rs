//! What the allocator may keep of memory that is free again.
//!
//! The C library's allocator gives each thread an arena of its own, and keeps at the end of each as much
//! as the largest piece that was ever given back: after a start with a hundred thousand notes fifty
//! megabytes that nobody uses. So there are two arenas, as there are rarely more than two threads at work
//! at once, and what is free at an arena's end goes back to the system.
#![expect(unsafe_code, reason = "three numbers for the C library, which takes them at any time")]

/// Arenas for all threads together.
const ARENAS: i32 = 2;

/// Bytes that an arena may keep at its end, and bytes from which on a piece lies for itself.
const KEPT: i32 = 128 << 10;

/// Bounds what is kept. To be called before there are other threads: arenas that there are stay.
pub fn bound() {
    for (parameter, value) in [
        (libc::M_ARENA_MAX, ARENAS),
        (libc::M_TRIM_THRESHOLD, KEPT),
        (libc::M_MMAP_THRESHOLD, KEPT),
    ] {
        // SAFETY: mallopt takes two numbers and refuses what it does not know.
        if unsafe { libc::mallopt(parameter, value) } == 0 {
            tracing::debug!(parameter, value, "the allocator does not take this");
        }
    }
}
