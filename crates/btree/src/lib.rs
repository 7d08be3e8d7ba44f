//! Latched B+trees of Leafline: search, insert, split, merge, cursors, bulk build, estimates.
