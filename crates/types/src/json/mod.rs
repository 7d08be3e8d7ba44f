//! JSON documents: their bytes, their text, their order, and paths into them.
//!
//! | module     | holds                                                                   |
//! |------------|-------------------------------------------------------------------------|
//! | [`node`]   | a document as a tree, for building and changing                         |
//! | [`binary`] | a document as bytes, in rows and values, and views of its parts         |
//! | [`parse`]  | the parser                                                              |
//! | [`text`]   | the writer                                                              |
//! | [`path`]   | path expressions, and the values they select                            |
//! | [`edit`]   | changes of a tree at the place that a path names                        |
//! | [`order`]  | keys whose byte order is the order of documents                         |
//! | [`kind`]   | the names of the kinds of values                                        |
//!
//! A document is at most [`MAX_DEPTH`] deep: a scalar is 1 deep, an array one more than its deepest cell. Members of
//! an object are ordered by the length of their names, then by the names' bytes; of several members with one name the
//! last counts.

pub mod binary;
pub mod edit;
pub mod kind;
pub mod node;
pub mod order;
pub mod parse;
pub mod path;
pub mod text;

use std::ops::Range;
use std::sync::Arc;

use crate::error::{CodecError, MysqlError};
use crate::statement::CancelToken;

pub use binary::{Item, View};
pub use node::{Key, Node};
pub use path::Path;

/// The most levels of a document.
pub const MAX_DEPTH: usize = 100;

/// A document in its binary form (see [`binary`]). Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json(Arc<[u8]>);

impl Json {
    /// Makes a document of a tree.
    ///
    /// # Errors
    /// 3157 if it is too deep, 3151 if the name of a member has more than 65,535 bytes.
    pub fn new(node: &Node) -> Result<Json, MysqlError> {
        if node.depth() > MAX_DEPTH {
            return Err(MysqlError::json_document_too_deep());
        }
        Ok(Json(binary::encode(node)?.into()))
    }

    /// Returns where a view of this document lies in its bytes; an empty range for a view of another document.
    pub fn place_of(&self, view: View<'_>) -> Range<usize> {
        let (whole, part) = (self.0.as_ptr_range(), view.bytes().as_ptr_range());
        match whole.start <= part.start && part.end <= whole.end {
            true => part.start as usize - whole.start as usize..part.end as usize - whole.start as usize,
            false => 0..0,
        }
    }

    /// Returns the value at a place that [`Json::place_of`] returned.
    pub fn at_place(&self, place: Range<usize>) -> View<'_> {
        View::of_value(self.0.get(place).unwrap_or_default())
    }

    /// Makes a document of a part of another.
    pub fn of_view(view: View<'_>) -> Json {
        let mut bytes = vec![binary::VERSION];
        bytes.extend_from_slice(view.bytes());
        Json(bytes.into())
    }

    /// Parses a document.
    ///
    /// # Errors
    /// See [`parse::Failure`].
    pub fn parse(text: &str) -> Result<Json, parse::Failure> {
        let node = parse::parse(text)?;
        Json::of_parsed(&node)
    }

    /// Parses a document whose tree takes at most about `memory` bytes. Checks `cancel` as it goes.
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

    /// Makes a document of the bytes in a row, without checking them: malformed parts read as `null`; see
    /// [`Json::verify`].
    pub fn from_bytes(bytes: &[u8]) -> Json {
        Json(bytes.into())
    }

    /// Returns the bytes that a row stores.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the document unless it has more than `max` bytes.
    ///
    /// # Errors
    /// 1301.
    pub fn no_larger_than(self, max: usize) -> Result<Json, MysqlError> {
        match self.0.len() > max {
            true => Err(Json::too_large(max)),
            false => Ok(self),
        }
    }

    /// Makes error 1301 for a document of more than `max` bytes.
    pub fn too_large(max: usize) -> MysqlError {
        MysqlError::allowed_packet_overflowed("json_binary::serialize", max)
    }

    /// Views the whole document.
    pub fn view(&self) -> View<'_> {
        View::of_document(&self.0)
    }

    /// Converts the document to a tree.
    ///
    /// # Errors
    /// 1041 if there is no memory for the tree of a long document.
    pub fn to_node(&self) -> Result<Node, MysqlError> {
        self.view().to_node()
    }

    /// Checks that all of the bytes form a document.
    ///
    /// # Errors
    /// They are malformed.
    pub fn verify(&self) -> Result<(), CodecError> {
        binary::verify(&self.0)
    }
}

impl std::fmt::Display for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&text::to_text(self.view()))
    }
}
