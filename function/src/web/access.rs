//! Which hosts and origins are answered: what stops other web pages from using this server.

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderValue, Uri};

/// Whom to answer.
#[derive(Debug, Default)]
pub struct Access {
    /// Answer to loopback names and origins.
    pub loopback: bool,
    /// Further host names, lower case, without ports.
    pub hosts: Vec<String>,
    /// Further origins.
    pub origins: Vec<String>,
    /// Answer to any host name that ends like a function URL.
    pub function_urls: bool,
}

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The `Host` is missing, repeated or not one of ours.
    Host,
    /// The `Origin` is not allowed.
    Origin,
}

impl Access {
    /// Checks the `Host` and the `Origin` of a request. A target that names a host itself (`GET http://host/path`) must
    /// name one of ours, too: that one counts, where there are two.
    pub fn check(&self, target: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        if target.authority().is_some_and(|host| !self.allows_host(host.as_str())) {
            return Err(Refusal::Host);
        }
        let (mut host, mut origin) = (Seen::default(), Seen::default());
        // One walk over the few headers there are is cheaper than to look each of them up.
        for (name, value) in headers {
            if *name == HOST {
                host.add(value);
            } else if *name == ORIGIN {
                origin.add(value);
            }
        }
        if !host.only().is_some_and(|host| self.allows_host(host)) {
            return Err(Refusal::Host);
        }
        if origin.count > 0 && !origin.only().is_some_and(|origin| self.allows_origin(origin)) {
            return Err(Refusal::Origin);
        }
        Ok(())
    }

    /// Returns the configured origin a request comes from: only those are told that they may read the answer.
    #[must_use]
    pub fn configured_origin(&self, headers: &HeaderMap) -> Option<&str> {
        let origin = headers.get(ORIGIN)?.to_str().ok()?;
        self.origins.iter().find(|allowed| *allowed == origin).map(String::as_str)
    }

    fn allows_host(&self, host: &str) -> bool {
        let name = without_port(host);
        (self.loopback && is_loopback(name))
            || self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
            || (self.function_urls && is_function_url(name))
    }

    fn allows_origin(&self, origin: &str) -> bool {
        let local = origin.strip_prefix("http://").is_some_and(|host| is_loopback(without_port(host)));
        (self.loopback && local) || self.origins.iter().any(|allowed| allowed == origin)
    }
}

/// A header as often as it came. Which of several would count is anybody's guess.
#[derive(Default)]
struct Seen<'a> {
    first: Option<&'a HeaderValue>,
    count: usize,
}

impl<'a> Seen<'a> {
    fn add(&mut self, value: &'a HeaderValue) {
        self.first = self.first.or(Some(value));
        self.count += 1;
    }

    /// Returns the value, if there is one and it is text.
    fn only(&self) -> Option<&'a str> {
        self.first.filter(|_| self.count == 1).and_then(|value| value.to_str().ok())
    }
}

/// Tells whether a host name, without its port, means this machine.
#[must_use]
pub(crate) fn is_loopback(name: &str) -> bool {
    matches!(name, "127.0.0.1" | "[::1]") || name.eq_ignore_ascii_case("localhost")
}

