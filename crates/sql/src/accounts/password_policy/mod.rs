//! The password policy: which passwords statements may set while the component `validate_password` is installed.
//!
//! The system variables `validate_password.*` are the policy. The rules are those of MySQL's component:
//!
//! | policy | a password |
//! |---|---|
//! | any | has at least `length` characters, and is not the user's name or its reverse |
//! | MEDIUM, STRONG | also has enough digits, lower and upper case letters, and other characters |
//! | STRONG | also has no word of the dictionary in it, from 4 characters on, in any case |
//!
//! [`PasswordValidation`] holds the policy that is in force, with the words of the dictionary, for all sessions.

mod dictionary;

use dictionary::Dictionary;
use leafline_expr::PasswordStrength;
use leafline_types::error::errno;
use leafline_types::{DateTime, MysqlError};
use parking_lot::RwLock;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

/// The beginning of the names of the component's variables.
pub(crate) const PREFIX: &str = "validate_password.";

/// Passwords with fewer characters have no strength.
const LEAST_RATED: usize = 4;

/// `validate_password.policy`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum PolicyLevel {
    /// Only the length.
    Low,
    /// Also the kinds of characters.
    #[default]
    Medium,
    /// Also the words of the dictionary.
    Strong,
}

impl PolicyLevel {
    const ALL: [PolicyLevel; 3] = [PolicyLevel::Low, PolicyLevel::Medium, PolicyLevel::Strong];

    /// The value of the variable.
    pub(crate) fn name(self) -> &'static str {
        match self {
            PolicyLevel::Low => "LOW",
            PolicyLevel::Medium => "MEDIUM",
            PolicyLevel::Strong => "STRONG",
        }
    }

    /// Finds a level by its name, in any case, or by its number.
    pub(crate) fn from_name(name: &str) -> Option<PolicyLevel> {
        let mut numbered = PolicyLevel::ALL.into_iter().enumerate();
        let is_it = |(number, level): &(usize, PolicyLevel)| {
            level.name().eq_ignore_ascii_case(name) || number.to_string() == name
        };
        numbered.find(is_it).map(|(_, level)| level)
    }
}

/// The password policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PasswordPolicy {
    /// `validate_password.policy`.
    pub level: PolicyLevel,
    /// `validate_password.length`: the least number of characters.
    pub length: u64,
    /// `validate_password.mixed_case_count`: the least number of letters of each case.
    pub mixed_case: u64,
    /// `validate_password.number_count`: the least number of digits.
    pub digits: u64,
    /// `validate_password.special_char_count`: the least number of other characters.
    pub special: u64,
    /// `validate_password.check_user_name`.
    pub checks_user_name: bool,
    /// `validate_password.changed_characters_percentage`.
    pub changed_percentage: u64,
    /// `validate_password.dictionary_file`; empty for none. Setting the variable makes a new text, by which
    /// `PasswordValidation::follow` knows that it has to read the file again.
    pub dictionary_file: Arc<str>,
}

impl Default for PasswordPolicy {
    fn default() -> PasswordPolicy {
        PasswordPolicy {
            level: PolicyLevel::default(),
            length: 8,
            mixed_case: 1,
            digits: 1,
            special: 1,
            checks_user_name: true,
            changed_percentage: 0,
            dictionary_file: "".into(),
        }
    }
}

/// The numbers of characters of each kind.
#[derive(Default)]
struct Kinds {
    all: u64,
    lower: u64,
    upper: u64,
    digits: u64,
    special: u64,
}

impl Kinds {
    fn of(password: &str) -> Kinds {
        let mut kinds = Kinds::default();
        for character in password.chars() {
            kinds.all += 1;
            *match character {
                _ if character.is_lowercase() => &mut kinds.lower,
                _ if character.is_uppercase() => &mut kinds.upper,
                _ if character.is_numeric() => &mut kinds.digits,
                _ => &mut kinds.special,
            } += 1;
        }
        kinds
    }
}

impl PasswordPolicy {
    /// Raises `length` to what the numbers of characters of each kind need, as MySQL does after each change.
    pub(crate) fn fit_length(&mut self) {
        let needed =
            self.digits.saturating_add(self.special).saturating_add(self.mixed_case.saturating_mul(2));
        self.length = self.length.max(needed);
    }

    /// Returns whether the password is the name of one of the users, or its reverse.
    fn is_user(&self, password: &str, users: [&str; 2]) -> bool {
        let is =
            |user: &&str| !user.is_empty() && (password == *user || password.bytes().rev().eq(user.bytes()));
        self.checks_user_name && users.iter().any(is)
    }

