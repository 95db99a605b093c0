"use strict";
// Draws what `page_data` hands over. Text reaches the page as text nodes only.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

// ---- numbers with their units
const group = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
const cyclesText = (n) => group(n) + (Math.round(n) === 1 ? " cycle" : " cycles");
const digits = (n) => (n >= 100 || Number.isInteger(n) ? n.toFixed(0) : n >= 10 ? n.toFixed(1) : n.toPrecision(3));
const shareText = (n) => (100 * n >= 99.95 && n < 1 ? "99.9" : (100 * n).toFixed(1)) + " %";
function bytesText(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let u = 0;
  while (n >= 1024 && u < units.length - 1) { n /= 1024; u++; }
  return digits(n) + " " + units[u];
}
function timeText(cycles) {
  const s = cycles / data.clock_hz;
  const [scale, unit] = s >= 1 ? [1, "s"] : s >= 1e-3 ? [1e-3, "ms"] : s >= 1e-6 ? [1e-6, "µs"] : [1e-9, "ns"];
  return digits(s / scale) + " " + unit;
}
const rateText = (n) => (n >= 1000 ? group(n) : digits(Number(n.toPrecision(3))));

// ---- colours
const palette = Array.from({ length: 10 }, (_, i) => `--c${i}`);
const colourOf = new Map(data.instructions.map((name, i) => [name, palette[i % palette.length]]));
let theme = {};
function readTheme() {
  const style = getComputedStyle(document.documentElement);
  for (const name of [...palette, "--text", "--soft", "--line", "--idle", "--work", "--accent", "--mark", "--missing", "--card"])
    theme[name] = style.getPropertyValue(name).trim();
}

// ---- SVG and HTML
function svg(tag, attributes, parent, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.appendChild(node);
  return node;
}
function sheet(box, width, height, label) {
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, box);
}
function hint(node, text) { svg("title", {}, node, text); }
function legend(box, entries) {
  box.replaceChildren();
  for (const [name, colour] of entries) {
    const item = document.createElement("span");
    const dot = document.createElement("i");
    dot.style.background = colour;
    item.append(dot, name);
    box.append(item);
  }
}
const clip = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);
function ticks(from, to, count) {
  const raw = (to - from) / count;
  const power = 10 ** Math.floor(Math.log10(Math.max(raw, 1e-9)));
  const step = Math.max(1, power * ([1, 2, 5, 10].find((m) => m * power >= raw) || 10));
  const found = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) found.push(t);
  return found;
}

