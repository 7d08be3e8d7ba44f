//! Random statements about text of every character set: its bytes, conversions, lengths, places, case, order and
//! comparison.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// A character set, its collations, and codes of it: letters, signs, and invalid ones.
struct Set {
    name: &'static str,
    collations: &'static [&'static str],
    codes: &'static [&'static str],
}

const SETS: &[Set] = &[
    set(
        "latin1",
        &["latin1_swedish_ci", "latin1_bin", "latin1_german2_ci"],
        &["41", "E9", "DF", "80", "A0", "FF"],
    ),
    set(
        "latin2",
        &["latin2_general_ci", "latin2_bin", "latin2_croatian_ci"],
        &["41", "B1", "A1", "E8", "BE", "FF"],
    ),
    set(
        "cp1250",
        &["cp1250_general_ci", "cp1250_bin", "cp1250_polish_ci"],
        &["61", "9A", "8A", "E8", "B9", "80"],
    ),
    set(
        "cp1251",
        &["cp1251_general_ci", "cp1251_bin", "cp1251_ukrainian_ci"],
        &["41", "E0", "C0", "B8", "A8", "FF"],
    ),
    set(
        "cp1257",
        &["cp1257_general_ci", "cp1257_lithuanian_ci", "cp1257_bin"],
        &["41", "E0", "C0", "F0", "FF"],
    ),
    set("koi8r", &["koi8r_general_ci", "koi8r_bin"], &["41", "C1", "E1", "A3", "B3", "80"]),
    set("koi8u", &["koi8u_general_ci", "koi8u_bin"], &["41", "C1", "E1", "A4", "B4", "AD"]),
    set("greek", &["greek_general_ci", "greek_bin"], &["41", "E1", "C1", "DC", "F2", "F3"]),
    set("hebrew", &["hebrew_general_ci", "hebrew_bin"], &["41", "E0", "FA", "A4"]),
    set("ascii", &["ascii_general_ci", "ascii_bin"], &["41", "61", "20", "39"]),
    set("latin5", &["latin5_turkish_ci", "latin5_bin"], &["49", "69", "DD", "FD", "DE", "FE"]),
    set("latin7", &["latin7_general_ci", "latin7_estonian_cs", "latin7_bin"], &["41", "E0", "C0", "FE"]),
    set("cp850", &["cp850_general_ci", "cp850_bin"], &["41", "82", "90", "E1", "9C"]),
    set("cp866", &["cp866_general_ci", "cp866_bin"], &["41", "80", "A0", "F1", "B0"]),
    set("macroman", &["macroman_general_ci", "macroman_bin"], &["41", "8E", "83", "A7"]),
    set(
        "utf8mb3",
        &["utf8mb3_general_ci", "utf8mb3_bin", "utf8mb3_unicode_ci"],
        &["41", "C3A9", "E697A5", "CEB1"],
    ),
    set(
        "utf8mb4",
        &["utf8mb4_general_ci", "utf8mb4_bin", "utf8mb4_unicode_ci"],
        &["41", "C3A9", "E697A5", "F09F9880"],
    ),
    set("ucs2", &["ucs2_general_ci", "ucs2_bin", "ucs2_unicode_ci"], &["0041", "00E9", "65E5", "03B1"]),
    set(
        "utf16",
        &["utf16_general_ci", "utf16_bin", "utf16_unicode_ci"],
        &["0041", "00E9", "65E5", "D83DDE00"],
    ),
    set("utf16le", &["utf16le_general_ci", "utf16le_bin"], &["4100", "E900", "E565", "3DD800DE"]),
    set(
        "utf32",
        &["utf32_general_ci", "utf32_bin", "utf32_unicode_ci"],
        &["00000041", "000000E9", "0001F600"],
    ),
    set("gbk", &["gbk_chinese_ci", "gbk_bin"], &["41", "D6D0", "815C", "A3C1", "A8A6"]),
    set("gb2312", &["gb2312_chinese_ci", "gb2312_bin"], &["41", "D6D0", "A3C1", "B0A1"]),
    set("big5", &["big5_chinese_ci", "big5_bin"], &["41", "A4A4", "A55C", "A2CF"]),
    set("sjis", &["sjis_japanese_ci", "sjis_bin"], &["41", "95F0", "835C", "B1", "8260"]),
    set("cp932", &["cp932_japanese_ci", "cp932_bin"], &["41", "95F0", "835C", "B1", "8740"]),
    set("euckr", &["euckr_korean_ci", "euckr_bin"], &["41", "B0A1", "C7D1", "A3C1"]),
    set("ujis", &["ujis_japanese_ci", "ujis_bin"], &["41", "C6FC", "8EB1", "8FA2AF"]),
    set("eucjpms", &["eucjpms_japanese_ci", "eucjpms_bin"], &["41", "C6FC", "8EB1", "ADA1"]),
];

