//! Answers as they are written.

mod answer;

pub(crate) use answer::{Answer, AnswerBuf};
