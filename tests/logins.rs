//! Tests logins and what is logged about them: both plugins over TLS, TCP and the socket.

mod support;

use leafline_protocol::capability as cap;
use leafline_protocol::packet::PacketStream;
use leafline_server::tls::{CERTIFICATE_NAME, KEY_NAME};
use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use support::TestServer;
use support::client::{Answer, Client, Login};

const NATIVE: &str = "mysql_native_password";
const SHA2: &str = "caching_sha2_password";

fn over_socket(directory: &Path, login: &Login<'_>) -> std::io::Result<Client> {
    let stream = UnixStream::connect(directory.join("leafline.sock"))?;
    Client::over(Box::new(stream), &Login { is_unix: true, ..*login })
}

fn refusal(result: std::io::Result<Client>) -> String {
    result.err().expect("turned away").to_string()
}

#[test]
fn either_plugin_lets_in_over_every_transport_whatever_the_client_begins_with() {
    let directory = tempfile::tempdir().expect("a directory");
    let certificate = directory.path().join(CERTIFICATE_NAME);
    let options = ["--socket", &directory.path().join("leafline.sock").display().to_string()];
    let server = TestServer::start(directory.path(), &options);
    for account in [SHA2, NATIVE] {
        let sql = format!("ALTER USER root IDENTIFIED WITH {account} BY 'secret of 31 characters, exactly'");
        let mut root = over_socket(
            directory.path(),
            &Login {
                password: if account == SHA2 { "" } else { "secret of 31 characters, exactly" },
                ..Login::default()
            },
        )
        .expect("let in");
        root.run(&sql);
        let right = "secret of 31 characters, exactly";
        // The first login of each is not in the server's cache, because the server was just started or the password
        // just set.
        for plugin in [SHA2, NATIVE] {
            for tls in [None, Some(certificate.as_path())] {
                let login = Login { password: right, plugin, tls, ..Login::default() };
                for _ in 0..2 {
                    let mut client = Client::log_in(server.address, &login)
                        .unwrap_or_else(|error| panic!("{account} {plugin} {tls:?}: {error}"));
                    let shown = client.rows("SHOW STATUS LIKE 'Ssl_version'");
                    assert_eq!(shown[0][1].as_deref(), Some(if tls.is_some() { "TLSv1.3" } else { "" }));
                }
                for wrong in ["", "wrong"] {
                    let error = refusal(Client::log_in(server.address, &Login { password: wrong, ..login }));
                    assert!(error.contains("1045"), "{error}");
                    // No later login has to wait.
                    Client::log_in(server.address, &login).expect("let in");
                }
            }
            let login = Login { password: right, plugin, ..Login::default() };
            over_socket(directory.path(), &login).expect("let in").run("SELECT 1");
            assert!(
                refusal(over_socket(directory.path(), &Login { password: "wrong", ..login }))
                    .contains("1045")
            );
            over_socket(directory.path(), &login).expect("let in").run("SELECT 1");
        }
    }
    assert!(server.terminate());
}

/// MariaDB's library begins with an unknown plugin of that name and waits to be asked to switch, if threads interfere
/// while they load the right one.
#[test]
fn a_client_of_a_plugin_that_is_not_known_is_asked_to_switch_even_without_a_password() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    for (plugin, switches) in [("dummy_fallback_auth", true), (NATIVE, false), (SHA2, false)] {
        let stream = TcpStream::connect(server.address).expect("a connection");
        let mut packets = PacketStream::new(stream, 1 << 20);
        let mut packet = Vec::new();
        assert!(packets.read(&mut packet).expect("a greeting"));
        let capabilities = cap::PROTOCOL_41 | cap::SECURE_CONNECTION | cap::PLUGIN_AUTH;
        let login =
            [&capabilities.to_le_bytes()[..], &[0; 28], b"root\0\0", plugin.as_bytes(), b"\0"].concat();
        packets.write(|out| out.extend_from_slice(&login)).and_then(|()| packets.flush()).expect("sent");
        assert!(packets.read(&mut packet).expect("an answer"));
        if switches {
            assert!(packet.starts_with(b"\xfecaching_sha2_password\0"), "{packet:?}");
            packets.write(|_| ()).and_then(|()| packets.flush()).expect("sent");
            assert!(packets.read(&mut packet).expect("an answer"));
        }
        assert_eq!(packet[0], 0, "{plugin}: {packet:?}");
    }
    assert!(server.terminate());
}