    /// Returns whether there are enough characters of each kind.
    fn is_mixed(&self, kinds: &Kinds) -> bool {
        kinds.lower.min(kinds.upper) >= self.mixed_case
            && kinds.digits >= self.digits
            && kinds.special >= self.special
    }

    /// The highest level whose rules a password keeps, but for names of users; `None` if it is too short.
    fn level_of(&self, password: &str, dictionary: &Dictionary) -> Option<PolicyLevel> {
        let kinds = Kinds::of(password);
        match () {
            () if kinds.all < self.length => None,
            () if !self.is_mixed(&kinds) => Some(PolicyLevel::Low),
            () if dictionary.has_word_of(password) => Some(PolicyLevel::Medium),
            () => Some(PolicyLevel::Strong),
        }
    }

    /// The number of characters that a new password must not have from the old one, and the number of those that it has not.
    fn changed(&self, old: &str, new: &str) -> (u64, u64) {
        let lower = |text: &str| text.to_lowercase().chars().collect::<Vec<char>>();
        let (old, new) = (lower(old), lower(new));
        let characters = old.len().max(new.len()) as u64;
        let needed = characters.saturating_mul(self.changed_percentage) / 100;
        let known: HashSet<char> = old.into_iter().collect();
        (needed, new.iter().filter(|character| !known.contains(character)).count() as u64)
    }
}

/// A policy in force.
#[derive(Debug)]
struct InForce {
    policy: PasswordPolicy,
    dictionary: Arc<Dictionary>,
}

/// The validation of passwords in an instance; it accepts every password while the component is not installed.
#[derive(Debug, Default)]
pub(crate) struct PasswordValidation {
    current: RwLock<Option<Arc<InForce>>>,
}

impl PasswordValidation {
    /// Puts a policy in force, or none. Reads the dictionary if its variable was set; a relative path is in `directory`. Returns why
    /// the dictionary cannot be used: then it is empty.
    pub(crate) fn follow(&self, policy: Option<&PasswordPolicy>, directory: &Path) -> Result<(), String> {
        let Some(policy) = policy else {
            *self.current.write() = None;
            return Ok(());
        };
        let before = self.current.read().clone();
        let is_same =
            |known: &&Arc<InForce>| Arc::ptr_eq(&known.policy.dictionary_file, &policy.dictionary_file);
        let (dictionary, read) = match before.as_ref().filter(is_same) {
            Some(known) => (known.dictionary.clone(), Ok(())),
            None if policy.dictionary_file.is_empty() => (Arc::default(), Ok(())),
            None => match Dictionary::read(&directory.join(&*policy.dictionary_file)) {
                Ok(dictionary) => (Arc::new(dictionary), Ok(())),
                Err(why) => (Arc::default(), Err(why)),
            },
        };
        *self.current.write() = Some(Arc::new(InForce { policy: policy.clone(), dictionary }));
        read
    }

    /// Checks a password that a session of these `users` sets.
    ///
    /// # Errors
    /// 1819.
    pub(crate) fn check(&self, password: &str, users: [&str; 2]) -> Result<(), MysqlError> {
        let Some(current) = self.current.read().clone() else { return Ok(()) };
        let InForce { policy, dictionary } = &*current;
        let is_right =
            !policy.is_user(password, users) && policy.level_of(password, dictionary) >= Some(policy.level);
        if is_right { Ok(()) } else { Err(MysqlError::not_valid_password()) }
    }

    /// Checks that a new password has enough characters that the old one has not.
    ///
    /// # Errors
    /// 1819.
    pub(crate) fn check_change(&self, old: &str, new: &str) -> Result<(), MysqlError> {
        let Some(current) = self.current.read().clone() else { return Ok(()) };
        let (needed, changed) = current.policy.changed(old, new);
        if changed >= needed {
            return Ok(());
        }
        let message = format!(
            "The new password must have at least '{needed}' characters that are different from the old password. It has only '{changed}' \
             character(s) different. For this comparison, uppercase letters and lowercase letters are considered to be equal."
        );
        Err(MysqlError::with_message(errno::ER_NOT_VALID_PASSWORD, message))
    }

    /// The number of words in the dictionary, and when it was read; `None` while the component is not installed.
    pub(crate) fn dictionary(&self) -> Option<(usize, Option<DateTime>)> {
        let current = self.current.read().clone()?;
        Some((current.dictionary.words(), current.dictionary.read_at()))
    }
}

