//! What fuzzing has kept, and what was made by hand to mislead.

mod attacks;
mod replay;
