//! SQL types, values, collations, key and row formats, expressions and their evaluator.