// ---- roofline
function drawRoofline() {
  const roofs = data.roofs;
  if (!roofs || !roofs.operations || !roofs.cycles) return;
  $("roofline").hidden = false;
  const W = 640, H = 420, left = 76, right = 14, top = 12, bottom = 44;
  const root = sheet($("roofline-plot"), W, H, "roofline");
  const reached = roofs.operations / roofs.cycles;
  const memories = roofs.memories.filter((m) => m[2] > 0).map(([name, rate, bytes]) => ({ name, rate, bytes, x: roofs.operations / bytes }));
  const peak = Math.max(reached, ...roofs.units.map((u) => u[2]));
  const ridge = memories.map((m) => peak / m.rate);
  const xs = [...memories.map((m) => m.x), ...ridge, roofs.least_bytes ? roofs.operations / roofs.least_bytes : memories[0]?.x || 1];
  const x0 = 10 ** Math.floor(Math.log10(Math.min(...xs) / 2)), x1 = 10 ** Math.ceil(Math.log10(Math.max(...xs) * 2));
  const y1 = peak * 2.2, y0 = Math.min(reached / 4, peak / 12);
  const X = (v) => left + ((W - left - right) * Math.log10(v / x0)) / Math.log10(x1 / x0);
  const Y = (v) => H - bottom - ((H - top - bottom) * Math.log10(v / y0)) / Math.log10(y1 / y0);
  const frame = svg("clipPath", { id: "roof-clip" }, root);
  svg("rect", { x: left, y: top, width: W - left - right, height: H - top - bottom }, frame);
  for (let e = Math.log10(x0); e <= Math.log10(x1) + 1e-9; e++) {
    svg("line", { x1: X(10 ** e), x2: X(10 ** e), y1: top, y2: H - bottom, stroke: "var(--line)" }, root);
    svg("text", { x: X(10 ** e), y: H - bottom + 15, "text-anchor": "middle", class: "soft" }, root, e < 0 ? String(10 ** e) : group(10 ** e));
  }
  for (let e = Math.ceil(Math.log10(y0)); e <= Math.log10(y1); e++) {
    svg("line", { x1: left, x2: W - right, y1: Y(10 ** e), y2: Y(10 ** e), stroke: "var(--line)" }, root);
    svg("text", { x: left - 6, y: Y(10 ** e) + 4, "text-anchor": "end", class: "soft" }, root, e < 0 ? String(10 ** e) : group(10 ** e));
  }
  svg("text", { x: (left + W - right) / 2, y: H - 8, "text-anchor": "middle", class: "soft" }, root, "operations per byte through the memory's ports");
  svg("text", { x: 14, y: (top + H - bottom) / 2, "text-anchor": "middle", class: "soft", transform: `rotate(-90 14 ${(top + H - bottom) / 2})` }, root, "operations per cycle");
  const inner = svg("g", { "clip-path": "url(#roof-clip)" }, root);
  roofs.units.forEach(([unit, instruction, rate], i) => {
    const line = svg("line", { x1: left, x2: W - right, y1: Y(rate), y2: Y(rate), stroke: i ? "var(--soft)" : "var(--text)", "stroke-width": i ? 1 : 2 }, inner);
    hint(line, `${unit}: ${instruction}, ${rateText(rate)} operations per cycle`);
    const label = `${unit} (${instruction}): ${rateText(rate)} operations per cycle`;
    if (rate > y0) svg("text", { x: W - right - 6, y: Y(rate) - 5, "text-anchor": "end", class: i ? "soft" : "" }, inner, label);
  });
  memories.forEach((m, i) => {
    const colour = `var(${palette[i % palette.length]})`;
    const end = Math.min(peak / m.rate, x1);
    const line = svg("line", { x1: X(x0), y1: Y(x0 * m.rate), x2: X(end), y2: Y(end * m.rate), stroke: colour, "stroke-width": 1.7 }, inner);
    hint(line, `${m.name}: ${rateText(m.rate)} bytes per cycle for this mix of reads and writes`);
    svg("line", { x1: X(m.x), x2: X(m.x), y1: Y(reached), y2: Y(Math.min(peak, m.x * m.rate)), stroke: colour, "stroke-dasharray": "2 3" }, inner);
  });
  if (roofs.least_bytes) {
    const x = X(roofs.operations / roofs.least_bytes);
    const line = svg("line", { x1: x, x2: x, y1: top, y2: H - bottom, stroke: "var(--mark)", "stroke-dasharray": "5 4" }, inner);
    hint(line, `least external traffic: ${bytesText(roofs.least_bytes)}`);
    svg("text", { x: x - 5, y: H - bottom - 8, "text-anchor": "end", style: "fill:var(--mark)" }, inner, `least traffic, ${bytesText(roofs.least_bytes)}`);
  }
  memories.forEach((m, i) => {
    const dot = svg("circle", { cx: X(m.x), cy: Y(reached), r: 5.5, fill: `var(${palette[i % palette.length]})`, stroke: "var(--card)", "stroke-width": 1.5 }, inner);
    hint(dot, `${m.name}: ${rateText(m.x)} operations per byte (${bytesText(m.bytes)})`);
  });
  let best = roofs.units[0]?.[2] || reached, limit = roofs.units[0]?.[0] || "";
  for (const m of memories) if (m.x * m.rate < best) { best = m.x * m.rate; limit = `ports of ${m.name}`; }
  $("roofline-note").textContent =
    `${rateText(reached)} operations per cycle (${rateText((reached * data.clock_hz) / 1e9)} G operations/s): ${shareText(reached / best)} of the lowest roof over it, ${limit}. ` +
    "A dot per memory, at the operations per byte that passed its ports; casts are no operations.";
  const keys = document.createElement("div");
  keys.className = "legend";
  $("roofline-plot").append(keys);
  legend(keys, memories.map((m, i) => [`${m.name}: ${rateText(m.rate)} B/cycle, ${bytesText(m.bytes)} moved`, `var(${palette[i % palette.length]})`]));
}

