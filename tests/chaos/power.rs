//! The power fails, three hundred times, on ext4 and on xfs.
//!
//! A file system on a loop device is shut down by the call that xfstests uses for the same purpose
//! (`FS_IOC_SHUTDOWN` without a flush of its log): everything that was not durable is gone, at a
//! random moment. A child changes the vault at the same time and reports each change. After
//! mounting again and recovery, the vault is exactly as after the last acknowledged change, or as
//! after the one in progress.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::child::{self, Plan};
use crate::disk::{Disk, Make, command};
use crate::place::Place;
use crate::random::{self, Random};
use crate::report::{Line, Tally};
use crate::tree;

const CUTS: u64 = 150;

/// Cuts per file system, before it is created again.
const CUTS_ON_ONE: u64 = 30;

/// Once in this many cuts the steward's own files are on another file system, which survives: on
/// the same one, making them durable makes all earlier writes durable too.
const STATE_ELSEWHERE: u64 = 2;

const EXT4: Make = Make { kind: "ext4", program: &["mkfs.ext4", "-q", "-F"], size: "64M" };

/// The smallest size its tool allows.
const XFS: Make = Make { kind: "xfs", program: &["mkfs.xfs", "-q", "-f"], size: "304M" };

pub fn run() -> Vec<Line> {
    std::thread::scope(|scope| {
        let kinds = [scope.spawn(|| one(&EXT4)), scope.spawn(|| one(&XFS))];
        kinds.map(|kind| kind.join().expect("it ends")).into()
    })
}

fn one(make: &Make) -> Line {
    let kind = make.kind;
    let tally = Tally::new(format!("power cuts on {kind}"), CUTS);
    let acknowledged = AtomicU64::new(0);
    let (mut old, mut new) = (0, 0);
    let seed = random::seed().wrapping_add(kind.len() as u64);
    let mut cut = 0;
    while cut < tally.wanted() && !tally.given_up() {
        let disk = match Disk::new(make) {
            Ok(disk) => disk,
            Err(why) => return tally.not_run(format!("root, loop devices and {kind}: {why}")),
        };
        for _ in 0..CUTS_ON_ONE.min(tally.wanted() - cut) {
            cut += 1;
            match one_cut(&disk, seed.wrapping_add(cut << 20), cut, &acknowledged) {
                Ok(Now::Old) => old += 1,
                Ok(Now::New) => new += 1,
                Err(fault) => {
                    tally.bad(format!("{kind}, cut {cut}, seed {seed}: {fault}"));
                    // A failure would be found again at every later cut.
                    break;
                }
            }
            tally.count(1);
        }
    }
    let acknowledged = acknowledged.into_inner();
    tally.line(format!(
        "{acknowledged} changes acknowledged; the one under way gone {old} times, there {new} times"
    ))
}

/// The result of the change in progress.
enum Now {
    Old,
    New,
}

/// One cut; `number` distinguishes the lines of its texts from those of others.
fn one_cut(disk: &Disk, seed: u64, number: u64, acknowledged: &AtomicU64) -> Result<Now, String> {
    let mut random = Random::new(!seed);
    let mut place = Place::below(&disk.mounted());
    // Durable, like a vault that existed before.
    command("sync", &["-f"], &[&disk.mounted()])?;
    let elsewhere = tempfile::tempdir_in("/dev/shm").expect("a temporary folder");
    if number.is_multiple_of(STATE_ELSEWHERE) {
        place.state = elsewhere.path().to_owned();
    }
    let lines = number * 10_000;
    let mut plan = Plan::new(&place, seed, lines);
    let mut child = child::start("work", &place)
        .args([seed.to_string(), lines.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let output = BufReader::new(child.stdout.take().expect("piped"));
    // A thread reads everything: the child must never wait for us.
    let count = AtomicU64::new(0);
    let enough = 1 + random.below(24) as u64;
    let moment = Duration::from_micros(random.below(4_000) as u64);
    let refused = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            for line in output.lines() {
                match line {
                    Ok(line) if line == "ack" => count.fetch_add(1, Ordering::SeqCst),
                    Ok(line) => return Some(line),
                    Err(_) => break,
                };
            }
            None
        });
        while count.load(Ordering::SeqCst) < enough && !reader.is_finished() {
            std::thread::yield_now();
        }
        // Any moment will do: it falls anywhere in the changes that follow.
        std::thread::sleep(moment);
        let cut = shut_down(&disk.mounted());
        // Waits until it meets an error of the disk, which is at once.
        std::thread::sleep(Duration::from_millis(2));
        let _ = child.kill();
        let _ = child.wait();
        cut.map(|()| reader.join().expect("it ends"))
    })?;
    let count = count.into_inner();
    acknowledged.fetch_add(count, Ordering::Relaxed);
    // A refusal before the cut would be another kind of failure.
    if count < enough {
        return Err(format!("the child stopped before the cut: {refused:?}"));
    }
    disk.unmount()?;
    disk.mount()?;
    let recovered = child::start("recover", &place).output().expect("it runs");
    if !recovered.status.success() {
        let output = [recovered.stdout, recovered.stderr].concat();
        return Err(format!("recovery: {}", String::from_utf8_lossy(&output)));
    }
    let done: Vec<_> = (0..count).map(|_| plan.next().0).collect();
    let found = tree::read(&place.vault);
    let old = plan.tree().clone();
    let (under_way, _) = plan.next();
    let same =
        |one: &tree::Tree| tree::without_empty_trash(one) == tree::without_empty_trash(&found);
    if same(plan.tree()) {
        return Ok(Now::New);
    }
    if same(&old) {
        return Ok(Now::Old);
    }
    Err(format!(
        "after {count} acknowledged changes, {under_way:?} under way: it is not as before: {}; \
         nor as after: {}; the last before it: {:?}",
        tree::difference(&old, &found),
        tree::difference(plan.tree(), &found),
        &done[done.len().saturating_sub(4)..]
    ))
}

/// Cuts the power of the file system mounted at `place`.
///
/// Through Perl, which every Linux has: the call takes a pointer, and this project avoids unsafe
/// code.
fn shut_down(place: &Path) -> Result<(), String> {
    const SCRIPT: &str = r#"
        open(my $root, "<", $ARGV[0]) or die "open: $!";
        my $no_log_flush = pack("I", 2);
        defined ioctl($root, 0x8004587d, $no_log_flush) or die "ioctl: $!";
    "#;
    command("perl", &["-e", SCRIPT], &[place])
}
