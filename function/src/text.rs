//! Answers as they are written, and the shapes they have.

mod answer;
pub(crate) mod schema;

pub(crate) use answer::{Answer, AnswerBuf, Open, field};
