//! Stores on the public internet, staged on this machine: names, redirects, certificates.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail loudly")]

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

use rustls::RootCertStore;
use tempfile::TempDir;
use wakashu_archive::Span;
use wakashu_support::certificates::Authority;
use wakashu_support::web_server::{Lie, WebServer};

use super::client::Outside;
use super::{ReadStore as _, StorageError, WebAddress, WebHost};

static AUTHORITY: LazyLock<Authority> = LazyLock::new(|| Authority::new("trusted"));

/// What the names resolve to. All that is public leads to this machine.
const STAGED: Outside = Outside {
    resolve: |name| {
        let addresses: &[&str] = match name {
            "store.example" | "cdn.example" => &["93.184.216.34"],
            // One way that may be gone is enough.
            "both.example" => &["10.0.0.1", "127.0.0.1", "93.184.216.34"],
            "loopback.example" => &["127.0.0.1"],
            "loopback6.example" => &["::1"],
            "mapped.example" => &["::ffff:127.0.0.1"],
            "metadata.example" => &["169.254.169.254"],
            "private.example" => &["192.168.1.1", "fd00::1"],
            _ => return Err(io::Error::other("no such name")),
        };
        Ok(addresses.iter().map(|address| SocketAddr::new(address.parse().unwrap(), 0)).collect())
    },
    way: |_| SocketAddr::from(([127, 0, 0, 1], 0)),
    roots: || {
        let mut roots = RootCertStore::empty();
        roots.add(AUTHORITY.der()).unwrap();
        roots
    },
};

const FILE: &str = "0123456789";

async fn host() -> (TempDir, WebServer) {
    let files = TempDir::new().unwrap();
    for name in ["a", "b"] {
        std::fs::write(files.path().join(name), FILE).unwrap();
    }
    let names =
        ["store.example", "cdn.example", "both.example", "localhost", "loopback.example", "127.0.0.1"];
    let server = WebServer::start(files.path().to_owned(), Some(AUTHORITY.host(&names, 2100))).await;
    (files, server.unwrap())
}

async fn read_from(name: &str, server: &WebServer) -> Result<bytes::Bytes, StorageError> {
    let address = WebAddress::parse(&format!("https://{name}:{}", server.address().port())).unwrap();
    let store = WebHost::in_surroundings(address, STAGED);
    store.object("a", None).await?.read(Span { offset: 2, length: 3 }).await
}

fn said(error: &StorageError) -> String {
    format!("{error}; {}", error.hint().unwrap_or("no hint"))
}

