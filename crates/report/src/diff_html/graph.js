// Calls as a tree of boxes, callers above callees: the critical graph, or the paths that lead to the suspects.
const MOST_CALLS = 1500, MOST_CONTEXTS = 20;

// Rows with all their callers, in order, as long as there is room; how many of them; what became of each row.
function withCallers(leaves, parentOf) {
  const keep = new Set();
  let taken = 0;
  for (const leaf of leaves) {
    const steps = [];
    for (let row = leaf; row >= 0 && !keep.has(row); row = parentOf(row)) steps.push(row);
    if (keep.size + steps.length > MOST_CALLS) break;
    for (const row of steps) keep.add(row);
    taken++;
  }
  const rows = [...keep].sort((a, b) => a - b), number = new Map(rows.map((row, k) => [row, k]));
  return [rows, taken, row => parentOf(row) < 0 ? -1 : number.get(parentOf(row))];
}
// The calls between the roots and the suspects' contexts, from the flame graph's rows.
function suspectCalls() {
  const contexts = D.suspects.reduce((sum, s) => sum + s.contexts, 0);
  const [rows, taken, up] = withCallers(D.suspects.flatMap(s => s.boxes.slice(0, MOST_CONTEXTS)), i => parent[i]);
  const calls = rows.map(i => ({
    parent: up(i), name: boxName(i), place: group[i] < 0 ? "" : placeOf(group[i]),
    before: fate[i] === 1 ? null : cost[0][i], after: cost[1][i], cause: rankOf.has(i), rank: rankOf.get(i), box: i,
  }));
  return [calls, taken < contexts ? `${counted(contexts - taken, "smaller context")} of the suspects not drawn; see the flame graph.` : ""];
}
// The critical graph, or its heaviest causes with their callers when it is too large to draw.
function criticalCalls() {
  const nodes = D.graph.nodes, added = k => nodes[k][3] - (nodes[k][2] || 0);
  const causes = [...nodes.keys()].filter(k => nodes[k][4]).sort((a, b) => added(b) - added(a) || a - b);
  const all = nodes.length <= MOST_CALLS;
  const [rows, taken, up] = withCallers(all ? nodes.keys() : causes, k => nodes[k][0]);
  const calls = rows.map(k => {
    const [, f, before, after, cause] = nodes[k];
    return { parent: up(k), name: nameOf(f), place: placeOf(f), before, after, cause };
  });
  const said = D.graph.pruned ? `${counted(D.graph.pruned, "call")} without a name merged into their callers. ` : "";
  return [calls, said + (all ? "" : `The heaviest ${count(taken)} of ${counted(causes.length, "cause")} are drawn; --format dot shows them all.`)];
}

// Runs of calls that lead from one to the next and cause nothing become one box that opens on a click.
function withoutChains(calls, open) {
  const callees = new Int32Array(calls.length);
  for (const c of calls) if (c.parent >= 0) callees[c.parent]++;
  const plain = (c, k) => callees[k] === 1 && !c.cause && c.parent >= 0 && callees[c.parent] === 1 &&
    (c.before === null) === (calls[c.parent].before === null);
  const run = new Int32Array(calls.length).fill(-1), length = new Map();
  calls.forEach((c, k) => {
    if (!plain(c, k)) return;
    run[k] = run[c.parent] >= 0 ? run[c.parent] : k;
    length.set(run[k], (length.get(run[k]) || 0) + 1);
  });
  const place = new Int32Array(calls.length), shown = [];
  calls.forEach((c, k) => {
    const up = c.parent < 0 ? -1 : place[c.parent], n = length.get(run[k]) || 0;
    if (run[k] >= 0 && n > 3 && !open.has(run[k])) {
      if (run[k] === k) { place[k] = shown.length; shown.push({ parent: up, fold: n, run: k, before: c.before, after: c.after }); }
      else place[k] = up;
      return;
    }
    place[k] = shown.length;
    shown.push({ ...c, parent: up });
  });
  return shown;
}

