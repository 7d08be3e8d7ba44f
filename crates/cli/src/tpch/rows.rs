//! Generates the rows of TPC-H with the `tpchgen` crate, whose output is that of the official `dbgen`.

use super::schema::Table;
use leafline_types::{Date, Decimal, Value};
use std::fmt::{Display, Write as _};
use tpchgen::dates::TPCHDate;
use tpchgen::decimal::TPCHDecimal;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

/// Receives rows one by one; its error ends the generation.
pub type Sink<'a, E> = dyn FnMut(&[Value]) -> Result<(), E> + 'a;

/// Passes every row of `table` to `sink`, in the generator's order, which is that of its primary key.
pub fn generate<E>(table: Table, scale: f64, sink: &mut Sink<'_, E>) -> Result<(), E> {
    match table {
        Table::Region => region(scale, sink),
        Table::Nation => nation(scale, sink),
        Table::Supplier => supplier(scale, sink),
        Table::Customer => customer(scale, sink),
        Table::Part => part(scale, sink),
        Table::PartSupp => partsupp(scale, sink),
        Table::Orders => orders(scale, sink),
        Table::LineItem => lineitem(scale, sink),
    }
}

/// Returns the size of a row's values as plain data: strings at their length, numbers and dates at their width.
pub fn row_bytes(row: &[Value]) -> u64 {
    let bytes = |value: &Value| match value {
        Value::String(text) => text.len() as u64,
        Value::Date(_) => 4,
        _ => 8,
    };
    row.iter().map(bytes).sum()
}

fn int(number: impl Into<i64>) -> Value {
    Value::Int(number.into())
}

fn money(amount: TPCHDecimal) -> Value {
    Value::Decimal(Decimal::from_i128(amount.into_inner().into(), 2))
}

fn text(text: &str) -> Value {
    Value::string(text)
}

fn date(date: TPCHDate) -> Value {
    // Generated dates lie in the 1990s.
    Date::from_epoch_days(date.to_unix_epoch()).map_or(Value::Null, Value::Date)
}

/// Formats values of the generator through one buffer.
#[derive(Default)]
struct Shown(String);

impl Shown {
    fn value(&mut self, shown: impl Display) -> Value {
        self.0.clear();
        // Writing to a String does not fail.
        let _ = write!(self.0, "{shown}");
        Value::string(self.0.as_str())
    }
}

fn region<E>(scale: f64, sink: &mut Sink<'_, E>) -> Result<(), E> {
    for r in RegionGenerator::new(scale, 1, 1).iter() {
        sink(&[int(r.r_regionkey), text(r.r_name), text(r.r_comment)])?;
    }
    Ok(())
}

fn nation<E>(scale: f64, sink: &mut Sink<'_, E>) -> Result<(), E> {
    for n in NationGenerator::new(scale, 1, 1).iter() {
        sink(&[int(n.n_nationkey), text(n.n_name), int(n.n_regionkey), text(n.n_comment)])?;
    }
    Ok(())
}

fn supplier<E>(scale: f64, sink: &mut Sink<'_, E>) -> Result<(), E> {
    let mut shown = Shown::default();
    for s in SupplierGenerator::new(scale, 1, 1).iter() {
        sink(&[
            int(s.s_suppkey),
            shown.value(s.s_name),
            shown.value(s.s_address),
            int(s.s_nationkey),
            shown.value(s.s_phone),
            money(s.s_acctbal),
            text(&s.s_comment),
        ])?;
    }
    Ok(())
}

fn customer<E>(scale: f64, sink: &mut Sink<'_, E>) -> Result<(), E> {
    let mut shown = Shown::default();
    for c in CustomerGenerator::new(scale, 1, 1).iter() {
        sink(&[
            int(c.c_custkey),
            shown.value(c.c_name),
            shown.value(c.c_address),
            int(c.c_nationkey),
            shown.value(c.c_phone),
            money(c.c_acctbal),
            text(c.c_mktsegment),
            text(c.c_comment),
        ])?;
    }
    Ok(())
}

