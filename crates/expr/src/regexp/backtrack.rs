//! A backtracking matcher, for patterns that the crate `regex` does not support: look-ahead and look-behind,
//! back-references, atomic groups and possessive quantifiers.
//!
//! A pattern becomes a program. Alternatives are kept on a separate stack, no larger than `regexp_stack_limit`'s
//! default (3698). A search takes a limited number of steps (3699) and checks for cancellation between them.

use super::rewrite::Flags;
use super::syntax::{Assertion, Node, Repetition, Set, Tree};
use crate::letter_case::{to_lower, to_upper};
use leafline_types::error::MysqlError;
use leafline_types::statement::CancelTicker;

/// The most instructions of a program.
const MAX_PROGRAM: usize = 20_000;
/// The most lengths that a look-behind tries.
const MAX_LENGTHS: usize = 1_000;
/// The most steps of a search.
const MAX_STEPS: u64 = 20_000_000;
/// The most memory of the stack in bytes.
const MAX_STACK: usize = 8_000_000;
/// Marks a slot without a place.
const NOWHERE: usize = usize::MAX;

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Program {
    code: Vec<Instruction>,
    sets: Vec<Set>,
    /// The number of places that a match keeps: begin and end of the whole and of each group, then those that instructions use.
    slots: usize,
    groups: usize,
    pub(super) names: Vec<(String, usize)>,
    flags: Flags,
}

#[derive(Debug, Clone, Copy)]
enum Instruction {
    Char(u32),
    Set(usize),
    /// Matches `least` to `most` characters of a set.
    Run {
        set: usize,
        least: u32,
        most: u32,
        lazy: bool,
    },
    Assert(Assertion),
    /// Saves the place in a slot.
    Save(usize),
    /// Goes back to the place in a slot.
    Load(usize),
    /// Fails unless the place is that in a slot.
    At(usize),
    /// Goes back this many characters.
    Back(u32),
    /// Tries the next instruction first, then the one at this address.
    Split(usize),
    /// Tries the instruction at this address first, then the next one.
    SplitLazy(usize),
    Jump(usize),
    /// Jumps to the beginning of a loop, unless the loop has consumed nothing since its place was saved.
    Loop {
        place: usize,
        start: usize,
    },
    /// Saves the height of the stack in a slot.
    Mark(usize),
    /// Drops the alternatives above the height in a slot.
    Cut(usize),
    /// Drops the alternatives above the height in a slot, and fails.
    Fail(usize),
    BackReference {
        group: usize,
        ignore_case: bool,
    },
    Match,
}

/// An alternative, or a slot to restore before it.
#[derive(Debug, Clone, Copy)]
enum Entry {
    Try {
        next: usize,
        at: usize,
    },
    Restore {
        slot: usize,
        old: usize,
    },
    /// A run that can be shorter.
    Shrink {
        next: usize,
        least: usize,
        at: usize,
    },
    /// A run that can be longer.
    Grow {
        run: usize,
        at: usize,
        left: u32,
    },
}

/// Begin and end of the whole match and of each group.
pub(crate) type Spans = Vec<Option<(usize, usize)>>;

impl Program {
    /// Compiles a tree.
    ///
    /// # Errors
    /// 3695 for a look-behind without bounds, 3700 for a program that is too large.
    pub(super) fn new(tree: &Tree, flags: Flags) -> Result<Program, MysqlError> {
        let slots = 2 * (tree.groups + 1);
        let program = Program {
            code: Vec::new(),
            sets: Vec::new(),
            slots,
            groups: tree.groups,
            names: tree.names.clone(),
            flags,
        };
        let mut compiler = Compiler { program };
        compiler.put(Instruction::Save(0))?;
        compiler.node(&tree.root)?;
        compiler.put(Instruction::Save(1))?;
        compiler.put(Instruction::Match)?;
        Ok(compiler.program)
    }

