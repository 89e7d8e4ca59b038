//! Addresses on the web, as stores are named and as hosts redirect.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::key::check_key;
use crate::reach::Reach;

/// What a URL holds as it is; everything else in a key is percent-encoded.
const KEY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// What the path of an address must not hold as it is. A `%` stays: it is part of what was encoded already.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/')
    .remove(b'%')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// An `https://` address, or an `http://` one on this machine. It has no credentials, no query and no fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebAddress {
    is_encrypted: bool,
    /// A name in lower case or an address, that of IPv6 in brackets.
    host: String,
    port: Option<u16>,
    reach: Reach,
    /// Empty, or begins with `/`; percent-encoded.
    path: String,
}

impl WebAddress {
    /// Reads an address, beginning at its scheme.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let (is_encrypted, rest) = match text.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            _ => return Err("a web address begins with https://"),
        };
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(
                "a web address takes no user name and no password: the files must be readable for everyone",
            );
        }
        if path.contains(['?', '#']) {
            return Err("a web address takes no `?` and no `#`");
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(read_port(port)?)),
            _ => (authority, None),
        };
        let (host, reach) = read_host(host)?;
        if !is_encrypted && reach != Reach::Loopback {
            return Err(
                "http:// is accepted on this machine alone (localhost, 127.0.0.1, [::1]); write https://",
            );
        }
        Ok(Self { is_encrypted, host, port, reach, path: read_path(path)? })
    }

    /// Splits the address of an object off: what is left is a store, and the last part of the path is the key of
    /// one archive in it, if `is_archive` says that it is the name of one.
    pub(crate) fn split_archive(
        mut self,
        is_archive: impl Fn(&str) -> bool,
    ) -> Result<(Self, Option<String>), &'static str> {
        self.path.truncate(self.path.trim_end_matches('/').len());
        let (folder, name) = self.path.rsplit_once('/').unwrap_or_default();
        let name = percent_decode_str(name).decode_utf8_lossy().into_owned();
        if !is_archive(&name) {
            return Ok((self, None));
        }
        check_key(&name).map_err(|_| "the archive's file name has characters that no key may have")?;
        self.path.truncate(folder.len());
        Ok((self, Some(name)))
    }

    /// Returns how far away the host may be.
    #[cfg(any(feature = "https", test))]
    pub(crate) fn reach(&self) -> Reach {
        self.reach
    }

    /// Says whether connections are encrypted.
    #[cfg(feature = "https")]
    pub(crate) fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// Returns the address of an object below this one. The key must have been checked.
    pub(crate) fn join(&self, key: &str) -> Self {
        Self { path: format!("{}/{}", self.path, utf8_percent_encode(key, KEY)), ..self.clone() }
    }

    /// Reads where a host redirects to from here: an address, or a part of one that is relative to this.
    #[cfg(any(feature = "https", test))]
    pub(crate) fn redirected(&self, target: &str) -> Result<Self, &'static str> {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        let origin = || Self { path: String::new(), ..self.clone() };
        if target.contains("://") {
            Self::parse(target)
        } else if target.starts_with("//") {
            Self::parse(&format!("{scheme}:{target}"))
        } else if target.starts_with('/') {
            Self::parse(&format!("{}{target}", origin()))
        } else {
            let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            Self::parse(&format!("{}{folder}/{target}", origin()))
        }
    }
}

impl fmt::Display for WebAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.is_encrypted { "https" } else { "http" }, self.host)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        f.write_str(&self.path)
    }
}

/// Returns the beginning of an address for a message, in one line and without the credentials that somebody may have
/// put there.
pub(crate) fn without_credentials(text: &str) -> String {
    let parts = text.split_once("//").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?.1)));
    let shown = match parts {
        Some((scheme, rest)) => format!("{scheme}//…@{rest}"),
        None => text.to_owned(),
    };
    shown.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(200).collect()
}

fn read_port(text: &str) -> Result<u16, &'static str> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse().ok().filter(|port| digits && *port > 0);
    port.ok_or("a port is a number from 1 to 65535")
}

