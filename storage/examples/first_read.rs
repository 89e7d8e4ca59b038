//! Times what a cold start costs: opening a store, the first read of its pointer, the first read of its archive.
//!
//! `cargo run --release -p wakashu-storage --example first_read -- s3://bucket/prefix`

#![allow(clippy::print_stdout, reason = "its only purpose")]

use std::error::Error;
use std::time::Instant;

use wakashu_archive::TAIL_BYTES;
use wakashu_storage::{Fetched, Location, Pointer, archive_key};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).ok_or("expected the address of a store")?;
    let started = Instant::now();
    let storage = address.parse::<Location>()?.open().await?;
    let opened = Instant::now();
    let Fetched::Changed { value: pointer, etag } = Pointer::read(&*storage, None).await? else {
        return Err("nothing has been published there".into());
    };
    let pointer_read = Instant::now();
    let object = storage.object(&archive_key(pointer.current.digest), Some(pointer.current.bytes)).await?;
    object.tail(TAIL_BYTES).await?;
    let read = Instant::now();
    Pointer::read(&*storage, Some(&etag)).await?;
    let again = Instant::now();
    let microseconds = |from: Instant, to: Instant| to.duration_since(from).as_micros();
    println!("open               {:>8} us", microseconds(started, opened));
    println!("pointer, first     {:>8} us", microseconds(opened, pointer_read));
    println!("archive's end      {:>8} us", microseconds(pointer_read, read));
    println!("pointer, unchanged {:>8} us", microseconds(read, again));
    Ok(())
}
