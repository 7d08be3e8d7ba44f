// The views of the console, and the navigation between them.

import { areas, bytes, count, h, lines, moment, percent, table, time } from './draw.js';
import { drawPlan } from './plan.js';

const main = document.getElementById('main');
const server = document.getElementById('server');
const TOP = 8;

/** Number of the current view. Results of an earlier view are dropped. */
let shown = 0;
let timer = null;

async function ask(path, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined);
  const query = new URLSearchParams(given).toString();
  let answer;
  try {
    answer = await fetch(query ? `${path}?${query}` : path, { cache: 'no-store' });
  } catch {
    lost('The server does not answer.');
    throw new Error('The server does not answer.');
  }
  if (!answer.ok) {
    const text = (await answer.text()).trim();
    if (answer.status === 403) lost('Open the address that the server has printed.');
    throw new Error(text);
  }
  return answer.json();
}

function lost(text) {
  server.textContent = text;
  server.classList.add('lost');
}

/** Draws a view now and, with a pace, again every `pace` milliseconds. */
function show(draw, pace) {
  shown += 1;
  const mine = shown;
  clearTimeout(timer);
  const again = async () => {
    try {
      if (!document.hidden) await draw((...parts) => { if (mine === shown) main.replaceChildren(...parts.flat()); });
    } catch (error) {
      if (mine === shown && !main.hasChildNodes()) main.replaceChildren(h('p', { class: 'bad' }, error.message));
    }
    if (mine === shown && pace) timer = setTimeout(again, pace);
  };
  again();
}

/** Makes a link to another view. */
function link(text, view, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined);
  return h('a', { href: `#${view}?${new URLSearchParams(given)}` }, text);
}

// Statements

const statements = { sorted: { by: 'time', up: false }, filter: '', data: null };

function viewStatements() {
  main.replaceChildren();
  const chart = h('div', { class: 'panel' });
  const list = h('div', { class: 'panel statements' });
  const filter = h('input', { type: 'search', placeholder: 'Filter', 'aria-label': 'Filter statements', value: statements.filter });
  const parts = [h('h2', {}, 'Load: statements at work, by kind'), chart, h('div', { class: 'row' }, h('h2', {}, 'Statements'), filter), list];
  const draw = () => {
    const { data } = statements;
    const colours = load(chart, data);
    listing(list, data, colours, draw);
  };
  filter.addEventListener('input', () => { statements.filter = filter.value; if (statements.data) draw(); });
  show(async (put) => {
    statements.data = await ask('/api/statements');
    if (!parts[0].isConnected) put(parts);
    if (!list.contains(document.activeElement)) draw(); else load(chart, statements.data);
  }, 5000);
}

const key = (id) => (id ? `${id.schema ?? ''} ${id.digest}` : '');

/** Draws the load over time. Returns the colour numbers of the statements. */
function load(chart, { samples, statements: listed }) {
  const texts = new Map(listed.map((statement) => [key(statement.id), statement.text]));
  const sums = new Map();
  for (const { loads } of samples) for (const [id, seconds] of loads) sums.set(key(id), (sums.get(key(id)) ?? 0) + seconds);
  const top = [...sums].sort((a, b) => b[1] - a[1]).slice(0, TOP).map(([id]) => id);
  const colours = new Map(top.map((id, number) => [id, number]));
  if (samples.length < 2) {
    chart.replaceChildren(h('p', { class: 'soft' }, 'A sample is taken every five seconds; there are none yet.'));
    return colours;
  }
  const series = [...top.map(() => []), []];
  for (const { seconds, loads, rest } of samples) {
    const values = new Array(top.length + 1).fill(0);
    for (const [id, busy] of loads) values[colours.get(key(id)) ?? top.length] += busy / seconds;
    values[top.length] += rest[0] / seconds;
    values.forEach((value, number) => series[number].push(value));
  }
  // Empty series make the other statements the last one, so that they keep their own colour.
  while (series.length <= TOP) series.splice(series.length - 1, 0, samples.map(() => 0));
  const legend = top.map((id, number) => h('li', {}, h('span', { class: `swatch f${number}` }), h('span', { class: 'sql' }, short(texts.get(id) ?? '…', 90))));
  chart.replaceChildren(areas('Statements at work over the last half hour', samples.map((sample) => sample.at), series, (value) => count(value)),
    h('details', {}, h('summary', {}, 'What the colours stand for'), h('ul', {}, legend, h('li', {}, h('span', { class: `swatch f${TOP}` }), 'others'))));
  return colours;
}

