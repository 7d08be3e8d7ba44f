//! Helpers that the tests of the binary share: a served database in a process of its own, and a small client of the protocol.

#![allow(dead_code, reason = "each test uses its part")]

pub mod client;
mod settings;

use client::Client;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// `leafline serve` in a process of its own, killed when dropped.
pub struct TestServer {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
    /// Where it listens.
    pub address: SocketAddr,
}

impl TestServer {
    /// Serves `directory` on a free port, and returns once it listens.
    pub fn start(directory: &Path, options: &[&str]) -> TestServer {
        let mut child = Command::new(env!("CARGO_BIN_EXE_leafline"))
            .args(["serve", &directory.display().to_string(), "--port", "0", "--buffer-pool-size", "16M"])
            .args(options)
            .args(
                settings::test_variables()
                    .into_iter()
                    .flat_map(|(name, value)| ["--set".into(), format!("{name}={value}")]),
            )
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let address = loop {
            let line = lines.next().expect("the server says where it listens").expect("text");
            eprintln!("{line}");
            if let Some((_, rest)) = line.split_once("--host=127.0.0.1 --port=") {
                let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
                break SocketAddr::from(([127, 0, 0, 1], port.parse().expect("a port")));
            }
        };
        // Later output must not block the server.
        let said = Arc::<Mutex<Vec<String>>>::default();
        let heard = said.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                eprintln!("{line}");
                said.lock().expect("nobody panics with it").push(line);
            }
        });
        TestServer { child, lines: heard, address }
    }

    /// Waits until the server has said a line that contains `text`.
    pub fn wait_for_line(&self, text: &str) -> String {
        let begun = Instant::now();
        loop {
            if let Some(line) =
                self.lines.lock().expect("nobody panics with it").iter().find(|line| line.contains(text))
            {
                return line.clone();
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "the server never said {text:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// A connection as root without a password.
    pub fn connect(&self) -> Client {
        Client::connect(self.address, "root", "").expect("a connection")
    }

    /// Bytes of memory that the process has.
    pub fn resident_bytes(&self) -> u64 {
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", self.child.id())).expect("a process");
        let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
        pages.expect("a number of pages") * 4096
    }

    /// Ends the process as a power failure of its machine's software would: at once.
    pub fn kill(mut self) {
        self.child.kill().expect("a process");
        self.child.wait().expect("a process");
    }

    /// Waits until the process has ended by itself, and returns whether it ended well.
    pub fn ended(mut self) -> bool {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a process") {
                return status.success();
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "the server does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Asks the process to end, and returns whether it ended well.
    pub fn terminate(mut self) -> bool {
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs");
        self.child.wait().expect("a process").success()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
