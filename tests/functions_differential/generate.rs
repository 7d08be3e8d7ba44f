//! Random calls: every function with arguments of the kinds it takes, and sometimes of any other.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Generates statements.
pub struct Generator {
    rng: SmallRng,
    only: Option<String>,
}

/// The kind of an argument.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Any,
    Number,
    /// A small whole number.
    Small,
    Text,
    Bytes,
    Date,
    /// A number at an end of a type's range.
    Extreme,
    /// A long text.
    Long,
    /// A BIT column.
    Bits,
    /// A text of JSON.
    Document,
    /// One of these words, literally.
    Word(&'static [&'static str]),
}
use Kind::{Any, Bits, Bytes, Date, Document, Extreme, Long, Number, Small, Text, Word};

/// Functions as templates: `?` is an argument.
const FUNCTIONS: &[(&str, &str, &[Kind])] = &[
    ("&", "(? & ?)", &[Any, Any]),
    ("|", "(? | ?)", &[Any, Any]),
    ("^", "(? ^ ?)", &[Any, Any]),
    ("<<", "(? << ?)", &[Any, Small]),
    (">>", "(? >> ?)", &[Any, Small]),
    ("~", "~?", &[Any]),
    ("BIT_COUNT", "BIT_COUNT(?)", &[Any]),
    ("ASCII", "ASCII(?)", &[Any]),
    ("ORD", "ORD(?)", &[Any]),
    ("CHAR", "HEX(CHAR(?, ?))", &[Small, Number]),
    ("BIN", "BIN(?)", &[Any]),
    ("OCT", "OCT(?)", &[Any]),
    ("CONV", "CONV(?, ?, ?)", &[Any, Small, Small]),
    ("HEX", "HEX(?)", &[Any]),
    ("UNHEX", "HEX(UNHEX(?))", &[Text]),
    ("TO_BASE64", "TO_BASE64(?)", &[Any]),
    ("FROM_BASE64", "HEX(FROM_BASE64(?))", &[Text]),
    ("FIELD", "FIELD(?, ?, ?)", &[Any, Any, Any]),
    ("ELT", "ELT(?, ?, ?)", &[Small, Any, Any]),
    ("FIND_IN_SET", "FIND_IN_SET(?, ?)", &[Any, Text]),
    ("MAKE_SET", "MAKE_SET(?, ?, ?)", &[Small, Any, Any]),
    ("EXPORT_SET", "EXPORT_SET(?, ?, ?, ?, ?)", &[Number, Text, Text, Text, Small]),
    ("INTERVAL", "INTERVAL(?, ?, ?)", &[Number, Number, Number]),
    ("INSERT", "INSERT(?, ?, ?, ?)", &[Any, Small, Small, Any]),
    ("QUOTE", "QUOTE(?)", &[Any]),
    ("SOUNDEX", "SOUNDEX(?)", &[Any]),
    ("SPACE", "SPACE(?)", &[Small]),
    ("STRCMP", "STRCMP(?, ?)", &[Any, Any]),
    ("SUBSTRING_INDEX", "SUBSTRING_INDEX(?, ?, ?)", &[Any, Text, Small]),
    ("BIT_LENGTH", "BIT_LENGTH(?)", &[Any]),
    ("LENGTH", "LENGTH(?)", &[Any]),
    ("CHAR_LENGTH", "CHAR_LENGTH(?)", &[Any]),
    ("CONCAT", "CONCAT(?, ?)", &[Any, Any]),
    ("CONCAT_WS", "CONCAT_WS(?, ?, ?)", &[Any, Any, Any]),
    ("LEFT", "LEFT(?, ?)", &[Any, Small]),
    ("RIGHT", "RIGHT(?, ?)", &[Any, Small]),
    ("SUBSTRING", "SUBSTRING(?, ?, ?)", &[Any, Small, Small]),
    ("LPAD", "LPAD(?, ?, ?)", &[Any, Small, Text]),
    ("RPAD", "RPAD(?, ?, ?)", &[Any, Small, Text]),
    ("REPEAT", "REPEAT(?, ?)", &[Any, Small]),
    ("REPLACE", "REPLACE(?, ?, ?)", &[Any, Text, Text]),
    ("REVERSE", "REVERSE(?)", &[Any]),
    ("LOCATE", "LOCATE(?, ?, ?)", &[Any, Any, Small]),
    ("TRIM", "TRIM(? FROM ?)", &[Text, Any]),
    ("UPPER", "UPPER(?)", &[Any]),
    ("LOWER", "LOWER(?)", &[Any]),
    ("FORMAT", "FORMAT(?, ?)", &[Number, Small]),
    ("ABS", "ABS(?)", &[Any]),
    ("SIGN", "SIGN(?)", &[Any]),
    ("FLOOR", "FLOOR(?)", &[Any]),
    ("CEIL", "CEIL(?)", &[Any]),
    ("ROUND", "ROUND(?, ?)", &[Number, Small]),
    ("TRUNCATE", "TRUNCATE(?, ?)", &[Number, Small]),
    ("DIV", "(? DIV ?)", &[Any, Any]),
    ("%", "(? % ?)", &[Any, Any]),
    ("SIN", "SIN(?)", &[Small]),
    ("TAN", "TAN(?)", &[Small]),
    ("COT", "COT(?)", &[Small]),
    ("ASIN", "ASIN(?)", &[Number]),
    ("ACOS", "ACOS(?)", &[Number]),
    ("ATAN", "ATAN(?, ?)", &[Small, Small]),
    ("DEGREES", "DEGREES(?)", &[Number]),
    ("RADIANS", "RADIANS(?)", &[Number]),
    ("CRC32", "CRC32(?)", &[Any]),
    ("MD5", "MD5(?)", &[Any]),
    ("SHA1", "SHA1(?)", &[Any]),
    ("SHA2", "SHA2(?, ?)", &[Any, Word(&["224", "256", "0", "384", "512", "7"])]),
    ("UNCOMPRESS", "HEX(UNCOMPRESS(COMPRESS(?)))", &[Any]),
    ("INET_ATON", "INET_ATON(?)", &[Text]),
    ("INET_NTOA", "INET_NTOA(?)", &[Number]),
    ("INET6_ATON", "HEX(INET6_ATON(?))", &[Text]),
    ("INET6_NTOA", "INET6_NTOA(?)", &[Bytes]),
    ("IS_IPV4", "IS_IPV4(?)", &[Text]),
    ("IS_IPV6", "IS_IPV6(?)", &[Text]),
    ("DAYNAME", "DAYNAME(?)", &[Date]),
    ("MONTHNAME", "MONTHNAME(?)", &[Date]),
    ("TO_DAYS", "TO_DAYS(?)", &[Date]),
    ("TO_SECONDS", "TO_SECONDS(?)", &[Date]),
    ("FROM_DAYS", "FROM_DAYS(?)", &[Number]),
    ("MAKEDATE", "MAKEDATE(?, ?)", &[Small, Small]),
    ("WEEKOFYEAR", "WEEKOFYEAR(?)", &[Date]),
    ("YEARWEEK", "YEARWEEK(?, ?)", &[Date, Small]),
    ("WEEK", "WEEK(?, ?)", &[Date, Small]),
    ("PERIOD_ADD", "PERIOD_ADD(?, ?)", &[Word(&["202401", "9912", "7001", "202413", "0", "1"]), Small]),
    ("PERIOD_DIFF", "PERIOD_DIFF(?, ?)", &[Word(&["202401", "9912", "7001"]), Word(&["202312", "6912"])]),
    ("TIMESTAMPDIFF", "TIMESTAMPDIFF(?, ?, ?)", &[Word(UNITS), Date, Date]),
    ("DATE_ADD", "DATE_ADD(?, INTERVAL ? ?)", &[Date, Any, Word(ALL_UNITS)]),
    ("DATE_SUB", "DATE_SUB(?, INTERVAL ? ?)", &[Date, Small, Word(ALL_UNITS)]),
    ("EXTRACT", "EXTRACT(? FROM ?)", &[Word(ALL_UNITS), Date]),
    ("FROM_UNIXTIME", "FROM_UNIXTIME(?)", &[Number]),
    ("UNIX_TIMESTAMP", "UNIX_TIMESTAMP(?)", &[Date]),
    ("CONVERT_TZ", "CONVERT_TZ(?, ?, ?)", &[Date, Word(ZONES), Word(ZONES)]),
    (
        "GET_FORMAT",
        "GET_FORMAT(?, ?)",
        &[
            Word(&["DATE", "TIME", "DATETIME"]),
            Word(&["'EUR'", "'usa'", "'x'", "'ISO'", "'JIS'", "'INTERNAL'"]),
        ],
    ),
    ("STR_TO_DATE", "STR_TO_DATE(?, ?)", &[Date, Word(FORMATS)]),
    ("DATE_FORMAT", "DATE_FORMAT(?, ?)", &[Date, Word(FORMATS)]),
    ("DATEDIFF", "DATEDIFF(?, ?)", &[Date, Date]),
    ("DAYOFYEAR", "DAYOFYEAR(?)", &[Date]),
    ("LAST_DAY", "LAST_DAY(?)", &[Date]),
    ("QUARTER", "QUARTER(?)", &[Date]),
    ("MICROSECOND", "MICROSECOND(?)", &[Date]),
    ("HOUR", "HOUR(?)", &[Date]),
    ("REGEXP", "(? REGEXP ?)", &[Text, Word(PATTERNS)]),
    ("REGEXP_INSTR", "REGEXP_INSTR(?, ?)", &[Text, Word(PATTERNS)]),
    ("REGEXP_SUBSTR", "REGEXP_SUBSTR(?, ?)", &[Text, Word(PATTERNS)]),
    ("COERCIBILITY", "COERCIBILITY(?)", &[Any]),
    ("IF", "IF(?, ?, ?)", &[Any, Any, Any]),
    ("IFNULL", "IFNULL(?, ?)", &[Any, Any]),
    ("NULLIF", "NULLIF(?, ?)", &[Any, Any]),
    ("GREATEST", "GREATEST(?, ?)", &[Any, Any]),
    ("LEAST", "LEAST(?, ?)", &[Any, Any]),
    ("GROUP_CONCAT", "GROUP_CONCAT(? ORDER BY ?)", &[Any, Any]),
    ("BIT_OR", "BIT_OR(?)", &[Number]),
    ("BIT_AND", "BIT_AND(?)", &[Number]),
    ("BIT_XOR", "BIT_XOR(?)", &[Number]),
    ("+", "(? + ?)", &[Extreme, Extreme]),
    ("-", "(? - ?)", &[Extreme, Extreme]),
    ("*", "(? * ?)", &[Extreme, Extreme]),
    ("/", "(? / ?)", &[Extreme, Extreme]),
    ("NEGATIVE", "(- ?)", &[Extreme]),
    ("ROUND", "ROUND(?, ?)", &[Extreme, Extreme]),
    ("TRUNCATE", "TRUNCATE(?, ?)", &[Extreme, Extreme]),
    ("FLOOR", "FLOOR(?)", &[Extreme]),
    ("CEIL", "CEIL(?)", &[Extreme]),
    ("ABS", "ABS(?)", &[Extreme]),
    ("EXP", "EXP(?)", &[Extreme]),
    ("LN", "LN(?)", &[Extreme]),
    ("LOG", "LOG(?, ?)", &[Extreme, Extreme]),
    ("LOG2", "LOG2(?)", &[Extreme]),
    ("LOG10", "LOG10(?)", &[Extreme]),
    ("POW", "POW(?, ?)", &[Extreme, Small]),
    ("SQRT", "SQRT(?)", &[Extreme]),
    ("SIGN", "SIGN(?)", &[Extreme]),
    ("DEGREES", "DEGREES(?)", &[Extreme]),
    ("RADIANS", "RADIANS(?)", &[Extreme]),
    ("BIN", "BIN(?)", &[Bits]),
    ("OCT", "OCT(?)", &[Bits]),
    ("CONV", "CONV(?, ?, ?)", &[Bits, Small, Small]),
    ("HEX", "HEX(?)", &[Bits]),
    ("LENGTH", "LENGTH(?)", &[Long]),
    ("REVERSE", "MD5(REVERSE(?))", &[Long]),
    ("REPLACE", "LENGTH(REPLACE(?, ?, ?))", &[Long, Text, Text]),
    ("SUBSTRING", "MD5(SUBSTRING(?, ?, ?))", &[Long, Extreme, Extreme]),
    ("LEFT", "LENGTH(LEFT(?, ?))", &[Long, Extreme]),
    ("REPEAT", "LENGTH(REPEAT(?, ?))", &[Text, Extreme]),
    ("LPAD", "LENGTH(LPAD(?, ?, ?))", &[Text, Small, Long]),
    ("SEC_TO_TIME", "SEC_TO_TIME(?)", &[Number]),
    ("TIME_TO_SEC", "TIME_TO_SEC(?)", &[Date]),
    ("JSON_EXTRACT", "JSON_UNQUOTE(JSON_EXTRACT(?, ?))", &[Document, Word(PATHS)]),
    ("JSON_LENGTH", "JSON_LENGTH(?)", &[Document]),
    ("JSON_VALID", "JSON_VALID(?)", &[Document]),
    ("JSON_TYPE", "JSON_TYPE(?)", &[Document]),
    ("JSON_DEPTH", "JSON_DEPTH(?)", &[Document]),
    ("STDDEV_SAMP", "STDDEV_SAMP(?) IS NULL", &[Number]),
    ("VAR_POP", "VAR_POP(?) IS NULL", &[Number]),
    ("SUM", "SUM(?) IS NULL", &[Number]),
    ("AVG", "AVG(?) IS NULL", &[Number]),
];

