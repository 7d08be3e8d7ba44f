//! Statements about accounts, and the privileges that all statements ask for.
//!
//! | module | has |
//! |---|---|
//! | `authorize` | the privileges that statements ask for before they run |
//! | `users` | CREATE USER, ALTER USER, DROP USER, RENAME USER, SET PASSWORD |
//! | `grants` | GRANT and REVOKE |
//! | `restored` | INSERT into the grant tables |

mod authorize;
mod grants;
mod restored;
mod users;

pub(crate) use authorize::{authorize, authorize_kill};
pub(crate) use restored::check_row;
