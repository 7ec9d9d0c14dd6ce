// One profile: a metric and threads to choose, width is cost.
const N = D.parent.length;
const self = new Float64Array(N), total = new Float64Array(N);
let metric = D.metric, role = -1;

const nameOf = i => D.function[i] < 0 ? `${count(-D.function[i])} smaller` : D.functions[D.function[i]].name;
const format = stored => amount(stored, D.metrics[metric]);
const colours = new Map();
function percent(part, of) {
  const share = of > 0 ? part / of : 0;
  return share > 0 && share < .0005 ? "<0.1%" : `${(share * 100).toFixed(1)}%`;
}

const graph = flameGraph({
  parent: Int32Array.from(D.parent),
  group: Int32Array.from(D.function),
  name: nameOf,
  fill(i) {
    const f = D.function[i];
    if (!colours.has(f)) colours.set(f, layerColour(D.functions[f].layer, D.functions[f].name));
    return colours.get(f);
  },
  found: () => dark ? "#c04bd0" : "#e07bf0",
  hint: "Click a call to zoom in. Width is cost; callees are below their callers.",
  allText: () => `all  ${format(graph.whole)}`,
  note: i => `${format(total[i])}, ${percent(total[i], graph.whole)} of all`,
  spoken: i => `${nameOf(i)}: ${format(total[i])}, ${percent(total[i], graph.whole)} of all`,
  describe(i) {
    const f = D.function[i], whole = graph.whole;
    const { place, layer } = f < 0 ? {} : D.functions[f];
    const where = f < 0 ? "contexts too small to draw" : place ? `${place} · ${D.layers[layer]}` : D.layers[layer];
    const list = element("dl", "");
    const row = (key, value, share) => list.append(element("dt", key), element("dd", value), element("dd", share, "share"));
    row("total", format(total[i]), `${percent(total[i], whole)} of all`);
    if (f >= 0) row("self", format(self[i]), `${percent(self[i], whole)} of all`);
    const zoom = graph.zoomed;
    if (zoom >= 0 && zoom !== i && total[i] <= total[zoom]) row("", percent(total[i], total[zoom]), "of the zoomed call");
    else if (D.parent[i] >= 0) row("", percent(total[i], total[D.parent[i]]), "of its caller");
    return [element("b", nameOf(i)), element("div", where, "place"), list];
  },
  onEscape() {
    if (!$("search").value) return false;
    $("search").value = "";
    search();
    return true;
  },
});

// Sums what is chosen, then lays boxes out from left to right, the heaviest call first.
function layOut() {
  self.fill(0);
  for (const s of D.series) {
    if (s.metric !== metric || (role >= 0 && s.role !== role)) continue;
    for (let k = 0; k < s.node.length; k++) self[s.node[k]] += Math.max(0, s.value[k]);
  }
  total.set(self);
  for (let i = N - 1; i >= 0; i--) if (D.parent[i] >= 0) total[D.parent[i]] += total[i];
  graph.arrange(total);
  graph.lay(total, 0);
}

function search() {
  const text = $("search").value.trim(), found = $("found");
  if (!text) { found.textContent = ""; graph.find(null); return; }
  const test = finder(text);
  if (!test) { found.textContent = "invalid regular expression"; return; }
  const functions = D.functions.map(f => test(f.name) || !!f.place && test(f.place));
  // A match below a match is part of it already.
  let cost = 0;
  const inside = new Uint8Array(N), matches = new Uint8Array(N);
  for (let i = 0; i < N; i++) {
    const p = D.parent[i];
    if (functions[D.function[i]]) matches[i] = 1;
    if (p >= 0 && inside[p]) inside[i] = 1;
    else if (matches[i]) { inside[i] = 1; cost += total[i]; }
  }
  const size = functions.filter(f => f).length;
  found.textContent = size ? `${percent(cost, graph.whole)} in ${counted(size, "function")}` : "nothing found";
  graph.find(matches);
}

addEventListener("keydown", event => {
  if (event.target.id === "search" && (event.key === "Escape" || event.key === "Enter")) {
    if (event.key === "Escape") { event.target.value = ""; search(); }
    $("scroll").focus();
  } else if (!commonKey(event)) graph.key(event);
});
$("search").addEventListener("input", search);
$("whole").onclick = () => graph.zoomTo(-1);

onTheme.push(() => {
  colours.clear();
  const used = new Set(D.functions.map(f => f.layer));
  $("legend").replaceChildren(...[...used].sort((a, b) => a - b).map(layerKey));
});
function options(select, names, chosen, change) {
  names.forEach(([value, text]) => {
    const option = element("option", text);
    option.value = value;
    option.selected = value === chosen;
    select.append(option);
  });
  select.onchange = () => { change(Number(select.value)); layOut(); search(); };
}

$("title").textContent = D.title;
$("about").textContent = D.about;
$("about").title = D.about;
options($("metric"), D.metrics.map((m, k) => [k, m.name]), metric, k => { metric = k; });
options($("role"), [[-1, "all"], ...D.roles.map((r, k) => [k, r.threads > 1 ? `${r.name} (${r.threads})` : r.name])], role, k => { role = k; });
$("metric-label").hidden = D.metrics.length < 2;
$("role-label").hidden = D.roles.length < 2;
const notes = [];
if (D.cut) notes.push(D.cut === 1 ? `1 context below ${D.cut_share * 100}% is drawn in grey` : `${count(D.cut)} contexts below ${D.cut_share * 100}% are drawn together, in grey`);
notes.push(`perfblame ${D.version}`);
$("notes").textContent = notes.join(" · ");
theme(night.matches);
layOut();
graph.resize();
$("scroll").focus({ preventScroll: true });
