//! The differences from MariaDB that have a reason: MariaDB is not MySQL 8, or Leafline differs from both. `docs/compat/mariadb.md` lists
//! them in the same words.

use super::Given;

/// A difference that has a reason.
struct ExpectedDifference {
    /// The functions it concerns; empty for all.
    functions: &'static [&'static str],
    /// The difference and its reason.
    reason: &'static str,
    /// Whether a case is this difference.
    applies: fn(&Case<'_>) -> bool,
}

/// Two answers to a statement.
struct Case<'a> {
    ours: &'a Given,
    theirs: &'a Given,
    sql: &'a str,
}

impl Case<'_> {
    fn has(&self, texts: &[&str]) -> bool {
        texts.iter().any(|text| self.sql.contains(text))
    }

    fn ours_is_null(&self) -> bool {
        matches!(self.ours, Given::Value(None, _))
    }

    fn theirs_is_null(&self) -> bool {
        matches!(self.theirs, Given::Value(None, _))
    }

    /// Returns both texts.
    fn texts(&self) -> (&str, &str) {
        match (self.ours, self.theirs) {
            (Given::Value(Some(ours), _), Given::Value(Some(theirs), _)) => (ours, theirs),
            _ => ("", ""),
        }
    }

    /// Whether one text continues with only these characters where the other ends.
    fn differ_in_tail(&self, characters: &[char]) -> bool {
        let (ours, theirs) = self.texts();
        let (short, long) = if ours.len() < theirs.len() { (ours, theirs) } else { (theirs, ours) };
        let tail = long.strip_prefix(short).unwrap_or_default();
        !short.is_empty() && !tail.is_empty() && tail.chars().all(|c| characters.contains(&c))
    }

    /// Whether there is a hexadecimal literal.
    fn hexadecimal(&self) -> bool {
        self.sql.contains("0x") && self.sql.replace("'0x1F'", "").contains("0x")
    }

    /// Whether there is a binary string.
    fn binary(&self) -> bool {
        self.hexadecimal() || self.has(&["_binary", "(y", " y", "~y"])
    }

    /// Whether there is a double that is not whole, or is beyond 63 bits.
    fn double(&self) -> bool {
        self.has(&["2.5e0", "1.7e308", "1e308", "1.7e307", "e308"])
            || self.has(&["(f", " f", "~f"]) && self.has(&["id = 3", "id = 4", "id = 6"])
    }

    /// Whether there is a column of the rows whose date and datetime have zero parts.
    fn zero_parts(&self) -> bool {
        let rows = ["id = 7", "id = 8", "id < 8", "id < 9", "id < 10"];
        self.has(&rows) && self.has(&["(dt", "(ts", " dt", " ts"])
    }
}

/// Bit operators, functions and aggregates.
const BITS: &[&str] = &["&", "|", "^", "<<", ">>", "~", "BIT_COUNT", "BIT_AND", "BIT_OR", "BIT_XOR"];

