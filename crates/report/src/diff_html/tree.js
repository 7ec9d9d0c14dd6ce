// Both trees as one flame graph: before, after or the difference, as costs or as shares.
function unpack(text, n) {
  const bytes = atob(text), numbers = new Float64Array(n);
  for (let i = 0, at = 0; i < n; i++) {
    let v = 0, factor = 1, byte;
    do { byte = bytes.charCodeAt(at++); v += (byte & 127) * factor; factor *= 128; } while (byte & 128);
    numbers[i] = v;
  }
  return numbers;
}
function signs(numbers) {
  for (let i = 0; i < numbers.length; i++) { const v = numbers[i]; numbers[i] = v % 2 ? -(v + 1) / 2 : v / 2; }
  return numbers;
}
const T = D.tree, N = T.boxes;
const parent = Int32Array.from(unpack(T.parent, N), (up, i) => up ? i - up : -1);
const group = Int32Array.from(signs(unpack(T.function, N))), fate = Uint8Array.from(unpack(T.fate, N));
const own = [T.before, T.after].map(text => signs(unpack(text, N)).map(v => v * T.quantum)), cost = [new Float64Array(N), new Float64Array(N)];
const boxName = i => group[i] < 0 ? `${count(-group[i])} smaller` : nameOf(group[i]);

const IDLE = D.layers.indexOf("idle");
const isIdle = i => group[i] >= 0 && F.layer[group[i]] === IDLE;
const FATES = [["", "on both sides"], ["+", "new"], ["−", "gone"], ["⇢", "moved"], ["≈", "renamed"]];
const wholes = [0, 0];
let mode = "difference", scale = "absolute", widths = new Float64Array(N), steepest = 1;
let marked = [], at = -1;
const rankOf = new Map();
for (const s of D.suspects) for (const b of s.boxes) if (!rankOf.has(b)) rankOf.set(b, s.rank);

// What a box costs on both sides, its callees included. Without idle time, unless that is asked for.
function sum() {
  const idle = $("idle").checked;
  for (const side of [0, 1]) {
    const c = cost[side];
    c.set(own[side]);
    if (!idle) for (let i = 0; i < N; i++) if (isIdle(i)) c[i] = 0;
    wholes[side] = 0;
    for (let i = N - 1; i >= 0; i--) if (parent[i] >= 0) c[parent[i]] += c[i]; else wholes[side] += c[i];
  }
}
const part = (side, i) => wholes[side] > 0 ? cost[side][i] / wholes[side] : 0;
const delta = i => scale === "share" ? part(1, i) - part(0, i) : cost[1][i] - cost[0][i];

// Widths add up: where both sides count, a box has the larger of its two own costs and what its callees have.
function layOut() {
  const idle = $("idle").checked, share = scale === "share";
  const unit = [0, 1].map(side => share ? (wholes[side] > 0 ? 1 / wholes[side] : 0) : 1);
  const w = widths, [b, a] = own;
  for (let i = 0; i < N; i++) {
    const before = Math.max(0, b[i] * unit[0]), after = Math.max(0, a[i] * unit[1]);
    w[i] = !idle && isIdle(i) ? 0 : mode === "before" ? before : mode === "after" ? after : Math.max(before, after);
  }
  for (let i = N - 1; i >= 0; i--) if (parent[i] >= 0) w[parent[i]] += w[i];
  steepest = 0;
  for (let i = 0; i < N; i++) steepest = Math.max(steepest, Math.abs(delta(i)));
  flame.lay(w, share || mode === "difference" ? 0 : Math.max(...wholes));
  $("canvas").dataset.mode = `${mode} ${scale}`;
  legend();
}

// Red for more, blue for less, deeper with the size of the difference; both are told apart by people who see no red.
const STEPS = 10, ramp = [];
function ramps() {
  const mix = (from, to, t) => `rgb(${from.map((c, k) => Math.round(c + (to[k] - c) * t)).join(" ")})`;
  const [none, more, less] = dark ? [[66, 62, 58], [240, 104, 84], [92, 160, 236]] : [[236, 232, 226], [190, 40, 48], [38, 106, 176]];
  for (let k = -STEPS; k <= STEPS; k++) ramp[k + STEPS] = mix(none, k > 0 ? more : less, Math.abs(k) / STEPS);
}
function heat(v) {
  if (!steepest || !v) return ramp[STEPS];
  return ramp[STEPS + Math.sign(v) * Math.ceil(Math.sqrt(Math.abs(v) / steepest) * STEPS)];
}
const colours = new Map();
function layered(f) {
  if (!colours.has(f)) colours.set(f, layerColour(F.layer[f], nameOf(f)));
  return colours.get(f);
}