#[test]
fn an_account_can_ask_for_tls_and_be_for_so_many_at_a_time() {
    let directory = tempfile::tempdir().expect("a directory");
    let certificate = directory.path().join(CERTIFICATE_NAME);
    let options = ["--socket", &directory.path().join("leafline.sock").display().to_string()];
    let server = TestServer::start(directory.path(), &options);
    let mut root = server.connect();
    for plugin in [SHA2, NATIVE] {
        root.run(&format!("CREATE USER ann IDENTIFIED WITH {plugin} BY 'secret' REQUIRE SSL"));
        let plain = Login { user: "ann", password: "secret", ..Login::default() };
        let encrypted = Login { tls: Some(certificate.as_path()), ..plain };
        for _ in 0..2 {
            assert!(refusal(Client::log_in(server.address, &plain)).contains("1045"));
            assert!(refusal(over_socket(directory.path(), &plain)).contains("1045"), "as in MySQL");
            let wrong = Login { password: "wrong", ..encrypted };
            assert!(refusal(Client::log_in(server.address, &wrong)).contains("1045"));
            let mut ann = Client::log_in(server.address, &encrypted).expect("let in");
            ann.run("SELECT 1");
            // Changes to a user that requires TLS, without TLS.
            let mut anybody = server.connect();
            assert!(anybody.change_user(&plain).is_err(), "the connection is not encrypted");
            let mut encrypted_root = Client::log_in(
                server.address,
                &Login { tls: Some(certificate.as_path()), ..Login::default() },
            )
            .expect("let in");
            encrypted_root.change_user(&encrypted).expect("let in");
        }
        // Closed connections are counted until the server has noticed.
        while root.rows("SHOW PROCESSLIST").iter().any(|row| row[1].as_deref() == Some("ann")) {
            std::thread::yield_now();
        }
        root.run("ALTER USER ann REQUIRE NONE WITH MAX_USER_CONNECTIONS 2");
        let mut first = Client::log_in(server.address, &plain).expect("let in");
        let _second = Client::log_in(server.address, &plain).expect("let in");
        let error = refusal(Client::log_in(server.address, &plain));
        assert!(error.contains("1226") && error.contains("max_user_connections"), "{error}");
        let mut other = server.connect();
        assert!(refusal(other.change_user(&plain).map(|()| other)).contains("1226"));
        first.change_user(&plain).expect("it is one of the two");
        drop(first);
        let begun = Instant::now();
        while Client::log_in(server.address, &plain).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "there is room again");
            std::thread::sleep(Duration::from_millis(20));
        }
        root.run("DROP USER ann");
    }
    assert!(server.terminate());
}

