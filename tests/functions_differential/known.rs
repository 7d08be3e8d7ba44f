//! Where MariaDB differs for a reason: it is not MySQL 8, or we differ from both. COMPAT.md lists the same, in the same words.

use super::Given;

/// A difference that is to be.
struct Known {
    /// Of which functions; none for all.
    functions: &'static [&'static str],
    /// What differs, and why.
    reason: &'static str,
    /// Whether this is it.
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

    /// Both texts.
    fn texts(&self) -> (&str, &str) {
        match (self.ours, self.theirs) {
            (Given::Value(Some(ours), _), Given::Value(Some(theirs), _)) => (ours, theirs),
            _ => ("", ""),
        }
    }

    /// One text goes on with nothing but these characters where the other ends.
    fn differ_in_tail(&self, characters: &[char]) -> bool {
        let (ours, theirs) = self.texts();
        let (short, long) = if ours.len() < theirs.len() { (ours, theirs) } else { (theirs, ours) };
        let tail = long.strip_prefix(short).unwrap_or_default();
        !short.is_empty() && !tail.is_empty() && tail.chars().all(|c| characters.contains(&c))
    }

    /// A hexadecimal literal.
    fn hexadecimal(&self) -> bool {
        self.sql.contains("0x") && self.sql.replace("'0x1F'", "").contains("0x")
    }

    /// A binary string.
    fn binary(&self) -> bool {
        self.hexadecimal() || self.has(&["_binary", "(y", " y", "~y"])
    }

    /// A double that is not whole, or is beyond 63 bits.
    fn double(&self) -> bool {
        self.has(&["2.5e0", "1.7e308", "1e308", "1.7e307", "e308"])
            || self.has(&["(f", " f", "~f"]) && self.has(&["id = 3", "id = 4", "id = 6"])
    }

    /// A column of the rows whose date and datetime have parts that are zero.
    fn zero_parts(&self) -> bool {
        let rows = ["id = 7", "id = 8", "id < 8", "id < 9", "id < 10"];
        self.has(&rows) && self.has(&["(dt", "(ts", " dt", " ts"])
    }
}

/// Bit operators, functions and aggregates.
const BITS: &[&str] = &["&", "|", "^", "<<", ">>", "~", "BIT_COUNT", "BIT_AND", "BIT_OR", "BIT_XOR"];