const PATHS: &[&str] = &["'$'", "'$.a'", "'$[0]'", "'$.a[1]'", "'$.*'", "'$.b.c'", "'$[last]'"];
const DOCUMENTS: &[&str] = &[
    "'{\"a\": 1, \"b\": {\"c\": true}}'",
    "'[1, \"x\", null, 1.5]'",
    "'[]'",
    "'{}'",
    "'true'",
    "'null'",
    "'\"text\"'",
    "'12345678901234567890'",
    "'[[[1]]]'",
    "NULL",
];
/// Numbers at the ends of types' ranges, and close to them.
const EXTREMES: &[&str] = &[
    "9223372036854775807",
    "9223372036854775806",
    "-9223372036854775808",
    "-9223372036854775807",
    "18446744073709551615",
    "18446744073709551614",
    "9223372036854775808",
    "4294967296",
    "-4294967296",
    "2147483647",
    "99999999999999999999999999999999999999999999999999999999999999999",
    "-99999999999999999999999999999999999999999999999999999999999999999",
    "0.000000000000000000000000000001",
    "99999999999999999999999999999999999.999999999999999999999999999999",
    "1.7976931348623157e308",
    "-1.7976931348623157e308",
    "1e308",
    "1.7e307",
    "2.2250738585072014e-308",
    "5e-324",
    "1e-300",
    "0e0",
    "0",
    "1",
    "-1",
    "308",
    "-308",
    "400",
    "-400",
    "1e15",
    "NULL",
];
const LONGS: &[&str] = &[
    "REPEAT('a', 100000)",
    "REPEAT('é', 50000)",
    "REPEAT('ab', 1000)",
    "REPEAT('日本語', 10000)",
    "REPEAT(' ', 1000)",
    "REPEAT('-1', 500)",
    "SPACE(70000)",
];
const BITS: &[&str] = &["t1", "t8", "t64", "t64", "t8"];