const EXPECTED_DIFFERENCES: &[ExpectedDifference] = &[
    ExpectedDifference {
        functions: BITS,
        reason: "MySQL and Leafline take the bits of a binary string from its bytes; MariaDB reads such a string as the text of a number.",
        applies: |case| case.binary(),
    },
    ExpectedDifference {
        functions: &["&", "|", "^", "<<", ">>", "BIT_COUNT"],
        reason: "Leafline reads a text as a whole number as far as it has digits (`'1e3'` is 1); MariaDB reads a double.",
        applies: |case| case.has(&["'1.5'", "'1e3'"]),
    },
    ExpectedDifference {
        functions: &["&", "|", "^", "<<", ">>", "~", "BIT_COUNT", "MAKE_SET", "EXPORT_SET"],
        reason: "Leafline rounds a double half to even and clips it to 63 bits; MariaDB does not.",
        applies: |case| case.double(),
    },
    ExpectedDifference {
        functions: &[
            "&",
            "|",
            "^",
            "<<",
            ">>",
            "~",
            "BIT_COUNT",
            "BIT_AND",
            "BIT_OR",
            "BIT_XOR",
            "EXPORT_SET",
            "DIV",
            "%",
        ],
        reason: "Leafline reads a DECIMAL literal beyond 63 bits as an unsigned number; MariaDB clips it to 63 bits.",
        applies: |case| case.has(&["99999999999999999999"]),
    },
    ExpectedDifference {
        functions: &["<<", ">>"],
        reason: "Leafline shifts everything out by 64 and more; MariaDB takes the lower 32 bits of the distance.",
        applies: |case| case.has(&["9223372036854775808)", " b)", "4294967296)"]),
    },
    ExpectedDifference {
        functions: &["ABS"],
        reason: "Leafline reads a hexadecimal literal as an unsigned number; MariaDB reads one of 64 bits as negative.",
        applies: |case| case.has(&["0xFFFFFFFFFFFFFFFF"]),
    },
    ExpectedDifference {
        functions: &["GREATEST", "LEAST"],
        reason: "Leafline compares numbers and strings as strings, as MySQL 8's manual says; MariaDB compares numbers, or dates if one is a date.",
        applies: |case| case.has(&["'", "0x", "(s", " s)", "(y", " y)", "(dt", " dt)", "(ts", " ts)"]),
    },
    ExpectedDifference {
        functions: &["INSERT", "MAKE_SET", "LPAD", "RPAD", "EXPORT_SET", "ELT", "REPLACE"],
        reason: "Leafline gives a string put together of numbers and text the text's characters; MariaDB shows the bytes of UTF-8 as latin1.",
        applies: |case| case.texts().1.contains(['Ã', 'æ', 'ÿ']),
    },
    ExpectedDifference {
        functions: &[],
        reason: "bytes beside text stay bytes in Leafline; if they are not UTF-8, MariaDB says 1300 for literals, and MySQL 3854.",
        applies: |case| *case.theirs == Given::Error(1300) && case.hexadecimal(),
    },
    ExpectedDifference {
        functions: &["SOUNDEX"],
        reason: "Leafline takes bytes above 0xBF for letters; MariaDB leaves them out.",
        applies: |case| case.binary(),
    },
    ExpectedDifference {
        functions: &["LPAD", "RPAD"],
        reason: "padding with an empty text gives an empty text in Leafline, and NULL in MariaDB.",
        applies: |case| case.texts().0.is_empty() && case.theirs_is_null(),
    },
    ExpectedDifference {
        functions: &["DATE_FORMAT"],
        reason: "Leafline gives NULL for a date whose month or day is zero if a day or week is asked for, and for the text `'0000-00-00'`, which `sql_mode` refuses; MySQL and MariaDB take a day nearby.",
        applies: |case| case.ours_is_null() && (case.has(&["-00", "(1e10,"]) || case.zero_parts()),
    },
    ExpectedDifference {
        functions: &["FLOOR", "CEIL", "ROUND", "TRUNCATE"],
        reason: "a datetime becomes a number in Leafline; it stays a datetime in MariaDB.",
        applies: |case| case.has(&["(ts", "TIMESTAMP'"]),
    },
    ExpectedDifference {
        functions: &["IF", "IFNULL", "NULLIF", "COALESCE"],
        reason: "a date whose month or day is zero is a value in Leafline; it is NULL in MariaDB.",
        applies: |case| case.theirs_is_null() && case.zero_parts(),
    },
    ExpectedDifference {
        functions: &["CHAR", "MAKE_SET", "EXPORT_SET"],
        reason: "Leafline rounds a datetime to seconds where a whole number is wanted; MariaDB cuts it.",
        applies: |case| case.has(&["(ts", "(TIMESTAMP'", ", ts)"]),
    },
    ExpectedDifference {
        functions: &["WEEK", "YEARWEEK"],
        reason: "Leafline rounds a datetime to seconds where it is the mode; MariaDB cuts it.",
        applies: |case| case.has(&["TIMESTAMP'2024-02-29 12:34:56.5')", ", ts)"]),
    },
    ExpectedDifference {
        functions: &["QUARTER"],
        reason: "the text `'0000-00-00'` is NULL in Leafline, because `sql_mode` refuses it.",
        applies: |case| case.ours_is_null() && case.has(&["'0000-00-00'"]),
    },
    ExpectedDifference {
        functions: &[
            "QUARTER",
            "MONTHNAME",
            "DATE_FORMAT",
            "DAYNAME",
            "LAST_DAY",
            "TO_DAYS",
            "WEEK",
            "YEARWEEK",
        ],
        reason: "if a point follows two digits, Leafline reads year, month and day: `'127.0.0.1'` is in July 2012; MariaDB reads the year 127.",
        applies: |case| case.has(&["'127.0.0.1'"]),
    },
    ExpectedDifference {
        functions: &["SUBSTRING_INDEX"],
        reason: "Leafline gives the whole text if there are fewer delimiters, however large the count; MariaDB takes the lower 32 bits of the count.",
        applies: |case| case.has(&["-9223372036854775808)", ", b)", "4294967296)"]),
    },
    ExpectedDifference {
        functions: &["LOCATE"],
        reason: "Leafline finds an empty text behind the last character too; MariaDB does not.",
        applies: |case| case.has(&["LOCATE('', ", "LOCATE(s, ", "LOCATE(_binary'', ", "LOCATE(y, "]),
    },
    ExpectedDifference {
        functions: &["PERIOD_ADD", "PERIOD_DIFF"],
        reason: "Leafline says 1210 for a period whose month is none; MariaDB does not.",
        applies: |case| *case.ours == Given::Error(1210),
    },
    ExpectedDifference {
        functions: &["PERIOD_ADD"],
        reason: "Leafline counts months with 64 bits; MariaDB takes the lower 32.",
        applies: |case| {
            let columns = [" b)", " u)", " d)", " f)", " ts)"];
            let literals =
                ["99999999999999999999", "9223372036854775807", "9223372036854775808", "e308", "1e10"];
            case.has(&columns) || case.has(&literals) || case.has(&["18446744073709551615", "20240506070809"])
        },
    },
    ExpectedDifference {
        functions: &["IS_IPV4", "IS_IPV6"],
        reason: "NULL gives NULL in Leafline, and 0 in MariaDB.",
        applies: |case| case.ours_is_null(),
    },
    ExpectedDifference {
        functions: &["REGEXP", "REGEXP_INSTR", "REGEXP_SUBSTR"],
        reason: "Leafline says 3995 for a binary string beside text; MariaDB does not.",
        applies: |case| *case.ours == Given::Error(3995),
    },
    ExpectedDifference {
        functions: &["REGEXP_SUBSTR"],
        reason: "Leafline gives NULL if nothing matches; MariaDB gives an empty text.",
        applies: |case| {
            case.ours_is_null() && matches!(case.theirs, Given::Value(Some(text), _) if text.is_empty())
        },
    },
    ExpectedDifference {
        functions: &["FORMAT"],
        reason: "Leafline shows at most 30 digits after the point; MariaDB shows 38.",
        applies: |case| case.differ_in_tail(&['0']),
    },
    ExpectedDifference {
        functions: &["FORMAT"],
        reason: "Leafline writes a double with the fewest digits that mean it, then zeros; MariaDB writes all that its bits amount to.",
        applies: |case| case.has(&["1.7e308"]),
    },
    ExpectedDifference {
        functions: &["FORMAT"],
        reason: "Leafline shows a hexadecimal literal with all its digits; MySQL and MariaDB show it as a double.",
        applies: |case| case.hexadecimal(),
    },
    ExpectedDifference {
        functions: &["FROM_UNIXTIME", "UNIX_TIMESTAMP"],
        reason: "times go up to 3001 in Leafline, and to 2038 in MariaDB; what is no time is 0 in Leafline, and NULL in MariaDB.",
        applies: |case| case.theirs_is_null(),
    },
    ExpectedDifference {
        functions: &["FROM_UNIXTIME"],
        reason: "Leafline shows six digits of the second for a double or a text; MariaDB does not.",
        applies: |case| case.differ_in_tail(&['.', '0']),
    },
    ExpectedDifference {
        functions: &["CONVERT_TZ"],
        reason: "Leafline takes distances of up to 14 hours and times up to 3001, and gives the time as it is beyond; MariaDB's bounds are lower.",
        applies: |case| case.theirs_is_null() && case.has(&["'+14:00'"]) || case.has(&["2038"]),
    },
    ExpectedDifference {
        functions: &["NULLIF"],
        reason: "Leafline says 1525 for a text that is no date beside a date; MariaDB does not.",
        applies: |case| *case.ours == Given::Error(1525),
    },
    ExpectedDifference {
        functions: &["REPLACE"],
        reason: "NULL gives NULL in Leafline, also where nothing is to be replaced; it does not in MariaDB.",
        applies: |case| case.ours_is_null(),
    },
    ExpectedDifference {
        functions: &["GROUP_CONCAT"],
        reason: "equal rows, and all rows if the order is a constant, stay in their order in Leafline; MariaDB turns it about.",
        applies: |case| constant_order(case.sql),
    },
    ExpectedDifference {
        functions: &["GROUP_CONCAT"],
        reason: "a negative number in ORDER BY is a constant in Leafline, and a place that does not exist in MariaDB; a place that does not exist is 1054 in Leafline also if the argument is NULL.",
        applies: |case| case.has(&["ORDER BY -", "CONCAT(NULL ORDER BY"]),
    },
    ExpectedDifference {
        functions: &["GROUP_CONCAT"],
        reason: "Leafline puts dates with months or days that are zero in their order, and NULL first; MariaDB shows them as `0000-00-00`, and orders NULL like the value before it.",
        applies: |case| case.zero_parts(),
    },
    ExpectedDifference {
        functions: &["ROUND"],
        reason: "Leafline says 1690 for an integer that leaves its range; MariaDB does not.",
        applies: |case| *case.ours == Given::Error(1690),
    },
    ExpectedDifference {
        functions: &["FROM_DAYS"],
        reason: "Leafline gives `0000-00-00` for a day that is none; MariaDB gives NULL.",
        applies: |case| {
            case.theirs_is_null() && matches!(case.ours, Given::Value(Some(text), _) if text == "0000-00-00")
        },
    },
    ExpectedDifference {
        functions: &["HOUR", "MICROSECOND", "EXTRACT"],
        reason: "Leafline reads numbers, and texts without a time of day, as times of digits where a part of a time is asked for, and clips them to 838:59:59; MariaDB reads dates.",
        applies: |case| {
            !case.has(&[
                "(ts",
                "(dt",
                " ts)",
                " dt)",
                "TIMESTAMP'",
                "DATE'",
                ":59'",
                ":08'",
                ".123456'",
                "'20240506070809'",
                "'10:11:12.5'",
            ])
        },
    },
    ExpectedDifference {
        functions: &["EXTRACT"],
        reason: "the week of a date whose month or day is zero is 0 in Leafline; it is another in MariaDB.",
        applies: |case| case.has(&["WEEK FROM"]) && case.zero_parts(),
    },
    ExpectedDifference {
        functions: &["EXTRACT"],
        reason: "Leafline reads the text of a time as a date if a day is asked for; MariaDB reads a time.",
        applies: |case| case.has(&["(DAY FROM '1"]),
    },
    ExpectedDifference {
        functions: &["DATE_ADD", "DATE_SUB"],
        reason: "Leafline shows a fraction with six digits if there is one, and otherwise none; MariaDB shows what the unit and the text can have.",
        applies: |case| case.differ_in_tail(&['.', '0']),
    },
    ExpectedDifference {
        functions: &["DATE_ADD", "DATE_SUB"],
        reason: "Leafline takes more than six digits of microseconds; MariaDB takes the first six.",
        applies: |case| case.has(&["_MICROSECOND"]),
    },
    ExpectedDifference {
        functions: &["DATE_ADD", "DATE_SUB"],
        reason: "zeros before the digits of a part of an interval count nothing in Leafline; MariaDB gives NULL for parts of 20 digits and more.",
        applies: |case| case.theirs_is_null() && case.has(&["INTERVAL 0.000000000000000000000000000001 "]),
    },
    ExpectedDifference {
        functions: &["DATE_ADD", "DATE_SUB"],
        reason: "Leafline gives NULL if the count of units leaves 63 bits, or the year 9999; MariaDB, and MySQL for unsigned numbers and years, wrap it.",
        applies: |case| {
            case.ours_is_null()
                && case.has(&[
                    "1.7e308",
                    "9223372036854775808",
                    "INTERVAL b ",
                    "INTERVAL u ",
                    "9223372036854775807 YEAR",
                    "4294967296 YEAR",
                    "INTERVAL f YEAR",
                    "18446744073709551615",
                    "0xFFFFFFFFFFFFFFFF",
                    "99999999999999999999",
                ])
        },
    },
    ExpectedDifference {
        functions: &[
            "+", "-", "*", "/", "DIV", "%", "ROUND", "TRUNCATE", "SUM", "AVG", "LEAST", "GREATEST", "IF",
            "IFNULL",
        ],
        reason: "a DECIMAL of more than 65 digits, and a DOUBLE beyond its range, is 1690 in Leafline; MySQL and MariaDB leave out digits of the DECIMAL behind the point, which may be all, and MariaDB has an infinite DOUBLE.",
        applies: |case| {
            *case.ours == Given::Error(1690)
                || case.has(&["99999999999999999999999999999999999", "0.000000000000000000000000000001"])
        },
    },
    ExpectedDifference {
        functions: &["VAR_POP", "VAR_SAMP", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "VARIANCE", "STD"],
        reason: "the variance of values is not NULL in Leafline; MariaDB says that it is if nothing else is asked.",
        applies: |case| case.has(&[" IS NULL"]) && case.texts() == ("0", "1"),
    },
    ExpectedDifference {
        functions: &["JSON_EXTRACT", "->", "->>"],
        reason: "in Leafline a value that is no array is an array of itself to `$[last]` too; in MariaDB only to `$[0]`.",
        applies: |case| case.has(&["[last"]),
    },
    ExpectedDifference {
        functions: &["JSON_TYPE"],
        reason: "a whole number beyond 63 bits is an `UNSIGNED INTEGER` in Leafline, and an `INTEGER` in MariaDB.",
        applies: |case| case.texts() == ("UNSIGNED INTEGER", "INTEGER"),
    },
    ExpectedDifference {
        functions: &["TIME_TO_SEC"],
        reason: "Leafline gives whole seconds; MariaDB shows the fraction, and reads dates in numbers.",
        applies: |_| true,
    },
    ExpectedDifference {
        functions: &["SEC_TO_TIME"],
        reason: "Leafline clips to 838:59:59; MariaDB clips to 838:59:59.999999.",
        applies: |case| case.texts().0.contains("838:59:59.0"),
    },
    ExpectedDifference {
        functions: &["CONV"],
        reason: "Leafline gives NULL for bases beyond 36; MariaDB takes the lower 32 bits of a base.",
        applies: |case| {
            case.ours_is_null() && case.has(&["1844674407370955161", "429496729", "9223372036854775"])
        },
    },
    ExpectedDifference {
        functions: &["DATE_ADD", "DATE_SUB"],
        reason: "Leafline rounds a datetime that is a count of units; MariaDB cuts it.",
        applies: |case| case.has(&["INTERVAL TIMESTAMP'", "INTERVAL ts", "INTERVAL dt"]),
    },
];

