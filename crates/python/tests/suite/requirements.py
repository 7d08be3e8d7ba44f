"""What Leafline has of what SQLAlchemy's suite asks for: as MySQL, but for what is said beside it."""

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements


class Requirements(SuiteRequirements):
    pass


# Of MySQL, beyond what the suite takes for granted.
HAS = """
    foreign_keys foreign_keys_reflect_as_index unique_index_reflect_as_unique_constraints
    unique_constraints_reflect_as_index on_update_cascade self_referential_foreign_keys foreign_key_ddl
    named_constraints subqueries offset bound_limit_offset parens_in_union_contained_select_w_limit_offset
    parens_in_union_contained_select_wo_limit_offset boolean_col_expressions nullable_booleans standalone_binds
    standalone_null_binds_whereclause intersect except_ window_functions window_range ctes ctes_with_values
    autoincrement_insert fetch_rows_post_commit group_by_complex_expression sane_rowcount sane_multi_rowcount empty_inserts
    insert_from_select tuple_in duplicate_names_in_cursor_description multivalues_inserts implements_get_lastrowid
    arraysize emulated_lastrowid dbapi_lastrowid views schemas cross_schema_fk_reflection
    foreign_key_constraint_name_reflection implicit_default_schema supports_lastrowid table_reflection comment_reflection
    comment_reflection_full_unicode view_column_reflection view_reflection schema_reflection schema_create_delete
    primary_key_constraint_reflection foreign_key_constraint_reflection
    foreign_key_constraint_option_reflection_ondelete fk_constraint_option_reflection_ondelete_restrict
    foreign_key_constraint_option_reflection_onupdate fk_constraint_option_reflection_onupdate_restrict
    temp_table_reflection temp_table_reflect_indexes temporary_tables index_reflection indexes_with_ascdesc reflect_indexes_with_ascdesc
    indexes_check_column_order unique_constraint_reflection inline_check_constraint_reflection check_constraint_reflection
    duplicate_key_raises_integrity_error unicode_data unicode_ddl datetime datetime_microseconds timestamp_microseconds
    datetime_historic date date_historic time time_microseconds binary_comparisons binary_literals autocommit
    isolation_level json_type precision_numerics_general precision_numerics_enotation_small
    precision_numerics_enotation_large precision_numerics_many_significant_digits
    cast_precision_numerics_many_significant_digits float_cast server_defaults expression_server_defaults
    implicit_decimal_binds numeric_received_as_decimal_untyped nested_aggregates recursive_fk_cascade
    precision_numerics_retains_significant_digits precision_generic_float_type floats_to_four_decimals
    fetch_null_from_numeric float_is_numeric text_type empty_strings_varchar empty_strings_text
    expressions_against_unbounded_text selectone savepoints update_from delete_from mod_operator_as_percent_sign
    percent_schema_names order_by_label_with_expression independent_connections independent_readonly_connections
    ad_hoc_engines computed_columns computed_columns_stored computed_columns_virtual computed_columns_reflect_persisted
    supports_is_distinct_from regexp_match regexp_replace generic_classes reflect_table_options create_or_replace_view
    supports_bitwise_or supports_bitwise_and supports_bitwise_not supports_bitwise_xor supports_bitwise_shift like_escapes
    symbol_names_w_double_quote create_table_as order_by_collation column_collation_reflection
    literal_float_coercion json_array_indexes unusual_column_name_characters
    skip_autocommit_rollback get_isolation_level_values dialect_level_isolation_level_param
""".split()
for _name in HAS:
    if hasattr(SuiteRequirements, _name) and isinstance(getattr(SuiteRequirements, _name), property):
        setattr(Requirements, _name, property(lambda self: exclusions.open()))

# What MySQL has not either, and what Leafline has not.
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
    "fk_constraint_option_reflection_ondelete_noaction": "NO ACTION is not shown",
}
for _name in HAS_NOT:
    assert hasattr(SuiteRequirements, _name), _name
    setattr(Requirements, _name, property(lambda self: exclusions.closed()))


def _isolation_levels(self, config):
    return {
        "default": "REPEATABLE READ",
        "supported": ["READ COMMITTED", "REPEATABLE READ", "AUTOCOMMIT"],
    }


def _order_by_collation(self, config):
    return "utf8mb4_bin"


Requirements.get_isolation_levels = _isolation_levels
Requirements.get_order_by_collation = _order_by_collation