fn is_function_url(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let labels: Vec<&str> = name.split('.').collect();
    matches!(labels.as_slice(), [id, "lambda-url", region, "on", "aws"] if !id.is_empty() && !region.is_empty())
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(access: &Access, headers: &[(&'static str, &'static str)]) -> Result<(), Refusal> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        access.check(&Uri::from_static("/mcp"), &map)
    }

    #[test]
    fn hosts_and_origins_matrix() {
        let local = Access { loopback: true, ..Access::default() };
        let hosted = Access {
            function_urls: true,
            hosts: vec!["poems.example.org".to_owned()],
            origins: vec!["https://app.example.org".to_owned()],
            ..Access::default()
        };
        let (host, origin) = (Err(Refusal::Host), Err(Refusal::Origin));
        for (headers, locally, remotely) in [
            (&[][..], host, host),
            (&[("host", "localhost:3000")], Ok(()), host),
            (&[("host", "127.0.0.1")], Ok(()), host),
            (&[("host", "[::1]:3000")], Ok(()), host),
            (&[("host", "LOCALHOST")], Ok(()), host),
            (&[("host", "evil.example")], host, host),
            (&[("host", "localhost.evil.example")], host, host),
            (&[("host", "127.0.0.1:3000@evil.example")], host, host),
            (&[("host", "localhost"), ("host", "localhost")], host, host),
            (&[("host", "poems.example.org")], host, Ok(())),
            (&[("host", "abc.lambda-url.eu-west-1.on.aws")], host, Ok(())),
            (&[("host", "lambda-url.eu-west-1.on.aws")], host, host),
            (&[("host", "abc.lambda-url.eu-west-1.on.aws.evil.example")], host, host),
            (&[("host", "localhost"), ("origin", "http://localhost:5173")], Ok(()), host),
            (&[("host", "localhost"), ("origin", "http://[::1]:1")], Ok(()), host),
            (&[("host", "localhost"), ("origin", "null")], origin, host),
            (&[("host", "localhost"), ("origin", "https://evil.example")], origin, host),
            (&[("host", "localhost"), ("origin", "http://localhost.evil.example")], origin, host),
            (&[("host", "poems.example.org"), ("origin", "https://app.example.org")], host, Ok(())),
            (&[("host", "poems.example.org"), ("origin", "https://app.example.org.evil")], host, origin),
            (&[("host", "poems.example.org"), ("origin", "http://localhost")], host, origin),
        ] {
            assert_eq!(check(&local, headers), locally, "local {headers:?}");
            assert_eq!(check(&hosted, headers), remotely, "hosted {headers:?}");
        }
    }

    #[test]
    fn a_target_that_names_another_host_is_refused() {
        let local = Access { loopback: true, ..Access::default() };
        let headers: HeaderMap = [(HOST, HeaderValue::from_static("localhost"))].into_iter().collect();
        for (target, expected) in [
            ("/mcp", Ok(())),
            ("http://localhost:3000/mcp", Ok(())),
            ("http://127.0.0.1/mcp", Ok(())),
            ("http://elsewhere/mcp", Err(Refusal::Host)),
            ("https://localhost.evil.example/mcp", Err(Refusal::Host)),
            ("http://localhost@evil.example/mcp", Err(Refusal::Host)),
            ("http://evil.example@localhost/mcp", Err(Refusal::Host)),
        ] {
            assert_eq!(local.check(&target.parse().unwrap(), &headers), expected, "{target}");
        }
    }

    /// Every host with every origin: a foreign host is refused whatever the origin, and a host that is answered lets
    /// in no origin that its door does not.
    #[test]
    fn every_host_with_every_origin() {
        let open = Access {
            loopback: true,
            hosts: vec!["poems.example.org".to_owned()],
            origins: vec!["https://app.example.org".to_owned()],
            function_urls: false,
        };
        let lambda = Access { loopback: false, function_urls: true, ..copy_of(&open) };
        let doors = [Access { loopback: true, ..Access::default() }, open, lambda];
        // Whether the local server, one that is open to others, and a function on Lambda answer.
        let hosts = [
            ("localhost", [true, true, false]),
            ("LOCALHOST:80", [true, true, false]),
            ("127.0.0.1:3000", [true, true, false]),
            ("[::1]", [true, true, false]),
            ("127.0.0.2", [false; 3]),
            ("0.0.0.0", [false; 3]),
            ("[::]:3000", [false; 3]),
            ("poems.example.org", [false, true, true]),
            ("Poems.Example.Org:443", [false, true, true]),
            ("evil.poems.example.org", [false; 3]),
            ("poems.example.org.evil.example", [false; 3]),
            ("poems.example.org:443@evil.example", [false; 3]),
            ("abc.lambda-url.eu-west-1.on.aws", [false, false, true]),
            ("evil.example", [false; 3]),
            ("", [false; 3]),
            (":3000", [false; 3]),
            ("169.254.169.254", [false; 3]),
        ];
        let origins = [
            (None, [true; 3]),
            (Some("http://localhost:5173"), [true, true, false]),
            (Some("http://127.0.0.1"), [true, true, false]),
            (Some("http://[::1]:1"), [true, true, false]),
            (Some("https://localhost"), [false; 3]),
            (Some("http://localhost.evil.example"), [false; 3]),
            (Some("http://evil.example#localhost"), [false; 3]),
            (Some("http://localhost@evil.example"), [false; 3]),
            (Some("http://poems.example.org"), [false; 3]),
            (Some("https://app.example.org"), [false, true, true]),
            (Some("https://app.example.org:8443"), [false; 3]),
            (Some("https://app.example.org/"), [false; 3]),
            (Some("http://app.example.org"), [false; 3]),
            (Some("https://APP.example.org"), [false; 3]),
            (Some("https://app.example.org https://evil.example"), [false; 3]),
            (Some("https://evil.example"), [false; 3]),
            (Some("file://"), [false; 3]),
            (Some("null"), [false; 3]),
            (Some("*"), [false; 3]),
            (Some(""), [false; 3]),
        ];
        for (host, host_passes) in hosts {
            for (origin, origin_passes) in origins {
                let mut headers = vec![("host", host)];
                headers.extend(origin.map(|origin| ("origin", origin)));
                for (door, access) in doors.iter().enumerate() {
                    let expected = match (host_passes[door], origin_passes[door]) {
                        (false, _) => Err(Refusal::Host),
                        (true, false) => Err(Refusal::Origin),
                        (true, true) => Ok(()),
                    };
                    assert_eq!(check(access, &headers), expected, "door {door}: {host} {origin:?}");
                    // Only what is configured is ever named to a browser, and never what it sent itself.
                    let mut map = HeaderMap::new();
                    if let Some(origin) = origin {
                        map.append(ORIGIN, origin.parse().unwrap());
                    }
                    let named = access.configured_origin(&map);
                    assert_eq!(named.is_some(), door > 0 && origin == Some("https://app.example.org"));
                    assert!(named.is_none_or(|named| access.origins.iter().any(|known| known == named)));
                }
            }
        }
    }

    fn copy_of(access: &Access) -> Access {
        Access { hosts: access.hosts.clone(), origins: access.origins.clone(), ..*access }
    }
}
