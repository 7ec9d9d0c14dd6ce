// The answer, the suspects, and what else is to say.
const M = D.metric, F = D.functions;
const nameOf = f => F.name[f], placeOf = f => F.place[f];
const value = v => amount(v, M);
const signed = v => (v > 0 ? "+" : v < 0 ? "" : "±") + value(v);
const tone = v => v > 0 ? "more" : v < 0 ? "less" : "";
const arrow = (b, a) => `${value(b)} → ${value(a)}`;
const range = (low, high, show) => low === null || high === null || low === high ? "" : `${show(low)} to ${show(high)}`;
const chance = p => p === null ? "" : p < .001 ? "p < 0.001" : `p = ${p.toFixed(3)}`;
// A share of one in a sentence: `54 %`, `3.2 %`.
function inPercent(share) {
  const p = Math.abs(share) * 100;
  return p === 0 ? "0 %" : p < .1 ? "<0.1 %" : p < 9.95 ? `${p.toFixed(1)} %` : `${count(Math.round(p))} %`;
}
const grown = (part, of) => of > 0 && part ? `${part < 0 ? "−" : "+"}${inPercent(part / of)}` : "";

function drawn(tag, attributes, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, v] of Object.entries(attributes)) e.setAttribute(key, v);
  e.append(...children);
  return e;
}

// Runs as dots on one ruler, before above after; the intervals behind them where they are known.
function dots(runs, intervals) {
  const all = [...runs.flat(), ...intervals.flat()].filter(Number.isFinite);
  if (!all.length) return element("div", "no runs", "soft");
  let low = Math.min(...all), high = Math.max(...all);
  if (low > 0 && low < .4 * high) low = 0;
  if (low === high) { low -= Math.abs(low) * .1 + 1; high += Math.abs(high) * .1 + 1; }
  const x = v => `${(2 + (v - low) / (high - low) * 96).toFixed(2)}%`;
  const picture = drawn("svg", { role: "img" });
  const said = [];
  runs.forEach((values, side) => {
    const y = side ? 30 : 10, kind = side ? "after" : "before";
    picture.append(drawn("line", { class: "line", x1: "0%", x2: "100%", y1: y, y2: y }));
    const [middle, from, to] = intervals[side] || [];
    if (Number.isFinite(from) && from < to) picture.append(drawn("line", { class: "range", x1: x(from), x2: x(to), y1: y, y2: y }));
    for (const v of values) if (Number.isFinite(v)) picture.append(drawn("circle", { class: kind, cx: x(v), cy: y, r: 5 }));
    if (Number.isFinite(middle)) picture.append(drawn("line", { class: "middle", x1: x(middle), x2: x(middle), y1: y - 9, y2: y + 9 }));
    said.push(`${kind}: ${values.map(value).join(", ")}`);
  });
  picture.setAttribute("aria-label", said.join("; "));
  picture.append(drawn("title", {}, said.join("\n")));
  return parts("div", "dots", parts("div", "names", element("span", "before"), element("span", "after")), picture,
    parts("div", "ends", element("span", value(low)), element("span", value(high))));
}

const VERDICTS = { regressed: ["▲", "more"], improved: ["▼", "less"], unchanged: ["=", ""], inconclusive: ["?", ""] };
function answer() {
  document.title = "perfblame: " + D.headline;
  // The folder that all runs of a side are in, or what its only run is called.
  const side = s => {
    if (s.inputs.length < 2) return s.inputs[0] || "nothing";
    let folder = s.inputs[0].slice(0, s.inputs[0].lastIndexOf("/"));
    while (folder && !s.inputs.every(input => input.startsWith(folder + "/"))) folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/")));
    return `${folder || s.inputs[0] + " …"} (${counted(s.inputs.length, "run")})`;
  };
  $("sides").append(element("b", "perfblame diff"), `  ${side(D.before)} → ${side(D.after)}`);
  $("sides").title = [...D.before.inputs, "→", ...D.after.inputs].join("\n");
  const [sign, kind] = VERDICTS[D.verdict];
  $("verdict").append(element("span", `${sign} ${D.verdict}`, "tag " + kind));
  $("headline").textContent = D.headline;
  for (const w of D.warnings) if (w.first) $("verdict").before(element("p", `⚠ ${w.message}`));
  const [change, low, high] = D.change;
  const list = element("dl", "");
  const row = (name, v, said, kind) => list.append(element("dt", name), element("dd", v, "number big " + (kind || "")), element("dd", said, "soft"));
  const runs = s => [counted(s.totals.length, "run"), range(s.total[1], s.total[2], value)].filter(t => t).join(", ");
  row("before", value(D.before.total[0]), runs(D.before));
  row("after", value(D.after.total[0]), runs(D.after));
  row("change", signed(change), [grown(change, D.before.total[0]), range(low, high, signed), chance(D.p)].filter(t => t).join(", "), tone(change));
  $("totals").append(list, dots([D.before.totals, D.after.totals], [D.before.total, D.after.total]));
  $("totals").className = "panel";
}

