//! The socket itself: a ping compared with a bare TCP echo in a separate process.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::Ground;
use crate::report::{Page, Row};
use crate::timing::{Contender, side_by_side};

/// Bytes of a round trip, as many as a ping has.
const BYTES: usize = 64;

/// Requests in a row before the other one's turn.
const EACH: usize = 200;

/// Simultaneous clients, and how long each run takes.
const CLIENTS: usize = 64;
const LONG: Duration = Duration::from_secs(1);

/// Echoes until it is killed: the other process. Prints its port first.
///
/// # Errors
///
/// No port is free.
pub fn echo() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?.port());
        loop {
            let (mut stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::spawn(async move {
                let mut bytes = [0; BYTES];
                while stream.read_exact(&mut bytes).await.is_ok() {
                    if stream.write_all(&bytes).await.is_err() {
                        break;
                    }
                }
            });
        }
    })
}

/// A helper process, until dropped.
struct Helper(Child);

impl Helper {
    fn echo() -> Result<(Self, u16)> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.arg("--echo").stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        let said = child.stdout.take().context("its output is piped")?;
        BufReader::new(said).read_line(&mut line)?;
        let port = line.trim().parse().context("the echo says its port")?;
        Ok((Self(child), port))
    }

    /// Keeps a core awake, and yields it to any other process.
    fn spin() -> Option<Self> {
        let program = std::env::current_exe().ok()?;
        let mut command = Command::new("chrt");
        command.args(["--idle", "0"]).arg(program).arg("--spin");
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok().map(Self)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Echo(TcpStream);

impl Echo {
    fn connect(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        Ok(Self(stream))
    }

    fn ping(&mut self) -> Result<Duration> {
        let mut bytes = [b'x'; BYTES];
        let begun = Instant::now();
        self.0.write_all(&bytes)?;
        self.0.read_exact(&mut bytes)?;
        Ok(begun.elapsed())
    }
}

/// Round trips, on idle cores and on cores that are awake; and 64 clients at once.
///
/// # Errors
///
/// The daemon or the echo failed.
pub fn measure(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let daemon = ground.serve()?;
    let (_echo, port) = Helper::echo()?;
    let (mut client, mut bare) = (daemon.client()?, Echo::connect(port)?);
    let mut round_trips = || -> Result<(f64, f64)> {
        let times = side_by_side(
            vec![
                Contender::new("ping", EACH, || client.ping()),
                Contender::new("echo", EACH, || bare.ping()),
            ],
            ground.rounds,
        )?;
        Ok((times[0].1.median(), times[1].1.median()))
    };
    let name = "TCP echo";
    let (ping, echo) = round_trips()?;
    let what = "a ping over the WebSocket, cores idle";
    page.add(Row::new(what, ground.notes).within(ping, echo, name, 1.3));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let spinning: Option<Vec<Helper>> = (0..cores).map(|_| Helper::spin()).collect();
    match spinning {
        Some(spinning) => {
            let (ping, echo) = round_trips()?;
            drop(spinning);
            let what = "a ping over the WebSocket, cores awake";
            page.add(Row::new(what, ground.notes).within(ping, echo, name, 2.0));
        }
        None => page.say("`chrt` is not installed, so the cores were not kept awake for a ping"),
    }
    let (mut ours, mut theirs) = (0.0, 0.0);
    for _ in 0..3 {
        theirs += crowd((0..CLIENTS).map(|_| Echo::connect(port)), |echo| echo.ping().map(drop))?;
        ours += crowd((0..CLIENTS).map(|_| daemon.client()), |client| client.ping().map(drop))?;
    }
    let what = format!("pings of {CLIENTS} clients at once");
    page.add(Row::new(what, ground.notes).more(ours / 3.0, theirs / 3.0, name, 0.4));
    Ok(())
}

/// Requests per second of all clients together, each as fast as it can.
fn crowd<C: Send>(
    clients: impl Iterator<Item = Result<C>>,
    ask: impl Fn(&mut C) -> Result<()> + Sync,
) -> Result<f64> {
    let mut clients = clients.collect::<Result<Vec<C>>>()?;
    let start = Barrier::new(clients.len());
    let done: Result<Vec<usize>> = std::thread::scope(|scope| {
        let (start, ask) = (&start, &ask);
        let mut running = Vec::new();
        for client in &mut clients {
            running.push(scope.spawn(move || {
                start.wait();
                let begun = Instant::now();
                let mut done = 0;
                while begun.elapsed() < LONG {
                    ask(&mut *client)?;
                    done += 1;
                }
                anyhow::Ok(done)
            }));
        }
        running.into_iter().map(|one| one.join().expect("asking does not panic")).collect()
    });
    Ok(done?.iter().sum::<usize>() as f64 / LONG.as_secs_f64())
}
