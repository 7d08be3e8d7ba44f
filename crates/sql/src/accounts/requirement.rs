//! REQUIRE: what connections of an account need, and its columns of `mysql.user`.
//!
//! | `ssl_type` | a connection needs |
//! |---|---|
//! | empty | nothing |
//! | ANY | TLS |
//! | X509 | a certificate, which the handshake has verified |
//! | SPECIFIED | the cipher of `ssl_cipher`, and a certificate with the names of `x509_issuer` and `x509_subject`; an empty text demands nothing |

use leafline_syntax::ast::{TlsDemands, TlsRequirement};
use leafline_types::Value;

/// The names in a certificate, as OpenSSL writes them in one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CertificateNames {
    /// The name of the certificate's owner.
    pub subject: String,
    /// The name of the authority that signed the certificate.
    pub issuer: String,
}

/// A client that uses TLS.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsClient {
    /// OpenSSL's name of the cipher.
    pub cipher: &'static str,
    /// The names in the client's certificate, which was verified; `None` without one.
    pub certificate: Option<CertificateNames>,
}

/// Whether a connection has what is required; `None` for one without TLS.
pub(super) fn is_met(requirement: &TlsRequirement, client: Option<&TlsClient>) -> bool {
    let certificate = client.and_then(|client| client.certificate.as_ref());
    match requirement {
        TlsRequirement::None => true,
        TlsRequirement::Tls => client.is_some(),
        TlsRequirement::Certificate => certificate.is_some(),
        TlsRequirement::These(TlsDemands { subject, issuer, cipher }) => {
            let is = |demand: &Option<String>, found: Option<&str>| {
                demand.as_deref().is_none_or(|demand| found == Some(demand))
            };
            client.is_some()
                && is(cipher, client.map(|client| client.cipher))
                && is(subject, certificate.map(|names| names.subject.as_str()))
                && is(issuer, certificate.map(|names| names.issuer.as_str()))
        }
    }
}

/// The values of `ssl_type`, `ssl_cipher`, `x509_issuer` and `x509_subject`.
pub(super) fn values(requirement: &TlsRequirement) -> [Value; 4] {
    let none = TlsDemands::default();
    let (ty, demands) = match requirement {
        TlsRequirement::None => (1, &none),
        TlsRequirement::Tls => (2, &none),
        TlsRequirement::Certificate => (3, &none),
        TlsRequirement::These(demands) => (4, demands),
    };
    let [cipher, issuer, subject] = [&demands.cipher, &demands.issuer, &demands.subject]
        .map(|text| Value::bytes(text.clone().unwrap_or_default().into_bytes()));
    [Value::UInt(ty), cipher, issuer, subject]
}

/// Reads the values of these columns; `None` if they cannot be understood.
pub(super) fn read(values: &[Value]) -> Option<TlsRequirement> {
    let [ty, cipher, issuer, subject] = values else { return None };
    let text = |value: &Value| -> Option<Option<String>> {
        let text = match value {
            Value::Bytes(bytes) => std::str::from_utf8(bytes).ok()?.to_owned(),
            value => value.as_str()?.to_owned(),
        };
        Some(Some(text).filter(|text| !text.is_empty()))
    };
    Some(match ty {
        Value::UInt(1) => TlsRequirement::None,
        Value::UInt(2) => TlsRequirement::Tls,
        Value::UInt(3) => TlsRequirement::Certificate,
        Value::UInt(4) => {
            let demands =
                TlsDemands { subject: text(subject)?, issuer: text(issuer)?, cipher: text(cipher)? };
            TlsRequirement::These(demands)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demands(subject: &str, issuer: &str, cipher: &str) -> TlsRequirement {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        TlsRequirement::These(TlsDemands {
            subject: text(subject),
            issuer: text(issuer),
            cipher: text(cipher),
        })
    }

    #[test]
    fn connections_are_compared_with_what_is_required() {
        let names = CertificateNames { subject: "/CN=joe".into(), issuer: "/CN=ca".into() };
        let plain = TlsClient { cipher: "C", certificate: None };
        let known = TlsClient { cipher: "C", certificate: Some(names) };
        for (requirement, without, with_tls, with_certificate) in [
            (TlsRequirement::None, true, true, true),
            (TlsRequirement::Tls, false, true, true),
            (TlsRequirement::Certificate, false, false, true),
            (demands("/CN=joe", "", ""), false, false, true),
            (demands("/CN=joe", "/CN=ca", "C"), false, false, true),
            (demands("/CN=joe", "/CN=other", ""), false, false, false),
            (demands("/CN=Joe", "", ""), false, false, false),
            (demands("", "", "C"), false, true, true),
            (demands("", "", "D"), false, false, false),
        ] {
            let met = [None, Some(&plain), Some(&known)].map(|client| is_met(&requirement, client));
            assert_eq!(met, [without, with_tls, with_certificate], "{requirement:?}");
            assert_eq!(read(&values(&requirement)), Some(requirement));
        }
        assert_eq!(read(&[Value::UInt(5), Value::Null, Value::Null, Value::Null]), None);
    }
}