const SIGNS = { slower: "▲", "more-calls": "×", new: "+", waits: "◷", moved: "⇢", faster: "▼", "fewer-calls": "÷", gone: "−" };
function longPath(functions) {
  const list = element("ol", "", "path");
  const item = (f, k) => {
    const li = element("li", nameOf(f));
    li.value = k + 1;
    if (placeOf(f)) li.append(element("span", "  " + placeOf(f), "place"));
    return li;
  };
  const items = functions.map((f, k) => [f, k]);
  const ends = functions.length > 40 ? [items.slice(0, 8), items.slice(8, -24), items.slice(-24)] : [items, [], []];
  list.append(...ends[0].map(([f, k]) => item(f, k)));
  if (ends[1].length) {
    const open = element("button", `${counted(ends[1].length, "more call")}`);
    const gap = parts("li", "", open);
    open.onclick = () => gap.replaceWith(...ends[1].map(([f, k]) => item(f, k)));
    list.append(gap);
  }
  list.append(...ends[2].map(([f, k]) => item(f, k)));
  return list;
}
function codeChange(c) {
  const lines = c.lines ? `:${c.lines[0]}${c.lines[1] > c.lines[0] ? "–" + c.lines[1] : ""}` : "";
  const text = `${c.kind} ${c.function} ${c.file}${lines}` + (c.commit ? ` in ${c.commit}` : "");
  const about = [c.title, c.why].filter(Boolean).join(": ");
  return parts("li", "", element("span", text, "mono"), ...(about ? [element("div", about, "soft")] : []), ...c.hunks.map(h => element("div", h, "mono soft")));
}
function suspect(s, kind) {
  const card = element("article", "", "panel suspect");
  const title = parts("h3", "", element("span", `#${s.rank} `, "rank"), nameOf(s.function));
  const facts = parts("div", "facts", element("span", `${SIGNS[s.kind] || ""} ${s.how}`, "tag " + kind));
  if (s.contexts > 1) facts.append(element("span", `in ${count(s.contexts)} contexts`, "soft"));
  if (s.was !== null) facts.append(element("span", `was ${nameOf(s.was)}`, "soft"));
  if (s.calls) facts.append(element("span", `calls ${s.calls.map(c => c.toLocaleString("en", { maximumFractionDigits: 1 })).join(" → ")}`, "soft number"));
  card.append(parts("div", "", title, element("div", placeOf(s.function), "place"), facts));

  const bar = parts("div", "bar " + kind, element("i", ""));
  bar.firstChild.style.width = Math.min(100, Math.abs(s.share) * 100) + "%";
  const share = s.share ? `${inPercent(s.share)} of ${D.wholes[s.delta[0] < 0 ? 1 : 0]}` : "";
  const [delta, low, high] = s.delta;
  card.append(parts("div", "",
    parts("div", "number", element("span", signed(delta), "delta " + tone(delta)), element("span", `  ${arrow(s.before, s.after)}`)),
    bar, element("div", share),
    element("div", [range(low, high, signed), chance(s.p) || "no p-value from one run per side"].filter(t => t).join(", "), "soft number")));
  card.append(dots(s.runs, []));

  const wide = element("div", "", "wide");
  if (s.boxes.length) {
    const show = element("button", "Show in flame graph");
    show.onclick = () => showBoxes(s);
    wide.append(show);
  }
  if (s.path.length) wide.append(parts("details", "", element("summary", `Call path, ${counted(s.path.length, "call")}`), longPath(s.path)));
  card.append(wide);
  if (s.changes.length || s.notes.length) {
    const list = element("ul", "", "notes wide");
    list.style.display = "block";
    list.append(...s.changes.map(codeChange), ...s.notes.map(n => element("li", n)));
    card.append(list);
  }
  return card;
}
function suspects(id, list, kind, none) {
  const place = document.querySelector(`#${id} .list`), AT_ONCE = 20;
  if (!list.length && none) place.append(element("p", none, "note"));
  const more = from => {
    place.append(...list.slice(from, from + AT_ONCE).map(s => suspect(s, kind)));
    const left = list.slice(from + AT_ONCE);
    if (!left.length) return;
    const share = left.reduce((sum, s) => sum + Math.abs(s.share), 0);
    const of = share ? `, ${inPercent(share)} of ${D.wholes[left[0].delta[0] < 0 ? 1 : 0]} together` : "";
    const open = element("button", `Show ${count(left.length)} more${of}`);
    open.onclick = () => { open.remove(); more(from + AT_ONCE); };
    place.append(open);
  };
  more(0);
}

