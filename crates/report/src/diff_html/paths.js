// Ranked paths as a heat map: a row per path, a column per call along it, colour by the logarithm of cost.
let heatOf = "delta", heatRows = 0;
function heatMap() {
  const P = D.paths.rows;
  $("paths").hidden = !P.length;
  if (!P.length) return;
  const AT_ONCE = 25, COLUMNS = 120, HEAD = 20, delta = heatOf === "delta";
  const colour = f => {
    const hot = Math.ceil(f[delta ? 5 : 4] / 100 * STEPS);
    return ramp[STEPS + (delta && f[2] < 0 ? -hot : hot)];
  };
  const table = element("table", "");
  table.setAttribute("aria-label", "Ranked call paths");
  const cell = (path, f, k) => {
    // How far it is from the hottest call of the path.
    const td = element("td", Math.abs(k - (path.hottest ??= path.functions.findIndex(g => g[3] === 1)))), fill = colour(f);
    td.style.background = fill;
    td.style.color = inkOn(fill);
    td.tabIndex = -1;
    td.setAttribute("aria-label", `${nameOf(f[0])}: ${value(f[1])}, ${signed(f[2])}`);
    const show = (x, y) => showTip([element("b", nameOf(f[0])), element("div", [placeOf(f[0]), `call ${k + 1} of path ${path.rank}`].filter(s => s).join(" · "), "place"),
      element("div", `latency ${value(f[1])}, ${signed(f[2])}; number ${f[3]} on this path by latency`)], x, y);
    td.onmousemove = event => show(event.clientX, event.clientY);
    td.onmouseleave = td.onblur = hideTip;
    td.onfocus = () => { const area = td.getBoundingClientRect(); show(area.left, area.top); };
    return td;
  };
  const row = path => {
    const leaf = path.functions.at(-1), open = element("button", leaf ? nameOf(leaf[0]) : ""), name = parts("th", "leaf", open);
    open.title = open.textContent;
    open.setAttribute("aria-expanded", "false");
    open.onclick = () => {
      const shown = tr.nextSibling && tr.nextSibling.className === "names";
      if (shown) tr.nextSibling.remove();
      else {
        const all = parts("th", "", longPath(path.functions.map(f => f[0])));
        all.colSpan = 200;
        tr.after(parts("tr", "names", all));
      }
      open.setAttribute("aria-expanded", String(!shown));
    };
    const tr = parts("tr", "", element("th", `${path.rank}.`), element("th", signed(path.cost) + (path.new ? " new" : ""), "number " + tone(path.cost)), name);
    const n = path.functions.length;
    path.functions.forEach((f, k) => {
      if (n <= COLUMNS || k < HEAD || k >= n - (COLUMNS - HEAD)) tr.append(cell(path, f, k));
      else if (k === HEAD) tr.append(element("td", `… ${counted(n - COLUMNS, "call")} …`, "gap"));
    });
    return tr;
  };
  const place = document.querySelector("#paths .sheet");
  const more = (from, to) => {
    table.append(...P.slice(from, to).map(row));
    heatRows = Math.min(to, P.length);
    if (heatRows >= P.length) return;
    const open = element("button", `Show ${counted(Math.min(P.length - heatRows, 5 * AT_ONCE), "more path")} of ${count(P.length - heatRows)}`);
    open.onclick = () => { open.remove(); more(heatRows, heatRows + 5 * AT_ONCE); };
    place.append(open);
  };
  place.replaceChildren(table);
  more(0, heatRows || AT_ONCE);
  const start = table.querySelector("td:not(.gap)");
  if (start) start.tabIndex = 0;
  table.onkeydown = event => {
    const td = event.target.closest("td"), steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!td || !steps) return;
    event.preventDefault();
    let row = td.parentNode.rowIndex + steps[0];
    while (steps[0] && table.rows[row] && table.rows[row].className === "names") row += steps[0];
    const target = table.rows[row];
    const to = target && target.cells[Math.min(td.cellIndex + steps[1], target.cells.length - 1)];
    if (!to || to.tagName !== "TD") return;
    td.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  };
  const [left, sum] = D.paths.left;
  document.querySelector("#paths .note").textContent =
    `${counted(P.length, "path")} by added cost, from the root on the left to the leaf on the right, coloured by own cost. The numbers 1 to 3 mark the most expensive calls of a path.` +
    (left ? ` ${counted(left, "more path")} (${signed(sum)} together) are not drawn; --method paths --format json shows more.` : "");
  const bar = element("span", "", "ramp"), [low, high] = D.paths[heatOf];
  const both = delta && P.some(p => p.functions.some(f => f[2] < 0));
  bar.style.background = `linear-gradient(to right, ${(both ? ramp : ramp.slice(STEPS + 1)).join(",")})`;
  $("heat-legend").replaceChildren(element("span", both ? `−${value(high)}` : value(low)), bar,
    element("span", value(high)), element("span", `(logarithmic; half way ${both ? "out" : "up"} is ${value(Math.sqrt(low * high))})`));
}
