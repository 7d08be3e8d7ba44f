// Draws a plan: its steps from the result down to the tables, with expected and actual figures.

import { count, h, s, time } from './draw.js';

const WIDTH = 274, HEIGHT = 92, ACROSS = 22, DOWN = 40, LETTERS = 40;

/** Draws a plan, and shows the details of the chosen step. */
export function drawPlan(picture) {
  const detail = h('div', { class: 'panel', 'aria-live': 'polite' }, h('p', { class: 'soft' }, 'Choose a step to see its conditions, and the ways that were not taken.'));
  const parts = picture.parts.map(({ title, root }) => [title ? h('h2', {}, title) : null, h('div', { class: 'panel scroll' }, tree(root, detail))]);
  return h('div', {}, parts.flat(), detail);
}

function tree(root, detail) {
  const placed = [];
  let right = 0;
  const place = (step, depth) => {
    const below = step.inputs.map((input) => place(input, depth + 1));
    const x = below.length > 0 ? (below[0].x + below[below.length - 1].x) / 2 : right;
    const node = { step, x: Math.max(x, 0), depth, below };
    if (below.length === 0) right += WIDTH + ACROSS;
    placed.push(node);
    return node;
  };
  const top = place(root, 0);
  const depth = Math.max(...placed.map((node) => node.depth));
  const y = (node) => node.depth * (HEIGHT + DOWN) + 2;
  const whole = top.step.actual?.time_ms || 0;
  const width = right - ACROSS + 4, height = (depth + 1) * (HEIGHT + DOWN) - DOWN + 4;
  const edges = placed.flatMap((node) => node.below.map((input) => {
    const [from, to] = [node.x + WIDTH / 2, input.x + WIDTH / 2];
    const [top_, bottom] = [y(node) + HEIGHT, y(input)];
    const rows = input.step.actual ? input.step.actual.rows : input.step.rows;
    const middle = (top_ + bottom) / 2;
    return s('path', { class: 'edge', d: `M${to} ${bottom}C${to} ${middle} ${from} ${middle} ${from} ${top_}`, 'stroke-width': 1.2 + Math.log10(1 + rows) * 1.3 });
  }));
  const picture = s('svg', { class: 'plan', width, height, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': 'Plan' }, edges);
  const boxes = placed.sort((a, b) => a.depth - b.depth || a.x - b.x).map((node) => box(node, y(node), whole, picture, detail));
  picture.append(...boxes);
  return picture;
}

/** Returns the q-error of a step's estimate: how many times it is off. */
function error(step) {
  const { actual } = step;
  if (!actual || actual.loops === 0) return 1;
  const [expected, found] = [Math.max(step.rows, 1), Math.max(actual.rows / actual.loops, 1)];
  return Math.max(expected / found, found / expected);
}

function box(node, y, whole, picture, detail) {
  const { step } = node;
  const [first, second] = wrapped(step.label);
  const rows = `${count(round(step.rows))} ${step.rows === 1 ? 'row' : 'rows'} expected`;
  const actual = step.actual && (step.actual.loops === 0 ? 'never run' : `${count(step.actual.rows)} came${step.actual.loops > 1 ? ` in ${count(step.actual.loops)} runs` : ''}`);
  const off = error(step);
  const cost = step.cost_us === null ? '' : time(step.cost_us / 1e6);
  const took = step.actual && step.actual.loops > 0 ? `took ${time(step.actual.time_ms / 1e3)}` : '';
  const choose = () => {
    picture.querySelectorAll('.chosen').forEach((chosen) => chosen.classList.remove('chosen'));
    group.classList.add('chosen');
    detail.replaceChildren(...explained(step));
  };
  const share = whole > 0 && step.actual ? Math.min(step.actual.time_ms / whole, 1) : 0;
  const group = s('g', {
    class: `step${step.is_access ? ' access' : ''}`, transform: `translate(${node.x + 2} ${y})`, tabindex: 0, role: 'button',
    'aria-label': `${step.label}. ${rows}${actual ? `, ${actual}` : ''}`,
    onclick: choose,
    onkeydown: (event) => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); choose(); } },
  },
  s('title', {}, step.label),
  s('rect', { class: 'box', width: WIDTH, height: HEIGHT, rx: 7 }),
  s('text', { x: 10, y: 20 }, first),
  s('text', { x: 10, y: 36 }, second),
  s('text', { class: 'soft', x: 10, y: 56 }, rows),
  s('text', { class: off >= 4 ? 'wrong' : 'soft', x: 10, y: 72 }, actual ? `${actual}${off >= 2 ? ` (off by ${count(off)})` : ''}` : ''),
  s('text', { class: 'soft', x: WIDTH - 10, y: 56, 'text-anchor': 'end' }, cost),
  s('text', { class: 'soft', x: WIDTH - 10, y: 72, 'text-anchor': 'end' }, took),
  s('rect', { class: 'share', x: 1, y: HEIGHT - 7, width: Math.max((WIDTH - 2) * share, 0), height: 5, rx: 2 }));
  return group;
}

const round = (rows) => (rows >= 10 ? Math.round(rows) : rows);

function wrapped(label) {
  if (label.length <= LETTERS) return [label, ''];
  const cut = label.lastIndexOf(' ', LETTERS);
  const at = cut > 10 ? cut : LETTERS;
  const rest = label.slice(at).trim();
  return [label.slice(0, at), rest.length > LETTERS ? `${rest.slice(0, LETTERS - 1)}…` : rest];
}

function explained(step) {
  const facts = [];
  const fact = (name, value) => facts.push(h('dt', {}, name), h('dd', {}, value));
  fact('expected', `${count(round(step.rows))} rows${step.cost_us === null ? '' : `, ${time(step.cost_us / 1e6)} with its inputs`}`);
  if (step.actual) {
    const { actual } = step;
    fact('happened', actual.loops === 0 ? 'it was never run' : `${count(actual.rows)} rows in ${count(actual.loops)} ${actual.loops === 1 ? 'run' : 'runs'}, ${time(actual.time_ms / 1e3)} with its inputs`);
    fact('pages', `${count(actual.pages_requested)} asked for, ${count(actual.pages_read)} read`);
    fact('entries', `${count(actual.entries_examined)} examined, ${count(actual.rows_fetched)} rows fetched`);
  }
  for (const condition of step.conditions) {
    const at = condition.indexOf(': ');
    fact(at < 0 ? '' : condition.slice(0, at), h('code', {}, at < 0 ? condition : condition.slice(at + 2)));
  }
  const parts = [h('h2', {}, step.label), h('dl', {}, facts)];
  if (step.rejected.length > 0) {
    const most = Math.max(...step.rejected.map((way) => way.cost_us));
    parts.push(h('h2', {}, 'Not taken'), h('table', {},
      h('thead', {}, h('tr', {}, h('th', { class: 'text' }, 'way'), h('th', {}, 'price'), h('th', {}, ''), h('th', {}, 'entries examined'))),
      h('tbody', {}, step.rejected.map((way) => h('tr', {}, h('td', { class: 'text' }, way.label), h('td', {}, time(way.cost_us / 1e6)),
        h('td', {}, h('meter', { min: 0, max: most, value: way.cost_us })), h('td', {}, count(round(way.rows))))))));
  }
  return parts;
}