// Self costs by function, the largest change first.
function functionTable() {
  const S = D.table, place = document.querySelector("#functions div");
  $("functions").hidden = !S.rows.length;
  $("functions").querySelector("h2").textContent = S.title;
  $("functions").querySelector("p").textContent = S.guess || "";
  const table = element("table", "", "plain");
  const row = (tag, cells) => table.append(parts("tr", "", ...cells.map(([text, kind]) => element(tag, text, kind))));
  row("th", [["change", "number"], ["before", "number"], ["after", "number"], ["function", ""], ["layer", ""]]);
  for (const [f, b, a] of S.rows) row("td", [[signed(a - b), "number " + tone(a - b)], [value(b), "number"], [value(a), "number"], [nameOf(f), "mono"], [D.layers[F.layer[f]], "soft"]]);
  place.append(parts("div", "scrolls", table));
  if (S.rest) place.append(element("p", S.rest, "note"));
}

function rest() {
  const place = document.querySelector("#rest div");
  if (D.runtime.length) {
    const table = element("table", "");
    const row = (tag, cells) => table.append(parts("tr", "", ...cells.map(([text, kind]) => element(tag, text, kind))));
    row("th", [["reported, never blamed", ""], ["before", "number"], ["after", "number"], ["change", "number"]]);
    for (const [f, b, a] of D.runtime) row("td", [[nameOf(f), "mono"], [value(b), "number"], [value(a), "number"], [signed(a - b), "number " + tone(a - b)]]);
    place.append(parts("div", "scrolls", table));
  }
  const [minor, sum] = D.minor;
  if (minor) place.append(element("p", `${counted(minor, "function")} changed by more than noise but too little to matter here: ${signed(sum)} together.`));
  const part = D.change[0] ? ` (${inPercent(D.unexplained / D.change[0])} of the change)` : "";
  // A change against all that was found is what was saved or added elsewhere.
  const found = D.method !== "suspects" || (D.change[0] > 0 ? D.suspects : D.improvements).length;
  if (D.unexplained && found) place.append(element("p", `Unexplained: ${signed(D.unexplained)}${part}.`));
}

function foot() {
  const lines = [];
  lines.push(`Method ${D.method}, metric ${M.name}` + (D.threshold > 0 ? `; changes under ${value(D.threshold)} are ignored` : "") + ".");
  if (D.normalised) lines.push(`Values are normalised: ${D.normalised}.`);
  for (const [name, s] of [["Before", D.before], ["After", D.after]]) lines.push(`${name}: ${s.inputs.join(", ")}`);
  lines.push(`perfblame ${D.version}`);
  $("foot").append(...lines.map(line => element("p", line)));
  for (const w of D.warnings) {
    document.querySelector("#warnings ul").append(parts("li", "", w.message + (w.count > 1 ? ` (${count(w.count)} times) ` : " "), element("span", w.code, "soft mono")));
  }
}