const UNITS: &[&str] =
    &["MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"];
const ALL_UNITS: &[&str] = &[
    "MICROSECOND",
    "SECOND",
    "MINUTE",
    "HOUR",
    "DAY",
    "WEEK",
    "MONTH",
    "QUARTER",
    "YEAR",
    "YEAR_MONTH",
    "DAY_HOUR",
    "DAY_MINUTE",
    "DAY_SECOND",
    "DAY_MICROSECOND",
    "HOUR_MINUTE",
    "HOUR_SECOND",
    "HOUR_MICROSECOND",
    "MINUTE_SECOND",
    "MINUTE_MICROSECOND",
    "SECOND_MICROSECOND",
];
const ZONES: &[&str] = &["'+00:00'", "'SYSTEM'", "'-05:30'", "'+14:00'", "'nowhere'", "NULL"];
const FORMATS: &[&str] = &[
    "'%Y-%m-%d'",
    "'%Y-%m-%d %H:%i:%s'",
    "'%d.%m.%y'",
    "'%W %M %D'",
    "'%X %V %W'",
    "'%x %v %w'",
    "'%j %Y'",
    "'%Y-%m-%d %T.%f'",
    "'%h:%i %p %Y%m%d'",
    "'%a %b %e %Y'",
    "''",
    "NULL",
    "'%u %U'",
];
const PATTERNS: &[&str] = &[
    "'a'",
    "'^a'",
    "'b$'",
    "'[0-9]+'",
    "'[[:alpha:]]+'",
    "'(a|b)+'",
    "'a.c'",
    "'x*'",
    "'\\\\d{2,}'",
    "NULL",
    "'é'",
    "'[^a-z]'",
];

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "7",
    "255",
    "-128",
    "65536",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "0.5",
    "-0.5",
    "1.5",
    "2.5",
    "1234567.891",
    "-99.995",
    "0.000001",
    "99999999999999999999",
    "1e0",
    "1.5e0",
    "-2.5e0",
    "1e10",
    "1e-7",
    "1.7e308",
    "730000",
    "2147483648",
    "NULL",
];
const SMALLS: &[&str] = &[
    "0", "1", "2", "3", "5", "-1", "-2", "10", "16", "36", "37", "64", "-10", "1.5", "'2'", "'2x'", "NULL",
    "100",
];
const TEXTS: &[&str] = &[
    "''",
    "'a'",
    "'A'",
    "'abc'",
    "'aXbXc'",
    "'a,b,,c'",
    "'é'",
    "'naïve'",
    "'日本語'",
    "' a '",
    "'0'",
    "'12'",
    "'-7'",
    "'1.5'",
    "'1e3'",
    "'12abc'",
    "'0x1F'",
    "'ff'",
    "'YWJj'",
    "'YQ=='",
    "'%'",
    "'it''s'",
    "'back\\\\slash'",
    "'.'",
    "','",
    "'127.0.0.1'",
    "'10.1'",
    "'::1'",
    "'fe80::1:2'",
    "'1.2.3.256'",
    "'Robert'",
    "'Tymczak'",
    "NULL",
];
const BYTES: &[&str] = &[
    "_binary''",
    "_binary'abc'",
    "0x00FF",
    "0x7F000001",
    "0xFFFFFFFFFFFFFFFF",
    "0x05",
    "NULL",
    "0x00000000000000000000000000000001",
];
const DATES: &[&str] = &[
    "'2024-02-29'",
    "'2024-01-01'",
    "'1999-12-31 23:59:59'",
    "'2024-05-06 07:08:09.123456'",
    "'9999-12-31'",
    "'1970-01-01'",
    "20240229",
    "'20240506070809'",
    "'nonsense'",
    "'2024-13-01'",
    "''",
    "DATE'2000-01-01'",
    "TIMESTAMP'2024-02-29 12:34:56.5'",
    "'1:2:3'",
    "'10:11:12.5'",
    "NULL",
    "'2024-02-30'",
    "240229",
    "'May 3 2024'",
    "'03.05.24'",
    "'2038-01-19 03:14:08'",
    "'0000-00-00'",
    "'2024-00-10'",
    "'2024-01-00 10:11:12'",
];
const COLUMNS: &[(&str, Kind)] = &[
    ("i", Number),
    ("b", Number),
    ("u", Number),
    ("d", Number),
    ("f", Number),
    ("s", Text),
    ("y", Bytes),
    ("dt", Date),
    ("ts", Date),
    ("i", Small),
];

