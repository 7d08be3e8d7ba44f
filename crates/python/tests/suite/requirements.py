"""The features that SQLAlchemy's suite asks for, where Leafline differs from the suite's defaults.

The suite skips the tests of a feature that is neither a default nor named here, and the tests of `HAS_NOT`, for the
reason beside it.
"""

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements


class Requirements(SuiteRequirements):
    def get_isolation_levels(self, config):
        return {"default": "REPEATABLE READ", "supported": ["READ COMMITTED", "REPEATABLE READ", "AUTOCOMMIT"]}

    def get_order_by_collation(self, config):
        return "utf8mb4_bin"


# Features that Leafline has, as MySQL has them.
HAS = """
    autocommit boolean_col_expressions cast_precision_numerics_many_significant_digits check_constraint_reflection
    comment_reflection comment_reflection_full_unicode computed_columns computed_columns_reflect_persisted
    computed_columns_stored computed_columns_virtual create_or_replace_view create_table_as create_temp_table_as
    cross_schema_fk_reflection ctes ctes_with_update_delete date_historic datetime_historic dbapi_lastrowid
    delete_from emulated_lastrowid except_ expression_server_defaults
    fk_constraint_option_reflection_ondelete_restrict fk_constraint_option_reflection_onupdate_restrict
    foreign_key_constraint_name_reflection foreign_key_constraint_option_reflection_ondelete
    foreign_key_constraint_option_reflection_onupdate foreign_keys_reflect_as_index implicit_default_schema
    indexes_check_column_order inline_check_constraint_reflection intersect isolation_level json_array_indexes
    json_type mod_operator_as_percent_sign non_updating_cascade order_by_label_with_expression percent_schema_names
    precision_numerics_enotation_small precision_numerics_many_significant_digits
    precision_numerics_retains_significant_digits reflect_table_options regexp_match regexp_replace savepoints
    schema_create_delete server_defaults skip_autocommit_rollback supports_bitwise_and supports_bitwise_or
    supports_bitwise_shift supports_bitwise_xor table_ddl_if_exists temp_table_comment_reflection tuple_in
    tuple_in_w_empty unicode_ddl unique_constraints_reflect_as_index unique_index_reflect_as_unique_constraints
    update_from view_column_reflection view_reflection views window_functions window_range window_range_numeric
""".split()

# Features that MySQL lacks, too, and features that Leafline alone lacks.
HAS_NOT = {
    "datetime_timezone": "DATETIME has no time zone",
    "time_timezone": "TIME has none",
    "ctes_on_dml": "MySQL has WITH before UPDATE and DELETE only, not in them",
    "update_where_target_in_subquery": "1093, as in MySQL",
    "unbounded_varchar": "VARCHAR has a length",
    "sequences": "AUTO_INCREMENT",
    "insert_returning": "RETURNING",
    "delete_returning": "RETURNING",
    "update_returning": "RETURNING",
    "two_phase_transactions": "XA",
    "identity_columns": "AUTO_INCREMENT",
    "deferrable_fks": "foreign keys are checked by statement",
    "infinity_floats": "SQL has no infinity",
    "temp_table_names": "no list of temporary tables",
    "has_temp_table": "nor a question after one",
    "temporary_views": "views are not temporary",
    "server_side_cursors": "rows are read as they are asked for always",
    "nullsordering": "NULLS FIRST",
    "array_type": "arrays",
    "supports_distinct_on": "DISTINCT ON",
    "fetch_first": "LIMIT",
    "fetch_no_order_by": "LIMIT",
    "legacy_unconditional_json_extract": "nor has MySQL's dialect",
    "repeated_column_foreign_keys": "a column is named once in a key",
    "repeated_remote_col_foreign_keys": "so",
    "window_range_non_numeric": "a range of dates takes an INTERVAL, which the test does not give",
    "indexes_with_expressions": "the test's are of TEXT, which is 3757; others are there",
    "reflect_indexes_with_expressions": "so",
    "datetime_microseconds": "DATETIME, TIMESTAMP and TIME have as many digits as they are declared with, none unless told",
    "timestamp_microseconds": "so",
    "time_microseconds": "so",
    "ctes_with_values": "MySQL's is VALUES ROW(..)",
    "supports_bitwise_not": "~ gives an unsigned number",
    "precision_generic_float_type": "FLOAT has 24 bits",
    "column_collation_reflection": "the test declares VARCHAR without a length",
    "sql_expression_limit_offset": "LIMIT and OFFSET take numbers and parameters",
    "fk_constraint_option_reflection_ondelete_noaction": "NO ACTION is not shown",
}


def _set(names, exclusion):
    for name in names:
        assert isinstance(getattr(SuiteRequirements, name), property), name
        setattr(Requirements, name, property(lambda self: exclusion()))


_set(HAS, exclusions.open)
_set(HAS_NOT, exclusions.closed)