/// Makes a certificate for `names`, signed by `issuer` or by itself, and writes it and its key.
fn certify(
    directory: &Path,
    (file, names): (&str, &[(DnType, &str)]),
    issuer: Option<&Issuer<'_, KeyPair>>,
) -> (PathBuf, PathBuf, Issuer<'static, KeyPair>) {
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.distinguished_name = DistinguishedName::new();
    names.iter().for_each(|(ty, name)| params.distinguished_name.push(ty.clone(), *name));
    if file == "ca" {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    let key = KeyPair::generate().expect("a key");
    let made = match issuer {
        Some(issuer) => params.signed_by(&key, issuer),
        None => params.self_signed(&key),
    };
    let paths = ["pem", "key"].map(|extension| directory.join(file).with_extension(extension));
    std::fs::write(&paths[0], made.expect("a certificate").pem()).expect("written");
    std::fs::write(&paths[1], key.serialize_pem()).expect("written");
    let [certificate, key_file] = paths;
    (certificate, key_file, Issuer::new(params, key))
}

#[test]
fn an_account_can_ask_for_the_certificate_of_somebody_that_somebody_has_signed() {
    let (directory, keys) =
        (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let certificate = directory.path().join(CERTIFICATE_NAME);
    let of = |file, names: &[(DnType, &str)], issuer: Option<&Issuer<'_, KeyPair>>| {
        certify(keys.path(), (file, names), issuer)
    };
    let (authority, _, issuer) = of("ca", &[(DnType::CountryName, "SE"), (DnType::CommonName, "ca")], None);
    let joe = of("joe", &[(DnType::OrganizationName, "O"), (DnType::CommonName, "joe")], Some(&issuer));
    let eve = of("eve", &[(DnType::CommonName, "joe")], None);
    let server = TestServer::start(directory.path(), &["--tls-client-ca", &authority.display().to_string()]);
    let mut root = server.connect();
    assert_eq!(root.rows("SELECT @@ssl_ca")[0][0].as_deref(), authority.to_str());
    let plain = Login { user: "joe", password: "secret", ..Login::default() };
    let encrypted = Login { tls: Some(certificate.as_path()), ..plain };
    let known = Login { identity: Some((&joe.0, &joe.1)), ..encrypted };
    let stranger = Login { identity: Some((&eve.0, &eve.1)), ..encrypted };
    root.run("CREATE USER joe IDENTIFIED BY 'secret'");
    assert!(Client::log_in(server.address, &stranger).is_err(), "nobody vouches for it");
    for (requirement, expected) in [
        ("NONE", [true, true, true]),
        ("SSL", [false, true, true]),
        ("X509", [false, false, true]),
        ("SUBJECT '/O=O/CN=joe'", [false, false, true]),
        (
            "ISSUER '/C=SE/CN=ca' AND SUBJECT '/O=O/CN=joe' CIPHER 'TLS_AES_256_GCM_SHA384'",
            [false, false, true],
        ),
        ("ISSUER '/C=SE/CN=other'", [false; 3]),
        ("SUBJECT '/CN=joe'", [false; 3]),
        ("CIPHER 'TLS_AES_256_GCM_SHA384'", [false, true, true]),
        ("CIPHER 'TLS_AES_128_GCM_SHA256'", [false; 3]),
    ] {
        root.run(&format!("ALTER USER joe REQUIRE {requirement}"));
        let found = [&plain, &encrypted, &known].map(|login| match Client::log_in(server.address, login) {
            Ok(_) => true,
            Err(error) => {
                assert!(error.to_string().contains("1045"), "{requirement}: {error}");
                false
            }
        });
        assert_eq!(found, expected, "{requirement}");
        // A login that succeeds forgets the failed ones, which would slow the next ones down.
        server.connect();
    }
    assert!(server.terminate());
}

#[test]
fn a_password_is_asked_for_in_full_after_each_start() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    server.connect().run("ALTER USER root IDENTIFIED BY 'secret'");
    let key = directory.path().join("private_key.pem");
    assert!(!key.exists(), "nobody has needed it");
    Client::connect(server.address, "root", "secret").expect("let in");
    let made = std::fs::read(&key).expect("a key");
    let mut client = Client::connect(server.address, "root", "secret").expect("let in");
    assert_eq!(
        client.rows("SELECT plugin, authentication_string LIKE '$A$005$%' FROM mysql.user")[0],
        [Some(SHA2.to_owned()), Some("1".to_owned())]
    );
    server.kill();
    let server = TestServer::start(directory.path(), &[]);
    Client::connect(server.address, "root", "secret").expect("let in");
    assert_eq!(std::fs::read(&key).expect("a key"), made, "the key is kept");
    assert!(refusal(Client::connect(server.address, "root", "Secret")).contains("1045"));
}

