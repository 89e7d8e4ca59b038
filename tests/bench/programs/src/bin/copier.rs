//! The floor of a bridge: lines from standard input to an HTTP server, and its answers back, with the standard library
//! alone. It knows no protocol, no errors and no second request at a time.
//!
//! `copier http://HOST:PORT/PATH`; the server must answer with `Content-Length`.

use std::error::Error;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).ok_or("usage: copier URL")?;
    let rest = address.strip_prefix("http://").ok_or("an address begins with http://")?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let stream = TcpStream::connect(host)?;
    stream.set_nodelay(true)?;
    let (mut answers, mut server) = (BufReader::with_capacity(64 << 10, stream.try_clone()?), stream);
    let mut output = std::io::stdout().lock();
    let (mut body, mut header) = (Vec::new(), String::new());
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let request = format!(
            "POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{line}",
            line.len()
        );
        server.write_all(request.as_bytes())?;
        let mut length = 0;
        loop {
            header.clear();
            answers.read_line(&mut header)?;
            let Some((name, value)) = header.split_once(':') else {
                if header.trim().is_empty() {
                    break;
                }
                continue;
            };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse()?;
            }
        }
        body.resize(length, 0);
        answers.read_exact(&mut body)?;
        if length > 0 {
            output.write_all(&body)?;
            output.write_all(b"\n")?;
            output.flush()?;
        }
    }
    Ok(())
}
