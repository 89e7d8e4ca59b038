//! Replays what fuzzing has kept, on the stable toolchain and without a sanitizer.

use std::fs;
use std::path::Path;

use wakashu_invariants::ALL;

#[test]
fn every_file_of_the_corpora_holds() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    for (name, check) in ALL {
        let files: Vec<_> =
            fs::read_dir(corpora.join(name)).unwrap().map(|file| file.unwrap().path()).collect();
        assert!(!files.is_empty(), "the corpus of {name} is empty");
        for file in files {
            let bytes = fs::read(&file).unwrap();
            let holds = std::panic::catch_unwind(|| check(&bytes)).is_ok();
            assert!(holds, "{} does not hold; why is said above", file.display());
        }
    }
}
