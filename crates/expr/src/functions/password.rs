//! VALIDATE_PASSWORD_STRENGTH, which rates a password by the server's rules.

use crate::build;
use crate::function::{Function, Volatility};
use leafline_types::value::Value;

pub(super) static FUNCTIONS: &[Function] = &[Function::new(
    "VALIDATE_PASSWORD_STRENGTH",
    (1, 1),
    |_| Ok(build::bigint(true)),
    |cx, call, args| {
        let Some(password) = call.text(args, 0) else { return Ok(Value::Null) };
        let users = [&cx.session.user, &cx.session.current_user].map(|name| user_of(name));
        Ok(Value::Int(cx.session.passwords.strength(&String::from_utf8_lossy(&password), users)))
    },
)
.volatility(Volatility::Statement)];

/// The user of `user@host`.
fn user_of(name: &str) -> &str {
    name.rsplit_once('@').map_or(name, |(user, _)| user)
}