    /// Finds the leftmost match in `text` that begins at `from` or behind it.
    ///
    /// # Errors
    /// 3698 and 3699; 1317 or 3024 if the statement has to end.
    pub(super) fn find(
        &self,
        text: &[u8],
        from: usize,
        steps: &mut CancelTicker<'_>,
    ) -> Result<Option<Spans>, MysqlError> {
        let slots = vec![NOWHERE; self.slots];
        let mut search =
            Search { program: self, text, from, slots, stack: Vec::new(), left: MAX_STEPS, steps };
        let first = self.first();
        let mut at = from;
        loop {
            let may_begin =
                first.is_none_or(|set| self.next_char(text, at).is_some_and(|(c, _)| has(set, c)));
            if may_begin && search.run(at)? {
                let place = |slot: usize| search.slots[slot];
                return Ok(Some(
                    (0..=self.groups)
                        .map(|n| {
                            let (begin, end) = (place(2 * n), place(2 * n + 1));
                            (begin != NOWHERE && end != NOWHERE).then_some((begin, end))
                        })
                        .collect(),
                ));
            }
            let Some((_, length)) = self.next_char(text, at) else { return Ok(None) };
            at += length;
            search.step()?;
        }
    }

    /// Returns the set of characters that a match begins with, if the program begins with a set.
    fn first(&self) -> Option<&Set> {
        for instruction in &self.code {
            match instruction {
                Instruction::Save(_) | Instruction::Mark(_) => {}
                Instruction::Set(set) | Instruction::Run { set, least: 1.., .. } => {
                    return self.sets.get(*set);
                }
                _ => return None,
            }
        }
        None
    }

    /// Returns the character at a place, and its length.
    fn next_char(&self, text: &[u8], at: usize) -> Option<(u32, usize)> {
        let first = *text.get(at)?;
        if self.flags.bytes || first < 0x80 {
            return Some((first.into(), 1));
        }
        let tail = text[at + 1..].iter().take(3).take_while(|b| **b & 0xC0 == 0x80);
        let (mut code, mut length) = (0, 1);
        for byte in tail {
            code = code << 6 | u32::from(byte & 0x3F);
            length += 1;
        }
        let lead = u32::from(first) & (0xFF >> (length + 1));
        Some((lead << (6 * (length - 1)) | code, length))
    }

    /// Returns where the character before a place begins.
    fn before(&self, text: &[u8], at: usize) -> Option<usize> {
        let mut before = at.checked_sub(1)?;
        while !self.flags.bytes && before > 0 && text.get(before).is_some_and(|b| b & 0xC0 == 0x80) {
            before -= 1;
        }
        Some(before)
    }

    fn char_before(&self, text: &[u8], at: usize) -> Option<u32> {
        self.next_char(text, self.before(text, at)?).map(|(c, _)| c)
    }

    fn is_line_end(&self, c: u32) -> bool {
        match c {
            0x0A => true,
            0x0B..=0x0D | 0x85 | 0x2028 | 0x2029 => !self.flags.unix_lines,
            _ => false,
        }
    }

    fn is_word(&self, c: Option<u32>) -> bool {
        let c = c.and_then(char::from_u32);
        c.is_some_and(
            |c| if self.flags.bytes { c.is_ascii_alphanumeric() } else { c.is_alphanumeric() } || c == '_',
        )
    }

    fn holds(&self, assertion: Assertion, text: &[u8], at: usize, from: usize) -> bool {
        let next = self.next_char(text, at);
        let previous = self.char_before(text, at);
        let in_pair =
            previous == Some(0x0D) && next.is_some_and(|(c, _)| c == 0x0A) && !self.flags.unix_lines;
        match assertion {
            Assertion::TextStart => at == 0,
            Assertion::TextEnd => at == text.len(),
            Assertion::SearchStart => at == from,
            Assertion::LineStart => {
                at == 0 || next.is_some() && previous.is_some_and(|c| self.is_line_end(c))
            }
            Assertion::LineEnd => next.is_none_or(|(c, _)| self.is_line_end(c)) && !in_pair,
            Assertion::LastLineEnd => match next {
                None => true,
                Some((0x0D, 1)) if !self.flags.unix_lines && &text[at..] == b"\r\n" => true,
                Some((c, length)) => self.is_line_end(c) && at + length == text.len() && !in_pair,
            },
            Assertion::WordBoundary => self.is_word(previous) != self.is_word(next.map(|(c, _)| c)),
            Assertion::NoWordBoundary => self.is_word(previous) == self.is_word(next.map(|(c, _)| c)),
        }
    }
}

