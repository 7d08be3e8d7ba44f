//! Reads stored programs, and writes the statements that create them, as mysqldump does: each under the `sql_mode`, the
//! character set and the collation that it was created with, behind another delimiter than the semicolons in its body. The text
//! of a program is in its client's character set.

use super::super::args::{Compatible, DumpOptions};
use super::schema::Schema;
use super::{definitions, sql};
use crate::failure::Failure;
use crate::link::{Link, literal, quoted};
use leafline_types::Charset;
use std::borrow::Cow;
use std::io::{self, Write};

/// A stored program.
#[derive(Debug)]
pub struct Program {
    pub database: String,
    pub kind: Kind,
    pub name: String,
    /// `CREATE DEFINER=.. ..`, as the server shows it.
    pub create: String,
    pub sql_mode: String,
    /// `character_set_client` of the session that created it.
    pub charset: String,
    /// `collation_connection` of the session that created it.
    pub collation: String,
    /// `time_zone` of the session that created an event.
    pub time_zone: Option<String>,
}

/// The kinds of programs, in the order in which they are written: what others may need comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Function,
    Procedure,
    Trigger,
    Event,
}

impl Kind {
    /// Returns the word in SQL.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Function => "FUNCTION",
            Kind::Procedure => "PROCEDURE",
            Kind::Trigger => "TRIGGER",
            Kind::Event => "EVENT",
        }
    }
}

/// The programs that are dumped.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub routines: bool,
    pub triggers: bool,
    pub events: bool,
}

impl Wanted {
    /// Everything.
    pub const ALL: Wanted = Wanted { routines: true, triggers: true, events: true };

    /// Returns what the options ask for.
    pub fn of(options: &DumpOptions) -> Wanted {
        Wanted { routines: options.routines, triggers: !options.skip_triggers, events: options.events }
    }
}

/// Reads the programs of the databases of a schema; the triggers of its tables alone.
///
/// # Errors
/// Errors of the server; a program whose text the account may not see.
pub fn read(link: &mut Link, schema: &Schema, wanted: Wanted) -> Result<Vec<Program>, Failure> {
    let mut programs = Vec::new();
    for database in &schema.databases {
        let of = literal(&database.name);
        let routines = |kind: Kind| {
            format!(
                "SELECT ROUTINE_NAME, '' FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = {of} AND ROUTINE_TYPE = '{}' \
                 ORDER BY ROUTINE_NAME",
                kind.word()
            )
        };
        let lists = [
            (wanted.routines, Kind::Function, routines(Kind::Function)),
            (wanted.routines, Kind::Procedure, routines(Kind::Procedure)),
            (
                wanted.triggers,
                Kind::Trigger,
                format!(
                    "SELECT TRIGGER_NAME, EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = {of} \
                     ORDER BY EVENT_OBJECT_TABLE, ACTION_TIMING, EVENT_MANIPULATION, ACTION_ORDER"
                ),
            ),
            (
                wanted.events,
                Kind::Event,
                format!(
                    "SELECT EVENT_NAME, '' FROM information_schema.EVENTS WHERE EVENT_SCHEMA = {of} ORDER BY EVENT_NAME"
                ),
            ),
        ];
        for (_, kind, sql) in lists.iter().filter(|(is_wanted, ..)| *is_wanted) {
            let mut names = Vec::new();
            link.query(sql, &mut |row| {
                let table = row.text(1);
                let has_table = |name: &str| {
                    schema.tables.iter().any(|one| one.database == database.name && one.name == name)
                };
                if *kind != Kind::Trigger || has_table(&table) {
                    names.push(row.text(0));
                }
                Ok(())
            })?;
            for name in names {
                programs.push(one(link, &database.name, *kind, name)?);
            }
        }
    }
    Ok(programs)
}

