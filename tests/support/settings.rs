//! Global variables that a whole suite is run under, from `LEAFLINE_TEST_VARIABLES`: `change_buffering=all,change_buffering_debug=1`.

/// Names and values.
pub fn test_variables() -> Vec<(String, String)> {
    let text = std::env::var("LEAFLINE_TEST_VARIABLES").unwrap_or_default();
    let pair = |pair: &str| {
        let (name, value) =
            pair.split_once('=').expect("LEAFLINE_TEST_VARIABLES: name=value, with commas between");
        (name.to_owned(), value.to_owned())
    };
    text.split(',').filter(|part| !part.is_empty()).map(pair).collect()
}
