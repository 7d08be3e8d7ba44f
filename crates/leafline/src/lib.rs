//! Leafline: an embedded relational database with MySQL's meaning and protocol.
