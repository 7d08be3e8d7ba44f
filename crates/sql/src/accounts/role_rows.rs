//! The rows of `mysql.role_edges` and `mysql.default_roles`.

use super::roles::{RoleGrant, RoleGraph};
use leafline_syntax::AccountId;
use leafline_types::Value;

/// The rows of `role_edges`.
pub(super) fn edge_rows(graph: &RoleGraph) -> Vec<Vec<Value>> {
    let row = |RoleGrant { role, grantee, admin }: RoleGrant<'_>| {
        let mut row: Vec<Value> = [&role.host, &role.user, &grantee.host, &grantee.user]
            .map(|name| Value::string(name.as_str()))
            .into();
        row.push(Value::UInt(1 + u64::from(admin)));
        row
    };
    graph.grants().map(row).collect()
}

/// The rows of `default_roles`.
pub(super) fn default_rows(graph: &RoleGraph) -> Vec<Vec<Value>> {
    let row = |(id, role): (&AccountId, &AccountId)| {
        [&id.host, &id.user, &role.host, &role.user].map(|name| Value::string(name.as_str())).into()
    };
    graph.defaults().map(row).collect()
}

/// Adds a row of `role_edges` to the graph; `None` if the row cannot be understood.
pub(super) fn read_edge(graph: &mut RoleGraph, row: &[Value]) -> Option<()> {
    let [role_host, role, host, user, admin] = row else { return None };
    let role = AccountId::new(role.as_str()?, role_host.as_str()?);
    graph.grant(&role, &AccountId::new(user.as_str()?, host.as_str()?), *admin == Value::UInt(2));
    Some(())
}

/// Adds a row of `default_roles` to the graph; `None` if the row cannot be understood.
pub(super) fn read_default(graph: &mut RoleGraph, row: &[Value]) -> Option<()> {
    let [host, user, role_host, role] = row else { return None };
    let role = AccountId::new(role.as_str()?, role_host.as_str()?);
    graph.add_default(&AccountId::new(user.as_str()?, host.as_str()?), &role);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_reads_back_as_written() {
        let [a, b, c] = ["a", "b", "c"].map(|name| AccountId::new(name, "192.0.2.%"));
        let mut graph = RoleGraph::default();
        graph.grant(&a, &b, true);
        graph.grant(&b, &a, false);
        graph.grant(&a, &c, false);
        graph.add_default(&c, &a);
        let mut read = RoleGraph::default();
        edge_rows(&graph).iter().for_each(|row| read_edge(&mut read, row).unwrap());
        default_rows(&graph).iter().for_each(|row| read_default(&mut read, row).unwrap());
        assert_eq!(read, graph);
        assert_eq!(read_edge(&mut read, &[]), None);
    }
}
