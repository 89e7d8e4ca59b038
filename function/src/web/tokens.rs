//! Bearer tokens: only their hashes are known here, and nothing of them is ever shown.

use std::fmt;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::exchange::Scope;

/// A token that opens the door.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    sha256: [u8; 32],
    scope: Scope,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.masked())
    }
}

impl Token {
    /// Reads `hash[:scope]`, the hash in 64 hexadecimal digits.
    ///
    /// # Errors
    ///
    /// What was expected. What was given is not repeated.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (hash, scope) = text.split_once(':').unwrap_or((text, Scope::Read.as_str()));
        let scope = [Scope::Read, Scope::Status].into_iter().find(|known| known.as_str() == scope.trim());
        let (Some(sha256), Some(scope)) = (read_hash(hash.trim()), scope) else {
            return Err("expected SHA-256 hashes of 64 hexadecimal digits, each alone or followed by :read or :status".to_owned());
        };
        Ok(Self { sha256, scope })
    }

    /// Returns the token as it may be shown.
    #[must_use]
    pub fn masked(&self) -> String {
        format!("****:{}", self.scope.as_str())
    }
}

fn read_hash(text: &str) -> Option<[u8; 32]> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let mut hash = [0; 32];
    if pairs.len() != hash.len() || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in hash.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(hash)
}

/// Returns the scope of the token a request carries; `None` if it carries none of `tokens`.
///
/// The request's token is compared with every known one, each time over its whole length.
pub(crate) fn scope_of(tokens: &[Token], headers: &HeaderMap) -> Option<Scope> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (given.next(), given.next()) else { return None };
    let (kind, token) = value.as_bytes().split_at_checked("Bearer ".len())?;
    if !kind.eq_ignore_ascii_case(b"Bearer ") {
        return None;
    }
    let hash: [u8; 32] = Sha256::digest(token.trim_ascii()).into();
    let mut scope = None;
    for known in tokens {
        if bool::from(known.sha256.ct_eq(&hash)) && scope != Some(Scope::Read) {
            scope = Some(known.scope);
        }
    }
    scope
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf %s secret | sha256sum`
    const SECRET: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

    fn scope(tokens: &[&str], headers: &[&'static str]) -> Option<Scope> {
        let tokens: Vec<Token> = tokens.iter().map(|text| Token::parse(text).unwrap()).collect();
        let mut map = HeaderMap::new();
        for value in headers {
            map.append(AUTHORIZATION, value.parse().unwrap());
        }
        scope_of(&tokens, &map)
    }

    #[test]
    fn a_token_opens_with_its_scope() {
        let status = format!("{SECRET}:status");
        assert_eq!(scope(&[SECRET], &["Bearer secret"]), Some(Scope::Read));
        assert_eq!(scope(&[&status], &["bearer  secret "]), Some(Scope::Status));
        assert_eq!(scope(&[&status, SECRET], &["Bearer secret"]), Some(Scope::Read));
        for headers in [
            &[][..],
            &["Bearer Secret"],
            &["Bearer"],
            &["Bearer "],
            &["Basic secret"],
            &["secret"],
            &["Bearer secret", "Bearer secret"],
        ] {
            assert_eq!(scope(&[SECRET], headers), None, "{headers:?}");
        }
    }

    #[test]
    fn nothing_of_a_token_is_shown() {
        let token = Token::parse(&SECRET.to_uppercase()).unwrap();
        assert_eq!(format!("{token:?}"), "****:read");
        for wrong in ["", "secret", &SECRET[1..], &format!("{SECRET}:write"), &format!("{SECRET}0")] {
            let error = Token::parse(wrong).unwrap_err();
            assert!(wrong.is_empty() || !error.contains(wrong), "{error}");
        }
    }
}
