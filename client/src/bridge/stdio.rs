//! Standard input and output as a host gives them.

use tokio::io::{AsyncRead, AsyncWrite};

/// What a host is read from.
pub type Input = Box<dyn AsyncRead + Unpin + Send>;
/// What a host is written to.
pub type Output = Box<dyn AsyncWrite + Unpin + Send>;

/// Returns standard input and output. Where they are pipes or sockets, as hosts make them, no thread stands between.
#[must_use]
pub fn stdio() -> (Input, Output) {
    #[cfg(unix)]
    let (input, output) = (unix::input().ok().flatten(), unix::output().ok().flatten());
    #[cfg(not(unix))]
    let (input, output) = (None, None);
    (
        input.unwrap_or_else(|| Box::new(tokio::io::stdin())),
        output.unwrap_or_else(|| Box::new(tokio::io::stdout())),
    )
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsFd as _, OwnedFd};
    use std::os::unix::fs::FileTypeExt as _;

    use tokio::net::UnixStream;
    use tokio::net::unix::pipe::{Receiver, Sender};

    use super::{Input, Output};

    #[derive(PartialEq, Eq)]
    enum Kind {
        Pipe,
        Socket,
        Other,
    }

    fn kind(file: OwnedFd) -> io::Result<(Kind, OwnedFd)> {
        let file = File::from(file);
        let found = file.metadata()?.file_type();
        let kind = if found.is_fifo() {
            Kind::Pipe
        } else if found.is_socket() {
            Kind::Socket
        } else {
            Kind::Other
        };
        Ok((kind, file.into()))
    }

    fn socket(file: OwnedFd) -> io::Result<UnixStream> {
        let socket = std::os::unix::net::UnixStream::from(file);
        socket.set_nonblocking(true)?;
        UnixStream::from_std(socket)
    }

    pub(super) fn input() -> io::Result<Option<Input>> {
        Ok(match kind(io::stdin().as_fd().try_clone_to_owned()?)? {
            (Kind::Pipe, file) => Some(Box::new(Receiver::from_owned_fd(file)?)),
            (Kind::Socket, file) => Some(Box::new(socket(file)?)),
            (Kind::Other, _) => None,
        })
    }

    pub(super) fn output() -> io::Result<Option<Output>> {
        Ok(match kind(io::stdout().as_fd().try_clone_to_owned()?)? {
            (Kind::Pipe, file) => Some(Box::new(Sender::from_owned_fd(file)?)),
            (Kind::Socket, file) => Some(Box::new(socket(file)?)),
            (Kind::Other, _) => None,
        })
    }
}