const short = (text, letters) => (text.length > letters ? `${text.slice(0, letters - 1)}…` : text);

function listing(list, { statements: listed }, colours, draw) {
  const words = statements.filter.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = listed.filter(({ text, id }) => words.every((word) => `${text ?? ''} ${id?.schema ?? ''}`.toLowerCase().includes(word)));
  const whole = listed.reduce((sum, row) => sum + row.time, 0) || 1;
  const text = (row) => {
    if (!row.text) return h('span', { class: 'soft' }, 'all that there were too many of');
    const swatch = h('span', { class: colours.has(key(row.id)) ? `swatch f${colours.get(key(row.id))}` : 'swatch' });
    const sql = h('span', { class: 'sql', title: row.text }, swatch, row.has_sample ? link(row.text, 'plan', row.id) : row.text);
    return h('div', {}, sql, row.id.schema ? h('span', { class: 'soft' }, row.id.schema) : null);
  };
  const warn = (value, bad) => (bad ? h('span', { class: 'warn' }, value) : value);
  const columns = [
    ['statement', text, (row) => row.text ?? '', true],
    ['time', (row) => h('div', {}, time(row.time), ' ', h('span', { class: 'soft' }, percent(row.time / whole))), (row) => row.time],
    ['runs', (row) => count(row.executions), (row) => row.executions],
    ['mean', (row) => time(row.time / row.executions), (row) => row.time / row.executions],
    ['95 %', (row) => time(row.quantiles[0]), (row) => row.quantiles[0]],
    ['99 %', (row) => time(row.quantiles[1]), (row) => row.quantiles[1]],
    ['longest', (row) => time(row.most_time), (row) => row.most_time],
    ['sent', (row) => count(row.rows_sent / row.executions), (row) => row.rows_sent / row.executions],
    ['examined', (row) => count(row.rows_examined / row.executions), (row) => row.rows_examined / row.executions],
    ['pages', (row) => count(row.pages_read), (row) => row.pages_read],
    ['off by', (row) => (row.q_error ? warn(`${count(row.q_error)}×`, row.q_error >= 10) : ''), (row) => row.q_error],
    ['no index', (row) => (row.no_index_used ? warn(count(row.no_index_used), true) : ''), (row) => row.no_index_used],
    ['plans', (row) => (row.plans > 1 ? h('span', { class: 'warn', title: `changed ${moment(row.plan_changed)}` }, row.plans) : row.plans || ''), (row) => row.plans],
    ['errors', (row) => (row.errors ? h('span', { class: 'bad' }, count(row.errors)) : ''), (row) => row.errors],
  ];
  list.replaceChildren(table(columns, rows, statements.sorted, (sorted) => { statements.sorted = sorted; draw(); }),
    h('p', { class: 'soft' }, 'Sent and examined are rows per run, pages those that were read in all; off by: how wrong the worst estimate was. Choose a statement to see its plan.'));
}

// Plans

