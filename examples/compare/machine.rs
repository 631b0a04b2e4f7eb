//! The machine used for the measurements.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::peers::Peers;

/// The machine, the programs and the day, as lines of a list.
pub fn described(steward: &Path, peers: &Peers) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut lines = vec![
        format!("Date: {}", chrono::Local::now().format("%Y-%m-%d")),
        format!("Machine: {cores} cores, {}, {}, {}", processor(), memory(), system()),
        format!("Load when it began: {}", load()),
        format!("Measured: {}", said(steward, "--version")),
    ];
    lines.extend(peers.versions().into_iter().map(|version| format!("Compared with: {version}")));
    lines.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
}

fn said(program: &Path, argument: &str) -> String {
    let output = Command::new(program).arg(argument).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.ok().filter(|text| !text.is_empty()).unwrap_or_else(|| "not told".to_owned())
}

fn processor() -> String {
    let told = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = told.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    match name {
        Some((_, name)) => name.trim().to_owned(),
        None => std::env::consts::ARCH.to_owned(),
    }
}

fn memory() -> String {
    let told = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = told.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes =
        line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    match kilobytes {
        Some(kilobytes) => format!("{} GB of memory", kilobytes >> 20),
        None => "memory not told".to_owned(),
    }
}

fn system() -> String {
    if cfg!(unix) { said(Path::new("uname"), "-sr") } else { std::env::consts::OS.to_owned() }
}

fn load() -> String {
    let told = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    match told.split(' ').next().filter(|load| !load.is_empty()) {
        Some(load) => load.to_owned(),
        None => "not told".to_owned(),
    }
}
