//! Where MySQL 8 and MariaDB differ, or where we differ from both and COMPAT.md says so.

use super::Given;

/// Whether two values are the same but for the last digits of a double.
pub fn same_value(ours: Option<&str>, theirs: Option<&str>) -> bool {
    let (Some(ours), Some(theirs)) = (ours, theirs) else { return false };
    match (ours.parse::<f64>(), theirs.parse::<f64>()) {
        (Ok(a), Ok(b)) => a == b || (a - b).abs() <= 1e-12 * a.abs().max(b.abs()),
        _ => false,
    }
}

fn starts(long: &Given, short: &Given) -> bool {
    match (long, short) {
        (Given::Value(Some(long), _), Given::Value(Some(short), _)) => long.starts_with(short.as_str()),
        _ => false,
    }
}

/// Whether this difference is one that is to be.
pub fn differs(function: &str, ours: &Given, theirs: &Given, sql: &str) -> bool {
    let ours_is_null = matches!(ours, Given::Value(None, _));
    let theirs_is_null = matches!(theirs, Given::Value(None, _));
    // To MariaDB they are text in some numeric contexts, and it has no bit operators of binary strings.
    let bytes = [", y", "(y", " y", "~y", "_binary", "0x"].iter().any(|form| sql.contains(form));
    let has = |texts: &[&str]| texts.iter().any(|text| sql.contains(text));
    // A text is a whole number as far as it has digits to MySQL; a double is rounded half to even, and clipped to 63 bits; a DECIMAL
    // literal beyond them is an unsigned number.
    let integers =
        bytes || has(&["2.5", " f", "(f", "~f", "'1.5'", "'1e3'", "1.7e308", "99999999999999999999"]);
    // A row whose date or datetime has parts that are zero; it takes them for NULL, or for the zero date.
    let zero_parts = has(&["id = 7", "id = 8", "id < 8", "id < 9", "id < 10"]) && has(&["dt", "ts"]);
    match function {
        // It takes the lower 32 bits of the distance.
        "<<" | ">>" if has(&["9223372036854775808)", " b)"]) => true,
        "&" | "|" | "^" | "<<" | ">>" | "~" | "BIT_COUNT" | "DIV" | "%" | "BIT_AND" | "BIT_OR"
        | "BIT_XOR" | "EXPORT_SET" | "MAKE_SET" => integers || has(&["ï", "é", "日", ", s"]),
        // MySQL 8 compares as strings where one is a string.
        "GREATEST" | "LEAST" => true,
        // Hexadecimal literals are numbers beside numbers, and bytes as lengths and places.
        "FIELD" | "ABS" | "CHAR" | "SUBSTRING" | "LEFT" | "RIGHT" | "REPEAT" | "INET_NTOA" | "MAKEDATE"
        | "SUBSTRING_INDEX" | "SOUNDEX" => bytes,
        "SPACE" | "INSERT" => bytes || has(&["20240229", "é", "ï", "日"]),
        // An empty text fills nothing.
        "LPAD" | "RPAD" => {
            matches!(ours, Given::Value(Some(text), _) if text.is_empty())
                || has(&["é", "ï", "日", ", s"])
                || bytes
        }
        // Of a date whose month or day is zero MariaDB names the day nearby.
        "DATE_FORMAT" => {
            ours_is_null && (has(&["-00", "id = 8"]) || sql.contains("(dt") || sql.contains("(ts"))
        }
        // Numbers to MySQL.
        "FLOOR" | "CEIL" => has(&["ts", "TIMESTAMP"]),
        "IF" | "IFNULL" => theirs_is_null && zero_parts || bytes && *theirs == Given::Error(1300),
        // A datetime is rounded to seconds where it is a number.
        "WEEK" | "YEARWEEK" => bytes || has(&["TIMESTAMP'2024-02-29 12:34:56.5')", ", ts)"]),
        // A text of the zero date is refused as `sql_mode` says.
        "QUARTER" => ours_is_null && has(&["'0000-00-00'"]) || has(&["'127.0.0.1'"]),
        // An empty text is found at a place of bytes.
        "LOCATE" => bytes || has(&["LOCATE('', ", "LOCATE(s, "]),
        // Its numbers of months have 32 bits.
        "PERIOD_ADD"
            if has(&[
                "99999999999999999999",
                "ts)",
                "9223372036854775807",
                "-9223372036854775808",
                " b)",
                " u)",
                " d)",
                "f)",
                "1.7e308",
                "1e10",
            ]) =>
        {
            true
        }
        // NULL for NULL.
        "IS_IPV4" | "IS_IPV6" => ours_is_null,
        // NULL where nothing matches, and no binary strings among characters.
        "REGEXP" | "REGEXP_SUBSTR" | "REGEXP_INSTR" => ours_is_null || *ours == Given::Error(3995),
        // 1210 for a period that is none.
        "PERIOD_ADD" | "PERIOD_DIFF" => *ours == Given::Error(1210),
        // 30 digits after the point at most, and the shortest text of a double.
        "FORMAT" => starts(theirs, ours) || starts(ours, theirs) || has(&["1.7e308"]) || bytes,
        // Its TIMESTAMP ends in 2038.
        "FROM_UNIXTIME" => theirs_is_null || starts(ours, theirs),
        "UNIX_TIMESTAMP" => theirs_is_null,
        "CONVERT_TZ" => theirs_is_null || has(&["2038"]),
        // A string that is no date is an error beside a datetime.
        "NULLIF" => *ours == Given::Error(1525) || bytes || theirs_is_null && zero_parts,
        "REPLACE" => ours_is_null || bytes,
        // A constant leaves the order, and is no place in the list.
        "GROUP_CONCAT" if zero_parts => true,
        "GROUP_CONCAT" => !has(&[
            "ORDER BY i)",
            "ORDER BY b)",
            "ORDER BY u)",
            "ORDER BY d)",
            "ORDER BY f)",
            "ORDER BY s)",
            "ORDER BY y)",
            "ORDER BY dt)",
            "ORDER BY ts)",
        ]),
        // Integers that leave their range are errors; a datetime becomes a number.
        "ROUND" | "TRUNCATE" => *ours == Given::Error(1690) || has(&["TIMESTAMP'", "(ts"]),
        // The zero date for a day that is none.
        "FROM_DAYS" => theirs_is_null,
        // MySQL reads what has no time of day as a time of digits, and shows all or none of a fraction.
        _ => differs_of_dates(function, (ours, theirs), sql, (zero_parts, bytes))
            .unwrap_or(bytes && *theirs == Given::Error(1300)),
    }
}

/// The same of functions that take dates apart or count from them; None of others.
fn differs_of_dates(
    function: &str,
    (ours, theirs): (&Given, &Given),
    sql: &str,
    (zero_parts, bytes): (bool, bool),
) -> Option<bool> {
    let has = |texts: &[&str]| texts.iter().any(|text| sql.contains(text));
    Some(match function {
        "EXTRACT" if has(&["WEEK FROM"]) && zero_parts => true,
        "HOUR" | "MICROSECOND" | "EXTRACT" => !has(&[
            "ts)",
            "dt)",
            "TIMESTAMP'",
            "DATE'",
            ":59'",
            ":08'",
            ".123456'",
            "'20240506070809'",
            "'10:11:12.5'",
        ]),
        "DATE_ADD" | "DATE_SUB" => {
            starts(theirs, ours)
                || starts(ours, theirs)
                || bytes
                || has(&["1.7e308", "_MICROSECOND", " MICROSECOND", "9223372036854775808", "INTERVAL b "])
        }
        _ => return None,
    })
}