#[tokio::test]
async fn a_public_name_is_read_and_one_within_is_not() {
    let (_files, server) = host().await;
    for name in ["store.example", "both.example"] {
        assert_eq!(read_from(name, &server).await.unwrap(), "234", "{name}");
    }
    assert_eq!(server.take_seen().len(), 2);
    for name in
        ["loopback.example", "loopback6.example", "mapped.example", "metadata.example", "private.example"]
    {
        let error = read_from(name, &server).await.unwrap_err();
        let said = said(&error);
        assert!(said.contains("is not on the public internet") && said.contains(name), "{said}");
    }
    assert_eq!(server.take_seen(), [], "nobody was connected to");
    let error = read_from("nowhere.example", &server).await.unwrap_err();
    assert!(matches!(error, StorageError::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn redirects_lead_to_public_https_addresses_alone() {
    let (_files, server) = host().await;
    let port = server.address().port();
    for (target, outcome) in [
        (format!("https://cdn.example:{port}/b"), Ok(())),
        (format!("https://cdn.example:{port}/b?signature=secret#x"), Ok(())),
        (format!("//cdn.example:{port}/b"), Ok(())),
        ("/b".to_owned(), Ok(())),
        ("b".to_owned(), Ok(())),
        (format!("http://cdn.example:{port}/b?signature=secret"), Err("write https://")),
        (format!("http://127.0.0.1:{port}/b"), Err("which is on this machine")),
        (format!("https://127.0.0.1:{port}/b"), Err("which is on this machine")),
        (format!("https://localhost:{port}/b"), Err("which is on this machine")),
        (format!("https://[::1]:{port}/b"), Err("which is on this machine")),
        (format!("https://[::ffff:127.0.0.1]:{port}/b"), Err("which is on this machine")),
        (format!("https://loopback.example:{port}/b"), Err("resolves to 127.0.0.1")),
        (format!("https://loopback6.example:{port}/b"), Err("resolves to ::1")),
        (format!("https://metadata.example:{port}/b"), Err("resolves to 169.254.169.254")),
        ("https://169.254.169.254/latest/meta-data".to_owned(), Err("private network")),
        ("https://[fd00:ec2::254]/latest".to_owned(), Err("private network")),
        (format!("https://me:secret@cdn.example:{port}/b"), Err("no user name")),
        ("file:///etc/passwd".to_owned(), Err("redirects to")),
        ("../b".to_owned(), Err("redirects to")),
        ("/a".to_owned(), Err("redirects more than 3 times")),
    ] {
        server.lie("/a", Lie::Redirect(target.clone()));
        let read = read_from("store.example", &server).await;
        match (read, outcome) {
            (Ok(bytes), Ok(())) => assert_eq!(bytes, "234", "{target}"),
            (Err(error), Err(reason)) => {
                let said = said(&error);
                assert!(said.contains(reason), "{target}: {said}");
                assert!(!said.contains("signature") && !said.contains("secret"), "{said}");
            }
            (read, _) => panic!("{target}: {read:?}"),
        }
        let asked = server.take_seen();
        let most = if target == "/a" { 4 } else { 2 };
        assert!(
            asked.len() <= most && asked.iter().skip(1).all(|seen| outcome.is_ok() || seen.path == "/a"),
            "{asked:?}"
        );
        server.heal();
    }
}

#[tokio::test]
async fn three_redirects_are_followed_and_a_fourth_is_not() {
    let (_files, server) = host().await;
    let chain = |names: &[&str]| {
        for (from, to) in names.iter().zip(names.iter().skip(1)) {
            server.lie(from, Lie::Redirect((*to).to_owned()));
        }
    };
    chain(&["/a", "/one", "/two", "/b"]);
    assert_eq!(read_from("store.example", &server).await.unwrap(), "234");
    server.heal();
    chain(&["/a", "/one", "/two", "/three", "/b"]);
    let error = read_from("store.example", &server).await.unwrap_err();
    assert!(said(&error).contains("redirects more than 3 times"), "{error}");
}

#[tokio::test]
async fn certificates_that_prove_nothing_are_refused_at_once() {
    let (_files, server) = host().await;
    let stranger = Authority::new("stranger");
    for (certificate, reason) in [
        (AUTHORITY.host(&["store.example"], 2021), "expired"),
        (AUTHORITY.host(&["other.example"], 2100), "not valid for name"),
        (stranger.host(&["store.example"], 2100), "UnknownIssuer"),
    ] {
        server.show(certificate);
        let error = read_from("store.example", &server).await.unwrap_err();
        assert!(matches!(error, StorageError::Untrusted { .. }), "{error:?}");
        let chain: Vec<_> =
            std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source())
                .map(ToString::to_string)
                .collect();
        assert!(chain.iter().any(|cause| cause.contains(reason)), "{reason}: {chain:?}");
        assert!(said(&error).contains("SSL_CERT_FILE"), "{error}");
    }
    server.show(AUTHORITY.host(&["store.example"], 2100));
    assert_eq!(read_from("store.example", &server).await.unwrap(), "234");
}

#[test]
fn nothing_is_prepared_before_the_first_read() {
    let outside = Outside {
        resolve: |_| panic!("a name was resolved"),
        way: |_| panic!("a way was taken"),
        roots: || panic!("certificates were read"),
    };
    let store = WebHost::in_surroundings(WebAddress::parse("https://store.example").unwrap(), outside);
    let _ = Arc::new(store.clone());
    assert!(!store.describe().is_empty());
}
