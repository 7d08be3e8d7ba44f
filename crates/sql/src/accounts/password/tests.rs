use super::*;

/// Computes a client's answer.
fn native_answer(password: &[u8], challenge: &[u8; CHALLENGE_BYTES]) -> Vec<u8> {
    let mask: [u8; 20] =
        Sha1::new().chain_update(challenge).chain_update(double_sha1(password)).finalize().into();
    xor(Sha1::digest(password).into(), mask).to_vec()
}

fn sha2_answer(password: &[u8], challenge: &[u8; CHALLENGE_BYTES]) -> Vec<u8> {
    let once: [u8; 32] = Sha256::digest(password).into();
    let mask = Sha256::new().chain_update(Sha256::digest(once)).chain_update(challenge).finalize();
    xor(once, mask.into()).to_vec()
}

const CHALLENGE: [u8; CHALLENGE_BYTES] = *b"0123456789abcdefghij";

#[test]
fn passwords_read_back_as_written() {
    for plugin in [AuthPlugin::Native, AuthPlugin::CachingSha2] {
        for plain in ["", "secret", "é🦀 and spaces", &"x".repeat(MAX_SHA2_PASSWORD)] {
            let stored = StoredPassword::new(plugin, plain).expect("a password");
            let text = stored.authentication_string();
            let read = StoredPassword::parse(plugin, &text).unwrap_or_else(|| panic!("{text:?}"));
            assert_eq!(read, stored);
            assert_eq!((read.plugin(), read.is_none()), (plugin, plain.is_empty()));
            assert!(read.verify(plain.as_bytes()), "{plugin:?} {plain}");
            for wrong in ["Secret", &plain[..plain.len() / 2], &format!("{plain}x")] {
                assert_eq!(read.verify(wrong.as_bytes()), plain == wrong, "{plugin:?} {plain} {wrong}");
            }
        }
    }
    let two = [(); 2].map(|()| StoredPassword::new(AuthPlugin::CachingSha2, "secret").expect("a password"));
    assert_ne!(two[0].authentication_string(), two[1].authentication_string(), "each has its salt");
}

#[test]
fn hashes_that_mysql_made_are_understood() {
    let native = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
    let stored = StoredPassword::parse(AuthPlugin::Native, native).expect("a hash");
    assert!(stored.verify(b"secret"));
    assert_eq!(stored.authentication_string(), native);
    // Salt and digest of `123456789`, with control characters in the salt as MySQL writes them.
    let digest = sha256_crypt::digest(b"123456789", b"\x01a\x7f b\tcdefghijklmno\"", 5000);
    let digest = String::from_utf8(digest.to_vec()).expect("text");
    let text = format!("$A$005$\x01a\x7f b\tcdefghijklmno\"{digest}");
    let stored = StoredPassword::parse(AuthPlugin::CachingSha2, &text).expect("a hash");
    assert!(stored.verify(b"123456789") && !stored.verify(b"12345678"));
    assert_eq!(stored.authentication_string(), text);
}

#[test]
fn what_is_no_hash_is_not_read() {
    let sha2 =
        StoredPassword::new(AuthPlugin::CachingSha2, "secret").expect("a password").authentication_string();
    let native = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
    for wrong in [
        "*",
        "14E65567ABDB5135D0CFD9A70B3032C179A49EE7",
        "*14E6é",
        &native[..40],
        &sha2,
        "*+4E65567ABDB5135D0CFD9A70B3032C179A49EE7",
    ] {
        assert_eq!(StoredPassword::parse(AuthPlugin::Native, wrong), None, "{wrong}");
    }
    for end in 1..sha2.len() {
        assert_eq!(StoredPassword::parse(AuthPlugin::CachingSha2, &sha2[..end]), None, "cut at {end}");
    }
    let with = |at: usize, text: &str| format!("{}{text}{}", &sha2[..at], &sha2[at + text.len()..]);
    for wrong in [
        with(1, "B"),
        with(3, "000"),
        with(3, "+05"),
        with(6, "x"),
        with(10, "é"),
        with(40, "$"),
        format!("{sha2}x"),
        native.into(),
    ] {
        assert_eq!(StoredPassword::parse(AuthPlugin::CachingSha2, &wrong), None, "{wrong}");
    }
    let too_long = StoredPassword::new(AuthPlugin::CachingSha2, &"x".repeat(MAX_SHA2_PASSWORD + 1));
    assert_eq!(too_long.map_err(|error| error.code), Err(1819));
}

#[test]
fn a_native_answer_is_right_or_wrong() {
    let stored = StoredPassword::new(AuthPlugin::Native, "secret").expect("a password");
    let check = |answer: &[u8]| stored.check_answer(&CHALLENGE, answer);
    assert_eq!(check(&native_answer(b"secret", &CHALLENGE)), Verdict::Right);
    for wrong in [
        &b""[..],
        &[0; 20],
        &native_answer(b"Secret", &CHALLENGE),
        &native_answer(b"secret", &[1; 20]),
        b"secret",
    ] {
        assert_eq!(check(wrong), Verdict::Wrong);
    }
}

#[test]
fn a_sha2_answer_is_known_once_the_password_was_seen() {
    let stored = StoredPassword::new(AuthPlugin::CachingSha2, "secret").expect("a password");
    let right = sha2_answer(b"secret", &CHALLENGE);
    assert_eq!(stored.check_answer(&CHALLENGE, &right), Verdict::Unknown);
    assert!(!stored.verify(b"Secret"));
    assert_eq!(stored.check_answer(&CHALLENGE, &right), Verdict::Unknown, "what was wrong is not kept");
    let clone = stored.clone();
    assert!(stored.verify(b"secret"));
    assert_eq!(clone.check_answer(&CHALLENGE, &right), Verdict::Right);
    assert_eq!(clone.check_answer(&[1; 20], &right), Verdict::Unknown);
    assert_eq!(clone.check_answer(&CHALLENGE, &sha2_answer(b"Secret", &CHALLENGE)), Verdict::Unknown);
    assert_eq!(clone.check_answer(&CHALLENGE, b""), Verdict::Wrong);
    assert!(clone.verify(b"secret") && !clone.verify(b"Secret") && !clone.verify(b""));
    let other = StoredPassword::new(AuthPlugin::CachingSha2, "secret").expect("a password");
    assert_eq!(other.check_answer(&CHALLENGE, &right), Verdict::Unknown, "another account has seen nothing");
}

#[test]
fn no_password_takes_an_empty_answer_only_and_what_nobody_knows_takes_none() {
    let none = StoredPassword::none(AuthPlugin::Native);
    assert_eq!(none.check_answer(&CHALLENGE, b""), Verdict::Right);
    assert_eq!(none.check_answer(&CHALLENGE, &native_answer(b"secret", &CHALLENGE)), Verdict::Wrong);
    assert!(none.verify(b"") && !none.verify(b"secret"));
    let unknowable = StoredPassword::unknowable().expect("random bytes");
    assert!(!unknowable.verify(b"secret") && !unknowable.verify(b""));
    assert_eq!(unknowable.check_answer(&CHALLENGE, b""), Verdict::Wrong);
    assert_eq!(
        format!("{none:?}, {unknowable:?}"),
        "no password (mysql_native_password), a password (caching_sha2_password)"
    );
}
