//! The programs that the daemon is compared with: what a client without a daemon would start.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// The programs on this machine.
pub struct Peers {
    /// ripgrep; without it there is nothing to compare with.
    pub rg: PathBuf,
    /// fd, by either of its names.
    pub fd: Option<PathBuf>,
    /// Third-party servers with the same tools.
    pub servers: Vec<ServerPeer>,
    /// git, which changes many files at once.
    pub git: Option<PathBuf>,
}

/// A server with file tools that speaks MCP over stdio.
#[derive(Clone)]
pub struct ServerPeer {
    /// Its name here.
    pub name: &'static str,
    /// Its program.
    pub program: PathBuf,
    /// Whether it searches text.
    pub searches: bool,
}

impl Peers {
    /// Looks for them on the `PATH`.
    ///
    /// # Errors
    ///
    /// There is no ripgrep.
    pub fn find() -> Result<Self> {
        let Some(rg) = on_path("rg") else {
            bail!("ripgrep (`rg`) is not installed, so there is nothing to compare with");
        };
        let servers = [
            ("Node reference server", "mcp-server-filesystem", false),
            ("rust-mcp-filesystem", "rust-mcp-filesystem", true),
        ];
        let servers = servers.into_iter().filter_map(|(name, program, searches)| {
            Some(ServerPeer { name, program: on_path(program)?, searches })
        });
        let fd = on_path("fd").or_else(|| on_path("fdfind"));
        Ok(Self { rg, fd, servers: servers.collect(), git: on_path("git") })
    }

    /// The version of each, and the missing ones.
    pub fn versions(&self) -> Vec<String> {
        let mut said = vec![first_line(&self.rg)];
        match &self.fd {
            Some(fd) => said.push(first_line(fd)),
            None => said.push("fd is not installed".to_owned()),
        }
        for (name, program) in [
            ("Node reference server", "mcp-server-filesystem"),
            ("rust-mcp-filesystem", "rust-mcp-filesystem"),
        ] {
            match self.servers.iter().find(|server| server.name == name) {
                Some(server) if server.searches => said.push(first_line(&server.program)),
                Some(_) => said.push(format!("{name} on {}", first_line(Path::new("node")))),
                None => said.push(format!("{name} (`{program}`) is not installed")),
            }
        }
        said
    }
}

fn first_line(program: &Path) -> String {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let text = text.unwrap_or_default();
    text.lines().next().unwrap_or("a version that it does not tell").to_owned()
}

/// The path of `program`, if it is found.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let name = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path).map(|folder| folder.join(&name)).find(|found| found.is_file())
}

/// Runs a program to its end and reads all of its output, as its user would.
///
/// # Errors
///
/// It could not be started, or failed; finding nothing is not a failure.
pub fn run(command: &mut Command) -> Result<Duration> {
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    let output = command.output()?;
    let took = begun.elapsed();
    if !matches!(output.status.code(), Some(0 | 1)) {
        bail!("{command:?} ended with {}", output.status);
    }
    Ok(took)
}