fn has(set: &Set, c: u32) -> bool {
    match set.len() {
        0..=4 => set.iter().any(|(low, high)| (*low..=*high).contains(&c)),
        _ => {
            let above = set.partition_point(|(low, _)| *low <= c);
            above > 0 && c <= set[above - 1].1
        }
    }
}

struct Compiler {
    program: Program,
}

impl Compiler {
    fn put(&mut self, instruction: Instruction) -> Result<usize, MysqlError> {
        if self.program.code.len() == MAX_PROGRAM {
            return Err(MysqlError::regexp_pattern_too_big());
        }
        self.program.code.push(instruction);
        Ok(self.program.code.len() - 1)
    }

    fn slot(&mut self) -> usize {
        self.program.slots += 1;
        self.program.slots - 1
    }

    /// Returns the address of the next instruction.
    fn here(&self) -> usize {
        self.program.code.len()
    }

    fn set(&mut self, set: &Set) -> usize {
        let sets = &mut self.program.sets;
        sets.iter().position(|known| known == set).unwrap_or_else(|| {
            sets.push(set.clone());
            sets.len() - 1
        })
    }

    fn node(&mut self, node: &Node) -> Result<(), MysqlError> {
        match node {
            Node::Empty => {}
            Node::Char(c) => drop(self.put(Instruction::Char(*c))?),
            Node::Set(set) => {
                let set = self.set(set);
                self.put(Instruction::Set(set))?;
            }
            Node::Assert(assertion) => drop(self.put(Instruction::Assert(*assertion))?),
            Node::Group(inner, number) => {
                self.put(Instruction::Save(2 * number))?;
                self.node(inner)?;
                self.put(Instruction::Save(2 * number + 1))?;
            }
            Node::Concat(parts) => parts.iter().try_for_each(|part| self.node(part))?,
            Node::Alternate(choices) => {
                self.choices(choices.len(), |compiler, n| compiler.node(&choices[n]))?
            }
            Node::Repeat { node, least, most, how } => self.repeat(node, *least, *most, *how)?,
            Node::Atomic(inner) => self.atomic(|compiler| compiler.node(inner))?,
            Node::Look { node, ahead, negated } => self.look(node, *ahead, *negated)?,
            Node::BackReference { group, ignore_case } => {
                self.put(Instruction::BackReference { group: *group, ignore_case: *ignore_case })?;
            }
        }
        Ok(())
    }

    /// Compiles a choice of `count` alternatives.
    fn choices(
        &mut self,
        count: usize,
        mut put: impl FnMut(&mut Self, usize) -> Result<(), MysqlError>,
    ) -> Result<(), MysqlError> {
        let mut ends = Vec::new();
        for n in 0..count {
            let split = if n + 1 < count { Some(self.put(Instruction::Split(0))?) } else { None };
            put(self, n)?;
            if let Some(split) = split {
                ends.push(self.put(Instruction::Jump(0))?);
                self.program.code[split] = Instruction::Split(self.here());
            }
        }
        let end = self.here();
        ends.into_iter().for_each(|jump| self.program.code[jump] = Instruction::Jump(end));
        Ok(())
    }

    fn atomic(&mut self, put: impl FnOnce(&mut Self) -> Result<(), MysqlError>) -> Result<(), MysqlError> {
        let mark = self.slot();
        self.put(Instruction::Mark(mark))?;
        put(self)?;
        self.put(Instruction::Cut(mark))?;
        Ok(())
    }

