//! The document in `mysql.user.User_attributes`, as MySQL writes it.
//!
//! ```json
//! {"Restrictions": [{"Database": "d", "Privileges": ["INSERT"]}],
//!  "Password_locking": {"failed_login_attempts": 3, "password_lock_time_days": -1}}
//! ```
//!
//! Each member is there only if the account has such rules. A document with any other member cannot be read: it would be lost.

use super::password_rules::PasswordRules;
use super::restrictions::Restrictions;
use leafline_syntax::ast::LockTime;
use leafline_syntax::{Privilege, Privileges};
use leafline_types::Value;
use leafline_types::json::text::put_quoted;
use leafline_types::json::{Item, Json, View};

const RESTRICTIONS: &str = "Restrictions";
const DATABASE: &str = "Database";
const PRIVILEGES: &str = "Privileges";
const LOCKING: &str = "Password_locking";
const FAILURES: &str = "failed_login_attempts";
/// -1 stands for UNBOUNDED.
const LOCK_DAYS: &str = "password_lock_time_days";

/// The document about an account; NULL for an account that needs none.
pub(super) fn document(rules: &PasswordRules, restrictions: &Restrictions) -> Value {
    let members: Vec<String> =
        [restriction_list(restrictions), locking(rules)].into_iter().flatten().collect();
    if members.is_empty() {
        return Value::Null;
    }
    // The text is well formed; a document that is not would be a NULL, too.
    Json::parse(&format!("{{{}}}", members.join(", "))).map_or(Value::Null, Value::Json)
}

fn restriction_list(restrictions: &Restrictions) -> Option<String> {
    let one = |(database, privileges): (&String, Privileges)| {
        let names: Vec<String> =
            privileges.iter().map(|privilege| format!("\"{}\"", privilege.name())).collect();
        let mut text = format!("{{\"{DATABASE}\": ");
        put_quoted(database, &mut text);
        text.push_str(&format!(", \"{PRIVILEGES}\": [{}]}}", names.join(", ")));
        text
    };
    let all: Vec<String> = restrictions.iter().map(one).collect();
    (!all.is_empty()).then(|| format!("\"{RESTRICTIONS}\": [{}]", all.join(", ")))
}

fn locking(rules: &PasswordRules) -> Option<String> {
    let days = match rules.lock_time {
        LockTime::Days(days) => i32::from(days),
        LockTime::Unbounded => -1,
    };
    let failures = rules.failed_logins;
    let is_set = failures > 0 || days != 0;
    is_set.then(|| format!("\"{LOCKING}\": {{\"{FAILURES}\": {failures}, \"{LOCK_DAYS}\": {days}}}"))
}

/// Reads a document: the rules about failed logins into `rules`. Returns the restrictions; `None` if it cannot be understood.
pub(super) fn read(document: &Value, rules: &mut PasswordRules) -> Option<Restrictions> {
    let parsed;
    let document = match document {
        Value::Null => return Some(Restrictions::default()),
        Value::Json(json) => json,
        // Older databases kept the document as a text.
        text => {
            parsed = Json::parse(text.as_str()?).ok()?;
            &parsed
        }
    };
    let Item::Object(members) = document.view().item() else { return None };
    let mut restrictions = Restrictions::default();
    for (name, value) in members.iter() {
        match name {
            RESTRICTIONS => restrictions = read_restrictions(value)?,
            LOCKING => read_locking(value, rules)?,
            _ => return None,
        }
    }
    Some(restrictions)
}

/// The members of an object that has these and no others.
fn members<'v, const N: usize>(value: View<'v>, names: [&str; N]) -> Option<[View<'v>; N]> {
    let Item::Object(object) = value.item() else { return None };
    let found: Option<Vec<View<'v>>> = names.iter().map(|name| object.get(name)).collect();
    found.filter(|_| object.len() == N)?.try_into().ok()
}

fn read_restrictions(value: View<'_>) -> Option<Restrictions> {
    let Item::Array(list) = value.item() else { return None };
    let one = |value: View<'_>| -> Option<(String, Privileges)> {
        let [database, privileges] = members(value, [DATABASE, PRIVILEGES])?;
        let (Item::String(database), Item::Array(privileges)) = (database.item(), privileges.item()) else {
            return None;
        };
        let named = |value: View<'_>| match value.item() {
            Item::String(name) => Privilege::from_name(name),
            _ => None,
        };
        Some((database.to_owned(), privileges.iter().map(named).collect::<Option<Privileges>>()?))
    };
    list.iter().map(one).collect()
}

fn read_locking(value: View<'_>, rules: &mut PasswordRules) -> Option<()> {
    let number = |value: View<'_>| match value.item() {
        Item::Int(number) => Some(number),
        _ => None,
    };
    let [failures, days] = members(value, [FAILURES, LOCK_DAYS])?.map(number);
    rules.failed_logins = u16::try_from(failures?).ok()?;
    rules.lock_time = match days? {
        -1 => LockTime::Unbounded,
        days => LockTime::Days(u16::try_from(days).ok()?),
    };
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_types::json::text::to_text;

    #[test]
    fn a_document_reads_back_as_written() {
        let mut rules =
            PasswordRules { failed_logins: 3, lock_time: LockTime::Unbounded, ..PasswordRules::default() };
        let restrictions: Restrictions = [
            ("a\"b".to_owned(), Privilege::Select | Privilege::CreateView),
            ("d".to_owned(), Privilege::Drop.into()),
        ]
        .into_iter()
        .collect();
        let written = document(&rules, &restrictions);
        let Value::Json(json) = &written else { panic!("{written:?}") };
        assert_eq!(
            to_text(json.view()),
            r#"{"Restrictions": [{"Database": "a\"b", "Privileges": ["SELECT", "CREATE VIEW"]}, {"Database": "d", "Privileges": ["DROP"]}], "Password_locking": {"failed_login_attempts": 3, "password_lock_time_days": -1}}"#
        );
        let mut found = PasswordRules::default();
        assert_eq!(read(&written, &mut found), Some(restrictions.clone()));
        assert_eq!(found, rules);
        assert_eq!(read(&Value::string(to_text(json.view())), &mut found), Some(restrictions));
        rules = PasswordRules::default();
        assert_eq!(document(&rules, &Restrictions::default()), Value::Null);
        for wrong in [
            "{\"comment\": \"x\"}",
            "[]",
            "1",
            "{\"Restrictions\": [{\"Database\": \"d\"}]}",
            "{\"Restrictions\": [{\"Database\": \"d\", \"Privileges\": [\"x\"]}]}",
            "{",
        ] {
            assert_eq!(read(&Value::string(wrong), &mut rules), None, "{wrong}");
        }
    }
}
