//! INSTALL COMPONENT and UNINSTALL COMPONENT. A statement changes all components that it names, or none.

use crate::components::{VALIDATE_PASSWORD, put_validation};
use crate::session::Session;
use leafline_syntax::ast::ComponentStatement;
use leafline_types::MysqlError;

/// The scheme of components in libraries.
const SCHEME: &str = "file";

/// Runs INSTALL COMPONENT or UNINSTALL COMPONENT.
///
/// # Errors
/// 3527 for a name without a scheme, 3528 for an unknown scheme, 3529 for a component that is unknown or already installed, 3537
/// for one that is not installed; errors of the engine.
pub(super) fn run(session: &Session, statement: &ComponentStatement) -> Result<(), MysqlError> {
    let instance = &session.instance;
    let accounts = instance.accounts();
    let _alone = accounts.alone();
    let mut is_installed = instance.globals().read().validates_passwords;
    for urn in &statement.urns {
        let (scheme, _) = urn.split_once("://").ok_or_else(|| MysqlError::component_without_scheme(urn))?;
        if scheme != SCHEME {
            return Err(MysqlError::unknown_component_scheme(scheme, urn));
        }
        let is_known = urn == VALIDATE_PASSWORD;
        match statement.install {
            true if !is_known || is_installed => return Err(MysqlError::cannot_load_component(urn)),
            false if !is_known || !is_installed => return Err(MysqlError::component_not_loaded(urn)),
            install => is_installed = install,
        }
    }
    put_validation(instance.engine(), is_installed)?;
    {
        let mut globals = instance.globals().write();
        globals.validates_passwords = is_installed;
        if !is_installed {
            // Variables of a component begin anew with it.
            globals.password_policy = Default::default();
        }
    }
    instance.apply_globals()
}
