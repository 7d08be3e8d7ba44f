//! From SQL text to a syntax tree, in MySQL's dialect.

pub mod ast;