    fn repeat(
        &mut self,
        node: &Node,
        least: u32,
        most: Option<u32>,
        how: Repetition,
    ) -> Result<(), MysqlError> {
        if how == Repetition::Possessive {
            return self.atomic(|compiler| compiler.repeat(node, least, most, Repetition::Greedy));
        }
        let lazy = how == Repetition::Lazy;
        let alone = match node {
            Node::Set(set) => Some(set.clone()),
            Node::Char(c) => Some(Box::from([(*c, *c)])),
            _ => None,
        };
        if let Some(set) = alone {
            let set = self.set(&set);
            self.put(Instruction::Run { set, least, most: most.unwrap_or(u32::MAX), lazy })?;
            return Ok(());
        }
        for _ in 0..least {
            self.node(node)?;
        }
        let split = |to: usize| if lazy { Instruction::SplitLazy(to) } else { Instruction::Split(to) };
        match most {
            None => {
                let place = self.slot();
                let start = self.put(split(0))?;
                self.put(Instruction::Save(place))?;
                self.node(node)?;
                self.put(Instruction::Loop { place, start })?;
                self.program.code[start] = split(self.here());
            }
            Some(most) => {
                let mut splits = Vec::new();
                for _ in least..most {
                    splits.push(self.put(split(0))?);
                    self.node(node)?;
                }
                let end = self.here();
                splits.into_iter().for_each(|at| self.program.code[at] = split(end));
            }
        }
        Ok(())
    }

    fn look(&mut self, node: &Node, ahead: bool, negated: bool) -> Result<(), MysqlError> {
        let (mark, place) = (self.slot(), self.slot());
        self.put(Instruction::Save(place))?;
        self.put(Instruction::Mark(mark))?;
        let split = if negated { Some(self.put(Instruction::Split(0))?) } else { None };
        if ahead {
            self.node(node)?;
        } else {
            let (least, most) = widths(node).ok_or_else(MysqlError::regexp_look_behind_limit)?;
            if most - least >= MAX_LENGTHS || most > u32::MAX as usize {
                return Err(MysqlError::regexp_look_behind_limit());
            }
            self.choices(most - least + 1, |compiler, n| {
                compiler.put(Instruction::Back((least + n) as u32))?;
                compiler.node(node)?;
                compiler.put(Instruction::At(place))?;
                Ok(())
            })?;
        }
        match split {
            Some(split) => {
                self.put(Instruction::Fail(mark))?;
                self.program.code[split] = Instruction::Split(self.here());
            }
            None => {
                self.put(Instruction::Cut(mark))?;
                self.put(Instruction::Load(place))?;
            }
        }
        Ok(())
    }
}

/// Returns the fewest and the most characters that a node matches; None if there is no bound.
fn widths(node: &Node) -> Option<(usize, usize)> {
    Some(match node {
        Node::Empty | Node::Assert(_) | Node::Look { .. } => (0, 0),
        Node::Char(_) | Node::Set(_) => (1, 1),
        Node::Group(inner, _) | Node::Atomic(inner) => widths(inner)?,
        Node::Concat(parts) => {
            let mut sum = (0usize, 0usize);
            for part in parts {
                let (least, most) = widths(part)?;
                sum = (sum.0.checked_add(least)?, sum.1.checked_add(most)?);
            }
            sum
        }
        Node::Alternate(choices) => {
            let mut all = (usize::MAX, 0);
            for choice in choices {
                let (least, most) = widths(choice)?;
                all = (all.0.min(least), all.1.max(most));
            }
            all
        }
        Node::Repeat { node, least, most, .. } => {
            let (short, long) = widths(node)?;
            (short.checked_mul(*least as usize)?, long.checked_mul((*most)? as usize)?)
        }
        Node::BackReference { .. } => return None,
    })
}

struct Search<'s, 'c> {
    program: &'s Program,
    text: &'s [u8],
    from: usize,
    slots: Vec<usize>,
    stack: Vec<Entry>,
    left: u64,
    steps: &'s mut CancelTicker<'c>,
}