const KNOWN: &[Known] = &[
    Known {
        functions: BITS,
        reason: "bits of binary strings are those of their bytes in MySQL; to MariaDB such strings are texts of numbers.",
        applies: |case| case.binary(),
    },
    Known {
        functions: &["&", "|", "^", "<<", ">>", "BIT_COUNT"],
        reason: "a text is a whole number as far as it has digits (`'1e3'` is 1); MariaDB reads a double.",
        applies: |case| case.has(&["'1.5'", "'1e3'"]),
    },
    Known {
        functions: &["&", "|", "^", "<<", ">>", "~", "BIT_COUNT", "MAKE_SET", "EXPORT_SET"],
        reason: "a double is rounded half to even, and clipped to 63 bits.",
        applies: |case| case.double(),
    },
    Known {
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
        reason: "a DECIMAL literal beyond 63 bits is an unsigned number; MariaDB clips it to 63 bits.",
        applies: |case| case.has(&["99999999999999999999"]),
    },
    Known {
        functions: &["<<", ">>"],
        reason: "everything is shifted out by 64 and more; MariaDB takes the lower 32 bits of the distance.",
        applies: |case| case.has(&["9223372036854775808)", " b)", "4294967296)"]),
    },
    Known {
        functions: &["ABS"],
        reason: "a hexadecimal literal is an unsigned number, MariaDB takes one of 64 bits for a negative one.",
        applies: |case| case.has(&["0xFFFFFFFFFFFFFFFF"]),
    },
    Known {
        functions: &["GREATEST", "LEAST"],
        reason: "numbers and strings are compared as strings, as the manual of MySQL 8 says; MariaDB compares numbers, or dates where one is.",
        applies: |case| case.has(&["'", "0x", "(s", " s)", "(y", " y)", "(dt", " dt)", "(ts", " ts)"]),
    },
    Known {
        functions: &["INSERT", "MAKE_SET", "LPAD", "RPAD", "EXPORT_SET", "ELT", "REPLACE"],
        reason: "what is put together of numbers and text has the text's characters; MariaDB shows the bytes of UTF-8 as latin1.",
        applies: |case| case.texts().1.contains(['Ã', 'æ', 'ÿ']),
    },
    Known {
        functions: &[],
        reason: "bytes beside text are bytes; where they are not UTF-8, MariaDB says 1300 for literals, and MySQL 3854.",
        applies: |case| *case.theirs == Given::Error(1300) && case.hexadecimal(),
    },
    Known {
        functions: &["SOUNDEX"],
        reason: "bytes above 0xBF are letters; MariaDB leaves them out.",
        applies: |case| case.binary(),
    },
    Known {
        functions: &["LPAD", "RPAD"],
        reason: "padding with an empty text gives an empty text, in MariaDB NULL.",
        applies: |case| case.texts().0.is_empty() && case.theirs_is_null(),
    },
    Known {
        functions: &["DATE_FORMAT"],
        reason: "NULL for a date whose month or day is zero where a day or week is asked for (in MySQL and MariaDB that of a day nearby), and for the text `'0000-00-00'`, which `sql_mode` refuses.",
        applies: |case| case.ours_is_null() && (case.has(&["-00", "(1e10,"]) || case.zero_parts()),
    },
    Known {
        functions: &["FLOOR", "CEIL", "ROUND", "TRUNCATE"],
        reason: "a datetime becomes a number; in MariaDB it stays a datetime.",
        applies: |case| case.has(&["(ts", "TIMESTAMP'"]),
    },
    Known {
        functions: &["IF", "IFNULL", "NULLIF", "COALESCE"],
        reason: "a date whose month or day is zero is a value; MariaDB has NULL for it.",
        applies: |case| case.theirs_is_null() && case.zero_parts(),
    },
    Known {
        functions: &["CHAR", "MAKE_SET", "EXPORT_SET"],
        reason: "a datetime is rounded to seconds where a whole number is wanted; MariaDB cuts it.",
        applies: |case| case.has(&["(ts", "(TIMESTAMP'", ", ts)"]),
    },
    Known {
        functions: &["WEEK", "YEARWEEK"],
        reason: "a datetime is rounded to seconds where it is the mode; MariaDB cuts it.",
        applies: |case| case.has(&["TIMESTAMP'2024-02-29 12:34:56.5')", ", ts)"]),
    },
    Known {
        functions: &["QUARTER"],
        reason: "the text `'0000-00-00'` is NULL, as `sql_mode` refuses it.",
        applies: |case| case.ours_is_null() && case.has(&["'0000-00-00'"]),
    },
    Known {
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
        reason: "where digits are followed by a point, two are the year, the month and the day: `'127.0.0.1'` is in July 2012; MariaDB reads the year 127.",
        applies: |case| case.has(&["'127.0.0.1'"]),
    },
    Known {
        functions: &["SUBSTRING_INDEX"],
        reason: "the whole text where there are fewer delimiters, however large the count; MariaDB takes the lower 32 bits of it.",
        applies: |case| case.has(&["-9223372036854775808)", ", b)", "4294967296)"]),
    },
    Known {
        functions: &["LOCATE"],
        reason: "an empty text is found behind the last character, too.",
        applies: |case| case.has(&["LOCATE('', ", "LOCATE(s, ", "LOCATE(_binary'', ", "LOCATE(y, "]),
    },
    Known {
        functions: &["PERIOD_ADD", "PERIOD_DIFF"],
        reason: "1210 for a period whose month is none.",
        applies: |case| *case.ours == Given::Error(1210),
    },
    Known {
        functions: &["PERIOD_ADD"],
        reason: "months are counted with 64 bits; MariaDB takes the lower 32.",
        applies: |case| {
            let columns = [" b)", " u)", " d)", " f)", " ts)"];
            let literals =
                ["99999999999999999999", "9223372036854775807", "9223372036854775808", "e308", "1e10"];
            case.has(&columns) || case.has(&literals) || case.has(&["18446744073709551615", "20240506070809"])
        },
    },
    Known {
        functions: &["IS_IPV4", "IS_IPV6"],
        reason: "NULL for NULL, in MariaDB 0.",
        applies: |case| case.ours_is_null(),
    },
    Known {
        functions: &["REGEXP", "REGEXP_INSTR", "REGEXP_SUBSTR"],
        reason: "3995 for a binary string beside text.",
        applies: |case| *case.ours == Given::Error(3995),
    },
    Known {
        functions: &["REGEXP_SUBSTR"],
        reason: "NULL where nothing matches, in MariaDB an empty text.",
        applies: |case| {
            case.ours_is_null() && matches!(case.theirs, Given::Value(Some(text), _) if text.is_empty())
        },
    },
    Known {
        functions: &["FORMAT"],
        reason: "30 digits after the point at most, in MariaDB 38.",
        applies: |case| case.differ_in_tail(&['0']),
    },
    Known {
        functions: &["FORMAT"],
        reason: "a double is written with the fewest digits that mean it, then zeros; MariaDB writes all that its bits amount to.",
        applies: |case| case.has(&["1.7e308"]),
    },
    Known {
        functions: &["FORMAT"],
        reason: "a hexadecimal literal is shown with all its digits, in MySQL and MariaDB as a double.",
        applies: |case| case.hexadecimal(),
    },
    Known {
        functions: &["FROM_UNIXTIME", "UNIX_TIMESTAMP"],
        reason: "times go up to 3001, in MariaDB to 2038, and what is no time is 0, in MariaDB NULL.",
        applies: |case| case.theirs_is_null(),
    },
    Known {
        functions: &["FROM_UNIXTIME"],
        reason: "six digits of the second for a double or a text.",
        applies: |case| case.differ_in_tail(&['.', '0']),
    },
    Known {
        functions: &["CONVERT_TZ"],
        reason: "distances of up to 14 hours, and times up to 3001; beyond, the time as it is.",
        applies: |case| case.theirs_is_null() && case.has(&["'+14:00'"]) || case.has(&["2038"]),
    },
    Known {
        functions: &["NULLIF"],
        reason: "1525 for a text that is no date beside a date.",
        applies: |case| *case.ours == Given::Error(1525),
    },
    Known {
        functions: &["REPLACE"],
        reason: "NULL for NULL, also where nothing is to be replaced.",
        applies: |case| case.ours_is_null(),
    },
    Known {
        functions: &["GROUP_CONCAT"],
        reason: "equal rows, and all of them where the order is a constant, stay in their order; MariaDB turns it about.",
        applies: |case| constant_order(case.sql),
    },
    Known {
        functions: &["GROUP_CONCAT"],
        reason: "a negative number is a constant, in MariaDB a place that does not exist; a place that does not exist is 1054 also where the argument is NULL.",
        applies: |case| case.has(&["ORDER BY -", "CONCAT(NULL ORDER BY"]),
    },
    Known {
        functions: &["GROUP_CONCAT"],
        reason: "dates with months or days that are zero are in their order, and NULL comes first; MariaDB shows them as `0000-00-00`, and orders NULL like what stood there before.",
        applies: |case| case.zero_parts(),
    },
    Known {
        functions: &["ROUND"],
        reason: "1690 for an integer that leaves its range.",
        applies: |case| *case.ours == Given::Error(1690),
    },
    Known {
        functions: &["FROM_DAYS"],
        reason: "`0000-00-00` for a day that is none, in MariaDB NULL.",
        applies: |case| {
            case.theirs_is_null() && matches!(case.ours, Given::Value(Some(text), _) if text == "0000-00-00")
        },
    },
    Known {
        functions: &["HOUR", "MICROSECOND", "EXTRACT"],
        reason: "numbers, and texts without a time of day, are read as times of digits where a part of a time is asked for, and clipped to 838:59:59; MariaDB reads dates.",
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
    Known {
        functions: &["EXTRACT"],
        reason: "the week of a date whose month or day is zero is 0.",
        applies: |case| case.has(&["WEEK FROM"]) && case.zero_parts(),
    },
    Known {
        functions: &["EXTRACT"],
        reason: "a text of a time is read as a date where a day is asked for; MariaDB reads a time.",
        applies: |case| case.has(&["(DAY FROM '1"]),
    },
    Known {
        functions: &["DATE_ADD", "DATE_SUB"],
        reason: "a fraction is shown with six digits where there is one, and else not; MariaDB shows what the unit and the text can have.",
        applies: |case| case.differ_in_tail(&['.', '0']),
    },
    Known {
        functions: &["DATE_ADD", "DATE_SUB"],
        reason: "microseconds may have more than six digits, of which MariaDB takes the first six.",
        applies: |case| case.has(&["_MICROSECOND"]),
    },
    Known {
        functions: &["DATE_ADD", "DATE_SUB"],
        reason: "zeros before the digits of a part of an interval count nothing; MariaDB has NULL for parts of 20 digits and more.",
        applies: |case| case.theirs_is_null() && case.has(&["INTERVAL 0.000000000000000000000000000001 "]),
    },
    Known {
        functions: &["DATE_ADD", "DATE_SUB"],
        reason: "NULL where the count of units leaves 63 bits, or the year 9999; MariaDB, and MySQL for unsigned numbers and years, wrap it.",
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
    Known {
        functions: &[
            "+", "-", "*", "/", "DIV", "%", "ROUND", "TRUNCATE", "SUM", "AVG", "LEAST", "GREATEST", "IF",
            "IFNULL",
        ],
        reason: "a DECIMAL of more than 65 digits is 1690, as is a DOUBLE beyond its range; MySQL and MariaDB leave out digits of the DECIMAL behind the point, which may be all, and MariaDB has an infinite DOUBLE.",
        applies: |case| {
            *case.ours == Given::Error(1690)
                || case.has(&["99999999999999999999999999999999999", "0.000000000000000000000000000001"])
        },
    },
    Known {
        functions: &["VAR_POP", "VAR_SAMP", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "VARIANCE", "STD"],
        reason: "the variance of values is not NULL; MariaDB says that it is where it is only asked for that.",
        applies: |case| case.has(&[" IS NULL"]) && case.texts() == ("0", "1"),
    },
    Known {
        functions: &["JSON_EXTRACT", "->", "->>"],
        reason: "what is no array is one of itself to `$[last]`, too; in MariaDB to `$[0]` only.",
        applies: |case| case.has(&["[last"]),
    },
    Known {
        functions: &["JSON_TYPE"],
        reason: "a whole number beyond 63 bits is an `UNSIGNED INTEGER`, in MariaDB an `INTEGER`.",
        applies: |case| case.texts() == ("UNSIGNED INTEGER", "INTEGER"),
    },
    Known {
        functions: &["TIME_TO_SEC"],
        reason: "whole seconds; MariaDB shows the fraction, and reads dates in numbers.",
        applies: |_| true,
    },
    Known {
        functions: &["SEC_TO_TIME"],
        reason: "clipped to 838:59:59; in MariaDB to 838:59:59.999999.",
        applies: |case| case.texts().0.contains("838:59:59.0"),
    },
    Known {
        functions: &["CONV"],
        reason: "NULL for bases beyond 36; MariaDB takes the lower 32 bits of a base.",
        applies: |case| {
            case.ours_is_null() && case.has(&["1844674407370955161", "429496729", "9223372036854775"])
        },
    },
    Known {
        functions: &["DATE_ADD", "DATE_SUB"],
        reason: "a datetime that is a count of units is rounded; MariaDB cuts it.",
        applies: |case| case.has(&["INTERVAL TIMESTAMP'", "INTERVAL ts", "INTERVAL dt"]),
    },
];

/// Whether the order of GROUP_CONCAT is none of a column that differs from row to row.
fn constant_order(sql: &str) -> bool {
    let order = sql.split("ORDER BY ").nth(1).and_then(|rest| rest.split(')').next()).unwrap_or_default();
    !["i", "b", "u", "d", "f", "s", "y", "dt", "ts"].contains(&order)
}

/// Whether two values are the same but for the last digits of a double.
pub fn same_value(ours: Option<&str>, theirs: Option<&str>) -> bool {
    let (Some(ours), Some(theirs)) = (ours, theirs) else { return false };
    match (ours.parse::<f64>(), theirs.parse::<f64>()) {
        (Ok(a), Ok(b)) => a == b || (a - b).abs() <= 1e-12 * a.abs().max(b.abs()),
        _ => false,
    }
}

/// Whether this difference is one that is to be.
pub fn differs(function: &str, ours: &Given, theirs: &Given, sql: &str) -> bool {
    let case = Case { ours, theirs, sql };
    let of_function = |known: &&Known| known.functions.is_empty() || known.functions.contains(&function);
    KNOWN.iter().filter(of_function).any(|known| (known.applies)(&case))
}

/// What COMPAT.md says of them, line by line.
pub fn documented() -> Vec<String> {
    let line = |known: &Known| match known.functions {
        [] => format!("* All functions: {}", known.reason),
        functions => format!(
            "* {}: {}",
            functions.iter().map(|f| format!("`{f}`")).collect::<Vec<_>>().join(" "),
            known.reason
        ),
    };
    KNOWN.iter().map(line).collect()
}