function viewPlan(parameters) {
  main.replaceChildren();
  const id = { digest: parameters.get('digest'), schema: parameters.get('schema') };
  const index = parameters.get('index');
  const place = h('div', {}, h('p', { class: 'soft' }, 'Planning…'));
  const sql = h('pre', {});
  const run = h('button', { onclick: () => draw(true) }, 'Run it, to see what happens');
  const note = h('span', { class: 'soft' }, 'A query is run for ten seconds at most, and can write nothing.');
  const heading = [h('div', { class: 'panel' }, sql), index === null ? h('div', { class: 'row' }, run, note) : null, place];
  const draw = async (runs) => {
    run.disabled = true;
    place.replaceChildren(h('p', { class: 'soft' }, runs ? 'Running…' : 'Planning…'));
    try {
      const found = await ask('/api/plan', { ...id, run: runs ? 1 : null, index });
      sql.textContent = found.sql;
      const cost = (picture) => time(picture.cost_us / 1e6);
      const price = found.before
        ? h('p', {}, `Expected to take ${cost(found.before)} as it is, and ${cost(found.picture)} with the index, which is the plan below.`)
        : h('p', { class: 'soft' }, `Expected to take ${cost(found.picture)}.`);
      place.replaceChildren(price, drawPlan(found.picture));
    } catch (error) {
      place.replaceChildren(h('p', { class: 'bad' }, error.message));
    }
    run.disabled = false;
  };
  show(async (put) => { put(heading.filter(Boolean)); await draw(false); });
}

// Live

const live = [];
const GRAPHS = [
  ['Statements', 'per second', (now, then) => [rate(now, then, 'Questions')], count],
  ['Rows sent, and entries examined', 'per second', (now, then) => [rate(now, then, 'Leafline_rows_sent'), rate(now, then, 'Leafline_entries_examined')], count],
  ['Found in memory', 'of pages asked for', (now, then) => [found(now, then)], percent],
  ['Read, and written, of the data file', 'per second', (now, then) => [rate(now, then, 'Innodb_data_read'), rate(now, then, 'Innodb_data_written')], bytes],
  ['Redo log written', 'per second', (now, then) => [rate(now, then, 'Innodb_os_log_written')], bytes],
  ['Syncs of the log', 'per second', (now, then) => [rate(now, then, 'Innodb_os_log_fsyncs')], count],
  ['Changes buffered, and merged', 'per second', (now, then) => [rate(now, then, 'Leafline_change_buffer_buffered'), rate(now, then, 'Leafline_change_buffer_merged')], count],
  ['Waiting for changes to be merged', 'bytes', (now) => [now.gauges.Leafline_change_buffer_bytes], bytes],
  ['Memory for pages: used, changed', 'bytes', (now) => [now.gauges.Innodb_buffer_pool_bytes_data, now.gauges.Innodb_buffer_pool_bytes_dirty], bytes],
  ['Connections', 'open', (now) => [now.gauges.Threads_connected], count],
  ['Waits for locks', 'seconds per second', (now, then) => [rate(now, then, 'Innodb_row_lock_time') / 1000], (value) => value.toFixed(2)],
  ['Commits, and rollbacks', 'per second', (now, then) => [rate(now, then, 'Handler_commit'), rate(now, then, 'Handler_rollback')], count],
];

const rate = (now, then, name) => Math.max(now.counters[name] - then.counters[name], 0) / Math.max(now.at - then.at, 0.001);

function found(now, then) {
  const asked = rate(now, then, 'Innodb_buffer_pool_read_requests');
  const missed = rate(now, then, 'Leafline_page_faults');
  return asked > 0 ? Math.max(1 - missed / asked, 0) : 1;
}