/// Returns the statements that make the database and the table of values.
pub fn setup() -> Vec<String> {
    let mut made: Vec<String> = [
        "DROP DATABASE IF EXISTS leafline_functions",
        "CREATE DATABASE leafline_functions",
        "USE leafline_functions",
        "SET NAMES utf8mb4 COLLATE utf8mb4_0900_bin",
        "SET time_zone = '+00:00'",
        "SET sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
        "CREATE TABLE v (id INT PRIMARY KEY, i INT, b BIGINT, u BIGINT UNSIGNED, d DECIMAL(20,5), f DOUBLE, \
         s VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin, y VARBINARY(20), dt DATE, ts DATETIME(6), \
         t1 BIT(1) DEFAULT 1, t8 BIT(8) DEFAULT b'10100101', t64 BIT(64) DEFAULT 18446744073709551615)",
    ]
    .map(String::from)
    .to_vec();
    let rows = [
        "1, 0, 0, 0, 0, 0, '', '', '2024-01-01', '2024-01-01 00:00:00'",
        "2, 1, -1, 1, 1.5, 1.5, 'a', 'a', '2024-02-29', '2024-02-29 23:59:59.999999'",
        "3, -7, 9223372036854775807, 18446744073709551615, -12345.67891, -0.1, 'Abc', x'00FF10', '1999-12-31', '1999-12-31 12:00:00.5'",
        "4, 2147483647, -9223372036854775808, 7, 999999999999999.99999, 1e20, 'naïve 日本', x'7F000001', '0001-01-01', '9999-12-31 23:59:59'",
        "5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
        "6, 12, 34, 56, 7.8, 2.5, '12abc', '12', '2000-02-29', '1970-01-01 00:00:01'",
    ];
    made.extend(
        rows.iter().map(|row| format!("INSERT INTO v (id, i, b, u, d, f, s, y, dt, ts) VALUES ({row})")),
    );
    made.push("UPDATE v SET t1 = 0, t8 = 5, t64 = 9223372036854775808 WHERE id = 1".to_owned());
    made.push("UPDATE v SET t1 = NULL, t8 = NULL, t64 = NULL WHERE id = 5".to_owned());
    // Dates that do not exist are inserted without the modes that refuse them.
    let mode = made[5].clone();
    made.push("SET sql_mode = ''".to_owned());
    made.push("INSERT INTO v (id, dt, ts) VALUES (7, '0000-00-00', '0000-00-00'), (8, '2024-00-10', '2024-01-00 10:11:12.5')".to_owned());
    made.push(mode);
    made
}

