//! What exists once for each size of a picture.

use rkyv::{Archive, Serialize};

/// A size of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// For many pictures in one answer.
    Small,
    /// For a few.
    Medium,
    /// For one.
    Large,
    /// The file as the curator gave it; for HTTP only.
    Original,
}

impl Size {
    /// All sizes, from small to large, then the original.
    pub const ALL: [Self; 4] = [Self::Small, Self::Medium, Self::Large, Self::Original];

    /// Returns the size's name, as it is written in addresses and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
            Self::Original => "original",
        }
    }
}

/// One `T` for each size of a picture. There is an original only where the archive was built with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Archive, Serialize, serde::Serialize)]
pub struct Sizes<T> {
    /// For many pictures in one answer.
    pub small: T,
    /// For a few.
    pub medium: T,
    /// For one.
    pub large: T,
    /// The file as the curator gave it, for HTTP only; stored raw.
    pub original: Option<T>,
}

impl<T> Sizes<T> {
    /// Returns the one of that size; `None` only of the original.
    #[must_use]
    pub fn get(&self, size: Size) -> Option<&T> {
        match size {
            Size::Small => Some(&self.small),
            Size::Medium => Some(&self.medium),
            Size::Large => Some(&self.large),
            Size::Original => self.original.as_ref(),
        }
    }

    /// Returns the one of that size, to be changed; `None` only of the original.
    pub fn get_mut(&mut self, size: Size) -> Option<&mut T> {
        match size {
            Size::Small => Some(&mut self.small),
            Size::Medium => Some(&mut self.medium),
            Size::Large => Some(&mut self.large),
            Size::Original => self.original.as_mut(),
        }
    }

    /// Returns those that exist, in the order of [`Size::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Size, &T)> {
        Size::ALL.into_iter().filter_map(|size| Some((size, self.get(size)?)))
    }

    /// Returns the same sizes of what `each` makes of them, asked in the order of [`Size::ALL`].
    pub fn map<U>(self, mut each: impl FnMut(Size, T) -> U) -> Sizes<U> {
        Sizes {
            small: each(Size::Small, self.small),
            medium: each(Size::Medium, self.medium),
            large: each(Size::Large, self.large),
            original: self.original.map(|original| each(Size::Original, original)),
        }
    }

    /// Returns the same sizes of what `each` makes of them, or the first error.
    pub fn try_map<U, E>(self, mut each: impl FnMut(Size, T) -> Result<U, E>) -> Result<Sizes<U>, E> {
        Ok(Sizes {
            small: each(Size::Small, self.small)?,
            medium: each(Size::Medium, self.medium)?,
            large: each(Size::Large, self.large)?,
            original: self.original.map(|original| each(Size::Original, original)).transpose()?,
        })
    }

    /// Returns references to all of them.
    pub fn as_ref(&self) -> Sizes<&T> {
        Sizes {
            small: &self.small,
            medium: &self.medium,
            large: &self.large,
            original: self.original.as_ref(),
        }
    }
}

impl<T: Archive> ArchivedSizes<T> {
    /// Returns references to all of them.
    #[must_use]
    pub fn as_ref(&self) -> Sizes<&T::Archived> {
        Sizes {
            small: &self.small,
            medium: &self.medium,
            large: &self.large,
            original: self.original.as_ref(),
        }
    }

    /// Returns the base64 renditions from small to large.
    #[must_use]
    pub fn renditions(&self) -> [(Size, &T::Archived); 3] {
        [(Size::Small, &self.small), (Size::Medium, &self.medium), (Size::Large, &self.large)]
    }
}
