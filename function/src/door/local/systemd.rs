//! Telling systemd how far the server is (`Type=notify`): one datagram to the socket it names, nothing where it names none.

/// The server listens, and has looked for its archive.
pub(crate) const READY: &str = "READY=1";
/// The server finishes what is under way.
pub(crate) const STOPPING: &str = "STOPPING=1";

/// Tells systemd, if it asked to be told.
#[cfg(unix)]
pub(crate) fn notify(state: &str) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET").filter(|socket| !socket.is_empty()) else { return };
    // It can only wait in vain, and then says so itself.
    if let Err(error) = send(&socket, state) {
        tracing::warn!(detail = %error, "systemd could not be told {state}");
    }
}

/// There is no systemd elsewhere.
#[cfg(not(unix))]
pub(crate) fn notify(_: &str) {}

#[cfg(unix)]
fn send(socket: &std::ffi::OsStr, state: &str) -> std::io::Result<()> {
    use std::os::unix::net::UnixDatagram;
    let sender = UnixDatagram::unbound()?;
    #[cfg(target_os = "linux")]
    {
        use std::os::linux::net::SocketAddrExt as _;
        use std::os::unix::ffi::OsStrExt as _;
        // A name that begins with @ is one outside of the file system.
        if let Some(name) = socket.as_bytes().strip_prefix(b"@") {
            let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
            return sender.send_to_addr(state.as_bytes(), &address).map(drop);
        }
    }
    sender.send_to(state.as_bytes(), socket).map(drop)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    use super::*;

    #[test]
    fn sockets_with_a_path_and_without_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let name = format!("wakashu-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let sockets = [UnixDatagram::bind(&path).unwrap(), UnixDatagram::bind_addr(&address).unwrap()];
        let names = [path.into_os_string(), format!("@{name}").into()];
        for (socket, name) in sockets.into_iter().zip(names) {
            send(&name, READY).unwrap();
            let mut heard = [0; 32];
            let length = socket.recv(&mut heard).unwrap();
            assert_eq!(&heard[..length], READY.as_bytes(), "{}", name.display());
        }
    }
}