// Stripes for what is new, a dashed frame for what is gone, dots for what moved.
const patterns = new Map();
function pattern(ctx, kind, ink) {
  const key = kind + ink;
  if (!patterns.has(key)) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const t = tile.getContext("2d");
    t.strokeStyle = t.fillStyle = ink;
    t.globalAlpha = .28;
    t.lineWidth = 1.6;
    t.beginPath();
    if (kind === 1) { t.moveTo(-2, 6); t.lineTo(6, -2); t.moveTo(2, 10); t.lineTo(10, 2); }
    else { t.arc(2, 2, 1.1, 0, 7); t.arc(6, 6, 1.1, 0, 7); }
    if (kind === 1) t.stroke(); else t.fill();
    patterns.set(key, ctx.createPattern(tile, "repeat"));
  }
  return patterns.get(key);
}
function decorate(ctx, i, x, y, w, h, ink, kind = fate[i]) {
  if (kind === 1 || kind === 3) { ctx.fillStyle = pattern(ctx, kind, ink); ctx.fillRect(x, y, w, h); }
  if (kind === 2 && w > 5) {
    ctx.strokeStyle = ink; ctx.lineWidth = 1.5;
    ctx.setLineDash([5, 3]);
    ctx.strokeRect(x + 1, y + 1, w - 2, h - 2);
    ctx.setLineDash([]);
  }
  if (rankOf.has(i)) {
    ctx.strokeStyle = ink; ctx.lineWidth = 2;
    ctx.strokeRect(x + 1, y + 1, Math.max(1, w - 2), h - 2);
  }
}
function prefix(i) {
  const sign = FATES[fate[i]][0], rank = rankOf.get(i);
  return (rank ? `#${rank} ` : "") + (sign ? sign + " " : "");
}

function describe(i) {
  const f = group[i], facts = [];
  if (f < 0) facts.push("contexts drawn together");
  else {
    if (placeOf(f)) facts.push(placeOf(f));
    facts.push(D.layers[F.layer[f]]);
    if (fate[i]) facts.push(FATES[fate[i]].join(" "));
    if (rankOf.has(i)) facts.push(`suspect #${rankOf.get(i)}`);
  }
  const table = element("table", "");
  const row = (tag, ...cells) => table.append(parts("tr", "", element("th", cells[0]), ...cells.slice(1).map(c => element(tag, c))));
  row("th", "", "before", "after", "change");
  const [b, a] = cost;
  row("td", "total", value(b[i]), value(a[i]), signed(a[i] - b[i]));
  row("td", "self", value(own[0][i]), value(own[1][i]), signed(own[1][i] - own[0][i]));
  const points = (part(1, i) - part(0, i)) * 100;
  row("td", "share", inPercent(part(0, i)), inPercent(part(1, i)), `${points < 0 ? "−" : "+"}${Math.abs(points).toFixed(1)} points`);
  table.lastChild.previousSibling.previousSibling.lastChild.className = tone(a[i] - b[i]);
  return [element("b", boxName(i)), element("div", facts.join(" · "), "place"), table];
}
const brief = i => `${arrow(cost[0][i], cost[1][i])}, ${[signed(cost[1][i] - cost[0][i]), grown(cost[1][i] - cost[0][i], cost[0][i])].filter(t => t).join(", ")}`;

const flame = flameGraph({
  parent, group, name: boxName, decorate, prefix, describe,
  fill: i => mode === "difference" ? heat(delta(i)) : layered(group[i]),
  hint: "Click a call to zoom in. Callees are below their callers; costs are means over the runs.",
  allText: () => mode === "difference" ? `all  ${arrow(...wholes)}` : `all ${mode}  ${value(wholes[mode === "after" ? 1 : 0])}`,
  note: brief,
  spoken: i => `${boxName(i)}: ${brief(i)}${fate[i] ? ", " + FATES[fate[i]][1] : ""}`,
  onEscape() {
    if (!$("search").value && !marked.length) return false;
    $("search").value = "";
    search();
    return true;
  },
});

