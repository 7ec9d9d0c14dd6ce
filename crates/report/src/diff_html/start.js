// Puts the parts together.
function choice(id, names, chosen, change) {
  for (const name of names) {
    const input = element("input", ""), span = element("span", name);
    input.type = "radio";
    input.name = id;
    input.value = name;
    input.checked = name === chosen;
    input.onchange = () => change(name);
    $(id).append(parts("label", "", input, span));
  }
}
function choose(id, name) {
  const input = document.querySelector(`#${id} input[value="${name}"]`);
  if (input.checked) return;
  input.checked = true;
  input.onchange();
}

answer();
suspects("suspects", D.suspects, "more", {
  regressed: "Nothing stands out: the cost is spread too thinly to name a function.",
  improved: "Nothing got slower by more than noise.",
  unchanged: "Nothing got slower by more than noise.",
  inconclusive: "These runs cannot separate a slowdown from noise.",
}[D.verdict]);
suspects("improvements", D.improvements, "less");
suspects("moved", D.moved, "soft");
functionTable();
stagesSection();
for (const id of ["improvements", "moved", "warnings"]) $(id).hidden = !D[id].length;
rest();
foot();

choice("mode", ["before", "after", "difference"], mode, name => { mode = name; layOut(); });
choice("scale", ["absolute", "share"], scale, name => { scale = name; layOut(); });
choice("heat", ["delta", "latency"], heatOf, name => { heatOf = name; heatMap(); });
const idleCost = [0, 0];
for (let i = 0; i < N; i++) if (isIdle(i)) for (const side of [0, 1]) idleCost[side] += own[side][i];
$("idle-label").hidden = !idleCost[0] && !idleCost[1];
$("idle-label").querySelector("span").textContent = `idle (${arrow(...idleCost)})`;
$("idle").onchange = () => { sum(); layOut(); search(); };
if (T.folded[0]) $("folded").textContent = `${count(T.folded[0])} small contexts are drawn together in grey, one box per caller, with their costs (${arrow(T.folded[1], T.folded[2])}). perfblame show and --format json have them all.`;

sum();
{
  const heaviest = new Float64Array(N);
  for (let i = 0; i < N; i++) heaviest[i] = Math.max(cost[0][i], cost[1][i]);
  flame.arrange(heaviest);
}
onTheme.push(() => { colours.clear(); ramps(); legend(); heatMap(); });
theme(night.matches);
$("scroll").style.height = `min(${flame.height() + 2}px, max(280px, 72vh))`;
layOut();
flame.resize();
callGraph();

for (const [id, name] of [["suspects", `Suspects (${count(D.suspects.length)})`], ["functions", D.table.title], ["stages", "Stages"], ["flame", "Flame graph"], ["graph", $("graph").querySelector("h2").textContent],
  ["paths", "Ranked paths"], ["improvements", `Improvements (${count(D.improvements.length)})`], ["moved", `Moved (${count(D.moved.length)})`], ["rest", "Runtime and the rest"], ["warnings", `Warnings (${count(D.warnings.length)})`]]) {
  if ($(id).hidden) continue;
  const link = element("a", name);
  link.href = "#" + id;
  $("contents").append(link);
}

$("search").addEventListener("input", search);
$("search").addEventListener("keydown", event => {
  if (event.key === "Escape") { event.target.value = ""; search(); $("scroll").focus(); }
  if (event.key === "Enter") { $("scroll").focus({ preventScroll: true }); nextMarked(); }
});
$("whole").onclick = () => flame.zoomTo(-1);
$("scroll").addEventListener("keydown", event => {
  const keys = { b: () => choose("mode", "before"), a: () => choose("mode", "after"), d: () => choose("mode", "difference"),
    s: () => choose("scale", scale === "share" ? "absolute" : "share"), n: nextMarked };
  if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) { flame.key(event); return; }
  keys[event.key]();
  event.preventDefault();
});
addEventListener("keydown", commonKey);
// Paper is light, and nothing can be opened on it.
let wasDark = false;
addEventListener("beforeprint", () => {
  document.querySelectorAll("details").forEach(d => { d.open = true; });
  wasDark = dark;
  theme(false);
  flame.paint();
});
addEventListener("afterprint", () => theme(wasDark));
