//! The names in a client's certificate, as OpenSSL's `X509_NAME_oneline` writes them: MySQL compares these texts with REQUIRE
//! SUBJECT and REQUIRE ISSUER.
//!
//! Each attribute is `/TYPE=value`, in the certificate's order. Bytes that are not printable ASCII are `\x` and two digits. An
//! attribute without a short name has its object identifier.

use leafline_sql::accounts::CertificateNames;
use std::fmt::Write;
use x509_parser::x509::X509Name;

/// OpenSSL's short names of the attributes, by their object identifiers.
const SHORT_NAMES: [(&str, &str); 20] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.4", "SN"),
    ("2.5.4.5", "serialNumber"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.9", "street"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.12", "title"),
    ("2.5.4.13", "description"),
    ("2.5.4.15", "businessCategory"),
    ("2.5.4.17", "postalCode"),
    ("2.5.4.42", "GN"),
    ("2.5.4.43", "initials"),
    ("2.5.4.44", "generationQualifier"),
    ("2.5.4.46", "dnQualifier"),
    ("0.9.2342.19200300.100.1.1", "UID"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("1.2.840.113549.1.9.1", "emailAddress"),
];

/// Reads the subject and the issuer of a certificate in DER form; `None` if it cannot be read.
pub(crate) fn names(certificate: &[u8]) -> Option<CertificateNames> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
    Some(CertificateNames { subject: oneline(certificate.subject()), issuer: oneline(certificate.issuer()) })
}

fn oneline(name: &X509Name<'_>) -> String {
    let mut text = String::new();
    for attribute in name.iter_attributes() {
        let identifier = attribute.attr_type().to_id_string();
        let short = SHORT_NAMES.iter().find(|(known, _)| *known == identifier);
        let _ = write!(text, "/{}=", short.map_or(identifier.as_str(), |(_, short)| short));
        for byte in attribute.attr_value().data {
            match byte {
                b' '..=b'~' => text.push(char::from(*byte)),
                byte => {
                    let _ = write!(text, "\\x{byte:02X}");
                }
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

    #[test]
    fn names_are_those_of_openssl() {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.distinguished_name = DistinguishedName::new();
        let unknown = DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 9, 9]);
        for (ty, value) in [
            (DnType::CountryName, "SE"),
            (DnType::StateOrProvinceName, "Stock holm"),
            (DnType::OrganizationName, "M/O"),
            (DnType::CustomDnType(vec![1, 2, 840, 113_549, 1, 9, 1]), "a@b.example"),
            (unknown, "x"),
            (DnType::CommonName, "Jos\u{e9}"),
        ] {
            params.distinguished_name.push(ty, value);
        }
        let made = params.self_signed(&KeyPair::generate().expect("a key")).expect("a certificate");
        let found = names(made.der()).expect("names");
        let expected =
            "/C=SE/ST=Stock holm/O=M/O/emailAddress=a@b.example/1.3.6.1.4.1.9.9=x/CN=Jos\\xC3\\xA9";
        assert_eq!((found.subject.as_str(), found.issuer.as_str()), (expected, expected));
        assert!(names(b"no certificate").is_none());
    }
}