#[test]
fn the_certificate_is_made_once_and_can_be_ones_own_or_none() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str| directory.path().join(name);
    let show = |client: &mut Client, name: &str| {
        client.rows(&format!("SHOW VARIABLES LIKE '{name}'"))[0][1].clone().unwrap_or_default()
    };
    let server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    assert_eq!(show(&mut client, "have_ssl"), "YES");
    assert_eq!(show(&mut client, "ssl_cert"), file(CERTIFICATE_NAME).display().to_string());
    let made = std::fs::read(file(CERTIFICATE_NAME)).expect("a certificate");
    assert!(server.terminate());
    let server = TestServer::start(directory.path(), &["--no-tls"]);
    let mut client = server.connect();
    assert_eq!(show(&mut client, "have_ssl"), "DISABLED");
    let certificate = file(CERTIFICATE_NAME);
    let with_tls = Login { tls: Some(&certificate), ..Login::default() };
    assert!(Client::log_in(server.address, &with_tls).is_err(), "a wish for TLS is no answer here");
    assert!(server.terminate());
    let elsewhere = tempfile::tempdir().expect("a directory");
    let other = TestServer::start(elsewhere.path(), &[]);
    assert!(other.terminate());
    let other = |name: &str| elsewhere.path().join(name).display().to_string();
    let own = ["--tls-cert", &other(CERTIFICATE_NAME), "--tls-key", &other(KEY_NAME)];
    let server = TestServer::start(directory.path(), &own);
    assert!(Client::log_in(server.address, &with_tls).is_err(), "another certificate");
    let trusted = elsewhere.path().join(CERTIFICATE_NAME);
    let mut client =
        Client::log_in(server.address, &Login { tls: Some(&trusted), ..Login::default() }).expect("let in");
    assert_eq!(client.rows("SHOW STATUS LIKE 'Ssl_cipher'")[0][1].as_deref(), Some("TLS_AES_256_GCM_SHA384"));
    assert_eq!(std::fs::read(file(CERTIFICATE_NAME)).expect("a certificate"), made);
    assert!(server.terminate());
}

#[test]
fn transport_that_others_can_read_can_be_forbidden() {
    let directory = tempfile::tempdir().expect("a directory");
    let socket = directory.path().join("leafline.sock").display().to_string();
    let server =
        TestServer::start(directory.path(), &["--set", "require_secure_transport=ON", "--socket", &socket]);
    assert!(refusal(Client::connect(server.address, "root", "")).contains("3159"));
    let certificate = directory.path().join(CERTIFICATE_NAME);
    let mut client = Client::log_in(server.address, &Login { tls: Some(&certificate), ..Login::default() })
        .expect("let in");
    over_socket(directory.path(), &Login::default()).expect("let in").run("SELECT 1");
    client.run("SET GLOBAL require_secure_transport = OFF");
    server.connect().run("SELECT 1");
}

/// MariaDB's clients, from 11.4 on, use this proof to trust a certificate that no known authority has signed.
#[test]
fn the_certificate_is_vouched_for_by_the_password() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    server.connect().run("ALTER USER root IDENTIFIED WITH mysql_native_password BY 'secret'");
    let certificate = directory.path().join(CERTIFICATE_NAME);
    let over_tls = Login { password: "secret", plugin: NATIVE, tls: Some(&certificate), ..Login::default() };
    // Header, rows, number, status, warnings; then the length of the proof, and its first byte.
    let client = Client::log_in(server.address, &over_tls).expect("let in");
    let proof = &client.welcome()[7..];
    assert!(
        proof.len() == 66 && proof[..2] == [65, 1] && proof[2..].iter().all(u8::is_ascii_hexdigit),
        "{proof:?}"
    );
    let clear = Client::log_in(server.address, &Login { tls: None, ..over_tls }).expect("let in");
    assert_eq!(clear.welcome().len(), 7);
}

#[test]
fn failures_are_logged_and_slow_their_address_down() {
    let directory = tempfile::tempdir().expect("a directory");
    let socket = directory.path().join("leafline.sock").display().to_string();
    let server = TestServer::start(directory.path(), &["--socket", &socket]);
    server.connect().run("ALTER USER root IDENTIFIED BY 'secret'");
    for _ in 0..4 {
        assert!(refusal(Client::connect(server.address, "root", "wrong")).contains("1045"));
    }
    assert!(refusal(Client::connect(server.address, "no\nbody", "wrong")).contains("1045"));
    assert!(server.wait_for_line("'root'").contains("login refused: user 'root' from 127.0.0.1, error 1045"));
    server.wait_for_line("user 'no\\nbody' from 127.0.0.1");
    // The delay is at least this long; a slow machine takes longer.
    let begun = Instant::now();
    assert!(refusal(Client::connect(server.address, "root", "wrong")).contains("1045"));
    assert!(begun.elapsed() >= Duration::from_millis(1000));
    let others: Vec<_> = (0..20)
        .map(|_| {
            let address = server.address;
            std::thread::spawn(move || {
                Client::connect(address, "root", "wrong").err().map(|error| error.to_string())
            })
        })
        .collect();
    let refused: Vec<String> =
        others.into_iter().map(|thread| thread.join().expect("no panic").expect("turned away")).collect();
    assert!(refused.iter().filter(|error| error.contains("1129")).count() >= 12, "{refused:?}");
    over_socket(directory.path(), &Login { password: "secret", ..Login::default() })
        .expect("another address")
        .run("SELECT 1");
    Client::connect(server.address, "root", "secret").expect("let in after a wait");
    let begun = Instant::now();
    Client::connect(server.address, "root", "secret").expect("let in");
    assert!(begun.elapsed() < Duration::from_secs(4), "the count has ended");
}