function viewLive() {
  main.replaceChildren();
  const graphs = GRAPHS.map(() => h('section', { class: 'panel' }));
  const all = h('pre', {});
  const parts = [h('div', { class: 'grid' }, graphs), h('h2', {}, 'All counters'), h('details', { class: 'panel' }, h('summary', {}, 'As SHOW GLOBAL STATUS has them'), all)];
  show(async (put) => {
    const now = await status();
    if (!parts[0].isConnected) put(parts);
    live.push(now);
    if (live.length > 150) live.shift();
    const pairs = live.slice(1).map((later, at) => [later, live[at]]);
    GRAPHS.forEach(([title, unit, of, label], number) => {
      const points = pairs.map(([later, earlier]) => of(later, earlier));
      const last = points[points.length - 1];
      const series = last ? last.map((_, at) => points.map((values) => values[at])) : [[]];
      graphs[number].replaceChildren(h('div', {}, title, ' ', h('span', { class: 'soft' }, unit)),
        h('div', { class: 'figure' }, last ? last.map((value, at) => h('span', { class: last.length > 1 ? `t${at}` : null }, label(value))) : '…'),
        points.length > 1 ? lines(`${title} ${unit}`, pairs.map(([later]) => later.at * 1000), series, label) : '');
    });
    all.textContent = Object.entries({ ...now.counters, ...now.gauges }).sort().map(([name, value]) => `${name.padEnd(48)} ${value}`).join('\n');
  }, 2000);
}

async function status() {
  const now = await ask('/api/status');
  server.classList.remove('lost');
  server.textContent = `${now.version} · ${now.directory} · up ${time(now.gauges.Uptime)} · ${count(now.gauges.Threads_connected)} connected`;
  return now;
}

// Indexes

const indexes = { sorted: { by: 'size', up: false } };

function viewIndexes() {
  main.replaceChildren();
  show(async (put) => {
    const { page_bytes, indexes: rows } = await ask('/api/indexes');
    const place = h('div', { class: 'panel' });
    const size = (row) => row.pages * page_bytes;
    const parameters = ({ database, table: of, index, partition }) => ({ database, table: of, index, partition });
    const columns = [
      ['table', (row) => `${row.database}.${row.table}${row.partition ? ` (${row.partition})` : ''}`, (row) => `${row.database}.${row.table}`, true],
      ['index', (row) => link(row.index, 'map', parameters(row)), (row) => row.index, true],
      ['columns', (row) => [row.columns.join(', '), row.is_clustered ? ' · the rows' : row.is_unique ? ' · unique' : ''].join(''), null, true],
      ['size', (row) => bytes(size(row)), size],
      ['in memory', (row) => h('div', {}, h('meter', { min: 0, max: Math.max(row.pages, 1), value: row.resident }), ' ', percent(row.resident / Math.max(row.pages, 1))), (row) => row.resident / Math.max(row.pages, 1)],
      ['uses', (row) => (row.uses === 0 && !row.is_clustered && !row.is_unique ? h('span', { class: 'warn' }, 'none') : count(row.uses)), (row) => row.uses],
    ];
    const draw = () => place.replaceChildren(rows.length > 0
      ? table(columns, rows, indexes.sorted, (sorted) => { indexes.sorted = sorted; draw(); })
      : h('p', { class: 'soft' }, 'There are no tables yet.'));
    draw();
    put(h('h2', {}, 'Indexes'), place, h('p', { class: 'soft' }, 'Uses are runs of plans that may read the index, since the database was opened. Choose an index to see where its pages lie.'));
  });
}

