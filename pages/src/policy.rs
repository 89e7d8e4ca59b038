//! What a browser may do with a page: nothing but show it, from this origin alone.

/// The value of `Content-Security-Policy` for pages that are served.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The same as far as a `<meta>` can carry it, for files on a host whose headers are not ours.
pub const CONTENT_SECURITY_POLICY_IN_META: &str = "default-src 'none'; img-src 'self'; style-src 'self'; \
    script-src 'self'; form-action 'self'; base-uri 'none'";

/// The same for pages of a preview, which hear from their server when there is something new to show.
pub const CONTENT_SECURITY_POLICY_OF_PREVIEW: &str = "default-src 'none'; img-src 'self'; style-src 'self'; \
    script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; connect-src 'self'";

/// The value of `Referrer-Policy`: works that a poem answers do not learn who came from where.
pub const REFERRER_POLICY: &str = "no-referrer";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meta_says_all_that_it_can() {
        assert_eq!(
            format!("{CONTENT_SECURITY_POLICY_IN_META}; frame-ancestors 'none'"),
            CONTENT_SECURITY_POLICY
        );
    }

    #[test]
    fn a_preview_is_as_strict_but_for_what_it_hears() {
        assert_eq!(
            format!("{CONTENT_SECURITY_POLICY}; connect-src 'self'"),
            CONTENT_SECURITY_POLICY_OF_PREVIEW
        );
    }
}
