//! What is published, what is not, and what is said about it.

use std::fs;

use crate::harness::Place;

#[test]
fn the_wrong_folder_does_not_replace_what_is_served() {
    let place = Place::small();
    assert_eq!(place.run(["publish", "wakashu_dir", "store", "--no-cache"]).code, 0);
    let pointer = place.path().join("store/current.json");
    let before = fs::read(&pointer).unwrap();
    for folder in [".", "store", "wakashu_dir/第1回", "wakashu_dir/第1回/1-Laptop"] {
        let run = place.run(["publish", folder, "store", "--no-cache"]);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{folder}: {}", run.stderr);
        assert_eq!(fs::read(&pointer).unwrap(), before);
        assert_eq!(fs::read_dir(place.path().join("store/archives")).unwrap().count(), 1);
    }
}
