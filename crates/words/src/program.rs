//! Compiles the tree of a query to steps.
//!
//! InnoDB walks over each list three times: first it takes what has neither `+` nor `-`, then `+`, then `-`. What an inner
//! list leaves out is done when that list has been walked, and not when the outer one has. The walk does not depend on
//! documents, so it is made once, and its steps are applied to each document.

use crate::rules::{WordParser, WordRules};
use crate::syntax::{Node, Operator, too_deep};
use crate::tokens::words;
use leafline_types::MysqlError;
use std::collections::HashMap;

/// The most words of a phrase, as in InnoDB.
const MAX_PHRASE_WORDS: usize = 128;

/// The most groups within each other, as in InnoDB.
const MAX_NESTED_GROUPS: usize = 31;

/// A word, or the beginning of words, that documents are searched for.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Lookup {
    /// The number of the token that it counts for.
    pub(crate) token: usize,
    /// The beginning, if words that begin with it are sought.
    pub(crate) prefix: Option<String>,
}

/// A phrase.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Phrase {
    /// Lookups of its words that an index can contain.
    pub(crate) lookups: Vec<usize>,
    /// All its words from the first such word on, as numbers of tokens.
    pub(crate) sequence: Vec<usize>,
    /// The most words from the first to the last of its words; `None` if they must follow one another.
    pub(crate) distance: Option<u64>,
}

/// Names the word, phrase or group that a step looks for.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Target {
    /// A lookup, by its number.
    Lookup(usize),
    /// A phrase, by its number.
    Phrase(usize),
    /// The result of steps of their own.
    Group(Vec<Step>),
}

/// A step of the evaluation.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Step {
    /// The operator.
    pub(crate) operator: Operator,
    /// Whether an earlier step of the same steps has had the operator `+`, so that only found documents count for another.
    pub(crate) after_exist: bool,
    /// The number of its search, if it searches only while a document is found: a word that has to be among others, or must not.
    pub(crate) search: Option<usize>,
    /// The word, phrase or group.
    pub(crate) target: Target,
}

/// A compiled query.
#[derive(Clone, Default, Debug)]
pub(crate) struct Program {
    /// The number of each token, by its key.
    pub(crate) tokens: HashMap<Box<[u8]>, usize>,
    pub(crate) lookups: Vec<Lookup>,
    pub(crate) phrases: Vec<Phrase>,
    pub(crate) steps: Vec<Step>,
    /// The lookups in the order of the evaluation; those of a phrase together.
    pub(crate) searches: Vec<Vec<usize>>,
}

impl Program {
    /// Compiles a tree.
    ///
    /// # Errors
    /// 128 if it is nested too deeply, 191 for a phrase of more than 128 words.
    pub(crate) fn new(tree: Option<Node>, rules: &WordRules) -> Result<Program, MysqlError> {
        let mut compiler = Compiler { program: Program::default(), rules, depth: 0 };
        if let Some(Node::List(nodes)) = tree {
            compiler.program.steps = compiler.steps(nodes)?;
        }
        Ok(compiler.program)
    }

    /// Adds a word that the document may contain.
    pub(crate) fn add_word(&mut self, word: &str, rules: &WordRules) {
        let lookup = self.lookup(word, false, rules);
        self.searches.push(vec![lookup]);
        let target = Target::Lookup(lookup);
        self.steps.push(Step { operator: Operator::None, after_exist: false, search: None, target });
    }

    /// Returns whether no search depends on a document being found.
    pub(crate) fn searches_are_unconditional(&self) -> bool {
        fn all(steps: &[Step]) -> bool {
            steps.iter().all(|step| {
                step.search.is_none()
                    && match &step.target {
                        Target::Group(steps) => all(steps),
                        _ => true,
                    }
            })
        }
        all(&self.steps)
    }

    fn token(&mut self, word: &str, rules: &WordRules) -> usize {
        let next = self.tokens.len();
        *self.tokens.entry(rules.own_key(word)).or_insert(next)
    }

    fn lookup(&mut self, word: &str, is_prefix: bool, rules: &WordRules) -> usize {
        let token = self.token(word, rules);
        let same = |known: &Lookup| known.token == token && known.prefix.is_some() == is_prefix;
        self.lookups.iter().position(same).unwrap_or_else(|| {
            self.lookups.push(Lookup { token, prefix: is_prefix.then(|| word.to_owned()) });
            self.lookups.len() - 1
        })
    }
}

/// The walk over a list that is under way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    First,
    Exist,
    Ignore,
}

/// A node of a list, with the state that the walks leave at it.
enum Place {
    Leaf(Option<Node>),
    Operator { operator: Operator, is_skipped: bool },
    List { places: Vec<Place>, operator: Operator },
}

impl Place {
    fn of(node: Node) -> Place {
        match node {
            Node::Operator(operator) => Place::Operator { operator, is_skipped: false },
            Node::List(nodes) => Place::List { places: Place::all(nodes), operator: Operator::None },
            leaf => Place::Leaf(Some(leaf)),
        }
    }