/// Reads a host, and how far away it may be.
fn read_host(text: &str) -> Result<(String, Reach), &'static str> {
    const NOT_PUBLIC: &str =
        "this address is in a private network; a web store is on the public internet or on this machine";
    if let Some(inside) = text.strip_prefix('[') {
        let address = inside.strip_suffix(']').and_then(|inside| inside.parse::<Ipv6Addr>().ok());
        let address = address.ok_or("what is in brackets is not an IPv6 address")?;
        let reach = Reach::of(IpAddr::V6(address)).ok_or(NOT_PUBLIC)?;
        return Ok((format!("[{address}]"), reach));
    }
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        return Ok((text.to_owned(), Reach::of(IpAddr::V4(address)).ok_or(NOT_PUBLIC)?));
    }
    if !text.is_ascii() {
        return Err("a host with other letters than a to z is written in its xn-- form");
    }
    let lettered = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(lettered);
    // Resolvers take a name that ends in a number for an address in one of its old forms, as `127.1`.
    let last_is_name = text.rsplit('.').next().is_some_and(|last| {
        last.bytes().any(|byte| byte.is_ascii_alphabetic()) && !last.to_ascii_lowercase().starts_with("0x")
    });
    if text.len() > 253 || !text.split('.').all(is_label) || !last_is_name {
        return Err("a web address names its host, as in https://example.org/poems");
    }
    let name = text.to_ascii_lowercase();
    let reach = if name == "localhost" { Reach::Loopback } else { Reach::Public };
    Ok((name, reach))
}

