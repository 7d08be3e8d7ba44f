//! XML for EXTRACTVALUE and UPDATEXML: documents as MySQL reads them, and its subset of XPath 1.0.
//!
//! | module     | holds                                              |
//! |------------|----------------------------------------------------|
//! | `document` | the nodes of a document, and their places in it    |
//! | `lexer`    | the tokens of an XPath expression                  |
//! | `xpath`    | the tree of an XPath expression, and its parser    |
//!
//! MySQL's reader accepts more than XML: several roots, text beside them, attributes that repeat or have no value,
//! names that no schema would allow. XML libraries refuse these, so this module has its own reader.

mod document;
mod lexer;
#[cfg(test)]
mod tests;
mod xpath;

pub(crate) use document::{Bounds, Document, Failure, Kind};
pub(crate) use xpath::{Axis, Expression, Function, Start, Step, XPath};
