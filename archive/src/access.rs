//! The one place where archived bytes are read without checking again.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use bytes::Bytes;
use rkyv::api::high::HighValidator;
use rkyv::bytecheck::CheckBytes;
use rkyv::rancor;
use rkyv::{Archive, Portable};

/// An archived `T` in owned memory that was validated once; every later access is free.
pub struct Verified<T> {
    bytes: Bytes,
    archived: PhantomData<T>,
}

impl<T> Verified<T>
where
    T: Archive,
    T::Archived: Portable + for<'a> CheckBytes<HighValidator<'a, rancor::Error>>,
{
    /// Validates `bytes` as an archived `T`.
    ///
    /// Crate-private: callers outside get a `Verified` only through the checks of [`Archive`](crate::Archive).
    pub(crate) fn new(bytes: Bytes) -> Result<Self, rancor::Error> {
        rkyv::access::<T::Archived, rancor::Error>(&bytes)?;
        Ok(Self { bytes, archived: PhantomData })
    }

    /// Returns `part`, a piece of this value's own text, as a slice that shares the memory.
    #[must_use]
    pub fn share(&self, part: &str) -> Bytes {
        self.bytes.slice_ref(part.as_bytes())
    }

    /// Returns the length of the archived value in bytes.
    #[must_use]
    pub fn byte_length(&self) -> usize {
        self.bytes.len()
    }
}

impl<T> Deref for Verified<T>
where
    T: Archive,
    T::Archived: Portable,
{
    type Target = T::Archived;

    #[expect(unsafe_code, reason = "validated in `new`, immutable since")]
    fn deref(&self) -> &T::Archived {
        // SAFETY: `new` is the only constructor and ran rkyv's full validation for `T::Archived` over exactly
        // these bytes. `Bytes` never changes its content, and nothing in this workspace maps files into memory, so
        // nothing outside the process can change it either. The `unaligned` feature leaves no alignment
        // requirement.
        unsafe { rkyv::access_unchecked::<T::Archived>(&self.bytes) }
    }
}

impl<T> Clone for Verified<T> {
    fn clone(&self) -> Self {
        Self { bytes: self.bytes.clone(), archived: PhantomData }
    }
}

impl<T> fmt::Debug for Verified<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Verified({} bytes)", self.bytes.len())
    }
}
