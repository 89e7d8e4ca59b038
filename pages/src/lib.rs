//! What people look at: the pages of a collection, its feed, and the book.
//!
//! This crate is sans-IO. Views of an archive go in, documents come out; who reads the archive and who sends or stores the
//! documents is not its business. One renderer serves two uses, and [`LinkStyle`] is all that differs: the function answers
//! with documents, the indexer writes them into a folder.
//!
//! [`Collection`] is made once per archive, [`Renderer`] per request or export. A document that shows entries says which
//! chunks it needs ([`Collection::rounds_on`], [`chunks_of_page`]) and is given their pages.

mod address;
mod assets;
mod book;
mod collection;
mod dates;
mod feed;
mod folder_name;
mod frame;
mod lookup;
mod notice;
mod outward;
mod picture;
mod poem;
mod policy;
mod preview;
mod round;
mod search;
mod text;
mod uuid;
mod view;
mod zip;

pub use address::{Address, LinkStyle, Place, picture_file};
pub use assets::{ASSETS, Asset, asset, preview_asset};
pub use book::{Book, BookError, BookPicture};
pub use collection::{Collection, Connect, ROUNDS_ON_A_PAGE, Renderer};
pub use feed::FEED_ROUNDS;
pub use folder_name::folder_name;
pub use frame::{Document, HTML};
pub use lookup::{Lookup, LookupFile};
pub use notice::Notice;
pub use policy::{
    CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY_IN_META, CONTENT_SECURITY_POLICY_OF_PREVIEW,
    REFERRER_POLICY,
};
pub use preview::{Finding, Preview};
pub use round::{ENTRIES_ON_A_PAGE, chunks_of_page, pages_of_round};
pub use search::{HITS_ON_A_PAGE, Hit, Outcome, Total};
pub use view::{VIEW_VERSION, view};
pub use zip::{Zip, ZipError};

/// Names the templates, style and script of this build: a part of every page's ETag.
pub const TEMPLATE_VERSION: &str = env!("TEMPLATE_VERSION");
