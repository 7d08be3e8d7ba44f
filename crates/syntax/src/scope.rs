//! The names that are declared at one place of a program's body.
//!
//! Parameters stand in a block of their own around the body, so a variable of the outermost block may hide one. A
//! handler's body sees the variables, conditions and cursors of its block and of the blocks around it, but no label
//! outside itself. Names are compared without regard to case, as MySQL does.

use std::collections::{HashMap, HashSet};

use super::ast::{
    ConditionValue, Expr, ExprKind, Ident, Literal, ProgramKind, TriggerEvent, TriggerTime, TypeName,
};
use leafline_types::error::MysqlError;

/// The result of a check of names.
type Checked<T> = Result<T, MysqlError>;

/// The program that a body belongs to, as far as rules depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProgramContext {
    /// The kind.
    pub kind: ProgramKind,
    /// For a trigger: when and for what it fires.
    pub fires: Option<(TriggerTime, TriggerEvent)>,
}

/// A declared variable or parameter.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    /// Whether LIMIT takes it.
    pub is_integer: bool,
    /// The value that `SET x = DEFAULT` assigns; `None` if DECLARE has an expression that is no literal.
    pub default: Option<Literal>,
}

impl Variable {
    /// Makes a variable of a type with the default that DECLARE gives it.
    pub(crate) fn new(name: TypeName, default: Option<&Expr>) -> Variable {
        use TypeName::*;
        let is_integer = matches!(name, TinyInt | Bool | SmallInt | MediumInt | Int | BigInt | Bit);
        let default = match default.map(|default| &default.kind) {
            None => Some(Literal::Null),
            Some(ExprKind::Literal(literal)) => Some(literal.clone()),
            Some(_) => None,
        };
        Variable { is_integer, default }
    }
}

/// A label that LEAVE may name.
#[derive(Debug)]
enum Label {
    /// The label of a block.
    Block(String),
    /// The label of a loop, which ITERATE may name, too.
    Loop(String),
    /// The begin of a handler's body.
    Handler,
}

/// How far the declarations of a block have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Stage {
    /// Variables and conditions.
    #[default]
    Variables,
    /// Cursors.
    Cursors,
    /// Handlers.
    Handlers,
}

/// The declarations of one block.
#[derive(Debug, Default)]
struct BlockScope {
    variables: HashMap<String, Variable>,
    conditions: HashMap<String, ConditionValue>,
    cursors: HashSet<String>,
    handled: HashSet<(u16, [u8; 5])>,
    stage: Stage,
}

/// The names declared where the parser stands.
#[derive(Debug)]
pub(crate) struct Scope {
    context: ProgramContext,
    /// The block that the parser is in.
    innermost: BlockScope,
    /// The blocks around it, the outermost first.
    outer: Vec<BlockScope>,
    labels: Vec<Label>,
    /// Whether the body has a RETURN.
    pub(crate) returns: bool,
    /// The function's name for error 1320.
    function: Option<String>,
    /// The first of the errors that the body's statements cause in a function or trigger, with its rank: MySQL reports
    /// them at the end of the body, the lowest rank first.
    forbidden: Option<(u8, MysqlError)>,
}

/// The form of a name that is compared.
fn folded(name: &str) -> String {
    name.to_lowercase()
}

/// A key that two conditions share if a block may not handle both: a number, which is never 0, or a state. The classes
/// have states that no condition has.
fn handled_key(value: &ConditionValue) -> (u16, [u8; 5]) {
    match value {
        ConditionValue::Number(number) => (*number, [0; 5]),
        ConditionValue::State(state) => (0, *state),
        ConditionValue::Warning => (0, *b"01..."),
        ConditionValue::NotFound => (0, *b"02..."),
        ConditionValue::Exception | ConditionValue::Name(_) => (0, *b"....."),
    }
}

impl Scope {
    /// Makes the scope of a program without parameters.
    pub(crate) fn new(kind: ProgramKind) -> Scope {
        Scope {
            context: ProgramContext { kind, fires: None },
            innermost: BlockScope::default(),
            outer: Vec::new(),
            labels: Vec::new(),
            returns: false,
            function: None,
            forbidden: None,
        }
    }

    /// Makes the scope of a function.
    pub(crate) fn of_function(name: String) -> Scope {
        Scope { function: Some(name), ..Scope::new(ProgramKind::Function) }
    }

    /// Makes the scope of a trigger.
    pub(crate) fn of_trigger(time: TriggerTime, event: TriggerEvent) -> Scope {
        let context = ProgramContext { kind: ProgramKind::Trigger, fires: Some((time, event)) };
        Scope { context, ..Scope::new(ProgramKind::Trigger) }
    }

    pub(crate) fn context(&self) -> ProgramContext {
        self.context
    }

    /// Checks what only the whole body shows: statements that a function or trigger may not have, and RETURN.
    pub(crate) fn check_body(self) -> Checked<()> {
        if let Some((_, error)) = self.forbidden {
            return Err(error);
        }
        match self.function {
            Some(name) if !self.returns => Err(MysqlError::no_return(name)),
            _ => Ok(()),
        }
    }

    /// Notes that a function or trigger may not contain a statement of the body.
    pub(crate) fn forbid(&mut self, rank: u8, error: MysqlError) {
        if self.forbidden.as_ref().is_none_or(|(lowest, _)| rank < *lowest) {
            self.forbidden = Some((rank, error));
        }
    }

    // --- blocks and labels ---

