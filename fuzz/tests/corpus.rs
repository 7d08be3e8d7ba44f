//! Every input of the corpus once more, and a few of no particular kind where there is no corpus.

use std::path::Path;

#[test]
fn the_corpus_finds_nothing() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (name, target) in leafline_fuzz::TARGETS {
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
}
