//! Answers as they are written.

mod answer;

pub use answer::{Answer, AnswerBody, AnswerBuf, Mark};