    pub(crate) fn enter_block(&mut self) {
        let outer = std::mem::take(&mut self.innermost);
        self.outer.push(outer);
    }

    pub(crate) fn leave_block(&mut self) {
        self.innermost = self.outer.pop().unwrap_or_default();
    }

    /// Adds a label. Returns error 1309 if a statement around this one has it.
    pub(crate) fn push_label(&mut self, label: &Ident, is_loop: bool) -> Checked<()> {
        if self.label(&label.value).is_some() {
            return Err(MysqlError::label_redefined(&label.value));
        }
        let name = folded(&label.value);
        self.labels.push(if is_loop { Label::Loop(name) } else { Label::Block(name) });
        Ok(())
    }

    /// Hides the labels around a handler's body.
    pub(crate) fn enter_handler(&mut self) {
        self.labels.push(Label::Handler);
    }

    /// Takes off the last label, or the begin of a handler's body.
    pub(crate) fn pop_label(&mut self) {
        self.labels.pop();
    }

    /// Whether the label of this name is a loop's; `None` if no label has the name.
    fn label(&self, name: &str) -> Option<bool> {
        let name = folded(name);
        let within = self.labels.iter().rev().take_while(|label| !matches!(label, Label::Handler));
        within
            .filter_map(|label| match label {
                Label::Block(label) => (*label == name).then_some(false),
                Label::Loop(label) => (*label == name).then_some(true),
                Label::Handler => None,
            })
            .next()
    }

    /// Checks the label of LEAVE or ITERATE (error 1308).
    pub(crate) fn check_label(&self, verb: &str, label: &Ident) -> Checked<()> {
        match self.label(&label.value) {
            Some(is_loop) if is_loop || verb == "LEAVE" => Ok(()),
            _ => Err(MysqlError::no_such_label(verb, &label.value)),
        }
    }

    // --- declarations ---

    /// Adds a parameter (error 1330).
    pub(crate) fn add_parameter(&mut self, name: &Ident, variable: Variable) -> Checked<()> {
        match self.innermost.variables.insert(folded(&name.value), variable) {
            Some(_) => Err(MysqlError::duplicate_parameter(&name.value)),
            None => Ok(()),
        }
    }

    /// Adds a variable (errors 1331).
    pub(crate) fn add_variable(&mut self, name: &Ident, variable: Variable) -> Checked<()> {
        match self.innermost.variables.insert(folded(&name.value), variable) {
            Some(_) => Err(MysqlError::duplicate_variable(&name.value)),
            None => Ok(()),
        }
    }

    /// Adds a condition (error 1332).
    pub(crate) fn add_condition(&mut self, name: &Ident, value: ConditionValue) -> Checked<()> {
        match self.innermost.conditions.insert(folded(&name.value), value) {
            Some(_) => Err(MysqlError::duplicate_condition(&name.value)),
            None => Ok(()),
        }
    }

    /// Adds a cursor (error 1333).
    pub(crate) fn add_cursor(&mut self, name: &Ident) -> Checked<()> {
        match self.innermost.cursors.insert(folded(&name.value)) {
            true => Ok(()),
            false => Err(MysqlError::duplicate_cursor(&name.value)),
        }
    }

    /// Adds a condition that a handler of the block handles (error 1413). `value` is no name.
    pub(crate) fn add_handled(&mut self, value: &ConditionValue) -> Checked<()> {
        match self.innermost.handled.insert(handled_key(value)) {
            true => Ok(()),
            false => Err(MysqlError::duplicate_handler()),
        }
    }

    /// Checks that a variable or condition may still be declared (error 1337).
    pub(crate) fn declares_name(&mut self) -> Checked<()> {
        match self.innermost.stage {
            Stage::Variables => Ok(()),
            _ => Err(MysqlError::variable_after_cursor()),
        }
    }

    /// Checks that a cursor may still be declared (error 1338).
    pub(crate) fn declares_cursor(&mut self) -> Checked<()> {
        let block = &mut self.innermost;
        if block.stage > Stage::Cursors {
            return Err(MysqlError::cursor_after_handler());
        }
        block.stage = Stage::Cursors;
        Ok(())
    }

    pub(crate) fn declares_handler(&mut self) {
        self.innermost.stage = Stage::Handlers;
    }

    // --- looking names up ---

    /// The blocks that the parser is in, the innermost first.
    fn blocks(&self) -> impl Iterator<Item = &BlockScope> {
        std::iter::once(&self.innermost).chain(self.outer.iter().rev())
    }

    /// The innermost variable of this name.
    pub(crate) fn variable(&self, name: &str) -> Option<&Variable> {
        let name = folded(name);
        self.blocks().find_map(|block| block.variables.get(&name))
    }

    /// The value of the innermost condition of this name (error 1319).
    pub(crate) fn condition(&self, name: &Ident) -> Checked<ConditionValue> {
        let folded = folded(&name.value);
        let found = self.blocks().find_map(|block| block.conditions.get(&folded));
        found.cloned().ok_or_else(|| MysqlError::undefined_condition(&name.value))
    }

    /// Checks that a cursor of this name is declared (error 1324).
    pub(crate) fn check_cursor(&self, name: &Ident) -> Checked<()> {
        let folded = folded(&name.value);
        match self.blocks().any(|block| block.cursors.contains(&folded)) {
            true => Ok(()),
            false => Err(MysqlError::undefined_cursor(&name.value)),
        }
    }
}
