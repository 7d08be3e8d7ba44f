//! JSON documents: their bytes, their text, their order, and the paths that lead into them.
//!
//! | module     | holds                                                                   |
//! |------------|-------------------------------------------------------------------------|
//! | [`node`]   | a document as a tree, to be built and changed                           |
//! | [`binary`] | a document as bytes, as rows and values have it, and views of its parts |
//! | [`parse`]  | a document from text                                                    |
//! | [`text`]   | a document as text                                                      |
//! | [`path`]   | path expressions, and what they select of a view                        |
//! | [`edit`]   | changes of a tree at the place a path names                             |
//! | [`order`]  | keys whose byte order is the order of documents                         |
//! | [`scalar`] | SQL values as documents, and documents as SQL values                    |
//!
//! A document is at most [`MAX_DEPTH`] deep: a scalar is 1 deep, an array one more than its deepest cell. Members of an object
//! are ordered by the length of their names, then by the names' bytes; of members of one name the last counts.

pub mod binary;
pub mod edit;
pub mod node;
pub mod order;
pub mod parse;
pub mod path;
pub mod scalar;
pub mod text;

use std::ops::Range;
use std::sync::Arc;

use crate::codec::CodecError;
use crate::error::MysqlError;
use crate::statement::CancelToken;

pub use binary::{Item, View};
pub use node::{Key, Node};
pub use path::Path;

/// How deep a document may be.
pub const MAX_DEPTH: usize = 100;

/// A document in its binary form (see [`binary`]). Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json(Arc<[u8]>);

impl Json {
    /// The document of a tree.
    ///
    /// # Errors
    /// 3157 if it is too deep, 3151 if the name of a member has more than 65,535 bytes.
    pub fn new(node: &Node) -> Result<Json, MysqlError> {
        if node.depth() > MAX_DEPTH {
            return Err(MysqlError::json_document_too_deep());
        }
        Ok(Json(binary::encode(node)?.into()))
    }

    /// The place of a view of this document among its bytes; empty for a view of another one.
    pub fn place_of(&self, view: View<'_>) -> Range<usize> {
        let (whole, part) = (self.0.as_ptr_range(), view.bytes().as_ptr_range());
        match whole.start <= part.start && part.end <= whole.end {
            true => part.start as usize - whole.start as usize..part.end as usize - whole.start as usize,
            false => 0..0,
        }
    }

    /// The value at a place that [`Json::place_of`] has given.
    pub fn at_place(&self, place: Range<usize>) -> View<'_> {
        View::of_value(self.0.get(place).unwrap_or_default())
    }

    /// A part of a document as a document.
    pub fn of_view(view: View<'_>) -> Json {
        let mut bytes = vec![binary::VERSION];
        bytes.extend_from_slice(view.bytes());
        Json(bytes.into())
    }

    /// The document of a text.
    ///
    /// # Errors
    /// See [`parse::Failure`].
    pub fn parse(text: &str) -> Result<Json, parse::Failure> {
        let node = parse::parse(text)?;
        Json::of_parsed(&node)
    }

    /// The document of a text, whose tree takes no more than about `memory` bytes. Asks for cancellation as it goes.
    ///
    /// # Errors
    /// See [`parse::Failure`].
    pub(crate) fn parse_within(
        text: &str,
        memory: usize,
        cancel: &CancelToken,
    ) -> Result<Json, parse::Failure> {
        let node = parse::parse_within(text, memory, cancel)?;
        Json::of_parsed(&node)
    }

    fn of_parsed(node: &Node) -> Result<Json, parse::Failure> {
        match binary::encode(node) {
            Ok(bytes) => Ok(Json(bytes.into())),
            Err(error) if error.code == MysqlError::json_key_too_big().code => {
                Err(parse::Failure::KeyTooLong)
            }
            Err(error) => Err(parse::Failure::Stopped(error)),
        }
    }

    /// Of the bytes that a row holds. They are not looked at: what is malformed in them reads as `null`; see
    /// [`Json::verify`].
    pub fn from_bytes(bytes: &[u8]) -> Json {
        Json(bytes.into())
    }

    /// The bytes that a row holds.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The document, unless it has more than `max` bytes.
    ///
    /// # Errors
    /// 1301.
    pub fn no_larger_than(self, max: usize) -> Result<Json, MysqlError> {
        match self.0.len() > max {
            true => Err(Json::too_large(max)),
            false => Ok(self),
        }
    }

    /// Error 1301 for a document of more than `max` bytes.
    pub fn too_large(max: usize) -> MysqlError {
        MysqlError::allowed_packet_overflowed("json_binary::serialize", max)
    }

    /// The whole document.
    pub fn view(&self) -> View<'_> {
        View::of_document(&self.0)
    }

    /// The document as a tree.
    ///
    /// # Errors
    /// 1041 where there is no memory for the tree of a long one.
    pub fn to_node(&self) -> Result<Node, MysqlError> {
        self.view().to_node()
    }

    /// Whether the bytes are those of a document, all of them.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn verify(&self) -> Result<(), CodecError> {
        binary::verify(&self.0)
    }
}

impl std::fmt::Display for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&text::to_text(self.view()))
    }
}