/// Whether the order of GROUP_CONCAT is not a column that differs from row to row.
fn constant_order(sql: &str) -> bool {
    let order = sql.split("ORDER BY ").nth(1).and_then(|rest| rest.split(')').next()).unwrap_or_default();
    !["i", "b", "u", "d", "f", "s", "y", "dt", "ts"].contains(&order)
}

/// Whether two values are the same except for the last digits of a double.
pub fn same_value(ours: Option<&str>, theirs: Option<&str>) -> bool {
    let (Some(ours), Some(theirs)) = (ours, theirs) else { return false };
    match (ours.parse::<f64>(), theirs.parse::<f64>()) {
        (Ok(a), Ok(b)) => a == b || (a - b).abs() <= 1e-12 * a.abs().max(b.abs()),
        _ => false,
    }
}

/// Whether a difference is an expected one.
pub fn differs(function: &str, ours: &Given, theirs: &Given, sql: &str) -> bool {
    let case = Case { ours, theirs, sql };
    let of_function = |difference: &&ExpectedDifference| {
        difference.functions.is_empty() || difference.functions.contains(&function)
    };
    EXPECTED_DIFFERENCES.iter().filter(of_function).any(|difference| (difference.applies)(&case))
}

/// The list of `docs/compat/mariadb.md`, an item for each difference.
pub fn documented() -> Vec<String> {
    let line = |difference: &ExpectedDifference| match difference.functions {
        [] => format!("All functions: {}", difference.reason),
        functions => format!(
            "{}: {}",
            functions.iter().map(|f| format!("`{f}`")).collect::<Vec<_>>().join(" "),
            difference.reason
        ),
    };
    EXPECTED_DIFFERENCES.iter().map(line).collect()
}
