//! The host parts of accounts: which clients match, and which of several host parts is more specific.
//!
//! | host | matches |
//! |---|---|
//! | `localhost` | clients of this machine: by the socket, or from a loopback address |
//! | `192.0.2.1`, `2001:db8::1` | that address |
//! | `192.0.2.0/255.255.255.0`, `192.0.2.0/24` | the addresses that have these bits |
//! | `192.0.2.%`, `%` | texts like the pattern: the address, and `localhost` for clients of this machine |
//! | another name | no client: names are not looked up |
//!
//! Exact names and addresses are the most specific. Networks come next, the smaller first, then patterns, the
//! ones with a later first wildcard first, then `%`, and last the empty host, which also matches everything.

use crate::like::like;
use std::net::IpAddr;

/// The name of this machine.
pub const LOCALHOST: &str = "localhost";
/// The host that matches all clients.
pub const ANY: &str = "%";

/// The host part of an account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HostPattern {
    text: String,
    kind: Kind,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Kind {
    Name,
    Address(IpAddr),
    /// Address bits, mask, and whether it is IPv4.
    Network(u128, u128, bool),
    Pattern,
    Any,
    Empty,
}

/// The host of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ClientHost {
    text: String,
    address: Option<IpAddr>,
    is_here: bool,
}

impl ClientHost {
    /// Parses `localhost` or an address.
    pub(crate) fn new(text: &str) -> ClientHost {
        let address = text.parse::<IpAddr>().ok().map(|address| address.to_canonical());
        let is_here = address.map_or(text == LOCALHOST, |address| address.is_loopback());
        let text = address.map_or_else(|| text.to_owned(), |address| address.to_string());
        ClientHost { text, address, is_here }
    }

    /// True if the client is on this machine.
    pub(crate) fn is_here(&self) -> bool {
        self.is_here
    }

    /// The host as messages show it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// The bits of an address, and whether it is IPv4.
fn bits(address: IpAddr) -> (u128, bool) {
    match address {
        IpAddr::V4(address) => (address.to_bits().into(), true),
        IpAddr::V6(address) => (address.to_bits(), false),
    }
}

fn network(text: &str) -> Option<Kind> {
    let (address, mask) = text.split_once('/')?;
    let (address, is_short) = bits(address.parse().ok()?);
    let width = if is_short { 32 } else { 128 };
    let all = if is_short { u128::from(u32::MAX) } else { u128::MAX };
    let mask = match (mask.parse::<u32>(), mask.parse::<IpAddr>()) {
        (Ok(length), _) if length <= width => all & !all.checked_shr(length).unwrap_or(0),
        (_, Ok(mask)) => Some(bits(mask)).filter(|(_, short)| *short == is_short)?.0,
        _ => return None,
    };
    (address & !mask == 0).then_some(Kind::Network(address, mask, is_short))
}

impl HostPattern {
    pub(crate) fn new(text: &str) -> HostPattern {
        let kind = match text {
            "" => Kind::Empty,
            ANY => Kind::Any,
            _ if text.contains('/') => network(text).unwrap_or(Kind::Name),
            _ if text.contains(['%', '_']) => Kind::Pattern,
            _ => match text.parse::<IpAddr>() {
                Ok(address) => Kind::Address(address.to_canonical()),
                Err(_) => Kind::Name,
            },
        };
        HostPattern { text: text.to_owned(), kind }
    }

    /// True if the host part matches a client.
    pub(crate) fn matches(&self, client: &ClientHost) -> bool {
        match &self.kind {
            Kind::Any | Kind::Empty => true,
            Kind::Name => self.text.eq_ignore_ascii_case(LOCALHOST) && client.is_here,
            Kind::Address(address) => client.address == Some(*address),
            Kind::Network(address, mask, is_short) => client.address.is_some_and(|of| {
                let (of, short) = bits(of);
                short == *is_short && of & mask == *address
            }),
            Kind::Pattern => {
                like(&client.text, &self.text) || (client.is_here && like(LOCALHOST, &self.text))
            }
        }
    }

    /// Rank of the host part; a lower rank is more specific.
    pub(crate) fn rank(&self) -> (u8, usize) {
        match &self.kind {
            Kind::Name | Kind::Address(_) => (0, 0),
            Kind::Network(_, mask, _) => (1, mask.count_zeros() as usize),
            Kind::Pattern => (2, usize::MAX - self.text.find(['%', '_']).unwrap_or(0)),
            Kind::Any => (3, 0),
            Kind::Empty => (4, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_for_the_clients_that_it_names() {
        for (host, clients) in [
            ("localhost", &["localhost", "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"][..]),
            ("192.0.2.1", &["192.0.2.1", "::ffff:192.0.2.1"]),
            ("2001:db8:0:0::1", &["2001:db8::1"]),
            ("192.0.2.0/255.255.255.0", &["192.0.2.1", "192.0.2.255"]),
            ("192.0.2.0/24", &["192.0.2.1"]),
            ("2001:db8::/32", &["2001:db8:5::1"]),
            ("0.0.0.0/0", &["1.2.3.4"]),
            ("192.0.2.%", &["192.0.2.1"]),
            ("local%", &["localhost", "127.0.0.1"]),
            ("%", &["localhost", "192.0.2.1", "2001:db8::1"]),
            ("", &["localhost", "192.0.2.1"]),
        ] {
            for client in clients {
                assert!(HostPattern::new(host).matches(&ClientHost::new(client)), "{host}: {client}");
            }
        }
        for (host, clients) in [
            ("localhost", &["192.0.2.1", "localhost.example"][..]),
            ("127.0.0.1", &["localhost"]),
            ("192.0.2.1", &["192.0.2.11", "localhost"]),
            ("192.0.2.1/255.255.255.0", &["192.0.2.1"]),
            ("192.0.2.0/33", &["192.0.2.1"]),
            ("0.0.0.0/0", &["2001:db8::1", "localhost"]),
            ("192.0.2._", &["192.0.2.10"]),
            ("db.example", &["localhost", "192.0.2.1"]),
        ] {
            for client in clients {
                assert!(!HostPattern::new(host).matches(&ClientHost::new(client)), "{host}: {client}");
            }
        }
    }

    #[test]
    fn the_more_specific_host_comes_first() {
        let hosts = ["localhost", "192.0.2.128/25", "192.0.2.0/24", "192.0.2.%", "192.0.%", "%", ""];
        let ranks: Vec<_> = hosts.iter().map(|host| HostPattern::new(host).rank()).collect();
        assert!(ranks.is_sorted() && ranks.windows(2).all(|pair| pair[0] != pair[1]), "{ranks:?}");
        assert_eq!(HostPattern::new("192.0.2.1").rank(), HostPattern::new("localhost").rank());
    }
}
