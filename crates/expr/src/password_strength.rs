//! The strength of passwords, as the function VALIDATE_PASSWORD_STRENGTH returns it.

use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;

/// Rates passwords by the rules of a server.
pub trait PasswordStrength: Debug + Send + Sync {
    /// Rates a password from 0 to 100. It must not be one of `users`, the names of the session's user.
    fn strength(&self, password: &str, users: [&str; 2]) -> i64;
}

/// Rates the passwords of a session, by the policy in force.
#[derive(Debug, Clone)]
pub struct SharedPasswordStrength(pub Arc<dyn PasswordStrength>);

impl Default for SharedPasswordStrength {
    fn default() -> SharedPasswordStrength {
        SharedPasswordStrength(Arc::new(Unrated))
    }
}

impl Deref for SharedPasswordStrength {
    type Target = dyn PasswordStrength;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

/// Rates every password 0, as a server does that has no rules for passwords.
#[derive(Debug)]
struct Unrated;

impl PasswordStrength for Unrated {
    fn strength(&self, _: &str, _: [&str; 2]) -> i64 {
        0
    }
}