#[test]
fn users_change_within_a_connection() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let mut client = server.connect();
    for (plugin, begins_with) in [(SHA2, NATIVE), (NATIVE, SHA2), (SHA2, SHA2)] {
        client.run("CREATE DATABASE IF NOT EXISTS d");
        client.run("USE d");
        client.run("SET @a = 1");
        client.run(&format!("ALTER USER root IDENTIFIED WITH {plugin} BY 'secret'"));
        let login = Login { password: "secret", plugin: begins_with, ..Login::default() };
        for _ in 0..2 {
            client.change_user(&login).expect("let in");
            assert_eq!(client.rows("SELECT @a, DATABASE()"), vec![vec![None, None]]);
        }
    }
    let id = client.rows("SELECT CONNECTION_ID()")[0][0].clone().expect("a number");
    assert!(client.change_user(&Login { password: "wrong", ..Login::default() }).is_err());
    assert!(client.query("SELECT 1").is_err(), "the connection has ended");
    let mut other = Client::connect(server.address, "root", "secret").expect("let in");
    let begun = Instant::now();
    while other.rows("SHOW PROCESSLIST").iter().any(|row| row[0].as_deref() == Some(&id)) {
        assert!(begun.elapsed() < Duration::from_secs(60), "the session is still there");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A client that sends a byte now and then gets no more time than one that sends none.
#[test]
fn slow_bytes_do_not_keep_a_handshake_up() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &["--set", "connect_timeout=2"]);
    let tls = [&[32, 0, 0, 1, 0, 0x0a, 0, 0][..], &[0; 28]].concat();
    let half = [&tls[..], &[0x16, 3, 1, 2, 0, 1]].concat();
    // A packet that never ends, and TLS that is requested but begins slowly, not at all, or stops in the middle.
    for (first, each) in [(&[0xff, 0xff, 0, 1][..], &[0][..]), (&tls, &[0x16]), (&tls, &[]), (&half, &[])] {
        let mut slow = TcpStream::connect(server.address).expect("a connection");
        slow.set_read_timeout(Some(Duration::from_millis(100))).expect("a timeout");
        slow.write_all(first).expect("sent");
        let begun = Instant::now();
        let mut answer = [0; 512];
        loop {
            assert!(begun.elapsed() < Duration::from_secs(60), "the server waits on: {first:?} {each:?}");
            match slow.read(&mut answer) {
                Ok(0) => break,
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
                _ => {}
            }
            if slow.write_all(each).is_err() {
                break;
            }
        }
    }
    server.connect().run("SELECT 1");
}

#[test]
fn connections_are_bounded_and_root_has_one_more() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &["--set", "max_connections=3"]);
    let mut clients: Vec<Client> = (0..3).map(|_| server.connect()).collect();
    assert_eq!(clients[0].rows("SELECT @@max_connections"), vec![vec![Some("3".to_owned())]]);
    clients.push(server.connect());
    assert!(refusal(Client::connect(server.address, "root", "")).contains("1040"));
    clients[0].run("SET GLOBAL max_connections = 4");
    clients.push(server.connect());
    assert!(refusal(Client::connect(server.address, "root", "")).contains("1040"));
    clients.clear();
    let begun = Instant::now();
    while let Err(error) = Client::connect(server.address, "root", "") {
        assert!(begun.elapsed() < Duration::from_secs(60), "{error}");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(server.terminate());
}