fn one(link: &mut Link, database: &str, kind: Kind, name: String) -> Result<Program, Failure> {
    let mut found = None;
    let sql = format!("SHOW CREATE {} {}.{}", kind.word(), quoted(database), quoted(&name));
    // An event has its time zone between its modes and its text.
    let place = if kind == Kind::Event { 3 } else { 2 };
    link.query(&sql, &mut |row| {
        found = row.get(place).is_some().then(|| Program {
            database: database.to_owned(),
            kind,
            name: name.clone(),
            create: row.text(place),
            sql_mode: row.text(1),
            charset: row.text(place + 1),
            collation: row.text(place + 2),
            time_zone: (kind == Kind::Event).then(|| row.text(2)),
        });
        Ok(())
    })?;
    found.ok_or_else(|| {
        let kind = kind.word().to_ascii_lowercase();
        Failure::Message(format!("the account may not see the text of {kind} {database}.{name}"))
    })
}

impl Program {
    /// Returns the statement that creates it without its definer, so that the account that runs it becomes the
    /// definer.
    pub fn create_as_own(&self) -> String {
        let rest = self.create.strip_prefix("CREATE DEFINER=");
        let word = format!(" {} ", self.kind.word());
        match rest.and_then(|rest| rest.find(&word).and_then(|at| rest.get(at..))) {
            Some(rest) => format!("CREATE{rest}"),
            None => self.create.clone(),
        }
    }

    /// Returns a delimiter that its text does not contain.
    fn delimiter(&self) -> String {
        let mut delimiter = ";;".to_owned();
        while self.create.contains(&delimiter) {
            delimiter.push('$');
        }
        delimiter
    }

    /// Returns the text in the character set of its client, if that is another than the dump's, and the text tells where its
    /// strings end also byte by byte. `None` if the text has to stay as it is.
    fn in_own_charset(&self, text: &str) -> Option<Vec<u8>> {
        if self.charset == "utf8mb4" {
            return None;
        }
        let charset = Charset::from_name(&self.charset).ok()?;
        let bytes = charset.encode(text);
        let ascii = |bytes: &[u8]| bytes.iter().filter(|byte| byte.is_ascii()).count();
        let is_whole = ascii(&bytes) == ascii(text.as_bytes())
            && charset.decode(&bytes).is_ok_and(|decoded| decoded == text);
        is_whole.then_some(bytes)
    }