// ---- bars
function drawLosses() {
  const rows = data.losses;
  const order = new Map();
  for (const row of rows) for (const [why, cycles] of row.waits) order.set(why, (order.get(why) || 0) + cycles / row.capacity);
  const words = [...order].sort((a, b) => b[1] - a[1]).map((pair) => pair[0]);
  const shades = words.slice(0, 8);
  const colour = (why) => { const i = shades.indexOf(why); return i < 0 ? "var(--c9)" : `var(--c${i + 1})`; };
  const W = 640, left = 120, right = 60, bar = 18, step = 28;
  const root = sheet($("losses-plot"), W, rows.length * step + 4, "time of each unit");
  rows.forEach((row, i) => {
    const y = i * step + 4;
    svg("text", { x: left - 8, y: y + 13, "text-anchor": "end" }, root, clip(row.unit, 16));
    let x = left;
    const put = (cycles, fill, text) => {
      const width = ((W - left - right) * cycles) / row.capacity;
      if (width <= 0) return;
      hint(svg("rect", { x, y, width, height: bar, fill }, root), `${row.unit}: ${text}, ${shareText(cycles / row.capacity)}`);
      x += width;
    };
    put(row.busy, "var(--work)", "works");
    for (const [why, cycles] of row.waits) put(cycles, colour(why), `waits for ${why}`);
    put(row.rest, "var(--idle)", "nothing left to do, or the host runs alone");
    svg("text", { x: W - right + 6, y: y + 13 }, root, shareText(row.busy / row.capacity));
  });
  const keys = document.createElement("div");
  keys.className = "legend";
  $("losses-plot").append(keys);
  const more = words.length > shades.length ? [["other reasons", "var(--c9)"]] : [];
  legend(keys, [["works", "var(--work)"], ...shades.map((why) => [`waits for ${why}`, colour(why)]), ...more, ["nothing left, or the host runs alone", "var(--idle)"]]);
}
function drawBounds() {
  if (!data.bars.length) return;
  $("bounds").hidden = false;
  $("bounds-note").textContent = data.bars_note + " The line: emulated.";
  const W = 640, left = 150, right = 130, step = 24;
  const root = sheet($("bounds-plot"), W, data.bars.length * step + 2, "bounds");
  const most = Math.max(data.cycles, ...data.bars.map((b) => b[1]));
  data.bars.forEach(([name, cycles, reason], i) => {
    const y = i * step + 2, width = ((W - left - right) * cycles) / most;
    svg("text", { x: left - 8, y: y + 13, "text-anchor": "end" }, root, clip(name, 24));
    hint(svg("rect", { x: left, y, width: Math.max(1, width), height: 16, fill: "var(--work)", opacity: i ? 0.65 : 1 }, root), `${name}: ${cyclesText(cycles)}; ${reason}`);
    svg("text", { x: left + (W - left - right) + 6, y: y + 13, class: "soft" }, root, `${cyclesText(cycles)}`);
  });
  const x = left + ((W - left - right) * data.cycles) / most;
  hint(svg("line", { x1: x, x2: x, y1: 0, y2: data.bars.length * step, stroke: "var(--accent)", "stroke-width": 2 }, root), `emulated: ${cyclesText(data.cycles)}`);
}

// A memory's picture ends at its size, or where little of it is used at a power of two below: [bytes]
function topOf(size, reserved, most) {
  let top = Math.max(size, most);
  while (top / 2 >= Math.max(1, most, reserved || 0) * 1.05) top /= 2;
  return top;
}
const topText = (top, size) => (top >= size ? bytesText(top) : `${bytesText(top)}, 1/${group(size / top)} of its size`);

