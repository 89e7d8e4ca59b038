//! A gate in front of every call of a program under test: where calls stand is known, not guessed from the clock.

use std::io::Read as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long a call may take to reach the gate before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(30);

/// The gate. When it is dropped, calls no longer stop.
#[derive(Debug)]
pub struct CallGate {
    address: SocketAddr,
    arrived: Receiver<TcpStream>,
}

impl Default for CallGate {
    fn default() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, arrived) = channel();
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if sender.send(stream).is_err() {
                    break;
                }
            }
        });
        Self { address, arrived }
    }
}

impl CallGate {
    /// Returns the value of `WAKASHU_DRILL` with which a program's calls stop here.
    #[must_use]
    pub fn setting(&self) -> String {
        format!("hold:{}", self.address)
    }

    /// Waits until the next call stands at the gate.
    #[must_use]
    pub fn next(&self) -> HeldCall {
        HeldCall(self.arrived.recv_timeout(PATIENCE).expect("a call reaches the gate"))
    }
}

/// A call at the gate; it goes on when this is dropped.
#[derive(Debug)]
pub struct HeldCall(TcpStream);

impl HeldCall {
    /// Waits until the program has given the call up.
    pub fn wait_until_given_up(mut self) {
        self.0.set_read_timeout(Some(PATIENCE)).unwrap();
        assert_eq!(self.0.read(&mut [0]).unwrap_or(0), 0, "a call says nothing at the gate");
    }
}