fn part<E>(scale: f64, sink: &mut Sink<'_, E>) -> Result<(), E> {
    let mut shown = Shown::default();
    for p in PartGenerator::new(scale, 1, 1).iter() {
        sink(&[
            int(p.p_partkey),
            shown.value(&p.p_name),
            shown.value(p.p_mfgr),
            shown.value(p.p_brand),
            text(p.p_type),
            int(p.p_size),
            text(p.p_container),
            money(p.p_retailprice),
            text(p.p_comment),
        ])?;
    }
    Ok(())
}

fn partsupp<E>(scale: f64, sink: &mut Sink<'_, E>) -> Result<(), E> {
    for ps in PartSuppGenerator::new(scale, 1, 1).iter() {
        sink(&[
            int(ps.ps_partkey),
            int(ps.ps_suppkey),
            int(ps.ps_availqty),
            money(ps.ps_supplycost),
            text(ps.ps_comment),
        ])?;
    }
    Ok(())
}

fn orders<E>(scale: f64, sink: &mut Sink<'_, E>) -> Result<(), E> {
    let mut shown = Shown::default();
    for o in OrderGenerator::new(scale, 1, 1).iter() {
        sink(&[
            int(o.o_orderkey),
            int(o.o_custkey),
            text(o.o_orderstatus.as_str()),
            money(o.o_totalprice),
            date(o.o_orderdate),
            text(o.o_orderpriority),
            shown.value(o.o_clerk),
            int(o.o_shippriority),
            text(o.o_comment),
        ])?;
    }
    Ok(())
}

fn lineitem<E>(scale: f64, sink: &mut Sink<'_, E>) -> Result<(), E> {
    for l in LineItemGenerator::new(scale, 1, 1).iter() {
        sink(&[
            int(l.l_orderkey),
            int(l.l_partkey),
            int(l.l_suppkey),
            int(l.l_linenumber),
            Value::Decimal(Decimal::from_i128(i128::from(l.l_quantity) * 100, 2)),
            money(l.l_extendedprice),
            money(l.l_discount),
            money(l.l_tax),
            text(l.l_returnflag),
            text(l.l_linestatus),
            date(l.l_shipdate),
            date(l.l_commitdate),
            date(l.l_receiptdate),
            text(l.l_shipinstruct),
            text(l.l_shipmode),
            text(l.l_comment),
        ])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// Returns the number of rows, and the first and last of them with values separated by `|`, as dbgen writes them.
    fn rows(table: Table, scale: f64) -> (u64, String) {
        let mut count = 0;
        let mut first = String::new();
        let show = |value: &Value| match value {
            Value::Int(number) => number.to_string(),
            Value::Decimal(decimal) => decimal.to_string(),
            Value::String(text) => text.to_string(),
            Value::Date(date) => date.to_string(),
            other => panic!("{other:?}"),
        };
        let result: Result<(), Infallible> = generate(table, scale, &mut |row| {
            count += 1;
            if count == 1 {
                first = row.iter().map(show).collect::<Vec<_>>().join("|");
            }
            Ok(())
        });
        result.unwrap();
        (count, first)
    }

    #[test]
    fn rows_are_those_of_dbgen() {
        let (count, first) = rows(Table::LineItem, 0.001);
        assert_eq!(count, 6005);
        assert!(
            first.starts_with("1|156|4|1|17.00|17954.55|0.04|0.02|N|O|1996-03-13|1996-02-12|1996-03-22|"),
            "{first}"
        );
        let (count, first) = rows(Table::Part, 0.001);
        assert_eq!(count, 200);
        assert!(
            first.starts_with("1|goldenrod lavender spring chocolate lace|Manufacturer#1|Brand#13|"),
            "{first}"
        );
        for table in Table::ALL.into_iter().filter(|table| *table != Table::LineItem) {
            assert_eq!(rows(table, 0.001).0, table.rows(0.001), "{}", table.name());
        }
    }

    #[test]
    fn an_error_of_the_sink_ends_it() {
        let mut rows = 0;
        let result = generate(Table::Region, 1.0, &mut |_| {
            rows += 1;
            if rows == 2 { Err("full") } else { Ok(()) }
        });
        assert_eq!((result, rows), (Err("full"), 2));
    }
}
