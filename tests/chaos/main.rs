//! The chaos suite: checks the same promises thousands of times during crashes, faults and races.
//!
//! Each part breaks one thing (the process, a system call, the power, another program, a name) at
//! every point or at many moments, and checks the whole vault afterwards. `scripts/chaos` runs them
//! all and prints one table; `docs/reliability.md` says what each part guarantees.
//!
//!     cargo test --features chaos --test chaos -- [PART…]
//!
//! The program starts itself again where a process has to die: `child` has those tasks.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

#[cfg(not(target_os = "linux"))]
compile_error!("the chaos suite breaks things by means that only Linux has");

mod caseless;
mod cases;
mod child;
mod containment;
mod crashes;
mod daemons;
mod disk;
mod editors;
mod faults;
mod jobs;
mod meanwhile;
mod model;
mod operation;
mod place;
mod power;
mod random;
mod report;
mod tree;

#[path = "../support/mod.rs"]
mod door;
#[path = "../support/machine.rs"]
mod machine;
#[path = "../support/races.rs"]
mod races;
#[path = "../cli/support.rs"]
#[allow(dead_code, reason = "each test program uses its part")]
mod support;
#[path = "../support/swap.rs"]
#[allow(dead_code, reason = "each test program uses its part")]
mod swap;
#[path = "../tools/vault.rs"]
#[allow(dead_code, reason = "each test program uses its part")]
mod vault;

use std::process::ExitCode;

use report::Part;

/// All parts, in the order in which they run.
const PARTS: &[Part] = &[
    Part { name: "editors", run: editors::run },
    Part { name: "containment", run: containment::run },
    Part { name: "model", run: model::run },
    Part { name: "caseless", run: caseless::run },
    Part { name: "crashes", run: crashes::run },
    Part { name: "jobs", run: jobs::run },
    Part { name: "meanwhile", run: meanwhile::run },
    Part { name: "faults", run: faults::run },
    Part { name: "looks", run: faults::looks },
    Part { name: "power", run: power::run },
    Part { name: "daemons", run: daemons::run },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(ended) = child::errand(&arguments) {
        return ended;
    }
    report::run(PARTS, &arguments)
}
