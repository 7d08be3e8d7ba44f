//! Values and conditions, with subqueries that depend on blocks at any distance, aggregates of enclosing blocks,
//! windows.

use super::generate::{Generator, Place, Scope};

impl Generator {
    /// Returns a value.
    pub fn value(&mut self, place: Place) -> String {
        let place = if self.nested { Place::ROW } else { place };
        if place.aggregates && self.chance(40) {
            return self.aggregate();
        }
        if place.windows && self.chance(40) {
            return self.window(place);
        }
        match self.below(100) {
            0..=44 => self.column().unwrap_or_else(|| self.literal()),
            45..=57 => self.literal(),
            58..=63 if self.takes(1) => {
                let operator = self.of(&["+", "-", "*", "/", "DIV", "MOD"]);
                format!("({} {operator} {})", self.value(place), self.value(place))
            }
            64..=67 if self.takes(2) => {
                let (condition, then, otherwise) =
                    (self.condition(place), self.value(place), self.value(place));
                format!("CASE WHEN {condition} THEN {then} ELSE {otherwise} END")
            }
            68..=73 if self.takes(1) => {
                let name = self.of(&["ABS", "LENGTH", "UPPER", "LENGTH"]);
                format!("{name}({})", self.value(place))
            }
            74..=76 if self.takes(1) => {
                let name = self.of(&["COALESCE", "IFNULL", "CONCAT", "NULLIF", "GREATEST"]);
                format!("{name}({}, {})", self.value(place), self.value(place))
            }
            77..=88 if self.takes(3) => self.scalar(),
            89..=91 if self.takes(2) => format!("({})", self.condition(place)),
            // An aggregate of an enclosing block, if one is allowed.
            92..=94 if !self.nested && self.scopes.len() > 1 => self.aggregate(),
            _ => self.column().unwrap_or_else(|| self.literal()),
        }
    }

    fn literal(&mut self) -> String {
        self.of(&["0", "1", "2", "3", "NULL", "'a'", "'1'", "1.5", "-1"]).to_owned()
    }

    /// Returns a subquery, usually with at most one row.
    fn scalar(&mut self) -> String {
        match self.below(10) {
            0 => format!("({})", self.query(1)),
            1 | 2 => format!("(SELECT {})", self.value(Place::ROW)),
            _ => {
                let (from, scope) = self.from();
                self.scopes.push(Scope { aggregates: true, ..scope });
                let nested = std::mem::take(&mut self.nested);
                let value = self.aggregate();
                if let Some(scope) = self.scopes.last_mut() {
                    scope.aggregates = false;
                }
                let condition = self.condition(Place::ROW);
                let having = match self.below(8) {
                    0 => format!(" HAVING COUNT(*) > {}", self.literal()),
                    _ => String::new(),
                };
                self.nested = nested;
                self.scopes.pop();
                format!("(SELECT {value}{from} WHERE {condition}{having})")
            }
        }
    }

    /// Returns an aggregate of a block that allows one here, or else a column.
    fn aggregate(&mut self) -> String {
        let Some(column) = self.aggregated_column() else {
            return self.column().unwrap_or_else(|| self.literal());
        };
        let nested = std::mem::replace(&mut self.nested, true);
        let argument =
            if self.chance(80) { column } else { format!("({column} + {})", self.value(Place::ROW)) };
        self.nested = nested;
        match self.below(12) {
            0 => "COUNT(*)".to_owned(),
            1 => format!("COUNT(DISTINCT {argument})"),
            2 => format!("GROUP_CONCAT({argument} ORDER BY 1)"),
            3 => format!("GROUP_CONCAT(DISTINCT {argument} ORDER BY {argument})"),
            4 => format!("BIT_OR({argument})"),
            5 if !self.nested && self.takes(2) => {
                format!("(SELECT GROUP_CONCAT(COUNT({argument})) FROM t4 WHERE a = {argument})")
            }
            5 | 6 => format!("COUNT({argument})"),
            7 | 8 => format!("SUM({argument})"),
            9 => format!("MIN({argument})"),
            10 => format!("MAX({argument})"),
            _ => format!("AVG({argument})"),
        }
    }