/// Clients that connect and send nothing must not keep others out.
#[test]
fn silent_connections_keep_nobody_out() {
    let directory = tempfile::tempdir().expect("a directory");
    let server =
        TestServer::start(directory.path(), &["--set", "max_connections=40", "--set", "connect_timeout=300"]);
    let mut first = server.connect();
    first.run("SELECT 1");
    let mut silent: Vec<TcpStream> =
        (0..200).map(|_| TcpStream::connect(server.address).expect("a connection")).collect();
    let begun = Instant::now();
    // New connections wait while many that were cut off have not ended yet.
    let mut clients: Vec<Client> = (0..39).map(|_| server.connect()).collect();
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    // All places are taken except the administrator's.
    clients.push(server.connect());
    assert!(refusal(Client::connect(server.address, "root", "")).contains("1040"));
    assert_eq!(first.rows("SELECT 1"), vec![vec![Some("1".to_owned())]]);
    // The connections that waited longest were cut off.
    let oldest = silent.first_mut().expect("a connection");
    oldest.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    let mut greeting = Vec::new();
    match oldest.read_to_end(&mut greeting) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
    }
    assert!(server.terminate());
}

#[test]
fn collations_of_the_handshake_are_those_of_the_session() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let variables = "SELECT @@character_set_client, @@character_set_results, @@collation_connection";
    for (collation, charset, name) in [
        (8, "latin1", "latin1_swedish_ci"),
        (63, "binary", "binary"),
        (45, "utf8mb4", "utf8mb4_general_ci"),
        (33, "utf8mb3", "utf8mb3_general_ci"),
        // There is no collation of that number, so the server's is used.
        (0, "utf8mb4", "utf8mb4_0900_ai_ci"),
    ] {
        let login = Login { collation, ..Login::default() };
        let mut client = Client::log_in(server.address, &login).expect("let in");
        let expected = [charset, charset, name].map(|word| Some(word.to_owned())).to_vec();
        assert_eq!(client.rows(variables), vec![expected], "{collation}");
    }
    let mut latin =
        Client::log_in(server.address, &Login { collation: 8, ..Login::default() }).expect("let in");
    latin
        .send(leafline_protocol::command::QUERY, b"SELECT HEX(CONVERT('\xe9' USING utf8mb4))")
        .expect("sent");
    let found = latin.answer().expect("an answer");
    assert_eq!(found, Answer::Rows(vec![vec![Some("C3A9".to_owned())]]));
}

#[test]
fn connection_attributes_are_shown() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = TestServer::start(directory.path(), &[]);
    let long = "x".repeat(600);
    let attributes = [("_client_name", "a test"), ("program_name", "é"), ("too_long", long.as_str())];
    let login = Login { attributes: &attributes, ..Login::default() };
    let mut client = Client::log_in(server.address, &login).expect("let in");
    let mut other = server.connect();
    other.run("CREATE USER u");
    let id = client.rows("SELECT CONNECTION_ID()")[0][0].clone();
    let expected = |name: &str, value: &str, at: &str| {
        vec![id.clone(), Some(name.to_owned()), Some(value.to_owned()), Some(at.to_owned())]
    };
    let all = vec![expected("_client_name", "a test", "0"), expected("program_name", "é", "1")];
    for table in ["session_account_connect_attrs", "session_connect_attrs"] {
        let sql = format!("SELECT * FROM performance_schema.{table} ORDER BY ORDINAL_POSITION");
        assert_eq!(client.rows(&sql), all, "{table}");
    }
    let nobody = Login { user: "u", attributes: &attributes, ..Login::default() };
    let mut nobody = Client::log_in(server.address, &nobody).expect("let in");
    let count = "SELECT COUNT(*) FROM performance_schema.session_account_connect_attrs";
    assert_eq!(nobody.rows(count), vec![vec![Some("2".to_owned())]]);
    let refused = nobody.query("SELECT * FROM performance_schema.session_connect_attrs").expect("an answer");
    assert!(matches!(refused, Answer::Error(1142, _)), "{refused:?}");
    drop(client);
}