impl Search<'_, '_> {
    #[inline]
    fn step(&mut self) -> Result<(), MysqlError> {
        self.count(1)
    }

    /// Counts steps.
    #[inline]
    fn count(&mut self, steps: usize) -> Result<(), MysqlError> {
        self.left = self.left.checked_sub(steps as u64).ok_or_else(MysqlError::regexp_time_out)?;
        self.steps.take(steps)
    }

    fn push(&mut self, entry: Entry) -> Result<(), MysqlError> {
        if self.stack.len() >= MAX_STACK / size_of::<Entry>() {
            return Err(MysqlError::regexp_too_large());
        }
        self.stack.push(entry);
        Ok(())
    }

    fn keep(&mut self, slot: usize, value: usize) -> Result<(), MysqlError> {
        let old = std::mem::replace(&mut self.slots[slot], value);
        self.push(Entry::Restore { slot, old })
    }

    /// Whether a match begins at a place; its places are then in the slots.
    fn run(&mut self, begin: usize) -> Result<bool, MysqlError> {
        self.stack.clear();
        self.slots.fill(NOWHERE);
        let mut state = Some((0, begin));
        loop {
            self.step()?;
            state = match state {
                Some((pc, at)) => match self.program.code[pc] {
                    Instruction::Match => return Ok(true),
                    instruction => self.execute(instruction, pc, at)?,
                },
                None => match self.stack.pop() {
                    Some(entry) => self.resume(entry)?,
                    None => return Ok(false),
                },
            };
        }
    }

    /// Resumes with an alternative.
    fn resume(&mut self, entry: Entry) -> Result<Option<(usize, usize)>, MysqlError> {
        Ok(match entry {
            Entry::Try { next, at } => Some((next, at)),
            Entry::Restore { slot, old } => {
                self.slots[slot] = old;
                None
            }
            Entry::Shrink { next, least, at } => {
                let shorter = self.program.before(self.text, at).unwrap_or(least);
                if shorter > least {
                    self.push(Entry::Shrink { next, least, at: shorter })?;
                }
                Some((next, shorter))
            }
            Entry::Grow { run, at, left } => {
                let Instruction::Run { set, .. } = self.program.code[run] else { return Ok(None) };
                let Some((c, length)) = self.program.next_char(self.text, at) else { return Ok(None) };
                if !has(&self.program.sets[set], c) {
                    return Ok(None);
                }
                if left > 1 {
                    self.push(Entry::Grow { run, at: at + length, left: left - 1 })?;
                }
                Some((run + 1, at + length))
            }
        })
    }

    /// Executes an instruction; returns the next address and place in the text; None if it fails.
    fn execute(
        &mut self,
        instruction: Instruction,
        pc: usize,
        at: usize,
    ) -> Result<Option<(usize, usize)>, MysqlError> {
        let (program, text) = (self.program, self.text);
        let next = pc + 1;
        Ok(match instruction {
            Instruction::Char(wanted) => match program.next_char(text, at) {
                Some((c, length)) if c == wanted => Some((next, at + length)),
                _ => None,
            },
            Instruction::Set(set) => match program.next_char(text, at) {
                Some((c, length)) if has(&program.sets[set], c) => Some((next, at + length)),
                _ => None,
            },
            Instruction::Run { set, least, most, lazy } => {
                return self.take_run(pc, at, (set, least, most, lazy));
            }
            Instruction::Assert(assertion) => {
                program.holds(assertion, text, at, self.from).then_some((next, at))
            }
            Instruction::Save(slot) => {
                self.keep(slot, at)?;
                Some((next, at))
            }
            Instruction::Load(slot) => Some((next, self.slots[slot])),
            Instruction::At(slot) => (self.slots[slot] == at).then_some((next, at)),
            Instruction::Back(count) => {
                self.count(count as usize)?;
                let back = (0..count).try_fold(at, |at, _| program.before(text, at));
                back.map(|back| (next, back))
            }
            Instruction::Split(other) => {
                self.push(Entry::Try { next: other, at })?;
                Some((next, at))
            }
            Instruction::SplitLazy(other) => {
                self.push(Entry::Try { next, at })?;
                Some((other, at))
            }
            Instruction::Jump(to) => Some((to, at)),
            Instruction::Loop { place, start } => {
                Some((if self.slots[place] == at { next } else { start }, at))
            }
            Instruction::Mark(slot) => {
                // The entry that restores the slot is below the mark.
                self.keep(slot, self.stack.len() + 1)?;
                Some((next, at))
            }
            Instruction::Cut(slot) => {
                self.cut(self.slots[slot])?;
                Some((next, at))
            }
            Instruction::Fail(slot) => {
                let height = self.slots[slot];
                self.count(self.stack.len().saturating_sub(height))?;
                while self.stack.len() > height {
                    if let Some(Entry::Restore { slot, old }) = self.stack.pop() {
                        self.slots[slot] = old;
                    }
                }
                None
            }
            Instruction::BackReference { group, ignore_case } => {
                self.repeated(group, ignore_case, at)?.map(|end| (next, end))
            }
            Instruction::Match => None,
        })
    }

