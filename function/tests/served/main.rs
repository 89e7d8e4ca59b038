//! What is served and how it is read, from outside; and the layers of the sources.

mod cache;
mod columns;
mod layers;
mod open;
mod refresh;
