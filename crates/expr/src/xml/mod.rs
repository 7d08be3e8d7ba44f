//! XML for EXTRACTVALUE and UPDATEXML: documents as MySQL reads them, and its subset of XPath 1.0.
//!
//! | module     | holds                                              |
//! |------------|----------------------------------------------------|
//! | `document` | the nodes of a document, and where they are in it  |
//! | `lexer`    | the tokens of an XPath expression                  |
//! | `xpath`    | the tree of an XPath expression, and its parser    |
//! | `evaluate` | an XPath expression applied to a document          |
//!
//! MySQL's reader of XML takes more than XML is: several roots, text beside them, attributes that repeat or have no value, names
//! that no schema would allow. A library for XML refuses these, so the reader is one of its own.

mod document;
mod evaluate;
mod lexer;
#[cfg(test)]
mod tests;
mod xpath;

pub(crate) use document::{Bounds, Document, Failure};
pub(crate) use evaluate::Evaluator;
pub(crate) use xpath::XPath;