    fn window(&mut self, place: Place) -> String {
        let inside = Place { windows: false, ..place };
        let nested = self.nested;
        let argument = self.value(inside);
        let (partition, order) = (self.value(inside), self.value(inside));
        self.nested = nested;
        let function = match self.below(6) {
            0 => "RANK()".to_owned(),
            1 => "DENSE_RANK()".to_owned(),
            2 => format!("COUNT({argument})"),
            3 => format!("SUM({argument})"),
            _ => format!("MAX({argument})"),
        };
        let partition = if self.chance(50) { format!("PARTITION BY {partition}") } else { String::new() };
        let order = if self.chance(60) { format!(" ORDER BY {order}") } else { String::new() };
        format!("{function} OVER ({partition}{order})")
    }

    /// Returns a condition.
    pub fn condition(&mut self, place: Place) -> String {
        let place = if self.nested { Place::ROW } else { place };
        match self.below(100) {
            0..=24 => {
                let operator = self.of(&["=", "=", "=", "<", ">", "<=", "<>", "<=>", ">="]);
                format!("{} {operator} {}", self.value(place), self.value(place))
            }
            25..=34 if self.takes(1) => {
                let operator = self.of(&["AND", "OR", "AND", "OR", "XOR"]);
                format!("({} {operator} {})", self.condition(place), self.condition(place))
            }
            35..=38 if self.takes(1) => format!("NOT ({})", self.condition(place)),
            39..=42 => format!("{} IS {}NULL", self.value(place), self.of(&["", "NOT "])),
            43..=46 => {
                format!("{} BETWEEN {} AND {}", self.value(place), self.value(place), self.value(place))
            }
            47..=50 => {
                let not = self.of(&["", "NOT "]);
                format!("{} {not}IN ({}, {})", self.value(place), self.value(place), self.value(place))
            }
            51..=52 => format!("{} LIKE '{}'", self.value(place), self.of(&["a%", "%b", "_", "%"])),
            53..=65 if self.takes(3) => format!("{}EXISTS ({})", self.of(&["", "NOT "]), self.found()),
            66..=80 if self.takes(3) => self.in_query(place),
            81..=85 if self.takes(3) => {
                let (operator, quantifier) =
                    (self.of(&["=", "<>", "<", ">", ">=", "<="]), self.of(&["ANY", "ALL", "SOME"]));
                format!("{} {operator} {quantifier} ({})", self.value(place), self.query(1))
            }
            86..=88 => {
                let operator = self.of(&["=", "<", "<>", ">=", "<=>"]);
                let mut row = || format!("({}, {})", self.value(place), self.value(place));
                format!("{} {operator} {}", row(), row())
            }
            89..=91 if self.takes(3) => {
                format!("({}, {}) = ({})", self.value(place), self.value(place), self.query(2))
            }
            92..=94 => format!(
                "({}) IS {}",
                self.condition_of_values(place),
                self.of(&["TRUE", "NOT FALSE", "UNKNOWN"])
            ),
            _ => self.condition_of_values(place),
        }
    }

    fn condition_of_values(&mut self, place: Place) -> String {
        format!("{} = {}", self.value(place), self.value(place))
    }

    fn in_query(&mut self, place: Place) -> String {
        let not = self.of(&["", "", "NOT "]);
        if self.chance(25) {
            let row = format!("({}, {})", self.value(place), self.value(place));
            return format!("{row} {not}IN ({})", self.query(2));
        }
        format!("{} {not}IN ({})", self.value(place), self.query(1))
    }

    /// Returns an EXISTS or similar test of a query.
    fn found(&mut self) -> String {
        let width = 1 + self.below(2);
        let query = self.query(width);
        match self.below(12) {
            0 => format!("({query}) LIMIT 1"),
            1 => format!("({query}) LIMIT 0"),
            _ => query,
        }
    }
}