// ---- the whole program
function drawOverview() {
  const rows = data.history, W = 1320, left = 150, right = 110, height = 34, step = 46;
  const root = sheet($("overview-plot"), W, rows.length * step + 26, "busy shares over the whole program");
  const X = (cycle) => left + ((W - left - right) * cycle) / Math.max(1, data.cycles);
  rows.forEach((row, r) => {
    const y = r * step + 4, base = y + height, n = row.share.length;
    const points = [], isRoom = row.kind === "memory";
    const scale = isRoom ? row.size / topOf(row.size, row.reserved, Math.max(...row.share) * row.size) : 1;
    row.share.forEach((share, i) => {
      const a = X(i * data.bucket), b = X(Math.min(data.cycles, (i + 1) * data.bucket)), top = base - height * Math.min(1, Math.max(share * scale, isRoom && share ? 0.02 : 0));
      points.push(`${a.toFixed(2)},${top.toFixed(2)}`, `${b.toFixed(2)},${top.toFixed(2)}`);
    });
    const fill = { unit: "var(--work)", port: "var(--c1)", memory: "var(--c2)" }[row.kind];
    svg("rect", { x: left, y, width: W - left - right, height, fill: "var(--idle)", opacity: 0.55 }, root);
    const area = svg("polygon", { points: `${left},${base} ${points.join(" ")} ${X(data.cycles)},${base}`, fill, opacity: 0.9 }, root);
    const mean = row.share.reduce((sum, share, i) => sum + share * (Math.min(data.cycles, (i + 1) * data.bucket) - i * data.bucket), 0) / Math.max(1, data.cycles);
    const most = Math.max(...row.share);
    const many = row.copies > 1 ? `, ${row.copies} cores` : "";
    svg("text", { x: left - 8, y: y + 14, "text-anchor": "end" }, root, clip(row.name, 22));
    svg("text", { x: left - 8, y: y + 28, "text-anchor": "end", class: "soft" }, root, (isRoom ? `up to ${bytesText(row.size / scale)}` : row.kind) + many);
    svg("text", { x: W - right + 8, y: y + 14 }, root, isRoom ? bytesText(mean * row.size) : shareText(mean));
    svg("text", { x: W - right + 8, y: y + 28, class: "soft" }, root, isRoom ? `live, has ${bytesText(row.size)}` : "busy");
    hint(area, `${row.name}: mean ${shareText(mean)}, at most ${shareText(most)} in ${cyclesText(data.bucket)}`);
    if (row.reserved) {
      const top = base - (height * row.reserved * scale) / row.size;
      hint(svg("line", { x1: left, x2: W - right, y1: top, y2: top, stroke: "var(--accent)", "stroke-dasharray": "4 3" }, root), `set aside by the schedule: ${bytesText(row.reserved)}`);
    }
    if (r === rows.length - 1)
      for (const t of ticks(0, data.cycles, 8)) svg("text", { x: X(t), y: base + 18, "text-anchor": "middle", class: "soft" }, root, cyclesText(t));
  });
  if (data.shown < data.num_calls) {
    const x = X(data.complete);
    hint(svg("line", { x1: x, x2: x, y1: 0, y2: rows.length * step, stroke: "var(--accent)" }, root), `the timeline below is complete up to ${cyclesText(data.complete)}`);
  }
  $("overview-note").textContent =
    `All ${group(data.num_calls)} calls; each step is the mean of ${cyclesText(data.bucket)}. Units and ports: share of cycles they are busy. ` +
    "Memories: live bytes (written, and to be read again), up to their size or a power of two below it; dashed: what the schedule sets aside.";
}

