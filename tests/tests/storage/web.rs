//! A store on a web host: whatever the host does, the good archive is kept, and the next good one is taken.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::json;
use tempfile::TempDir;
use wakashu_tests::{Collection, Pictures, Reply, Server, call, poem, program};

use super::outage::{status, wait_until};
use super::store::{open, runtime};
use wakashu_support::certificates::Authority;
use wakashu_support::web_server::{Lie, Marks, WebServer};

/// Two archives, and a folder they are published to in turn. Both are larger than what is taken whole.
struct Published {
    files: TempDir,
    archives: [PathBuf; 2],
}

impl Published {
    fn new() -> Self {
        let files = tempfile::tempdir().unwrap();
        let archives = [45, 46].map(|entries| {
            let path = files.path().join(format!("{entries}.wakashu"));
            let size = Pictures { small: 20_000, medium: 60_000, large: 100_000 };
            let collection = Collection::default().title(&entries.to_string()).round("第1回");
            let collection = collection.entries((1..=entries).map(|rank| poem(rank, Some(size))));
            std::fs::copy(collection.write(), &path).unwrap();
            path
        });
        let published = Self { files, archives };
        published.publish(0);
        published
    }

    fn folder(&self) -> PathBuf {
        self.files.path().join("store")
    }

    fn publish(&self, which: usize) {
        let mut command = Command::new(program("wakashu-indexer"));
        command.args(["publish", "--no-progress"]).args([&self.archives[which], &self.folder()]);
        let done = command.output().expect("the indexer starts");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    fn digest(&self, which: usize) -> String {
        open(&self.archives[which]).0.digest().to_string()
    }
}

fn serve(address: &str, more: &[(&'static str, &str)]) -> Server {
    let settings =
        [("WAKASHU_ARCHIVE", address), ("WAKASHU_PRELOAD_BYTES", "0"), ("WAKASHU_REFRESH_SECONDS", "1")];
    Server::serve_with(None, &settings.into_iter().chain(more.iter().copied()).collect::<Vec<_>>())
}

fn ranking(server: &Server) -> Reply {
    server.send(&call("get_wakashu_ranking", &json!({ "round_title": "1" })))
}

fn serves(server: &Server, digest: &str) -> bool {
    status(server)["digest"] == digest
}

/// Waits until the server says in its log what is wrong, and checks that it serves on what it has.
fn keeps(server: &Server, digest: &str, reason: &str) {
    wait_until(reason, || server.log().contains(reason));
    wait_until(&format!("stale: {reason}"), || status(server)["stale"] == true);
    assert!(serves(server, digest), "{reason}: {}", status(server));
    let reply = ranking(server);
    assert_eq!((reply.is_tool_error(), reply.pictures().len()), (false, 3), "{reason}: {}", reply.text());
}

#[test]
fn a_pointer_that_lies_changes_nothing() {
    let (runtime, published) = (runtime(), Published::new());
    let host = runtime.block_on(WebServer::start(published.folder(), None)).unwrap();
    let server = serve(&format!("http://{}", host.address()), &[]);
    let digest = published.digest(0);
    // Or it could say that nothing has changed.
    host.mark_by(Marks::None);
    assert_eq!(ranking(&server).pictures().len(), 3);
    for (lie, reason) in [
        (Lie::Page, "sends a web page (HTML) instead of the file"),
        (Lie::Header("Content-Encoding: gzip"), "sends it compressed"),
        (Lie::Status(503), "503"),
        (Lie::Redirect("http://example.org/".to_owned()), "redirects to `http://example.org/`"),
        (Lie::Another(published.archives[0].clone()), "are accepted"),
        (Lie::Status(404), "nothing is published there yet"),
        (Lie::Close, "cannot be reached"),
        (Lie::Hang, "did not answer within"),
    ] {
        host.lie("current.json", lie);
        keeps(&server, &digest, reason);
        host.heal();
        wait_until("it is fresh again", || status(&server)["stale"] == false);
    }
}

#[test]
fn an_archive_that_lies_is_not_taken() {
    let (runtime, published) = (runtime(), Published::new());
    let host = runtime.block_on(WebServer::start(published.folder(), None)).unwrap();
    let server = serve(&format!("http://localhost:{}/", host.address().port()), &[]);
    let mut which = 0;
    assert_eq!(ranking(&server).pictures().len(), 3);
    for (lie, reason) in [
        (Lie::IgnoresRanges, "ignores range requests, and the file is too large"),
        (Lie::ContentRange("bytes 0-{end}/{total}"), "sends the bytes 0 to"),
        (Lie::ContentRange("bytes {start}-{end}/99999999"), "has 99999999 bytes, but the pointer says"),
        (Lie::ContentRange(""), "does not say which"),
        (Lie::ShortAndHonest, "as a part of"),
        (Lie::Long, "are accepted"),
        (Lie::Short(1), "cannot be reached"),
        (Lie::Header("Content-Encoding: br"), "(`content-encoding: br`)"),
    ] {
        host.lie("/archives/", lie);
        published.publish(1 - which);
        keeps(&server, &published.digest(which), reason);
        host.heal();
        which = 1 - which;
        wait_until("the new one is taken", || serves(&server, &published.digest(which)));
        assert_eq!(status(&server)["stale"], false);
    }
    // Another valid archive under the name.
    host.lie("/archives/", Lie::Another(published.archives[which].clone()));
    published.publish(1 - which);
    keeps(&server, &published.digest(which), "but the pointer says");
    host.heal();
    wait_until("the new one is taken", || serves(&server, &published.digest(1 - which)));
}

#[test]
fn a_host_must_prove_who_it_is() {
    let (runtime, published) = (runtime(), Published::new());
    let (trusted, stranger) = (Authority::new("trusted"), Authority::new("stranger"));
    let file = published.files.path().join("trusted.pem");
    std::fs::write(&file, trusted.pem()).unwrap();
    let good = trusted.host(&["localhost"], 2100);
    let host = runtime.block_on(WebServer::start(published.folder(), Some(good.clone()))).unwrap();
    let address = format!("https://localhost:{}", host.address().port());
    let server = serve(&address, &[("SSL_CERT_FILE", file.to_str().unwrap())]);
    assert_eq!(ranking(&server).pictures().len(), 3);
    for (certificate, reason) in [
        (trusted.host(&["localhost"], 2021), "expired"),
        (trusted.host(&["example.org"], 2100), "not valid for name"),
        (stranger.host(&["localhost"], 2100), "UnknownIssuer"),
    ] {
        host.show(certificate);
        keeps(&server, &published.digest(0), reason);
        host.show(good.clone());
        wait_until("it is fresh again", || status(&server)["stale"] == false);
    }
    published.publish(1);
    wait_until("the new one is taken", || serves(&server, &published.digest(1)));
}

/// A real host: nginx, of which nothing is expected but that it serves files.
pub(crate) struct Nginx(Child);

impl Nginx {
    /// Serves a folder; returns `None` if this machine has no nginx.
    pub(crate) fn start(files: &Path, root: &Path, port: u16) -> Option<Self> {
        let search = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
        let nginx =
            std::env::split_paths(&search).map(|folder| folder.join("nginx")).find(|path| path.exists())?;
        let at = files.display();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {at}/{kind};"))
            .concat();
        // It may compress what wants to be compressed; we do not.
        let config = format!(
            "daemon off; master_process off; pid {at}/nginx.pid; error_log stderr; events {{}}
             http {{ {temporary} access_log off; gzip on; gzip_min_length 1; gzip_types *;
                     server {{ listen 127.0.0.1:{port}; root {}; }} }}",
            root.display()
        );
        let path = files.join("nginx.conf");
        std::fs::write(&path, config).unwrap();
        let mut command = Command::new(nginx);
        command.args(["-e", "stderr", "-c"]).arg(&path).stdout(Stdio::null()).stderr(Stdio::null());
        let nginx = Self(command.spawn().expect("nginx starts"));
        wait_until("nginx listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(nginx)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn nginx_serves_a_store() {
    let published = Published::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let start = || Nginx::start(published.files.path(), published.files.path(), port);
    let Some(nginx) = start() else {
        println!("skipped: there is no nginx (`.ci/tools nginx` installs it)");
        return;
    };
    let server = serve(&format!("http://127.0.0.1:{port}/store"), &[]);
    assert!(serves(&server, &published.digest(0)), "{}", server.log());
    assert_eq!(ranking(&server).pictures().len(), 3);
    published.publish(1);
    wait_until("the new one is taken", || serves(&server, &published.digest(1)));
    assert_eq!(ranking(&server).pictures().len(), 3);

    drop(nginx);
    wait_until("it is noticed", || status(&server)["stale"] == true);
    assert_eq!(ranking(&server).pictures().len(), 3);
    let _nginx = start();
    wait_until("it is fresh again", || status(&server)["stale"] == false);

    // One archive by its own name.
    let one = serve(&format!("http://127.0.0.1:{port}/45.wakashu"), &[]);
    assert!(serves(&one, &published.digest(0)), "{}", one.log());
    assert_eq!(ranking(&one).pictures().len(), 3);
}
