//! Runs every input of the corpus, or a few arbitrary inputs if there is no corpus.

use std::path::Path;

#[test]
fn the_corpus_finds_nothing() {
    for (name, target) in leafline_fuzz::TARGETS {
        replay(name, *target);
    }
    // Runs them again with damage that the log's checksums hide.
    #[cfg(debug_assertions)]
    {
        leafline_storage::log::believe_checksums();
        for (name, target) in leafline_fuzz::TARGETS.iter().filter(|(name, _)| *name == "log") {
            replay(name, *target);
        }
    }
}

fn replay(name: &str, target: leafline_fuzz::Target) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let inputs = std::fs::read_dir(corpus.join(name)).expect("a directory of inputs for each target");
    let mut count = 0;
    for input in inputs {
        let path = input.expect("an entry").path();
        println!("{}", path.display());
        target(&std::fs::read(&path).expect("an input"));
        count += 1;
    }
    assert!(count > 0, "{name} has no corpus");
}