// ---- the timeline: calls by lane, columns as typed arrays
const column = (values, n) => (typeof values === "number" ? new Float64Array(n).fill(values) : Float64Array.from(values));
const calls = (() => {
  const raw = data.calls, n = data.shown, found = { n, words: raw.words, wait: raw.wait };
  for (const name of ["family", "copy", "instance", "issue", "latency", "stall", "start"]) found[name] = column(raw[name], n);
  for (let i = 1; i < n; i++) found.start[i] += found.start[i - 1];
  found.loops = raw.loops.map((values) => column(values, n));
  return found;
})();
const lanes = (() => {
  const byKey = new Map();
  for (let i = 0; i < calls.n; i++) {
    const place = data.families[calls.family[i]].place + calls.copy[i];
    const key = place * 4096 + calls.instance[i];
    if (!byKey.has(key)) byKey.set(key, { place, instance: calls.instance[i], calls: [] });
    byKey.get(key).calls.push(i);
  }
  const found = [...byKey].sort((a, b) => a[0] - b[0]).map((pair) => pair[1]);
  for (const lane of found) {
    lane.calls = Int32Array.from(lane.calls);
    lane.name = data.lanes[lane.place].names[lane.instance];
    lane.core = data.lanes[lane.place].core;
  }
  return found.sort((a, b) => (a.core === b.core ? 0 : a.core < b.core ? -1 : 1) && a.core.localeCompare(b.core, "en", { numeric: true }));
})();
let horizon = 1;
for (let i = 0; i < calls.n; i++) horizon = Math.max(horizon, calls.start[i] + calls.latency[i]);
const view = { from: 0, to: horizon };
const LEFT = 150, LANE = 24, AXIS = 24, TASK = 16;
const shownTasks = data.tasks.filter((task) => task[1] < horizon);
for (const task of shownTasks) { // when calls of it run: joined intervals
  const mine = [];
  for (let i = 0; i < calls.n; i++)
    if (data.families[calls.family[i]].task === task[3]) mine.push([calls.start[i], calls.start[i] + calls.latency[i]]);
  mine.sort((a, b) => a[0] - b[0]);
  const joined = [];
  for (const [from, to] of mine) {
    const last = joined[joined.length - 1];
    if (last && from <= last[1]) last[1] = Math.max(last[1], to); else joined.push([from, to]);
  }
  task.push(joined);
}
const headHeight = AXIS + (shownTasks.length > 1 ? shownTasks.length * TASK + 6 : 0);
const rooms = data.live.map((room) => {
  const cycles = Float64Array.from(room.cycles);
  for (let i = 1; i < cycles.length; i++) cycles[i] += cycles[i - 1];
  return { ...room, cycles };
}).sort((a, b) => (a.core === b.core ? 0 : a.core.localeCompare(b.core, "en", { numeric: true })));
const ROOM = 58;

