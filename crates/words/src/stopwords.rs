//! The stopwords that an index has unless it is given others.

/// InnoDB's stopwords, as `INFORMATION_SCHEMA.INNODB_FT_DEFAULT_STOPWORD` lists them.
pub const DEFAULT_STOPWORDS: &[&str] = &[
    "a", "about", "an", "are", "as", "at", "be", "by", "com", "de", "en", "for", "from", "how", "i", "in",
    "is", "it", "la", "of", "on", "or", "that", "the", "this", "to", "was", "what", "when", "where", "who",
    "will", "with", "und", "the", "www",
];