    fn all(nodes: Vec<Node>) -> Vec<Place> {
        nodes.into_iter().map(Place::of).collect()
    }
}

/// The operator in force on a walk: whether it is left for a later walk, or was.
#[derive(Clone, Copy)]
struct Force {
    operator: Operator,
    is_skipped: bool,
}

struct Compiler<'r> {
    program: Program,
    rules: &'r WordRules,
    depth: usize,
}

impl Compiler<'_> {
    /// Compiles the nodes of a group, or of the whole query.
    fn steps(&mut self, nodes: Vec<Node>) -> Result<Vec<Step>, MysqlError> {
        let mut steps = Vec::new();
        let start = Force { operator: Operator::None, is_skipped: false };
        self.walk(&mut Place::all(nodes), Pass::First, start, &mut steps)?;
        Ok(steps)
    }

    /// Walks over a list; returns whether it has left something out.
    fn walk(
        &mut self,
        places: &mut [Place],
        pass: Pass,
        mut force: Force,
        steps: &mut Vec<Step>,
    ) -> Result<bool, MysqlError> {
        let (mut leaves_out, mut revisits) = (false, false);
        for place in &mut *places {
            match place {
                Place::List { places, operator } if pass == Pass::First => {
                    revisits |= self.walk(places, pass, force, steps)?;
                    if revisits {
                        *operator = force.operator;
                    }
                }
                Place::List { .. } => {}
                Place::Operator { operator, is_skipped } => {
                    force = Force { operator: *operator, is_skipped: *is_skipped };
                    *is_skipped = true;
                }
                Place::Leaf(leaf) => {
                    let is_late = matches!(force.operator, Operator::Exist | Operator::Ignore);
                    if is_late && !force.is_skipped {
                        leaves_out |= leaf.is_some();
                        continue;
                    }
                    let is_due = match force.operator {
                        Operator::Exist => pass == Pass::Exist,
                        Operator::Ignore => pass == Pass::Ignore,
                        _ => pass == Pass::First,
                    };
                    if is_due && let Some(leaf) = leaf.take() {
                        self.step(force.operator, leaf, steps)?;
                    }
                }
            }
        }
        if revisits {
            for (pass, late) in [(Pass::Exist, Operator::Exist), (Pass::Ignore, Operator::Ignore)] {
                for place in &mut *places {
                    if let Place::List { places, operator } = place
                        && (pass == Pass::Ignore || *operator != Operator::Ignore)
                    {
                        let force = Force { operator: late, is_skipped: true };
                        self.walk(places, pass, force, steps)?;
                    }
                }
            }
        }
        Ok(leaves_out)
    }

    fn step(&mut self, operator: Operator, leaf: Node, steps: &mut Vec<Step>) -> Result<(), MysqlError> {
        let target = match leaf {
            Node::Term { word, wildcard } => {
                let lookup = self.program.lookup(&word, wildcard, self.rules);
                self.program.searches.push(vec![lookup]);
                Target::Lookup(lookup)
            }
            Node::Phrase { text, distance } => {
                let distance = distance.filter(|&distance| distance > 0);
                self.phrase(&words(&text).collect::<Vec<_>>(), distance)?
            }
            Node::Grams(grams) => {
                let grams: Vec<&str> = grams.iter().map(String::as_str).collect();
                self.phrase(&grams, None)?
            }
            Node::Group(nodes) => {
                if self.depth >= MAX_NESTED_GROUPS {
                    return Err(too_deep());
                }
                self.depth += 1;
                let inner = self.steps(nodes)?;
                self.depth -= 1;
                Target::Group(inner)
            }
            Node::Operator(_) | Node::List(_) => return Ok(()),
        };
        let after_exist = steps.iter().any(|step| step.operator == Operator::Exist);
        let is_conditional = operator == Operator::Ignore || operator == Operator::Exist && after_exist;
        let is_word = matches!(target, Target::Lookup(_));
        let search = (is_word && is_conditional).then(|| self.program.searches.len() - 1);
        steps.push(Step { operator, after_exist, search, target });
        Ok(())
    }

    /// Compiles a phrase. Stopwords and words that are too short or too long are sought in the text, but not in the index; where
    /// they come first they are left out.
    fn phrase(&mut self, words: &[&str], distance: Option<u64>) -> Result<Target, MysqlError> {
        let mut phrase = Phrase { lookups: Vec::new(), sequence: Vec::new(), distance };
        let keeps_all = matches!(self.rules.parser(), WordParser::Ngram(_));
        for word in words {
            if keeps_all || self.rules.is_indexed(word, &self.rules.own_key(word)) {
                phrase.lookups.push(self.program.lookup(word, false, self.rules));
            }
            if !phrase.lookups.is_empty() {
                phrase.sequence.push(self.program.token(word, self.rules));
            }
        }
        if phrase.lookups.len() > MAX_PHRASE_WORDS {
            return Err(MysqlError::with_message(191, "Too many words in a FTS phrase or proximity search"));
        }
        self.program.searches.push(phrase.lookups.clone());
        self.program.phrases.push(phrase);
        Ok(Target::Phrase(self.program.phrases.len() - 1))
    }
}
