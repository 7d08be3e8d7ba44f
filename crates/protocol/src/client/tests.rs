use super::*;
use crate::binary::row;
use crate::handshake::{FAST_OK, Greeting, MORE_DATA, NATIVE_PASSWORD, Switch};
use crate::reply::put_error;
use leafline_types::result_column::column;
use leafline_types::{Charset, SqlType, Value};
use std::collections::VecDeque;

/// A server that sends fixed answers and ignores the client's bytes.
struct Script(VecDeque<u8>);

impl Read for Script {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Script {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        Ok(buffer.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Frames packets. The first has the number `first`.
fn framed(first: u8, packets: &[Vec<u8>]) -> Vec<u8> {
    let framed = packets.iter().zip(first..).flat_map(|(packet, number)| {
        let [a, b, c, _] = (packet.len() as u32).to_le_bytes();
        [&[a, b, c, number], &packet[..]].concat()
    });
    framed.collect()
}

fn made(put: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut packet = Vec::new();
    put(&mut packet);
    packet
}

fn greeting(capabilities: u32) -> Vec<u8> {
    let greeting = Greeting {
        version: "8.4.0".into(),
        connection_id: 7,
        challenge: vec![1; 20],
        capabilities,
        status: 2,
        plugin: NATIVE_PASSWORD.into(),
    };
    made(|out| greeting.put(out))
}

/// Makes the server's bytes of a log-in and the answers. The greeting has number 0, the OK has 2.
fn script(capabilities: u32, answers: &[Vec<u8>]) -> Vec<u8> {
    let ok = made(|out| OkPacket::default().put(out));
    let log_in = [framed(0, &[greeting(capabilities)]), framed(2, &[ok])].concat();
    [log_in, framed(1, answers)].concat()
}

fn client(bytes: &[u8]) -> Result<Client, ClientError> {
    Client::log_in(Box::new(Script(bytes.iter().copied().collect())), &Login::default())
}

/// Makes a result of two rows of two columns.
fn result(capabilities: u32) -> Vec<Vec<u8>> {
    let mut packets = vec![vec![2]];
    for name in ["a", "b"] {
        let meta = column(name, SqlType::Varchar { len: 9 });
        packets.push(made(|out| crate::column::put_column(out, &meta, None)));
    }
    if capabilities & cap::DEPRECATE_EOF == 0 {
        packets.push(made(|out| OkPacket::default().put_eof(out)));
    }
    packets.push(b"\x01x\xfb".to_vec());
    packets.push(b"\0\x02yz".to_vec());
    packets.push(made(|out| OkPacket::default().put_end_of_rows(capabilities, out)));
    packets
}

#[test]
fn rows_are_read_with_and_without_the_older_end_of_packets() {
    for capabilities in [0, cap::DEPRECATE_EOF] {
        let mut client = client(&script(capabilities, &result(capabilities))).expect("let in");
        assert_eq!((client.version(), client.connection_id()), ("8.4.0", 7));
        let Ok(Answer::Rows(mut rows)) = client.query("SELECT") else { panic!("no rows") };
        assert_eq!(rows.columns().iter().map(|column| &*column.name).collect::<Vec<_>>(), ["a", "b"]);
        let (mut places, mut found) = (Vec::new(), Vec::new());
        while rows.next(&mut places).expect("a row") {
            found.extend(places.iter().cloned().map(|place| place.map(|place| rows.bytes()[place].to_vec())));
        }
        assert_eq!(found, [Some(b"x".to_vec()), None, Some(Vec::new()), Some(b"yz".to_vec())]);
        assert!(!rows.next(&mut places).expect("it stays over"));
    }
}

#[test]
fn the_results_of_a_call_follow_one_another() {
    for capabilities in [0, cap::DEPRECATE_EOF] {
        let more = OkPacket { status: status::MORE_RESULTS, ..OkPacket::default() };
        let end = made(|out| more.put_end_of_rows(capabilities, out));
        let mut packets = result(capabilities);
        packets.pop();
        packets.push(end.clone());
        packets.extend(result(capabilities));
        packets.pop();
        packets.push(end);
        packets.push(made(|out| OkPacket { affected: 4, ..OkPacket::default() }.put(out)));
        let mut client = client(&script(capabilities, &packets)).expect("let in");
        let Ok(Answer::Rows(rows)) = client.query("CALL p()") else { panic!("no rows") };
        let Ok(Some(Answer::Rows(mut rows))) = rows.next_result() else { panic!("one result") };
        let mut places = Vec::new();
        assert!(rows.next(&mut places).expect("a row") && rows.next(&mut places).expect("a row"));
        assert_eq!((rows.status(), rows.next(&mut places).expect("the end")), (0, false));
        assert_eq!(rows.status(), status::MORE_RESULTS);
        let Ok(Some(Answer::Done(done))) = rows.next_result() else { panic!("no end") };
        assert_eq!((done.affected, done.status), (4, 0));
    }
}

#[test]
fn errors_come_in_place_of_a_greeting_an_answer_and_a_row() {
    let error = MysqlError::malformed_packet();
    let refused = made(|out| reply::put_early_error(out, &error));
    assert!(matches!(client(&framed(0, &[refused])), Err(ClientError::Server(read)) if read.code == 1835));
    let packet = made(|out| put_error(out, &error));
    let mut told = client(&script(0, std::slice::from_ref(&packet))).expect("let in");
    assert!(matches!(told.query("SELECT"), Err(ClientError::Server(read)) if read == error));
    let mut packets = result(0);
    packets.truncate(5);
    packets.push(packet);
    let mut client = client(&script(0, &packets)).expect("let in");
    let Ok(Answer::Rows(mut rows)) = client.query("SELECT") else { panic!("no rows") };
    let mut places = Vec::new();
    assert!(rows.next(&mut places).expect("a row"));
    assert!(matches!(rows.next(&mut places), Err(ClientError::Server(read)) if read == error));
    assert!(!rows.next(&mut places).expect("the error has ended it"));
}

#[test]
fn bytes_cut_or_changed_anywhere_give_errors() {
    let whole = script(0, &result(0));
    let run = |bytes: &[u8]| -> Result<usize, ClientError> {
        let mut client = client(bytes)?;
        let mut count = 0;
        if let Answer::Rows(mut rows) = client.query("SELECT")? {
            let mut places = Vec::new();
            while rows.next(&mut places)? {
                count += 1;
            }
        }
        Ok(count)
    };
    assert_eq!(run(&whole).expect("it is whole"), 2);
    assert!((0..whole.len()).all(|end| run(&whole[..end]).is_err()));
    for at in 0..whole.len() {
        for byte in [0, 1, 0x7f, 0xfb, 0xfe, 0xff] {
            let mut changed = whole.clone();
            changed[at] = byte;
            let _ = run(&changed);
        }
    }
}

#[test]
fn a_server_that_cannot_be_used_is_told_apart() {
    let unusable = |bytes: &[u8], login: &Login<'_>| match Client::log_in(
        Box::new(Script(bytes.iter().copied().collect())),
        login,
    ) {
        Err(ClientError::Unusable(what)) => what,
        _ => panic!("used"),
    };
    let plain = Login::default();
    assert!(unusable(&framed(0, &[vec![9; 40]]), &plain).contains("another protocol"));
    let authority = Some(std::path::Path::new("certificates"));
    let vouched = Login { tls: Some(TlsRequest { host: "localhost", authority, identity: None }), ..plain };
    assert!(unusable(&framed(0, &[greeting(0)]), &vouched).contains("no TLS"));
    let early = framed(0, &[greeting(cap::SSL), vec![0; 7]]);
    let encrypted =
        Login { tls: Some(TlsRequest { host: "localhost", authority: None, identity: None }), ..plain };
    assert!(unusable(&early, &encrypted).contains("before the connection is encrypted"));
    let switch = Switch { plugin: "client_ed25519".into(), challenge: vec![1; 20] };
    let switched = [framed(0, &[greeting(0)]), framed(2, &[made(|out| switch.put(out))])].concat();
    assert!(unusable(&switched, &plain).contains("client_ed25519"));
    let out_of_place = [framed(0, &[greeting(0)]), framed(2, &[vec![MORE_DATA, FAST_OK]])].concat();
    assert!(unusable(&out_of_place, &plain).contains("not understood"), "the plugin is another one");
}

#[test]
fn a_prepared_statement_has_its_definitions() {
    let prepared = Prepared { id: 3, columns: 1, parameters: 1, warnings: 0 };
    let definition = |name| made(|out| crate::column::put_column(out, &column(name, SqlType::Double), None));
    let eof = made(|out| OkPacket::default().put_eof(out));
    let packets =
        [made(|out| prepared.put(out)), definition("?"), eof.clone(), definition("d"), eof, vec![0, 0, 0]];
    let mut client = client(&script(0, &packets)).expect("let in");
    let (read, parameters, columns) = client.prepare("SELECT ? + 0.5").expect("prepared");
    assert_eq!((read, parameters.len(), columns[0].name.as_str()), (prepared, 1, "d"));
    let values = row::read_row(&[0, 0, 0, 0, 0, 0, 0, 0, 0xe0, 0x3f], &columns, Charset::Utf8mb4);
    assert_eq!(values, Ok(vec![Value::Double(0.5)]));
}