function surface(canvas, height) {
  const width = canvas.parentElement.clientWidth, ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = '11px system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif';
  return [pen, width];
}
const plotWidth = () => Math.max(50, $("timeline-box").clientWidth - LEFT - 8);
const toX = (cycle, width) => LEFT + ((cycle - view.from) / (view.to - view.from)) * width;
function firstFrom(lane, cycle) { // first call of the lane that ends after the cycle
  let low = 0, high = lane.calls.length;
  while (low < high) {
    const mid = (low + high) >> 1, i = lane.calls[mid];
    if (calls.start[i] + calls.issue[i] > cycle) high = mid; else low = mid + 1;
  }
  return low;
}
function drawAxis(pen, width, height) {
  pen.fillStyle = theme["--soft"];
  pen.strokeStyle = theme["--line"];
  pen.textAlign = "center";
  for (const t of ticks(view.from, view.to, Math.max(2, width / 150))) {
    const x = toX(t, width);
    pen.beginPath(); pen.moveTo(x, AXIS - 4); pen.lineTo(x, height); pen.stroke();
    pen.fillText(`${group(t)}`, x, 13);
  }
  pen.textAlign = "right";
  pen.fillText("cycle", LEFT - 8, 13);
}
function drawMissing(pen, width, height) {
  if (data.shown === data.num_calls) return;
  const x = Math.max(LEFT, toX(data.complete, width));
  if (x > LEFT + width) return;
  pen.fillStyle = theme["--missing"];
  pen.fillRect(x, AXIS, LEFT + width - x, height - AXIS);
}
function drawLane(pen, lane, y, width) {
  const scale = width / (view.to - view.from);
  pen.fillStyle = theme["--idle"];
  pen.globalAlpha = 0.45;
  pen.fillRect(LEFT, y, width, LANE - 6);
  pen.globalAlpha = 1;
  let k = firstFrom(lane, view.from);
  while (k < lane.calls.length) {
    const i = lane.calls[k];
    if (calls.start[i] >= view.to) break;
    const x = Math.max(LEFT, toX(calls.start[i], width)), end = Math.min(LEFT + width, toX(calls.start[i] + calls.issue[i], width));
    const name = data.families[calls.family[i]].instruction;
    pen.fillStyle = theme[colourOf.get(name)];
    if (calls.issue[i] * scale >= 1.5) {
      pen.fillRect(x, y, Math.max(0.8, end - x - (end - x > 4 ? 0.6 : 0)), LANE - 6);
      if (end - x > 46) {
        pen.save();
        pen.beginPath(); pen.rect(x, y, end - x, LANE - 6); pen.clip();
        pen.fillStyle = "#fff"; pen.textAlign = "left";
        pen.fillText(name, x + 4, y + 13);
        pen.restore();
      }
      k++;
      continue;
    }
    // short calls: one column of pixels shows how busy it is, in the colour of its longest
    const column = Math.floor(x), until = view.from + (column + 1 - LEFT) / scale;
    let busy = 0; // [cycles]
    const most = new Map();
    for (; k < lane.calls.length && calls.start[lane.calls[k]] < until; k++) {
      const j = lane.calls[k], other = data.families[calls.family[j]].instruction;
      if (calls.issue[j] * scale >= 1.5) break; // long ones draw themselves
      busy += calls.issue[j];
      most.set(other, (most.get(other) || 0) + calls.issue[j]);
    }
    const top = [...most].sort((a, b) => b[1] - a[1])[0];
    if (top) pen.fillStyle = theme[colourOf.get(top[0])];
    const share = Math.min(1, busy * scale);
    pen.globalAlpha = 0.18 + 0.82 * share;
    pen.fillRect(column, y, 1, LANE - 6);
    pen.globalAlpha = 1;
  }
}
function drawTimeline() {
  const height = headHeight + lanes.reduce((sum, lane, i) => sum + LANE + (lane.core && lane.core !== lanes[i - 1]?.core ? 16 : 0), 0) + 4;
  const [pen, full] = surface($("timeline-canvas"), height);
  const width = full - LEFT - 8;
  drawAxis(pen, width, height);
  if (shownTasks.length > 1)
    shownTasks.forEach(([name, first, last, , joined], t) => {
      const y = AXIS + t * TASK;
      const bar = (from, to, inset) => {
        const a = Math.max(LEFT, toX(from, width)), b = Math.min(LEFT + width, toX(to, width));
        if (b > a) pen.fillRect(a, y + inset, Math.max(0.7, b - a), TASK - 2 * inset);
      };
      pen.fillStyle = theme["--text"]; pen.textAlign = "right";
      pen.fillText(clip(name, 22), LEFT - 8, y + 11);
      pen.fillStyle = theme["--mark"]; pen.globalAlpha = 0.3;
      bar(first, last, 6);
      pen.globalAlpha = 0.85;
      for (const [from, to] of joined) if (from < view.to && to > view.from) bar(from, to, 3);
      pen.globalAlpha = 1;
    });
  let y = headHeight, core = "";
  for (const lane of lanes) {
    if (lane.core && lane.core !== core) {
      core = lane.core;
      pen.fillStyle = theme["--soft"]; pen.textAlign = "left";
      pen.fillText(core, 4, y + 11);
      y += 16;
    }
    lane.y = y;
    pen.fillStyle = theme["--text"]; pen.textAlign = "right";
    pen.fillText(clip(lane.name, 22), LEFT - 8, y + 13);
    drawLane(pen, lane, y, width);
    y += LANE;
  }
  drawMissing(pen, width, height);
  $("range").textContent = `cycles ${group(view.from)} to ${group(view.to)}: ${timeText(view.to - view.from)}`;
}
function drawLive() {
  const height = AXIS + rooms.length * ROOM + 4;
  const [pen, full] = surface($("live-canvas"), height);
  const width = full - LEFT - 8;
  drawAxis(pen, width, height);
  rooms.forEach((room, r) => {
    const y = AXIS + r * ROOM + 4, base = y + ROOM - 16, tall = ROOM - 16;
    let most = 0;
    for (const bytes of room.bytes) most = Math.max(most, bytes);
    const limit = topOf(room.size, room.reserved, most);
    room.y = y;
    pen.fillStyle = theme["--idle"]; pen.globalAlpha = 0.45;
    pen.fillRect(LEFT, y, width, tall);
    pen.globalAlpha = 1;
    pen.fillStyle = theme["--text"]; pen.textAlign = "right";
    pen.fillText(clip(room.name, 22), LEFT - 8, y + 11);
    pen.fillStyle = theme["--soft"];
    pen.fillText(`${bytesText(most)}, has ${bytesText(room.size)}`, LEFT - 8, y + 25);
    if (room.core) pen.fillText(clip(room.core, 24), LEFT - 8, y + 39);
    pen.fillStyle = theme["--c2"];
    // per column of pixels the most that is live in it
    let k = 0, level = 0;
    while (k < room.cycles.length && room.cycles[k] <= view.from) level = room.bytes[k++];
    for (let x = 0; x < width; x++) {
      const until = view.from + ((x + 1) / width) * (view.to - view.from);
      let high = level;
      while (k < room.cycles.length && room.cycles[k] < until) { level = room.bytes[k++]; high = Math.max(high, level); }
      const top = tall * Math.min(1, high / limit);
      if (high) pen.fillRect(LEFT + x, base - Math.max(0.7, top), 1, Math.max(0.7, top));
    }
    if (room.reserved) {
      const at = base - (tall * room.reserved) / limit;
      pen.strokeStyle = theme["--accent"]; pen.setLineDash([4, 3]);
      pen.beginPath(); pen.moveTo(LEFT, at); pen.lineTo(LEFT + width, at); pen.stroke();
      pen.setLineDash([]);
    }
    pen.fillStyle = theme["--soft"]; pen.textAlign = "left";
    const renamed = room.renamed ? "; writes do not wait for readers: what they replace lives on beside it" : "";
    pen.fillText(`top: ${topText(limit, room.size)}${renamed}`, LEFT + 4, base + 11);
  });
  drawMissing(pen, width, height);
}

