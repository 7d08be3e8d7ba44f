//! Tests that a screen loses no row that satisfies the conditions, and passes few others.

use rand::Rng;
use rand::rngs::SmallRng;

use super::*;
use crate::encoded_tests::{condition, types};
use crate::testing;
use crate::testkit::{self, Session};
use crate::{build, evaluate_condition};
use leafline_types::row::EntryColumn;
use leafline_types::row::{ColumnLayout, DroppedColumn, OverflowRef};
use leafline_types::value::{ExprType, SqlType, Value};

/// Makes random columns; neighbours are often of one type.
fn random_columns(rng: &mut SmallRng) -> Vec<EntryColumn> {
    let types = types();
    let mut columns: Vec<EntryColumn> = Vec::new();
    for _ in 0..rng.random_range(1..6) {
        let (ty, collation) = match columns.last() {
            Some(last) if rng.random() => (last.layout.ty.clone(), last.layout.collation),
            _ => types[rng.random_range(0..types.len())].clone(),
        };
        let layout = ColumnLayout { ty, nullable: rng.random(), collation };
        let place = columns.len() as u16;
        columns.push(EntryColumn { layout, place, added_in: 0, default: Value::Null });
    }
    columns
}

fn random_row(rng: &mut SmallRng, columns: &[EntryColumn]) -> Vec<Value> {
    let mut value = |column: &EntryColumn| loop {
        let v = testkit::value(rng, &column.layout.ty);
        let negative = matches!(&v, Value::Decimal(d) if d.is_negative());
        if !(v.is_null() && !column.layout.nullable || negative && column.layout.ty.is_unsigned()) {
            break v;
        }
    };
    columns.iter().map(&mut value).collect()
}

/// Makes a condition on one column, or a comparison of two.
fn random_condition(rng: &mut SmallRng, columns: &[EntryColumn]) -> Expr {
    use CompareOp::*;
    let reference = |column: usize| {
        let layout = &columns[column].layout;
        build::column(column, ExprType::column(layout.ty.clone(), layout.nullable, layout.collation))
    };
    loop {
        let column = rng.random_range(0..columns.len());
        if rng.random_ratio(1, 4) {
            let other = rng.random_range(0..columns.len());
            let op = [Eq, NullSafeEq, Ne, Lt, Le, Gt, Ge][rng.random_range(0..7)];
            match build::compare(op, reference(column), reference(other)) {
                Ok(made) => return made,
                Err(_) => continue,
            }
        }
        let layout = &columns[column].layout;
        let made = condition(rng, &layout.ty, layout.collation, 2).map_columns(&mut |_| column);
        if rng.random_ratio(1, 4) {
            let other = random_condition(rng, columns);
            return if rng.random() { build::and(vec![made, other]) } else { build::or(vec![made, other]) };
        }
        return made;
    }
}

#[test]
fn no_row_that_satisfies_the_conditions_is_lost() {
    let mut rng = testing::rng("no_row_that_satisfies_the_conditions_is_lost");
    let (mut rejected, mut rejectable, mut older_rejected) = (0, 0, 0);
    for _ in 0..testing::iterations(2_000) {
        let mut columns = random_columns(&mut rng);
        let key = [KeyPart::new(SqlType::BIGINT)];
        // The table lost a column in the second version and got it back in the third: older rows have its default.
        let added = rng.random_range(0..columns.len());
        let first = EntryFormat::clustered(1, &columns, &[], &key, &[None]);
        let EntryColumn { layout, place, .. } = columns[added].clone();
        let gone = [DroppedColumn { layout, place, added_in: 0, dropped_in: 2 }];
        let mut fewer = columns.clone();
        fewer.remove(added);
        let second = EntryFormat::clustered(2, &fewer, &gone, &key, &[None]);
        columns[added].default = random_row(&mut rng, &columns).swap_remove(added);
        columns[added].added_in = 3;
        columns[added].place = columns.len() as u16;
        let format = EntryFormat::clustered(3, &columns, &gone, &key, &[None]);
        let conditions: Vec<Expr> =
            (0..rng.random_range(1..4)).map(|_| random_condition(&mut rng, &columns)).collect();
        // The conditions' numbers are positions in this list.
        let all: Vec<usize> = (0..columns.len()).collect();
        let screen = RowPrefilter::new(&format, &all, &conditions);
        let mut rows: Vec<Vec<Value>> =
            (0..rng.random_range(1..=64)).map(|_| random_row(&mut rng, &columns)).collect();
        let mut payloads = Vec::new();
        for row in &mut rows {
            let version = [1, 2, 3, 3, 3, 3][rng.random_range(0..6)];
            let outside: Vec<(usize, OverflowRef)> = (0..columns.len())
                .filter(|c| columns[*c].layout.ty.is_variable() && version == 3 && rng.random_ratio(1, 50))
                .map(|c| (c, OverflowRef::new(7, b"x").unwrap()))
                .collect();
            let mut payload = Vec::new();
            if version < 3 {
                let own = std::mem::replace(&mut row[added], columns[added].default.clone());
                let mut old = row.clone();
                match version {
                    1 => old[added] = own,
                    _ => drop(old.remove(added)),
                }
                let written = if version == 1 { &first } else { &second };
                written.encode_payload(&old, &mut payload).unwrap();
            } else {
                format.encode_payload_with(row, &outside, &|_| 0, &mut payload).unwrap();
            }
            payloads.push((payload, outside.is_empty(), version));
        }
        let bytes: Vec<&[u8]> = payloads.iter().map(|(payload, ..)| payload.as_slice()).collect();
        let (passing, _) = screen.passing(&bytes);
        for (at, row) in rows.iter().enumerate() {
            let passes = passing & 1 << at != 0;
            let holds = evaluate_condition(&conditions, row, &mut Session::new().cx());
            let shown = || format!("{conditions:?} of {row:?}");
            match holds {
                Ok(true) | Err(_) => assert!(passes, "{}", shown()),
                Ok(false) if payloads[at].2 < 3 => older_rejected += usize::from(!passes),
                Ok(false) if payloads[at].1 => {
                    rejectable += 1;
                    rejected += usize::from(!passes);
                }
                Ok(false) => {}
            }
        }
        assert!(rows.len() == 64 || passing >> rows.len() == 0);
    }
    println!("{rejected} of {rejectable}");
    assert!(older_rejected > 0, "no row of an older version was rejected");
    assert!(rejected * 3 > rejectable, "only {rejected} of {rejectable} rows were rejected");
}

/// Conditions behind one that may raise an error do not remove rows that it would see.
#[test]
fn conditions_that_may_fail_see_the_same_rows() {
    let columns: Vec<EntryColumn> = (0..2)
        .map(|place| EntryColumn {
            layout: ColumnLayout { ty: SqlType::BIGINT, nullable: false, collation: Collation::Binary },
            place,
            added_in: 0,
            default: Value::Null,
        })
        .collect();
    let format = EntryFormat::clustered(1, &columns, &[], &[KeyPart::new(SqlType::BIGINT)], &[None]);
    let column = |c: usize| build::column(c, ExprType::column(SqlType::BIGINT, false, Collation::Binary));
    let equals_one = |e: Expr| build::compare(CompareOp::Eq, e, testkit::int(1)).unwrap();
    let sum = build::arithmetic(crate::ArithmeticOp::Add, column(0), column(1)).unwrap();
    let screen = |conditions: &[Expr]| RowPrefilter::new(&format, &[0, 1], conditions);
    assert!(screen(&[equals_one(sum.clone()), equals_one(column(0))]).is_empty());
    assert!(!screen(&[equals_one(column(0)), equals_one(sum)]).is_empty());
}