function viewMap(parameters) {
  main.replaceChildren();
  const name = Object.fromEntries(parameters);
  show(async (put) => {
    const map = await ask('/api/map', name);
    const leaves = map.stretches.flat();
    const inMemory = leaves.filter((leaf) => leaf.length > 1);
    const fill = inMemory.reduce((sum, leaf) => sum + leaf[1], 0) / Math.max(inMemory.length, 1);
    const pairs = map.stretches.flatMap((stretch) => stretch.slice(1).map((leaf, at) => leaf[0] - stretch[at][0]));
    const behind = pairs.filter((distance) => distance === 1).length / Math.max(pairs.length, 1);
    const ghosts = inMemory.reduce((sum, leaf) => sum + leaf[3], 0), entries = inMemory.reduce((sum, leaf) => sum + leaf[2], 0);
    const facts = [
      ['leaves', `${count(map.leaves)} of ${bytes(map.page_bytes)}, ${map.levels} levels${map.is_whole ? '' : `; ${count(leaves.length)} are shown, in stretches spread evenly`}`],
      ['in memory', percent(inMemory.length / Math.max(leaves.length, 1))],
      ['fill', inMemory.length > 0 ? `${fill.toFixed(0)} % on the leaves in memory` : 'not known: no leaf is in memory'],
      ['order', `${percent(behind)} of the leaves lie right behind the one before them`],
      ['deleted', entries > 0 ? `${percent(ghosts / entries)} of the entries in memory` : ''],
    ];
    const order = h('canvas', { role: 'img', 'aria-label': `The leaves in the order of keys: ${facts.map((fact) => fact.join(' ')).join('; ')}` });
    const places = h('canvas', { role: 'img', 'aria-label': 'Where in the file each leaf lies' });
    const said = h('p', { class: 'soft', 'aria-live': 'polite' }, 'Each cell is a leaf; point at one to see what it is.');
    put(h('h2', {}, `${name.database}.${name.table}, index ${name.index}${name.partition ? `, partition ${name.partition}` : ''}`),
      h('dl', { class: 'panel' }, facts.flatMap(([what, value]) => [h('dt', {}, what), h('dd', {}, value)])),
      h('h2', {}, 'In the order of keys: how full, and what is in memory'),
      h('p', { class: 'row soft' }, h('span', {}, h('span', { class: 'swatch' }), 'on disk'), h('span', {}, 'in memory, from empty to full:'), legend()),
      order, said,
      h('h2', {}, 'In the file: from left to right in the order of keys, from top to bottom where in the file'),
      places);
    const width = Math.max(Math.min(main.clientWidth - 40, 1400), 300);
    drawOrder(order, leaves, width, said);
    drawPlaces(places, leaves, map.file_pages, width);
  });
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const heat = (fill) => `hsl(${Math.round(10 + Math.min(fill, 100) * 1.3)} 62% ${matchMedia('(prefers-color-scheme: dark)').matches ? 52 : 44}%)`;

function legend() {
  const canvas = h('canvas', { width: 160, height: 12, role: 'img', 'aria-label': 'red is empty, green is full' });
  const context = canvas.getContext('2d');
  for (let x = 0; x < 160; x += 1) { context.fillStyle = heat(x / 1.6); context.fillRect(x, 0, 1, 12); }
  return canvas;
}

function drawOrder(canvas, leaves, width, said) {
  const cell = leaves.length > 2000 ? 10 : 14;
  const columns = Math.floor(width / cell);
  const ratio = devicePixelRatio || 1;
  canvas.width = columns * cell * ratio;
  canvas.height = Math.max(Math.ceil(leaves.length / columns), 1) * cell * ratio;
  canvas.setAttribute('tabindex', '-1');
  const context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  leaves.forEach(([, fill], at) => {
    context.fillStyle = fill === undefined ? colour('--cold') : heat(fill);
    context.fillRect((at % columns) * cell, Math.floor(at / columns) * cell, cell - 1, cell - 1);
  });
  canvas.addEventListener('mousemove', (event) => {
    const scale = canvas.clientWidth / (columns * cell);
    const at = Math.floor(event.offsetY / scale / cell) * columns + Math.floor(event.offsetX / scale / cell);
    const leaf = leaves[at];
    if (!leaf) return;
    const [page, fill, entries, ghosts, packed] = leaf;
    said.textContent = `Leaf ${at + 1}: page ${page}, ${fill === undefined ? 'on disk' : `${fill} % full, ${entries} entries, ${ghosts} of them deleted${packed ? ', packed' : ''}`}`;
  });
}

function drawPlaces(canvas, leaves, pages, width) {
  const height = 240, ratio = devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  const [resident, cold] = [colour('--s0'), colour('--s8')];
  leaves.forEach(([page, fill], at) => {
    context.fillStyle = fill === undefined ? cold : resident;
    context.fillRect((at / leaves.length) * (width - 2), (page / Math.max(pages, 1)) * (height - 2), 2, 2);
  });
}

// Advice

function viewAdvice() {
  main.replaceChildren();
  const place = h('div', {});
  const button = h('button', { onclick: () => draw(1) }, 'Ask for advice on what was run so far');
  const draw = async (now) => {
    button.disabled = true;
    if (now) place.replaceChildren(h('p', { class: 'soft' }, 'Pricing the statements with indexes that are not there…'));
    try {
      const advice = await ask('/api/advice', { now });
      place.replaceChildren(...proposals(advice));
    } catch (error) {
      place.replaceChildren(h('p', { class: 'bad' }, error.message));
    }
    button.disabled = false;
  };
  show(async (put) => {
    put(h('h2', {}, 'Indexes that would make the statements faster, and those that nothing needs'), h('p', { class: 'row' }, button, h('span', { class: 'soft' }, 'Nothing is built or dropped; that is up to you.')), place);
    await draw(null);
  });
}

function proposals({ seconds_ago: ago, rows }) {
  if (ago === null) return [h('p', { class: 'soft' }, 'Nobody has asked yet.')];
  if (rows.length === 0) return [h('p', {}, 'Nothing is proposed: no index would make what was run so far faster by enough.')];
  return rows.map((row) => {
    const supposed = h('div', {});
    const explain = h('button', { onclick: async () => {
      explain.disabled = true;
      try {
        const { statements: listed } = await ask('/api/supposed', { index: row.number });
        const changed = listed.filter((one) => Math.abs(one.before_us - one.after_us) > one.before_us * 0.01);
        supposed.replaceChildren(changed.length > 0 ? table([
          ['statement', (one) => h('span', { class: 'sql' }, link(one.text, 'plan', { ...one.id, index: row.number })), null, true],
          ['runs', (one) => count(one.executions)],
          ['as it is', (one) => time(one.before_us / 1e6)],
          ['with the index', (one) => time(one.after_us / 1e6)],
          ['gain', (one) => percent(1 - one.after_us / one.before_us)],
        ], changed, {}, () => {}) : h('p', { class: 'soft' }, 'The plans of the statements that were kept are the same with it.'));
      } catch (error) {
        supposed.replaceChildren(h('p', { class: 'bad' }, error.message));
      }
      explain.disabled = false;
    } }, 'EXPLAIN with it');
    const gain = row.action === 'CREATE INDEX'
      ? `all reads: ${time(row.before_us / 1e6)} → ${time(row.after_us / 1e6)} (${row.gain_percent} % less); writes: ${time(row.writes_us / 1e6)} more; ${bytes(row.bytes)}`
      : `frees ${bytes(Math.abs(row.bytes))}`;
    return h('section', { class: 'panel' }, h('div', { class: 'row' }, h('strong', {}, row.action), h('span', {}, `${row.schema}.${row.table}`), h('span', { class: 'soft' }, gain)),
      h('pre', {}, row.statement), h('p', { class: 'soft' }, row.why), row.action === 'CREATE INDEX' ? explain : null, supposed);
  });
}

// Navigation

const VIEWS = { statements: viewStatements, plan: viewPlan, live: viewLive, indexes: viewIndexes, map: viewMap, advice: viewAdvice };
const UNDER = { plan: 'statements', map: 'indexes' };

function go() {
  const [view, query] = location.hash.slice(1).split('?');
  const name = view in VIEWS ? view : 'statements';
  for (const anchor of document.querySelectorAll('nav a')) {
    if (anchor.hash === `#${UNDER[name] ?? name}`) anchor.setAttribute('aria-current', 'page');
    else anchor.removeAttribute('aria-current');
  }
  VIEWS[name](new URLSearchParams(query ?? ''));
  if (name !== 'live') status().catch(() => {});
}

addEventListener('hashchange', () => { go(); main.focus(); });
addEventListener('keydown', (event) => {
  const typing = event.target.matches?.('input, select, textarea');
  const filter = main.querySelector('input[type=search]');
  if (event.key === '/' && !typing && filter) { event.preventDefault(); filter.focus(); }
});
go();