// ---- what is pointed at
const affine = ([constant, terms], i) => terms.reduce((sum, [loop, factor]) => sum + factor * calls.loops[loop][i], constant);
function spanOf([limit, total, offset, unit], i) {
  return total === null ? limit : Math.min(limit, Math.ceil((total - affine(offset, i)) / unit));
}
function describe(i) {
  const family = data.families[calls.family[i]];
  const extents = family.extents.map(([name, span]) => `${name}=${spanOf(span, i)}`).join(", ");
  const lines = [`${family.instruction}(${extents})` + (family.task === null ? "" : `   task ${family.task}`)];
  lines.push(`cycles ${group(calls.start[i])} to ${group(calls.start[i] + calls.issue[i])} (${cyclesText(calls.issue[i])}), results at ${group(calls.start[i] + calls.latency[i])}`);
  if (calls.stall[i]) lines.push(`unit idle for ${cyclesText(calls.stall[i])} before: waited for ${calls.words[calls.wait[i]]}`);
  if (family.loops.length) lines.push(family.loops.map((name, d) => `${name}=${calls.loops[d][i]}`).join(", "));
  for (const [name, memory, offset, turns] of family.operands) {
    const at = turns.reduce((sum, [counter, modulo, stride]) => sum + (affine(counter, i) % modulo) * stride, affine(offset, i));
    lines.push(`${name}: ${memory} byte ${group(at)}`);
  }
  return lines.join("\n");
}
function showTip(event, text) {
  const tip = $("tip");
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
  tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8) + "px";
}
function cycleAt(event, canvas) {
  const x = event.clientX - canvas.getBoundingClientRect().left;
  return view.from + ((x - LEFT) / plotWidth()) * (view.to - view.from);
}
function pointAtCall(event) {
  const y = event.clientY - $("timeline-canvas").getBoundingClientRect().top;
  const cycle = cycleAt(event, $("timeline-canvas"));
  const lane = lanes.find((l) => y >= l.y && y < l.y + LANE - 6);
  if (!lane || cycle < view.from) return showTip(event, "");
  const i = lane.calls[firstFrom(lane, cycle)];
  showTip(event, i !== undefined && calls.start[i] <= cycle ? describe(i) : "");
}
function pointAtRoom(event) {
  const y = event.clientY - $("live-canvas").getBoundingClientRect().top;
  const cycle = cycleAt(event, $("live-canvas"));
  const room = rooms.find((r) => y >= r.y && y < r.y + ROOM - 16);
  if (!room || cycle < view.from) return showTip(event, "");
  let low = 0, high = room.cycles.length;
  while (low < high) { const mid = (low + high) >> 1; if (room.cycles[mid] <= cycle) low = mid + 1; else high = mid; }
  const bytes = low ? room.bytes[low - 1] : 0;
  showTip(event, `${room.name} at cycle ${group(cycle)}: ${bytesText(bytes)} live, ${shareText(bytes / room.size)} of ${bytesText(room.size)}`);
}