const fn set(name: &'static str, collations: &'static [&'static str], codes: &'static [&'static str]) -> Set {
    Set { name, collations, codes }
}

/// Returns the statements that make the database and the table: a column of each character set, `c_` and its name,
/// and a binary one.
pub fn setup() -> Vec<String> {
    let mut made: Vec<String> = [
        "DROP DATABASE IF EXISTS leafline_charsets",
        "CREATE DATABASE leafline_charsets",
        "USE leafline_charsets",
        "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
        "SET sql_mode = ''",
    ]
    .map(String::from)
    .to_vec();
    let columns = SETS
        .iter()
        .map(|set| format!("c_{0} VARCHAR(12) CHARACTER SET {0} COLLATE {1}", set.name, set.collations[0]));
    let columns: Vec<String> = columns.collect();
    made.push(format!("CREATE TABLE c (id INT PRIMARY KEY, bytes VARBINARY(40), {})", columns.join(", ")));
    let mut rng = SmallRng::seed_from_u64(1);
    for id in 0..12 {
        let values = SETS.iter().map(|set| match id {
            11 => "NULL".to_owned(),
            _ => text(&mut rng, set),
        });
        let values: Vec<String> = values.collect();
        made.push(format!("INSERT INTO c VALUES ({id}, x'{:02X}C3A9', {})", 0x41 + id, values.join(", ")));
    }
    made
}

/// Returns a literal of up to three characters.
fn text(rng: &mut SmallRng, set: &Set) -> String {
    let count = rng.random_range(0..=3);
    let codes: String = (0..count).map(|_| set.codes[rng.random_range(0..set.codes.len())]).collect();
    format!("_{} x'{codes}'", set.name)
}

/// Whether a difference between the servers is expected.
pub fn is_known(sql: &str, ours: Option<&u16>, theirs: Option<&u16>) -> bool {
    let mixes = [1267, 1270, 1271];
    let is_mix = |code: Option<&u16>| code.is_some_and(|code| mixes.contains(code));
    match (is_mix(ours), is_mix(theirs)) {
        // MariaDB reports some mixes by another number.
        (true, true) => true,
        // MySQL 8.4 refuses two explicit collations of any character sets; MariaDB converts to a Unicode set.
        (true, false) => sql.matches(" COLLATE ").count() > 1,
        // MySQL 8.4 converts any Unicode set to one with supplementary characters; MariaDB only utf8mb3 to utf8mb4.
        (false, true) => {
            let sets = ["utf8mb3", "utf8mb4", "ucs2", "utf16", "utf16le", "utf32"];
            let is_there = |set: &&&str| {
                [",", " ", ")", ";"].iter().any(|end| format!("{sql};").contains(&format!("{set}{end}")))
            };
            // Literals without an introducer are utf8mb4.
            let plain = usize::from(sql.contains("'%'") || sql.contains("= ''"));
            sets.iter().filter(is_there).count() + plain > 1
        }
        // MySQL and MariaDB compare Big5 by codes, too; its weights are strokes there.
        (false, false) => sql.contains("WEIGHT_STRING") && sql.contains("big5"),
    }
}

/// Generates statements.
pub struct Generator {
    rng: SmallRng,
}

impl Generator {
    pub fn new(seed: u64) -> Self {
        Generator { rng: SmallRng::seed_from_u64(seed) }
    }

    fn set(&mut self) -> &'static Set {
        &SETS[self.rng.random_range(0..SETS.len())]
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.rng.random_range(0..list.len())]
    }

    /// Returns a column or literal of a character set, under any of its collations.
    fn value(&mut self, set: &Set) -> String {
        let plain = match self.rng.random_range(0..5) {
            0 | 1 => format!("c_{}", set.name),
            // The default collation of utf8mb4 is another in MariaDB.
            2 if set.name != "utf8mb4" => format!("CONVERT({} USING {})", self.column(), set.name),
            3 => format!("CONCAT(c_{}, {})", set.name, text(&mut self.rng, set)),
            _ if set.name != "utf8mb4" => text(&mut self.rng, set),
            _ => format!("c_{}", set.name),
        };
        match self.rng.random_bool(0.3) {
            true => format!("{plain} COLLATE {}", self.pick(set.collations)),
            false => plain,
        }
    }

    /// Returns a column of any character set.
    fn column(&mut self) -> String {
        format!("c_{}", self.set().name)
    }

    pub fn statement(&mut self) -> String {
        let (set, other) = (self.set(), self.set());
        let (a, b, column) = (self.value(set), self.value(set), format!("c_{}", set.name));
        let collation = self.pick(set.collations);
        let (n, m) = (self.rng.random_range(0..5), self.rng.random_range(-3..4));
        let op = self.pick(&["=", "<", "<=", "<>", "<=>"]);
        match self.rng.random_range(0..24) {
            0 => format!("SELECT id, HEX({a}), LENGTH({a}), CHAR_LENGTH({a}), BIT_LENGTH({b}) FROM c"),
            1 => format!("SELECT id, HEX(CONVERT({a} USING {})) FROM c", other.name),
            2 => format!("SELECT id, HEX(CAST({a} AS BINARY)), HEX(BINARY {b}) FROM c"),
            3 => format!("SELECT id, HEX(UPPER(c_ascii)), HEX(LOWER({b})) FROM c WHERE {b} = ''"),
            4 => format!(
                "SELECT id, HEX(LEFT({a}, {n})), HEX(RIGHT({b}, {n})), HEX(SUBSTRING({a}, {m}, {n})) FROM c"
            ),
            5 => format!("SELECT id, HEX(LPAD({column}, {n}, '*')), HEX(RPAD({column}, {n}, '*')) FROM c"),
            6 => format!("SELECT id, HEX(REVERSE({a})), ORD({a}), ASCII({b}) FROM c"),
            7 => format!("SELECT id, LOCATE({b}, {a}), INSTR({a}, {b}), POSITION({b} IN {column}) FROM c"),
            8 => format!("SELECT id, {a} {op} {b}, STRCMP({a}, {b}) FROM c"),
            9 => format!("SELECT id FROM c WHERE {column} {op} {b}"),
            10 => format!(
                "SELECT GROUP_CONCAT(id ORDER BY {column} COLLATE {collation}, id) FROM c WHERE id < 11"
            ),
            11 => format!("SELECT HEX(MIN({column})), HEX(MAX({column} COLLATE {collation})) FROM c"),
            12 => format!("SELECT id, {a} LIKE {b}, {a} LIKE CONCAT('%', {b}) FROM c"),
            13 => format!(
                "SELECT id, HEX(TRIM({b} FROM {a})), HEX(REPLACE({a}, {b}, {column})) FROM c WHERE id < 11"
            ),
            14 => format!("SELECT HEX(WEIGHT_STRING({a})) FROM c WHERE id < 11"),
            15 => format!("SELECT HEX(CHAR({} USING {}))", 65 + n, set.name),
            16 => format!(
                "SELECT COUNT(*), COUNT(DISTINCT {column}), COUNT(DISTINCT {column} COLLATE {collation}) FROM c"
            ),
            17 => format!("SELECT id, CHARSET({a}), COLLATION({b}), COERCIBILITY({a}) FROM c WHERE id = 1"),
            18 => format!(
                "SELECT id, HEX(CONCAT({a}, {n})), HEX(CONCAT({n}, {b})), CHARSET(CONCAT({a}, {n})) FROM c"
            ),
            19 => {
                let code = self.pick(set.codes);
                format!("SELECT HEX(_{0} x'{code}'), ORD(_{0} x'{code}')", set.name)
            }
            20 if set.name != "utf8mb4" => {
                format!(
                    "SELECT id, HEX({a}) FROM c WHERE {a} = CONVERT({} USING {})",
                    self.column(),
                    set.name
                )
            }
            21 => format!("SELECT id, HEX(CONCAT({a}, c_{})) FROM c", other.name),
            22 => format!("SELECT id, {column} IN ({b}, {a}), {column} BETWEEN {a} AND {b} FROM c"),
            _ => format!(
                "SELECT HEX(INSERT({a}, {n}, {n}, {b})), HEX(SUBSTRING_INDEX({a}, {b}, {m})) FROM c WHERE id < 11"
            ),
        }
    }
}
