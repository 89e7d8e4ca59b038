//! What both sides of the protocol know: JSON as it is walked through, messages, revisions and their eras, headers,
//! error codes. No input, no output, no clock.

pub mod envelope;
pub mod era;
pub mod error;
pub mod json;
pub mod message;

pub use envelope::Envelope;
pub use era::{Era, Headers, Revision, SUPPORTED};
pub use error::RpcError;
pub use json::{Raw, string};
pub use message::{Body, Incoming, Members, Notification, Params, Part, Request, Unreadable};