// ---- zoom and pan
let pending = false;
function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; drawTimeline(); drawLive(); });
}
function setView(from, to) {
  const span = Math.min(horizon, Math.max(8, to - from));
  view.from = Math.min(Math.max(0, from), horizon - span);
  view.to = view.from + span;
  redraw();
}
function zoom(factor, at) {
  setView(at - (at - view.from) * factor, at + (view.to - at) * factor);
}
function beginning() { // as much as a reader can tell apart
  const some = Math.min(calls.n, 600);
  let to = 1;
  for (let i = 0; i < some; i++) to = Math.max(to, calls.start[i] + calls.latency[i]);
  setView(0, Math.min(horizon, to));
}
function connect(canvas, point) {
  let drag = null;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const by = (event.deltaX / plotWidth()) * (view.to - view.from);
      setView(view.from + by, view.to + by);
    } else zoom(event.deltaY < 0 ? 0.8 : 1.25, cycleAt(event, canvas));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, from: view.from, to: view.to }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", () => { drag = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return point(event);
    const by = ((drag.x - event.clientX) / plotWidth()) * (drag.to - drag.from);
    setView(drag.from + by, drag.to + by);
  });
  canvas.addEventListener("pointerleave", (event) => showTip(event, ""));
  canvas.addEventListener("dblclick", () => setView(0, horizon));
}
function start() {
  readTheme();
  drawRoofline();
  drawLosses();
  drawBounds();
  drawOverview();
  const missing = data.num_calls - data.shown;
  $("timeline-note").textContent = (missing
    ? `The first ${group(data.shown)} of ${group(data.num_calls)} calls in program order; complete up to cycle ${group(data.complete)} of ${group(data.cycles)}, shaded from there on. `
    : `All ${group(data.num_calls)} calls. `) +
    "A bar is as long as the call keeps its unit. Wheel or buttons zoom, dragging moves, pointing at a call says what it is.";
  legend($("legend"), data.instructions.map((name) => [name, `var(${colourOf.get(name)})`]));
  if (!rooms.length) $("live-box").previousElementSibling.textContent = "No memory that the program manages holds anything.";
  $("zoom-in").onclick = () => zoom(0.5, (view.from + view.to) / 2);
  $("zoom-out").onclick = () => zoom(2, (view.from + view.to) / 2);
  $("zoom-all").onclick = () => setView(0, horizon);
  $("zoom-start").onclick = beginning;
  $("timeline-box").addEventListener("keydown", (event) => {
    const span = view.to - view.from, by = { ArrowLeft: -0.2, ArrowRight: 0.2 }[event.key];
    if (by) setView(view.from + by * span, view.to + by * span);
    else if (event.key === "+") zoom(0.5, (view.from + view.to) / 2);
    else if (event.key === "-") zoom(2, (view.from + view.to) / 2);
    else return;
    event.preventDefault();
  });
  connect($("timeline-canvas"), pointAtCall);
  connect($("live-canvas"), pointAtRoom);
  beginning();
  addEventListener("resize", redraw);
  const again = () => { readTheme(); drawTimeline(); drawLive(); };
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", again);
  addEventListener("beforeprint", again);
}
start();
