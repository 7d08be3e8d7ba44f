//! SQL of Leafline: parser, binder, optimizer, operators, statements and sessions.

pub mod parser;
