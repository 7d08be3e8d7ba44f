//! Statements about accounts, and the check of privileges for all statements.
//!
//! | module | has |
//! |---|---|
//! | `authorize` | the check of a statement's privileges before it runs |
//! | `users` | CREATE USER, ALTER USER, DROP USER, RENAME USER, SET PASSWORD |
//! | `grants` | GRANT and REVOKE |
//! | `column_grants` | their column lists |
//! | `partial_revokes` | what they do to partial revokes |
//! | `roles` | statements about roles |
//! | `role_grants` | the rules that these share with CREATE USER |
//! | `restored` | INSERT into the grant tables |

mod authorize;
mod column_grants;
mod grants;
mod partial_revokes;
mod restored;
mod role_grants;
mod roles;
mod users;

pub(crate) use authorize::{authorize, authorize_kill};
pub(crate) use restored::check_row;
pub(super) use users::check_name;
