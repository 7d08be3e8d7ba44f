//! Components of the server.

/// INSTALL COMPONENT or UNINSTALL COMPONENT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentStatement {
    /// Whether the components are installed; otherwise they are uninstalled.
    pub install: bool,
    /// The components' names, such as `file://component_validate_password`.
    pub urns: Vec<String>,
}
