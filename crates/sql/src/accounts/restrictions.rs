//! Partial revokes: privileges on everything that an account does not have on certain databases.
//!
//! A restriction always concerns a privilege that the account holds on everything. Each lets privileges of a database through
//! that were granted on it or on its tables. What several accounts, such as a session's account and its roles, hold together is
//! computed by [`Restrictions::united`]: a privilege is missing on a database where none of them has it.

use leafline_syntax::Privileges;
use std::collections::BTreeMap;

/// The privileges that are missing on databases, by the databases' names; none of the sets is empty.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Restrictions {
    by_database: BTreeMap<String, Privileges>,
}

impl Restrictions {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_database.is_empty()
    }

    /// The privileges that are missing on a database.
    pub(crate) fn on(&self, database: &str) -> Privileges {
        self.by_database.get(database).copied().unwrap_or_default()
    }

    /// The databases with the privileges that are missing on each.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, Privileges)> {
        self.by_database.iter().map(|(database, privileges)| (database, *privileges))
    }

    /// Takes privileges on a database away.
    pub(crate) fn add(&mut self, database: &str, privileges: Privileges) {
        if !privileges.is_empty() {
            *self.by_database.entry(database.to_owned()).or_default() |= privileges;
        }
    }

    /// Gives privileges on a database back.
    pub(crate) fn lift(&mut self, database: &str, privileges: Privileges) {
        if let Some(missing) = self.by_database.get_mut(database) {
            *missing = *missing - privileges;
            if missing.is_empty() {
                self.by_database.remove(database);
            }
        }
    }

    /// Forgets restrictions of privileges that are no longer held on everything.
    pub(crate) fn forget(&mut self, privileges: Privileges) {
        self.by_database.retain(|_, missing| {
            *missing = *missing - privileges;
            !missing.is_empty()
        });
    }

    /// The restrictions of two holders together, each with its privileges on everything.
    pub(crate) fn united(
        (one_global, one): (Privileges, &Restrictions),
        (other_global, other): (Privileges, &Restrictions),
    ) -> Restrictions {
        let mut all = Restrictions::default();
        for database in one.by_database.keys().chain(other.by_database.keys()) {
            let held = (one_global - one.on(database)) | (other_global - other.on(database));
            all.add(database, (one_global | other_global) - held);
        }
        all
    }

    /// The restrictions of an account that is granted privileges on everything by a grantor with restrictions. Of the privileges
    /// `granted`, it lacks on a database those that neither it nor the grantor had there.
    pub(crate) fn granted(
        (global, own): (Privileges, &Restrictions),
        granted: Privileges,
        (grantor, on_database): (&Restrictions, impl Fn(&str) -> Privileges),
    ) -> Restrictions {
        let mut all = Restrictions::default();
        for database in own.by_database.keys().chain(grantor.by_database.keys()) {
            let had = (global - own.on(database)) | on_database(database);
            let missing = (granted & grantor.on(database)) - had;
            all.add(database, missing | (own.on(database) - granted));
        }
        all
    }
}

impl FromIterator<(String, Privileges)> for Restrictions {
    fn from_iter<I: IntoIterator<Item = (String, Privileges)>>(restrictions: I) -> Restrictions {
        let mut all = Restrictions::default();
        restrictions.into_iter().for_each(|(database, privileges)| all.add(&database, privileges));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_syntax::Privilege::*;

    fn restricted(restrictions: &[(&str, Privileges)]) -> Restrictions {
        restrictions.iter().map(|(database, privileges)| ((*database).to_owned(), *privileges)).collect()
    }

    #[test]
    fn holders_have_together_what_one_of_them_has() {
        let (one, other) = (
            restricted(&[("d", Select | Insert)]),
            restricted(&[("d", Select.into()), ("e", Update.into())]),
        );
        let united = Restrictions::united((Select | Insert, &one), (Select | Update, &other));
        assert_eq!(united, restricted(&[("d", Select | Insert), ("e", Update.into())]));
        let free = Restrictions::default();
        let united = Restrictions::united((Select | Insert, &one), (Select.into(), &free));
        assert_eq!(united, restricted(&[("d", Insert.into())]));
    }

    #[test]
    fn a_grantor_hands_its_restrictions_on() {
        let granted =
            |global: Privileges, own: &Restrictions, granted: Privileges, grantor: &Restrictions| {
                Restrictions::granted((global, own), granted, (grantor, |_: &str| Privileges::NONE))
            };
        let (none, grantor) =
            (Restrictions::default(), restricted(&[("d", Select | Insert), ("e", Insert.into())]));
        let nothing = Privileges::NONE;
        assert_eq!(granted(nothing, &none, Select.into(), &grantor), restricted(&[("d", Select.into())]));
        assert_eq!(
            granted(Select.into(), &none, Select.into(), &grantor),
            none,
            "it had the privilege everywhere"
        );
        let own = restricted(&[("d", Select.into()), ("f", Update.into())]);
        let global = Select | Update;
        assert_eq!(
            granted(global, &own, Select.into(), &none),
            restricted(&[("f", Update.into())]),
            "the grantor has it there"
        );
        assert_eq!(granted(global, &own, Select.into(), &grantor), own);
        let by_database =
            Restrictions::granted((nothing, &none), Select.into(), (&grantor, |_: &str| Select.into()));
        assert_eq!(by_database, none);
    }
}
