//! The one place where a panic of a third-party codec is turned into a problem.

use std::panic::{AssertUnwindSafe, catch_unwind};

use wakashu_archive::MediaType;

use super::problem::Problem;

/// Runs a codec on foreign bytes; its panic becomes [`Problem::Undecodable`].
///
/// The codecs promise not to panic and are fuzzed for it, but one crafted file must not end a build of thousands.
/// Nothing outlives the closure but its result, so there is no state that unwinding could leave half-changed.
pub(crate) fn guarded<T>(format: MediaType, work: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(Problem::undecodable(format, "the decoder failed on these bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_problem() {
        let result: Result<(), _> = guarded(MediaType::Png, || panic!("as a decoder might"));
        assert!(matches!(result, Err(Problem::Undecodable { format: MediaType::Png, .. })));
    }
}