impl Generator {
    pub fn new(seed: u64, only: Option<&str>) -> Self {
        Generator { rng: SmallRng::seed_from_u64(seed), only: only.map(str::to_owned) }
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.rng.random_range(0..list.len())]
    }

    /// Returns a function's name, and a statement that returns one value of it.
    pub fn statement(&mut self) -> (&'static str, String) {
        let (name, template, kinds) = loop {
            let chosen = self.pick(FUNCTIONS);
            if self.only.as_deref().is_none_or(|only| only == chosen.0) {
                break chosen;
            }
        };
        let columns = kinds.iter().any(|kind| matches!(kind, Bits)) || self.rng.random_bool(0.4);
        let mut parts = template.split('?');
        let mut call = parts.next().unwrap_or_default().to_owned();
        for (kind, rest) in kinds.iter().zip(parts) {
            call += &self.argument(*kind, columns);
            call += rest;
        }
        let aggregate = template.starts_with("GROUP_CONCAT")
            || ["STDDEV", "VAR_", "SUM(", "AVG("].iter().any(|start| template.starts_with(start))
            || template.starts_with("BIT_") && name != "BIT_COUNT" && name != "BIT_LENGTH";
        let sql = match (columns, aggregate) {
            (true, true) => format!("SELECT {call} FROM v WHERE id < {}", self.rng.random_range(1..10)),
            (true, false) => format!("SELECT {call} FROM v WHERE id = {}", self.rng.random_range(1..9)),
            (false, _) => format!("SELECT {call}"),
        };
        (name, sql)
    }

    fn argument(&mut self, kind: Kind, columns: bool) -> String {
        // Sometimes an argument of another kind.
        let kind = match kind {
            Word(_) | Bits | Document => kind,
            _ if self.rng.random_bool(0.05) => Any,
            kind => kind,
        };
        let kind = match kind {
            Any => self.pick(&[Number, Small, Text, Bytes, Date, Extreme]),
            kind => kind,
        };
        if columns && self.rng.random_bool(0.6) {
            let fits: Vec<&str> = COLUMNS
                .iter()
                .filter(|(_, of)| std::mem::discriminant(of) == std::mem::discriminant(&kind))
                .map(|(name, _)| *name)
                .collect();
            if !fits.is_empty() {
                return self.pick(&fits).to_owned();
            }
        }
        let list = match kind {
            Number | Any => NUMBERS,
            Small => SMALLS,
            Text => TEXTS,
            Bytes => BYTES,
            Date => DATES,
            Extreme => EXTREMES,
            Long => LONGS,
            Bits => BITS,
            Document => DOCUMENTS,
            Word(words) => words,
        };
        self.pick(list).to_owned()
    }
}