function drawCalls(calls, place) {
  const WIDE = 216, HIGH = 46, ASIDE = 18, BELOW = 26, open = new Set();
  const paint = () => {
    const shown = calls.length > 12 ? withoutChains(calls, open) : calls.map(c => ({ ...c }));
    // Leaves side by side, callers over the middle of their callees; parents come first, so one walk back does.
    const last = new Int32Array(shown.length).fill(-1), first = new Int32Array(shown.length).fill(-1), next = new Int32Array(shown.length).fill(-1);
    const roots = [];
    shown.forEach((c, k) => {
      c.depth = c.parent < 0 ? 0 : shown[c.parent].depth + 1;
      if (c.parent < 0) { roots.push(k); return; }
      if (first[c.parent] < 0) first[c.parent] = k; else next[last[c.parent]] = k;
      last[c.parent] = k;
    });
    let slot = 0, deepest = 0;
    const todo = roots.reverse(), order = [];
    while (todo.length) {
      const k = todo.pop();
      order.push(k);
      deepest = Math.max(deepest, shown[k].depth);
      if (first[k] < 0) { shown[k].x = slot++; continue; }
      const below = [];
      for (let c = first[k]; c >= 0; c = next[c]) below.push(c);
      todo.push(...below.reverse());
    }
    for (const k of order.reverse()) if (first[k] >= 0) shown[k].x = (shown[first[k]].x + shown[last[k]].x) / 2;
    const w = Math.max(1, slot) * (WIDE + ASIDE) - ASIDE + 4, h = (deepest + 1) * (HIGH + BELOW) - BELOW + 4;
    const picture = drawn("svg", { width: w, height: h, viewBox: `-2 -2 ${w} ${h}`, role: "tree", "aria-label": "Calls, callers above callees" });
    const steep = Math.max(1e-300, ...shown.slice(0, 5000).map(c => Math.abs(c.after - (c.before || 0))));
    const X = c => c.x * (WIDE + ASIDE), Y = c => c.depth * (HIGH + BELOW);
    for (const c of shown) {
      if (c.parent < 0) continue;
      const up = shown[c.parent], x1 = X(up) + WIDE / 2, y1 = Y(up) + HIGH, x2 = X(c) + WIDE / 2, y2 = Y(c), m = (y1 + y2) / 2;
      const thick = 1 + 5 * Math.max(0, c.after - (c.before || 0)) / steep;
      picture.append(drawn("path", { class: "edge", d: `M${x1} ${y1}C${x1} ${m} ${x2} ${m} ${x2} ${y2}`, "stroke-width": thick.toFixed(1) }));
    }
    for (const c of shown) {
      const box = drawn("g", { class: "call", transform: `translate(${X(c)} ${Y(c)})`, role: "treeitem" });
      const change = c.after - (c.before || 0);
      const costs = c.before === null ? `new: ${value(c.after)}` : `${arrow(c.before, c.after)}`;
      const text = c.fold ? `⋮ ${counted(c.fold, "call")} between` : (c.rank ? `#${c.rank} ` : "") + c.name;
      const fits = 27, short = text.length > fits ? text.slice(0, 10) + "…" + text.slice(-(fits - 11)) : text;
      box.append(drawn("rect", { width: WIDE, height: HIGH, rx: 7 }), drawn("text", { x: 10, y: 19 }, short),
        drawn("text", { x: 10, y: 36, class: "cost" }, c.fold ? "click to unfold" : costs),
        drawn("title", {}, c.fold ? text : `${c.name}\n${c.place}\n${costs} (${signed(change)})`));
      if (c.cause) box.classList.add("cause");
      if (c.before === null && !c.cause && !c.fold) box.classList.add("new");
      const act = c.fold ? () => { open.add(c.run); paint(); } : c.box !== undefined ? () => showBoxes({ boxes: [c.box], contexts: 1, function: group[c.box], kind: "" }) : null;
      if (act) {
        box.classList.add(c.fold ? "fold" : "shown");
        box.setAttribute("tabindex", "0");
        box.addEventListener("click", act);
        box.addEventListener("keydown", event => { if (event.key === "Enter") act(); });
      }
      picture.append(box);
    }
    place.replaceChildren(picture);
    return shown.length ? X(shown[0]) + WIDE / 2 : 0;
  };
  place.scrollLeft = paint() - place.clientWidth / 2;
}

function callGraph() {
  const section = $("graph"), critical = D.graph !== null;
  const [calls, said] = critical ? criticalCalls() : suspectCalls();
  section.hidden = !calls.length && !said;
  section.querySelector("h2").textContent = critical ? "Critical graph" : "Paths to the suspects";
  section.querySelector(".note").textContent = (critical
    ? `Calls that got slower by ${value(D.graph.threshold)} or more; filled ones are causes. `
    : "Callers above callees; filled ones are suspects. The thicker a line, the more cost was added. ") + said;
  section.querySelector(".sheet").setAttribute("aria-label", section.querySelector("h2").textContent);
  section.querySelector(".sheet").hidden = !calls.length;
  if (calls.length) drawCalls(calls, section.querySelector(".sheet"));
}
