//! Reads an HTTP request.

use super::{MOST_HEAD, TIME_TO_ASK};
use std::io::{ErrorKind, Read};
use std::net::{IpAddr, TcpStream};
use std::time::{Duration, Instant};

/// Most headers of a request.
const MOST_HEADERS: usize = 64;

/// A request.
pub(crate) struct Request {
    pub is_head: bool,
    /// The path, with its escapes replaced.
    pub path: String,
    /// Names and values of the query string.
    parameters: Vec<(String, String)>,
    /// The `Host` header.
    pub host: String,
    /// The `Origin` header. Browsers send it with requests of other sites' pages.
    pub origin: Option<String>,
    pub cookies: String,
    /// The server's address of this connection.
    pub local: IpAddr,
}

impl Request {
    /// Returns whether the request names this machine as `localhost` or by its address. Any other name may be one that an attacker
    /// has made lead here.
    pub fn is_for_this_machine(&self) -> bool {
        let name = match self.host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => self.host.split(':').next().unwrap_or_default(),
        };
        name.eq_ignore_ascii_case("localhost")
            || name.parse::<IpAddr>().is_ok_and(|named| named == self.local)
    }

    /// Returns whether a page of another site has sent the request.
    pub fn is_of_another_site(&self) -> bool {
        let own = |origin: &str| {
            origin.strip_prefix("http://").is_some_and(|host| host.eq_ignore_ascii_case(&self.host))
        };
        self.origin.as_deref().is_some_and(|origin| !own(origin))
    }

    /// Returns the value of a query parameter.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Why no request was read.
pub(super) enum Refused {
    /// The client has gone.
    Gone,
    /// The client gets this status and message.
    With(u16, &'static str),
}

/// Reads a request, within [`TIME_TO_ASK`].
pub(super) fn read(stream: &mut TcpStream, local: IpAddr) -> Result<Request, Refused> {
    let until = Instant::now() + TIME_TO_ASK;
    let mut head = Vec::with_capacity(1024);
    loop {
        if let Some(request) = parse(&head, local)? {
            return Ok(request);
        }
        if head.len() >= MOST_HEAD {
            return Err(Refused::With(431, "the request is too long"));
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Refused::With(408, "the request did not arrive in time"));
        }
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1)))).map_err(|_| Refused::Gone)?;
        let mut bytes = [0; 2048];
        match stream.read(&mut bytes) {
            Ok(0) => return Err(Refused::Gone),
            Ok(count) => head.extend_from_slice(bytes.get(..count).unwrap_or_default()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(Refused::Gone),
        }
    }
}

/// Parses the request; `None` if it is not complete.
fn parse(head: &[u8], local: IpAddr) -> Result<Option<Request>, Refused> {
    let bad = |why| Refused::With(400, why);
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Refused::With(431, "too many headers")),
        Err(_) => return Err(bad("this is no request")),
    }
    let is_head = match parsed.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Err(Refused::With(405, "only GET and HEAD are served")),
    };
    let (mut host, mut origin) = (None, None);
    let mut cookies = String::new();
    for header in parsed.headers.iter() {
        let text = std::str::from_utf8(header.value);
        if header.name.eq_ignore_ascii_case("host") {
            if host.is_some() {
                return Err(bad("two hosts"));
            }
            host = Some(text.map_err(|_| bad("no host"))?.to_owned());
        } else if header.name.eq_ignore_ascii_case("origin") {
            origin = Some(text.map_err(|_| bad("no origin"))?.to_owned());
        } else if header.name.eq_ignore_ascii_case("cookie") {
            cookies.push_str(text.unwrap_or_default());
            cookies.push(';');
        } else if header.name.eq_ignore_ascii_case("transfer-encoding")
            || header.name.eq_ignore_ascii_case("content-length") && header.value != b"0"
        {
            return Err(bad("a request has no body here"));
        }
    }
    let host = host.ok_or_else(|| bad("no host"))?;
    let target = parsed.path.filter(|target| target.starts_with('/')).ok_or_else(|| bad("no path"))?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((unescaped(name, true)?, unescaped(value, true)?))
    };
    let parameters = query.split('&').filter(|part| !part.is_empty()).map(pair).collect::<Option<Vec<_>>>();
    let not_text = || bad("the path is no text");
    Ok(Some(Request {
        is_head,
        path: unescaped(path, false).ok_or_else(not_text)?,
        parameters: parameters.ok_or_else(not_text)?,
        host,
        origin,
        cookies,
        local,
    }))
}

/// Replaces the `%` escapes of a text, and in parameters each `+` by a blank. `None` for a wrong escape or text that is not
/// UTF-8.
fn unescaped(text: &str, in_parameter: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                u8::try_from(digit(rest.next())? * 16 + digit(rest.next())?).ok()?
            }
            b'+' if in_parameter => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}