function legend() {
  const keys = [];
  if (mode === "difference") {
    const bar = element("span", "", "ramp"), most = scale === "share" ? inPercent(steepest) : value(steepest);
    bar.style.background = `linear-gradient(to right, ${ramp.join(",")})`;
    keys.push(parts("span", "key", element("span", `less −${most}`), bar, element("span", `+${most} more`)));
    keys.push(element("span", scale === "share" ? "width: the larger share" : "width: the larger cost"));
  } else {
    const used = new Set();
    for (let i = 0; i < N; i++) if (group[i] >= 0 && widths[i] > 0) used.add(F.layer[group[i]]);
    keys.push(...[...used].sort((a, b) => a - b).map(layerKey));
    keys.push(element("span", scale === "share" ? "width: share of all" : "width: cost, before and after on one scale"));
  }
  const seen = new Set(fate);
  for (const k of [1, 2, 3, 4]) {
    if (!seen.has(k)) continue;
    const swatch = element("canvas", "");
    swatch.width = 30; swatch.height = 15;
    const ctx = swatch.getContext("2d"), fill = ramp[STEPS];
    ctx.fillStyle = fill;
    ctx.fillRect(0, 0, 30, 15);
    decorate(ctx, -1, 0, 0, 30, 15, inkOn(fill), k);
    ctx.fillStyle = inkOn(fill);
    ctx.font = "12px monospace";
    ctx.fillText(FATES[k][0], 11, 12);
    keys.push(parts("span", "key", swatch, element("span", FATES[k][1])));
  }
  if (rankOf.size) keys.push(element("span", "#1 framed: suspect"));
  $("legend").replaceChildren(...keys);
}

// Marks rows and goes to the first; `n` goes on to the next.
function mark(rows) {
  const bits = new Uint8Array(N);
  for (const i of rows) bits[i] = 1;
  marked = rows;
  at = -1;
  flame.find(bits);
}
function nextMarked() {
  if (!marked.length) return;
  for (let tries = 0; tries < marked.length; tries++) {
    at = (at + 1) % marked.length;
    if (flame.widthOf(marked[at]) > 0) { flame.show(marked[at], 90); return; }
  }
}
function showBoxes(s) {
  if (mode === "before" && s.kind === "new" || mode === "after" && s.kind === "gone") choose("mode", "difference");
  $("search").value = "";
  mark(s.boxes);
  const fewer = s.boxes.length < s.contexts ? `, the heaviest ${count(s.boxes.length)} are marked` : "";
  $("found").textContent = `${nameOf(s.function)}: ${counted(s.contexts, "context")}${fewer}` + (s.boxes.length > 1 ? "; n goes to the next" : "");
  $("flame").scrollIntoView();
  $("scroll").focus({ preventScroll: true });
  nextMarked();
}
function search() {
  const text = $("search").value.trim(), found = $("found");
  marked = [];
  if (!text) { found.textContent = ""; flame.find(null); return; }
  const test = finder(text);
  if (!test) { found.textContent = "invalid regular expression"; return; }
  const hits = F.name.map((name, f) => test(name) || test(F.place[f]));
  // A match below a match is part of it already.
  const inside = new Uint8Array(N), rows = [], sums = [0, 0], functions = new Set();
  for (let i = 0; i < N; i++) {
    const p = parent[i], hit = group[i] >= 0 && hits[group[i]];
    if (hit && widths[i] > 0) { rows.push(i); functions.add(group[i]); }
    if (p >= 0 && inside[p]) inside[i] = 1;
    else if (hit) { inside[i] = 1; sums[0] += cost[0][i]; sums[1] += cost[1][i]; }
  }
  rows.sort((a, b) => widths[b] - widths[a] || a - b);
  mark(rows);
  found.textContent = rows.length
    ? `${counted(rows.length, "context")} of ${counted(functions.size, "function")}: ${arrow(...sums)} (${signed(sums[1] - sums[0])})`
    : "nothing found";
}
