//! Writes made-up collections for measuring: `shapes ARCHIVE SHAPE...`, or `shapes --folder DIR SHAPE...`.

use std::error::Error;
use std::path::Path;

use wakashu_bench::{Shape, write_archive, write_folder};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let parse =
        |shapes: &[String]| shapes.iter().map(|shape| shape.parse()).collect::<Result<Vec<Shape>, _>>();
    match arguments.as_slice() {
        [flag, folder, shapes @ ..] if flag == "--folder" => write_folder(Path::new(folder), &parse(shapes)?),
        [archive, shapes @ ..] => write_archive(Path::new(archive), &parse(shapes)?),
        [] => Err("usage: shapes ARCHIVE SHAPE... | shapes --folder DIR SHAPE...".into()),
    }
}