impl PasswordStrength for PasswordValidation {
    fn strength(&self, password: &str, users: [&str; 2]) -> i64 {
        let Some(current) = self.current.read().clone() else { return 0 };
        if current.policy.is_user(password, users) || password.chars().nth(LEAST_RATED - 1).is_none() {
            return 0;
        }
        match current.policy.level_of(password, &current.dictionary) {
            None => 25,
            Some(PolicyLevel::Low) => 50,
            Some(PolicyLevel::Medium) => 75,
            Some(PolicyLevel::Strong) => 100,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: [&str; 2] = ["", ""];

    fn in_force(policy: &PasswordPolicy) -> PasswordValidation {
        let validation = PasswordValidation::default();
        validation.follow(Some(policy), Path::new("/")).unwrap();
        validation
    }

    #[test]
    fn passwords_are_rated_as_mysql_rates_them() {
        let none = PasswordValidation::default();
        assert_eq!((none.strength("aB3$aB3$", NOBODY), none.check("", NOBODY)), (0, Ok(())));
        let validation = in_force(&PasswordPolicy::default());
        for (password, strength) in [
            ("", 0),
            ("aB3", 0),
            ("aB3$", 25),
            ("weak", 25),
            ("lessweak$_@123", 50),
            ("aB3$aB3$", 100),
            ("N0Tweak$_@123!", 100),
            ("Äö3€Äö3€", 100),
        ] {
            assert_eq!(validation.strength(password, NOBODY), strength, "{password}");
            assert_eq!(validation.check(password, NOBODY).is_ok(), strength >= 75, "{password}");
        }
        for user in ["aB3$aB3$", "$3Ba$3Ba"] {
            assert_eq!(validation.strength("aB3$aB3$", ["", user]), 0);
            assert_eq!(validation.check("aB3$aB3$", [user, ""]).map_err(|error| error.code), Err(1819));
        }
        assert!(validation.check("aB3$aB3$", ["ab3$ab3$", ""]).is_ok(), "names are compared with their case");
    }

    #[test]
    fn levels_and_counts_decide() {
        let mut policy = PasswordPolicy { level: PolicyLevel::Low, length: 0, ..PasswordPolicy::default() };
        policy.fit_length();
        assert_eq!(policy.length, 4);
        let passes =
            |policy: &PasswordPolicy, password: &str| in_force(policy).check(password, NOBODY).is_ok();
        assert!(passes(&policy, "aaaa") && !passes(&policy, "aaa"));
        policy.level = PolicyLevel::Medium;
        assert!(!passes(&policy, "aaaa") && passes(&policy, "aA1-"));
        policy.digits = 3;
        policy.fit_length();
        assert_eq!(policy.length, 6);
        assert!(!passes(&policy, "aA12--") && passes(&policy, "aA123-"));
        assert_eq!(PolicyLevel::from_name("strong"), Some(PolicyLevel::Strong));
        assert_eq!(
            (PolicyLevel::from_name("0"), PolicyLevel::from_name("3")),
            (Some(PolicyLevel::Low), None)
        );
    }

    #[test]
    fn a_strong_password_has_no_word_of_the_dictionary() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc\nApple\n pear \n").unwrap();
        let mut policy = PasswordPolicy {
            level: PolicyLevel::Strong,
            dictionary_file: file.path().to_str().unwrap().into(),
            ..PasswordPolicy::default()
        };
        let validation = in_force(&policy);
        for (password, strength) in
            [("1x-aPPlexx", 75), ("1X-abcxxx", 100), ("1-XXpearl", 75), ("1-XXpeal", 100)]
        {
            assert_eq!(validation.strength(password, NOBODY), strength, "{password}");
            assert_eq!(validation.check(password, NOBODY).is_ok(), strength == 100, "{password}");
        }
        assert_eq!(validation.dictionary().map(|(words, _)| words), Some(2));
        policy.dictionary_file = "/no/such/file".into();
        assert!(validation.follow(Some(&policy), Path::new("/")).unwrap_err().contains("/no/such/file"));
        assert_eq!(validation.dictionary().map(|(words, _)| words), Some(0));
        assert!(
            validation.follow(Some(&policy), Path::new("/")).is_ok(),
            "the file is read where the variable is set"
        );
    }

    #[test]
    fn part_of_the_characters_has_to_change() {
        let policy = PasswordPolicy { changed_percentage: 50, ..PasswordPolicy::default() };
        assert_eq!(policy.changed("ABCDEFGH", "abcdefgh"), (4, 0));
        assert_eq!(policy.changed("ABCDEFGH", "abcd1234xx"), (5, 6));
        let validation = in_force(&policy);
        assert_eq!(validation.check_change("ABCDEFGH", "abcdef12").map_err(|error| error.code), Err(1819));
        assert!(validation.check_change("ABCDEFGH", "abcd1234").is_ok());
        assert!(in_force(&PasswordPolicy::default()).check_change("a", "a").is_ok());
    }
}
