//! Variables of the component `validate_password`. Without the component there are none of them: error 1193.

use super::{Variable, flag, number, on_off, settable, shared, switch, text, word};
use crate::accounts::PolicyLevel;
use leafline_types::{MysqlError, Value};

/// The greatest count of characters.
const MOST: u64 = i32::MAX as u64;

/// The variables in the order of their names.
pub(super) const VARIABLES: &[Variable] = &[
    shared(number(
        "validate_password.changed_characters_percentage",
        (0, 100),
        |s, _| Value::UInt(s.password_policy.changed_percentage),
        |s, n| s.password_policy.changed_percentage = n,
    )),
    shared(switch(
        "validate_password.check_user_name",
        |s, _| on_off(s.password_policy.checks_user_name),
        |s, v| {
            flag("validate_password.check_user_name", &v).map(|on| s.password_policy.checks_user_name = on)
        },
    )),
    shared(settable(
        "validate_password.dictionary_file",
        |s, _| text(&s.password_policy.dictionary_file),
        |s, v| {
            let file = if v.is_null() { String::new() } else { word(&v) };
            s.password_policy.dictionary_file = file.into();
            Ok(())
        },
    )),
    shared(number(
        "validate_password.length",
        (0, MOST),
        |s, _| Value::UInt(s.password_policy.length),
        |s, n| {
            s.password_policy.length = n;
            s.password_policy.fit_length();
        },
    )),
    shared(number(
        "validate_password.mixed_case_count",
        (0, MOST),
        |s, _| Value::UInt(s.password_policy.mixed_case),
        |s, n| {
            s.password_policy.mixed_case = n;
            s.password_policy.fit_length();
        },
    )),
    shared(number(
        "validate_password.number_count",
        (0, MOST),
        |s, _| Value::UInt(s.password_policy.digits),
        |s, n| {
            s.password_policy.digits = n;
            s.password_policy.fit_length();
        },
    )),
    shared(settable(
        "validate_password.policy",
        |s, _| text(s.password_policy.level.name()),
        |s, v| {
            let named = word(&v);
            match PolicyLevel::from_name(&named) {
                Some(level) => s.password_policy.level = level,
                None => return Err(MysqlError::wrong_value_for_variable("validate_password.policy", named)),
            }
            Ok(())
        },
    )),
    shared(number(
        "validate_password.special_char_count",
        (0, MOST),
        |s, _| Value::UInt(s.password_policy.special),
        |s, n| {
            s.password_policy.special = n;
            s.password_policy.fit_length();
        },
    )),
];
