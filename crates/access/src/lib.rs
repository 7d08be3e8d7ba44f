//! From predicates to rows: ranges, the leap scan, index condition pushdown, statistics and costs.