    /// Writes the statement that creates it.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write(
        &self,
        drop_first: bool,
        compatible: Option<Compatible>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let delimiter = self.delimiter();
        if drop_first {
            writeln!(out, "\nDROP {} IF EXISTS {};", self.kind.word(), quoted(&self.name))?;
        }
        let sql_mode = definitions::sql_mode(&self.sql_mode, compatible);
        writeln!(out, "\n/*!50003 SET @saved_sql_mode = @@sql_mode, sql_mode = {} */;", literal(&sql_mode))?;
        let create = definitions::program(&self.create_as_own(), compatible);
        let text = match self.in_own_charset(&create) {
            Some(bytes) => {
                writeln!(out, "/*!50003 SET character_set_client = {} */;", self.charset)?;
                Cow::Owned(bytes)
            }
            None => Cow::Borrowed(create.as_bytes()),
        };
        if !self.collation.is_empty() {
            let collation = definitions::nearest_collation(&self.collation, compatible);
            writeln!(out, "/*!50003 SET collation_connection = {collation} */;")?;
        }
        if let Some(zone) = &self.time_zone {
            writeln!(out, "/*!50106 SET @saved_time_zone = @@time_zone, time_zone = {} */;", literal(zone))?;
        }
        writeln!(out, "DELIMITER {delimiter}")?;
        out.write_all(&text)?;
        writeln!(out, "{delimiter}\nDELIMITER ;")?;
        if self.time_zone.is_some() {
            writeln!(out, "/*!50106 SET time_zone = @saved_time_zone */;")?;
        }
        writeln!(out, "/*!50003 SET sql_mode = @saved_sql_mode */;")?;
        out.write_all(sql::NAMES.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn procedure(create: &str) -> Program {
        Program {
            database: "d".into(),
            kind: Kind::Procedure,
            name: "p".into(),
            create: create.into(),
            sql_mode: "ANSI_QUOTES".into(),
            charset: "utf8mb4".into(),
            collation: "utf8mb4_bin".into(),
            time_zone: None,
        }
    }

    #[test]
    fn the_loading_account_becomes_the_definer() {
        let create = "CREATE DEFINER=`a`@`%` PROCEDURE `p`()\nSELECT ' PROCEDURE '";
        assert_eq!(procedure(create).create_as_own(), "CREATE PROCEDURE `p`()\nSELECT ' PROCEDURE '");
    }

    #[test]
    fn a_delimiter_is_not_part_of_the_text() {
        assert_eq!(procedure("SELECT 1").delimiter(), ";;");
        assert_eq!(procedure("SELECT ';;'").delimiter(), ";;$");
        assert_eq!(procedure("SELECT ';;', ';;$'").delimiter(), ";;$$");
        let mut out = Vec::new();
        procedure("CREATE PROCEDURE `p`()\nSET @a = 1").write(true, None, &mut out).unwrap();
        let written = String::from_utf8(out).unwrap();
        let expected = "\nDROP PROCEDURE IF EXISTS `p`;\n\n\
            /*!50003 SET @saved_sql_mode = @@sql_mode, sql_mode = 'ANSI_QUOTES' */;\n\
            /*!50003 SET collation_connection = utf8mb4_bin */;\n\
            DELIMITER ;;\nCREATE PROCEDURE `p`()\nSET @a = 1;;\nDELIMITER ;\n\
            /*!50003 SET sql_mode = @saved_sql_mode */;\n";
        assert!(written.starts_with(expected), "{written}");
    }
    #[test]
    fn a_text_is_in_the_character_set_of_its_client() {
        let written = |charset: &str, create: &str| {
            let mut out = Vec::new();
            Program { charset: charset.into(), ..procedure(create) }.write(false, None, &mut out).unwrap();
            out
        };
        let holds = |out: &[u8], part: &[u8]| out.windows(part.len()).any(|window| window == part);
        let latin = written("latin1", "CREATE PROCEDURE `p`()\nSET @a = 'é'");
        assert!(holds(&latin, b"SET character_set_client = latin1 */;\n") && holds(&latin, b"'\xe9';;\n"));
        // The second byte of this character is a backslash, which a client would take for one.
        let katakana = written("sjis", "CREATE PROCEDURE `p`()\nSET @a = 'ソ'");
        assert!(!holds(&katakana, b"character_set_client") && holds(&katakana, "'ソ';;\n".as_bytes()));
        assert!(!holds(&written("utf8mb4", "CREATE PROCEDURE `p`()\nSET @a = 'é'"), b"character_set_client"));
    }

    #[test]
    fn collations_and_modes_are_those_of_the_server_that_loads() {
        let mut out = Vec::new();
        let create =
            "CREATE FUNCTION `f`() RETURNS char(1) CHARSET utf8mb4 COLLATE utf8mb4_0900_bin\nRETURN 'x'";
        let mode = "TIME_TRUNCATE_FRACTIONAL,ANSI_QUOTES".into();
        let program = Program { sql_mode: mode, collation: "utf8mb4_0900_ai_ci".into(), ..procedure(create) };
        program.write(false, Some(Compatible::Mariadb), &mut out).unwrap();
        let written = String::from_utf8(out).unwrap();
        assert!(written.contains("sql_mode = 'ANSI_QUOTES' */"), "{written}");
        assert!(written.contains("collation_connection = utf8mb4_unicode_520_ci */"), "{written}");
        assert!(written.contains("COLLATE utf8mb4_bin\n"), "{written}");
    }
}