/// Checks a path and encodes what of it is not yet: people paste addresses in both forms.
fn read_path(path: &str) -> Result<String, &'static str> {
    let mut rest = path;
    while let Some(at) = rest.find('%') {
        let digits = rest.get(at + 1..at + 3);
        if !digits.is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit())) {
            return Err("a `%` must be followed by two hex digits");
        }
        rest = rest.get(at + 3..).unwrap_or_default();
    }
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    for (at, part) in parts.iter().enumerate() {
        let decoded: Vec<u8> = percent_decode_str(part).collect();
        let is_last = at + 1 == parts.len();
        let is_plain = !matches!(decoded.as_slice(), b"." | b"..")
            && (is_last || !decoded.is_empty())
            && !decoded.iter().any(|byte| matches!(byte, b'/' | b'\\' | 0..0x20 | 0x7f));
        if !is_plain {
            return Err("the path has empty, `.` or `..` parts, or characters that no path may have");
        }
    }
    Ok(utf8_percent_encode(path, PATH).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for (text, written, reach) in [
            ("https://example.org", "https://example.org", Reach::Public),
            ("https://Example.ORG/poems", "https://example.org/poems", Reach::Public),
            ("https://example.org:8443/a/b/", "https://example.org:8443/a/b/", Reach::Public),
            (
                "https://example.org/和歌 集",
                "https://example.org/%E5%92%8C%E6%AD%8C%20%E9%9B%86",
                Reach::Public,
            ),
            ("https://example.org/%E5%92%8C+a%2Bb", "https://example.org/%E5%92%8C+a%2Bb", Reach::Public),
            ("https://example.org/~a/b:c@d", "https://example.org/~a/b:c@d", Reach::Public),
            ("https://1.1.1.1/x", "https://1.1.1.1/x", Reach::Public),
            ("https://[2606:4700:0::1111]:8443/x", "https://[2606:4700::1111]:8443/x", Reach::Public),
            ("https://localhost:8443", "https://localhost:8443", Reach::Loopback),
            ("http://LocalHost:8080/a", "http://localhost:8080/a", Reach::Loopback),
            ("http://127.0.0.1/a", "http://127.0.0.1/a", Reach::Loopback),
            ("http://127.9.9.9:1", "http://127.9.9.9:1", Reach::Loopback),
            ("http://[::1]:80/a", "http://[::1]:80/a", Reach::Loopback),
            // Not this machine by its name; what it resolves to is looked at when it is connected to.
            ("https://localhost.example.org/", "https://localhost.example.org/", Reach::Public),
        ] {
            let read = WebAddress::parse(text).unwrap_or_else(|problem| panic!("{text}: {problem}"));
            assert_eq!((read.to_string().as_str(), read.reach()), (written, reach), "{text}");
            assert_eq!(WebAddress::parse(written).as_ref(), Ok(&read), "{written}");
        }
    }

    #[test]
    fn other_addresses_say_what_is_wrong() {
        for (text, problem) in [
            ("http://example.org/x", "on this machine alone"),
            ("http://192.168.0.1/x", "private network"),
            ("http://1.1.1.1/x", "on this machine alone"),
            ("http://localhost.example.org/", "on this machine alone"),
            ("https://192.168.0.1/x", "private network"),
            ("https://169.254.169.254/latest", "private network"),
            ("https://[fd00::1]/x", "private network"),
            ("https://[::ffff:10.0.0.1]/x", "private network"),
            ("https://[::1%25eth0]/x", "IPv6"),
            ("https://[::1/x", "IPv6"),
            ("https://", "names its host"),
            ("https:///x", "names its host"),
            ("https://.org", "names its host"),
            ("https://example.org./x", "names its host"),
            ("https://exa mple.org/x", "names its host"),
            ("https://example.org\\@evil.org/x", "no user name"),
            ("https://example.org\\.evil.org/x", "names its host"),
            ("https://127.1/x", "names its host"),
            ("https://2130706433/x", "names its host"),
            ("https://0x7f.0.0.0x1/x", "names its host"),
            ("https://0177.0.0.1/x", "names its host"),
            ("https://和歌.example/x", "xn--"),
            ("https://example.org:/x", "a port"),
            ("https://example.org:0/x", "a port"),
            ("https://example.org:+80/x", "a port"),
            ("https://example.org:65536/x", "a port"),
            ("https://user@example.org/x", "no user name"),
            ("https://user:password@example.org/x", "no user name"),
            ("https://example.org/x?y", "no `?`"),
            ("https://example.org?y", "no `?`"),
            ("https://example.org/x#y", "no `?`"),
            ("https://example.org/a//b", "empty, `.`"),
            ("https://example.org//", "empty, `.`"),
            ("https://example.org/a/../b", "empty, `.`"),
            ("https://example.org/a/%2e%2E/b", "empty, `.`"),
            ("https://example.org/a%2fb", "empty, `.`"),
            ("https://example.org/a\\b", "empty, `.`"),
            ("https://example.org/a%00", "empty, `.`"),
            ("https://example.org/a\nb", "empty, `.`"),
            ("https://example.org/%zz", "hex digits"),
            ("https://example.org/%e", "hex digits"),
            ("https://example.org/%和", "hex digits"),
            ("ftp://example.org", "https://"),
        ] {
            let error = WebAddress::parse(text).expect_err(text);
            assert!(error.contains(problem), "{text}: {error}");
        }
    }

    #[test]
    fn keys_are_encoded_and_joined() {
        let store = WebAddress::parse("https://example.org/a").unwrap();
        assert_eq!(
            store.join("archives/x y+和.wakashu").to_string(),
            "https://example.org/a/archives/x%20y%2B%E5%92%8C.wakashu"
        );
        let root = WebAddress::parse("https://example.org").unwrap();
        assert_eq!(root.join("current.json").to_string(), "https://example.org/current.json");
    }

    #[test]
    fn redirects_are_read_from_where_they_stand() {
        let here = WebAddress::parse("https://example.org:8443/a/b.json").unwrap();
        for (target, to) in [
            ("https://cdn.example.org/x", "https://cdn.example.org/x"),
            ("//cdn.example.org/x", "https://cdn.example.org/x"),
            ("/x/y", "https://example.org:8443/x/y"),
            ("c.json", "https://example.org:8443/a/c.json"),
        ] {
            assert_eq!(here.redirected(target).unwrap().to_string(), to, "{target}");
        }
        for target in [
            "http://example.org/x",
            "https://user@example.org/",
            "//10.0.0.1/x",
            "../x",
            "ftp://a/b",
            "javascript:x//y",
        ] {
            assert!(here.redirected(target).is_err(), "{target}");
        }
    }
}
