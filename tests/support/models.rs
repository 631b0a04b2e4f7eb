//! A server in place of a model that does what a test says, byte for byte, and records its
//! requests.
//!
//! On plain sockets, so that a connection can be cut, left hanging or closed without a word, and a
//! client that disconnects is noticed.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The server's steps, in order.
#[derive(Debug, Clone)]
pub enum Step {
    Bytes(Vec<u8>),
    Pause(Duration),
    /// Closes the connection in the middle.
    Cut,
    /// Sends nothing more, and notices when the client disconnects.
    Hang,
}

#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub steps: Vec<Step>,
    /// Closes the connection without an answer.
    pub refuse: bool,
}

impl Answer {
    pub fn stream(body: Vec<u8>) -> Self {
        Self::steps(vec![Step::Bytes(body)])
    }

    pub fn steps(steps: Vec<Step>) -> Self {
        let headers = vec![("content-type", "text/event-stream".to_owned())];
        Self { status: 200, headers, steps, refuse: false }
    }

    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        let steps = vec![Step::Bytes(body.to_string().into_bytes())];
        Self { status, headers, steps, refuse: false }
    }

    pub fn refused() -> Self {
        Self { refuse: true, ..Self::steps(Vec::new()) }
    }

    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

#[derive(Debug, Clone)]
pub struct Request {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The ordinal number of its connection, from 0.
    pub connection: usize,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

pub struct Server {
    pub url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    left: Receiver<Instant>,
}

impl Server {
    /// Gives the answers in turn, and the last one to all later requests.
    pub fn start(answers: Vec<Answer>) -> Self {
        Self::answering(move |number, _| answers[number.min(answers.len() - 1)].clone())
    }

    /// Answers each request, by its ordinal number, with `answer`.
    pub fn answering(answer: impl Fn(usize, &Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (leaving, left) = channel();
        let (asked, answers) = (Arc::clone(&requests), Arc::new(answer));
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let Ok(stream) = stream else { return };
                let (asked, answers) = (Arc::clone(&asked), Arc::clone(&answers));
                let leaving = leaving.clone();
                std::thread::spawn(move || serve(stream, number, &asked, &*answers, &leaving));
            }
        });
        Self { url, requests, left }
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// When the client disconnected from an answer that hangs or never ends.
    pub fn left(&self) -> Instant {
        self.left.recv_timeout(Duration::from_secs(10)).expect("the client leaves")
    }
}

fn serve(
    stream: TcpStream,
    connection: usize,
    asked: &Mutex<Vec<Request>>,
    answers: &dyn Fn(usize, &Request) -> Answer,
    leaving: &Sender<Instant>,
) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    while let Some(request) = read(&mut reader, connection) {
        let number = {
            let mut asked = asked.lock().unwrap();
            asked.push(request.clone());
            asked.len() - 1
        };
        let answer = answers(number, &request);
        if answer.refuse {
            let _ = stream.shutdown(Shutdown::Both);
            return;
        }
        let mut head = format!("HTTP/1.1 {} X\r\ntransfer-encoding: chunked\r\n", answer.status);
        for (name, value) in &answer.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if stream.write_all(format!("{head}\r\n").as_bytes()).is_err() {
            return;
        }
        for step in answer.steps {
            match step {
                Step::Bytes(bytes) => {
                    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                    chunk.extend([bytes.as_slice(), b"\r\n"].concat());
                    if stream.write_all(&chunk).is_err() {
                        // The client disconnected before.
                        let _ = leaving.send(Instant::now());
                        return;
                    }
                }
                Step::Pause(pause) => std::thread::sleep(pause),
                Step::Cut => {
                    let _ = stream.shutdown(Shutdown::Both);
                    return;
                }
                Step::Hang => {
                    // A read ends when the client closes.
                    let _ = reader.read(&mut [0]);
                    let _ = leaving.send(Instant::now());
                    return;
                }
            }
        }
        if stream.write_all(b"0\r\n\r\n").is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>, connection: usize) -> Option<Request> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    Some(Request { line: line.trim_end().to_owned(), headers, body, connection })
}
