//! Regular expressions in ICU's syntax.
//!
//! | module | does |
//! |---|---|
//! | `rewrite` | translates a pattern to the syntax of the crate `regex` |
//! | `pattern` | compiles a pattern, and chooses the matcher for a text |
//! | `long_text` | searches long texts, and checks for cancellation |
//! | `syntax` | parses a pattern for the backtracking matcher |
//! | `backtrack` | matches patterns that the crate `regex` does not support |

mod backtrack;
mod long_text;
mod pattern;
mod rewrite;
mod syntax;

pub(crate) use backtrack::Spans;
pub(crate) use pattern::Compiled;
pub(crate) use rewrite::Flags;
