//! Tests the trees of documents and expressions.

use super::*;
use leafline_types::memory::MemoryBudget;
use leafline_types::statement::{CancelTicker, CancelToken};

fn failure(text: &str) -> Option<String> {
    let cancel = CancelToken::default();
    let mut bounds = Bounds::new(CancelTicker::new(&cancel, 1 << 20), MemoryBudget::unlimited());
    match Document::parse(text.as_bytes(), &mut bounds) {
        Ok(_) => None,
        Err(Failure::Malformed(text)) => Some(text),
        Err(Failure::Error(error)) => Some(error.message),
    }
}

#[test]
fn malformed_documents_are_reported_with_the_place() {
    assert_eq!(failure("<a b='1' b='2' c=d e>x<c/>y</a><b/>z"), None);
    assert_eq!(failure("<?xml version='1.0'?><!DOCTYPE a 'b'><!-- <a> --><a><![CDATA[<]]></a>"), None);
    let told = [
        ("<a>1</a", "line 1 pos 8: END-OF-INPUT unexpected ('>' wanted)"),
        ("<a b=>1</a>", "line 1 pos 7: '>' unexpected (ident or string wanted)"),
        ("<a>1</b>", "line 1 pos 8: '</b>' unexpected ('</a>' wanted)"),
        ("<a>1</a></b>", "line 1 pos 12: '</b>' unexpected (END-OF-INPUT wanted)"),
        ("<a>1", "line 1 pos 5: unexpected END-OF-INPUT"),
        ("<a>\n1<", "line 2 pos 4: END-OF-INPUT unexpected (ident or '/' wanted)"),
        ("<a><1b>1</1b></a>", "line 1 pos 6: unknown token unexpected (ident or '/' wanted)"),
        ("<a b c='1'/>", "line 1 pos 8: '=' unexpected ('>' wanted)"),
        ("<a b=\"", "line 1 pos 7: END-OF-INPUT unexpected ('>' wanted)"),
    ];
    for (text, told) in told {
        assert_eq!(failure(text), Some(format!("parse error at {told}")), "{text}");
    }
}

#[test]
fn memory_of_a_document_is_bounded_and_given_back() {
    let (cancel, budget) = (CancelToken::default(), MemoryBudget::new(2_000));
    let mut bounds = Bounds::new(CancelTicker::new(&cancel, 1 << 20), &budget);
    let text = "<a/>".repeat(1_000);
    match Document::parse(text.as_bytes(), &mut bounds) {
        Err(Failure::Error(error)) => assert_eq!(error.code, 1038),
        other => panic!("{other:?}"),
    }
    drop(bounds);
    assert_eq!(budget.used(), 0);
}

#[test]
fn deep_nesting_of_expressions_is_an_error() {
    for text in [
        "(".repeat(100_000),
        "-".repeat(100_000),
        "/a[".repeat(100_000),
        format!("{}1", "not(".repeat(100_000)),
    ] {
        assert_eq!(XPath::parse(&text).map_err(|error| error.code).err(), Some(1105));
    }
}
