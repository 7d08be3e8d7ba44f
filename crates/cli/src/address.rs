//! Where a server is, and who asks.

use std::path::{Path, PathBuf};

/// A server, as `mysql://[user[:password]@][host[:port]][/database][?socket=PATH]` names it. Parts of it may have `%XX` for a byte.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// The account: `root` unless another is named.
    pub user: String,
    /// Its password; without one `MYSQL_PWD` counts, as for MySQL's clients.
    pub password: String,
    /// The machine.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// A Unix socket, in the place of host and port.
    pub socket: Option<PathBuf>,
    /// The database.
    pub database: Option<String>,
    /// A file of certificates, one of which has to have signed the server's, or to be it.
    pub authority: Option<PathBuf>,
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Address({self})")
    }
}

impl std::fmt::Display for Address {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.socket {
            Some(socket) => write!(f, "{}", socket.display()),
            None => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// The schemes of addresses of servers.
const SCHEMES: [&str; 2] = ["mysql://", "mariadb://"];

impl Address {
    /// Whether a word is the address of a server, and not the name of a file.
    pub fn is_one(word: &str) -> bool {
        SCHEMES.iter().any(|scheme| word.starts_with(scheme))
    }

    /// The server that listens on a socket, with the account `root`.
    pub fn of_socket(socket: PathBuf) -> Address {
        Address {
            user: "root".into(),
            password: std::env::var("MYSQL_PWD").unwrap_or_default(),
            host: "localhost".into(),
            port: 3306,
            socket: Some(socket),
            database: None,
            authority: None,
        }
    }

    /// Returns the address of the server, which has to prove its identity by a certificate that this file vouches for, if there is one.
    ///
    /// # Errors
    /// A socket has no certificate.
    pub fn vouched_for(self, authority: Option<&Path>) -> Result<Address, String> {
        match authority {
            Some(_) if self.socket.is_some() => {
                Err("--tls-ca is for servers over TCP, not for a socket".into())
            }
            _ => Ok(Address { authority: authority.map(Path::to_owned), ..self }),
        }
    }

    /// # Errors
    /// A message that says what is wrong with the text.
    pub fn parse(text: &str) -> Result<Address, String> {
        let rest = SCHEMES.iter().find_map(|scheme| text.strip_prefix(scheme));
        let rest = rest.ok_or("write mysql://user:password@host:port/database")?;
        let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (account, place) =
            authority.rsplit_once('@').map_or((None, authority), |(account, place)| (Some(account), place));
        let mut address = Address::of_socket(PathBuf::new());
        address.socket = None;
        if let Some(account) = account {
            let (user, password) = account.split_once(':').map_or((account, None), |(u, p)| (u, Some(p)));
            address.user = decoded(user)?;
            if let Some(password) = password {
                address.password = decoded(password)?;
            }
        }
        // An IPv6 address is in brackets, as it has colons of its own.
        let (host, port) = match place.strip_prefix('[').and_then(|place| place.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
        };
        address.host = if host.is_empty() { "127.0.0.1".into() } else { decoded(host)? };
        if let Some(port) = port {
            address.port = port.parse().map_err(|_| format!("'{port}' is no port"))?;
        }
        address.database = (!database.is_empty()).then(|| decoded(database)).transpose()?;
        for option in query.into_iter().flat_map(|query| query.split('&')) {
            match option.split_once('=') {
                Some(("socket", path)) => address.socket = Some(decoded(path)?.into()),
                _ => return Err(format!("'{option}' is no option of an address; there is socket=PATH")),
            }
        }
        Ok(address)
    }
}

/// The text with `%XX` as the bytes they stand for.
fn decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(value.ok_or_else(|| format!("'{text}' has a % without two digits behind it"))?);
        rest = after.get(2..).unwrap_or_default();
    }
    String::from_utf8(bytes).map_err(|_| format!("'{text}' is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_accounts_hosts_ports_databases_and_sockets() {
        let all = Address::parse("mysql://me:p%40ss%3a@db.example:3307/shop").unwrap();
        assert_eq!((all.user.as_str(), all.password.as_str()), ("me", "p@ss:"));
        assert_eq!(
            (all.host.as_str(), all.port, all.database.as_deref()),
            ("db.example", 3307, Some("shop"))
        );
        let least = Address::parse("mariadb://").unwrap();
        assert_eq!((least.user.as_str(), least.host.as_str(), least.port), ("root", "127.0.0.1", 3306));
        let socket = Address::parse("mysql://root@/a?socket=/run/my%20sql.sock").unwrap();
        assert_eq!(socket.socket, Some("/run/my sql.sock".into()));
        assert_eq!(Address::parse("mysql://[::1]:3308").unwrap().port, 3308);
        for wrong in ["", "http://x", "mysql://h:port", "mysql://u%4@h", "mysql://h?tls=1", "mysql://%ff@h"] {
            assert!(Address::parse(wrong).is_err(), "{wrong}");
        }
        assert!(!format!("{all:?} {all}").contains("p@ss"));
    }
}