    fn take_run(
        &mut self,
        pc: usize,
        at: usize,
        (set, least, most, lazy): (usize, u32, u32, bool),
    ) -> Result<Option<(usize, usize)>, MysqlError> {
        let (program, text) = (self.program, self.text);
        let (mut end, mut taken) = (at, 0);
        let mut shortest = at;
        let wanted = if lazy { least } else { most };
        while taken < wanted
            && let Some((c, length)) = program.next_char(text, end)
            && has(&program.sets[set], c)
        {
            self.step()?;
            end += length;
            taken += 1;
            if taken == least {
                shortest = end;
            }
        }
        if taken < least {
            return Ok(None);
        }
        if lazy && most > least {
            self.push(Entry::Grow { run: pc, at: end, left: most - least })?;
        } else if end > shortest {
            self.push(Entry::Shrink { next: pc + 1, least: shortest, at: end })?;
        }
        Ok(Some((pc + 1, end)))
    }

    /// Drops the alternatives above a height of the stack, but keeps the slots to restore.
    fn cut(&mut self, height: usize) -> Result<(), MysqlError> {
        self.count(self.stack.len().saturating_sub(height))?;
        let mut kept = height;
        for n in height..self.stack.len() {
            if let Entry::Restore { .. } = self.stack[n] {
                self.stack[kept] = self.stack[n];
                kept += 1;
            }
        }
        self.stack.truncate(kept);
        Ok(())
    }

    /// Returns where the text of a group ends if it occurs again here.
    fn repeated(&mut self, group: usize, ignore_case: bool, at: usize) -> Result<Option<usize>, MysqlError> {
        let (Some(&begin), Some(&end)) = (self.slots.get(2 * group), self.slots.get(2 * group + 1)) else {
            return Ok(None);
        };
        if begin == NOWHERE || end == NOWHERE {
            return Ok(None);
        }
        let wanted = &self.text[begin..end];
        self.count(wanted.len())?;
        if !ignore_case {
            return Ok(self.text[at..].starts_with(wanted).then_some(at + wanted.len()));
        }
        let (mut here, mut there) = (at, begin);
        while there < end {
            let (Some((a, a_length)), Some((b, b_length))) =
                (self.program.next_char(self.text, here), self.program.next_char(self.text, there))
            else {
                return Ok(None);
            };
            let folded = |c: u32| {
                char::from_u32(c)
                    .map(|c| if self.program.flags.bytes { c.to_ascii_lowercase() } else { lower(c) })
            };
            if folded(a) != folded(b) {
                return Ok(None);
            }
            (here, there) = (here + a_length, there + b_length);
        }
        Ok(Some(here))
    }
}

fn lower(c: char) -> char {
    to_lower(to_upper(c))
}
