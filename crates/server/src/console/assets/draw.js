// Makes elements, formats figures and draws charts.

const SVG = 'http://www.w3.org/2000/svg';

/** Makes an element with attributes and children. A child that is no element becomes text. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Makes an SVG element with attributes and children. */
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export function count(n) {
  if (n === null || n === undefined) return '';
  const sizes = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e4, 'k']];
  for (const [size, unit] of sizes) if (n >= size) return digits(n / (size === 1e4 ? 1e3 : size)) + unit;
  return n >= 100 || Number.isInteger(n) ? String(Math.round(n)) : digits(n);
}

function digits(n) {
  return n >= 100 ? n.toFixed(0) : n >= 10 ? n.toFixed(1) : n.toFixed(2);
}

export function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (n >= 1024 && unit < units.length - 1) { n /= 1024; unit += 1; }
  return `${unit === 0 ? Math.round(n) : digits(n)} ${units[unit]}`;
}

export function time(seconds) {
  if (seconds === null || seconds === undefined) return '';
  if (seconds === 0) return '0';
  if (seconds < 1e-3) return `${digits(seconds * 1e6)} µs`;
  if (seconds < 1) return `${digits(seconds * 1e3)} ms`;
  if (seconds < 600) return `${digits(seconds)} s`;
  return seconds < 36000 ? `${digits(seconds / 60)} min` : `${digits(seconds / 3600)} h`;
}

export function percent(share) {
  return Number.isFinite(share) ? `${(share * 100).toFixed(share < 0.1 && share > 0 ? 1 : 0)} %` : '';
}

export function moment(millis) {
  return millis ? new Date(millis).toLocaleString() : '';
}

const clock = (millis) => new Date(millis).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' });

/** Returns the next round number that is not less. */
function ceiling(n) {
  if (!(n > 0)) return 1;
  const size = 10 ** Math.floor(Math.log10(n));
  return [1, 2, 5, 10].map((step) => step * size).find((round) => round >= n);
}

function frame(width, height, most, times, label) {
  const box = { left: 52, right: width - 6, top: 8, bottom: height - 20 };
  const y = (value) => box.bottom - (value / most) * (box.bottom - box.top);
  const first = times[0], last = times[times.length - 1];
  const x = (at) => box.left + (last > first ? (at - first) / (last - first) : 1) * (box.right - box.left);
  const parts = [0, 0.5, 1].flatMap((share) => [
    s('line', { class: 'axis', x1: box.left, x2: box.right, y1: y(most * share), y2: y(most * share) }),
    s('text', { x: box.left - 5, y: y(most * share) + 4, 'text-anchor': 'end' }, label(most * share)),
  ]);
  if (times.length > 1) {
    parts.push(s('text', { x: box.left, y: height - 5 }, clock(first)));
    parts.push(s('text', { x: box.right, y: height - 5, 'text-anchor': 'end' }, clock(last)));
  }
  return { x, y, parts };
}

/** Draws stacked areas. Each list of `series` has a value for each time. */
export function areas(title, times, series, label, height = 190) {
  const width = 1000;
  const sums = times.map((_, at) => series.reduce((sum, values) => sum + values[at], 0));
  const most = ceiling(Math.max(...sums, 0));
  const { x, y, parts } = frame(width, height, most, times, label);
  const floor = times.map(() => 0);
  series.forEach((values, number) => {
    const below = times.map((at, i) => `${x(at).toFixed(1)},${y(floor[i]).toFixed(1)}`).reverse();
    values.forEach((value, at) => { floor[at] += value; });
    const above = times.map((at, i) => `${x(at).toFixed(1)},${y(floor[i]).toFixed(1)}`);
    parts.push(s('polygon', { class: `f${number}`, points: [...above, ...below].join(' ') }));
  });
  return s('svg', { class: 'chart', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': title }, parts);
}

/** Draws one or two lines. */
export function lines(title, times, series, label, height = 120) {
  const width = 420;
  const most = ceiling(Math.max(...series.flat(), 0));
  const { x, y, parts } = frame(width, height, most, times, label);
  series.forEach((values, number) => {
    const points = times.map((at, i) => `${x(at).toFixed(1)},${y(values[i]).toFixed(1)}`);
    parts.push(s('polyline', { class: `line${number}`, points: points.join(' ') }));
  });
  return s('svg', { class: 'chart', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': title }, parts);
}

/** Makes a table that is sorted by clicking. A column is [name, function that shows a row, function that gives its sort key, whether it is text]. */
export function table(columns, rows, sorted, resort) {
  const sort = columns.find(([name]) => name === sorted.by)?.[2];
  const ordered = sort ? [...rows].sort((a, b) => {
    const [left, right] = [sort(a), sort(b)];
    const less = left < right ? -1 : left > right ? 1 : 0;
    return sorted.up ? less : -less;
  }) : rows;
  const head = columns.map(([name, , by, text]) => h('th', {
    class: text ? 'text' : null, scope: 'col',
    'aria-sort': by && name === sorted.by ? (sorted.up ? 'ascending' : 'descending') : null,
  }, by ? h('button', { onclick: () => resort({ by: name, up: name === sorted.by ? !sorted.up : Boolean(text) }) }, name) : name));
  const body = ordered.map((row) => h('tr', {}, columns.map(([, show, , text]) => h('td', { class: text ? 'text' : null }, show(row) ?? ''))));
  return h('div', { class: 'scroll' }, h('table', {}, h('thead', {}, h('tr', {}, head)), h('tbody', {}, body)));
}
