//! Tests every function with long arguments: it ends soon after its statement has to end, and makes nothing longer
//! than allowed.
//!
//! The calls are made from the function table, with arguments of every kind in every place, so that a new function is
//! covered at once.

use super::*;
use crate::testkit::Session;
use crate::{CompareOp, Expr, build};
use leafline_types::collation::{Charset, Collation};
use leafline_types::json::Json;
use leafline_types::statement::CancelReason;
use leafline_types::value::Value;
use std::time::{Duration, Instant};

/// The processor time that a call may take after its statement was told to end.
const MOST_AFTER_KILL: Duration = Duration::from_millis(if cfg!(debug_assertions) { 8000 } else { 2000 });

/// The content of a long argument.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Letters,
    Accents,
    Spaces,
    Digits,
    List,
    Pattern,
    DatePattern,
    JsonText,
    Json,
    Bytes,
}

const KINDS: [Kind; 10] = [
    Kind::Letters,
    Kind::Accents,
    Kind::Spaces,
    Kind::Digits,
    Kind::List,
    Kind::Pattern,
    Kind::DatePattern,
    Kind::JsonText,
    Kind::Json,
    Kind::Bytes,
];

/// Makes a literal of about `length` bytes.
fn long(kind: Kind, length: usize) -> Expr {
    let text = |part: &str| build::string(&part.repeat(length / part.len()), Collation::Utf8mb4_0900AiCi);
    let document = || format!("[{}1]", "1, ".repeat(length / 3));
    match kind {
        Kind::Letters => text("a"),
        Kind::Accents => text("É"),
        Kind::Spaces => text(" "),
        Kind::Digits => text("1"),
        Kind::List => text("a,"),
        Kind::Pattern => text("a%_"),
        Kind::DatePattern => text("%W"),
        Kind::JsonText => build::string(&document(), Collation::Utf8mb4Bin),
        Kind::Json => build::literal(Value::Json(Json::parse(&document()).unwrap())),
        Kind::Bytes => build::literal(Value::bytes(vec![0xA7; length])),
    }
}

/// Returns the processor time of this thread; elapsed time where the system does not report it.
fn processor_time(since: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| since.elapsed(), Duration::from_nanos)
}

/// Makes the calls of a function: all arguments of one kind, and one of another kind among such.
fn calls(n: usize, function: &'static Function, arguments: &[Expr]) -> Vec<Expr> {
    let most = function.max_args.min(function.min_args + 1);
    let numbers = [build::literal(Value::Int(1)), build::literal(Value::Int(1 << 40))];
    let mut calls = Vec::new();
    for count in function.min_args..=most {
        // With more arguments than needed, some of the calls are enough.
        let every = if count > function.min_args { 4 } else { 1 };
        for (first, argument) in arguments.iter().enumerate().step_by(every) {
            let varies = count > 1 || !function.number_args.is_empty();
            for (number, short) in numbers.iter().enumerate().take(1 + usize::from(varies)) {
                let args: Vec<Expr> = (0..count)
                    .map(|place| match place {
                        place if function.number_args.contains(&place) => short.clone(),
                        0 => argument.clone(),
                        place => arguments[(first + number * place) % arguments.len()].clone(),
                    })
                    .collect();
                // Functions called by `name(args)` are made as the binder makes them; the others directly.
                let made = match function.special {
                    false => build::call(function.name, args).ok(),
                    true => (function.type_rule)(&args).ok().map(|ty| {
                        let function = FunctionId(n as u16);
                        Expr { kind: crate::ExprKind::Call { function, args }, ty }
                    }),
                };
                calls.extend(made);
            }
        }
    }
    calls
}

#[test]
fn every_function_ends_soon_when_its_statement_is_killed() {
    let length = (300 << 10) * crate::testing::iterations(1).min(70);
    let arguments: Vec<Expr> = KINDS.iter().map(|kind| long(*kind, length)).collect();
    let mut session = Session::new();
    session.cancel.cancel(CancelReason::QueryKilled);
    let mut made = 0;
    for (n, function) in table().enumerate() {
        for call in calls(n, function, &arguments) {
            let (begun, before) = (Instant::now(), processor_time(Instant::now()));
            let _ = session.eval(&call);
            let took = processor_time(begun).saturating_sub(before);
            assert!(took < MOST_AFTER_KILL, "{} took {took:?} after its statement was killed", function.name);
            made += 1;
        }
    }
    assert!(made > 1000, "{made}");
}

#[test]
fn no_function_makes_what_is_longer_than_a_packet_may_be() {
    const MOST: usize = 10_000;
    let arguments: Vec<Expr> = KINDS.iter().map(|kind| long(*kind, 6_000)).collect();
    let longest = arguments.iter().filter_map(|e| e.as_literal()).map(Value::byte_len).max().unwrap();
    let mut refused = 0;
    // Functions that wait, or repeat their argument, do so until they are killed.
    let waits = |function: &Function| matches!(function.name, "SLEEP" | "BENCHMARK" | "GET_LOCK");
    for (n, function) in table().enumerate().filter(|(_, function)| !waits(function)) {
        for call in calls(n, function, &arguments) {
            let mut session = Session::new();
            let mut cx = session.cx();
            cx.sql_mode.max_result = MOST;
            let made = crate::evaluate_scalar(&call, &mut cx);
            if let Ok(v) = &made {
                assert!(v.byte_len() <= MOST.max(longest), "{} made {}", function.name, v.byte_len());
            }
            refused += usize::from(session.codes().contains(&1301) || made.is_err_and(|e| e.code == 1301));
        }
    }
    assert!(refused > 50, "{refused}");
}

/// A single comparison or conversion of a long value checks for cancellation, however fast the machine is.
#[test]
fn comparisons_and_conversions_of_long_text_end_when_their_statement_has_to() {
    let text = |part: &str, collation| build::string(&part.repeat(1 << 20), collation);
    let gbk = Charset::from_name("gbk").unwrap();
    let bytes_of = |text| {
        let (n, function) = table().enumerate().find(|(_, f)| f.name == "BYTES_OF_TEXT").unwrap();
        let args = vec![text];
        let ty = (function.type_rule)(&args).unwrap();
        Expr { kind: crate::ExprKind::Call { function: FunctionId(n as u16), args }, ty }
    };
    let compared = |op, collation| build::compare(op, text("É", collation), text("é", collation)).unwrap();
    let calls = [
        compared(CompareOp::Eq, Collation::Utf8mb4_0900AiCi),
        compared(CompareOp::Lt, Collation::Utf8mb4GeneralCi),
        build::call(
            "STRCMP",
            vec![text("É", Collation::Utf8mb4_0900AiCi), text("é", Collation::Utf8mb4_0900AiCi)],
        )
        .unwrap(),
        build::convert_using(text("é", Collation::Utf8mb4_0900AiCi), gbk).unwrap(),
        build::convert_using(long(Kind::Bytes, 1 << 20), gbk).unwrap(),
        bytes_of(text("é", gbk.default_collation())),
    ];
    for call in calls {
        let mut session = Session::new();
        assert!(session.eval(&call).is_ok(), "{call:?}");
        session.cancel.cancel(CancelReason::QueryKilled);
        assert_eq!(session.eval(&call).map_err(|e| e.code), Err(1317), "{:.100}", format!("{call:?}"));
    }
}
