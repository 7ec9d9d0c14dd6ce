// Both trees taken apart: what each part adds up to, then its subtrees.
function stagesSection() {
  const S = D.stages;
  $("stages").hidden = !S;
  if (!S) return;
  $("suspects").hidden = true;
  const AT_ONCE = 10, place = document.querySelector("#stages .list");
  const cell = (text, kind) => element("td", text, kind);
  const table = (heads, rows) => {
    const body = element("table", "", "parts");
    body.append(parts("tr", "", ...heads.map(([name, kind]) => element("th", name, kind))), ...rows);
    return body;
  };
  place.append(parts("div", "panel", table([["part", ""], ["change", "number"], ["before → after", "number"], ["subtrees", "number"], ["contexts", "number"]],
    S.totals.map(([name, subtrees, nodes, before, after]) => parts("tr", "", cell(name, ""), cell(signed(after - before), "number " + tone(after - before)),
      cell(arrow(before, after), "number"), cell(subtrees === null ? "" : count(subtrees), "number"), cell(count(nodes), "number"))))));
  place.append(element("p", S.score, "note"));
  const row = r => {
    const last = r.path.at(-1), name = element("b", last === undefined ? "" : nameOf(last));
    const what = parts("td", "", name, element("span", "  " + (last === undefined ? "" : placeOf(last)), "place"), element("div", r.why, "soft"));
    if (r.candidates.length) {
      const list = element("ol", "", "notes");
      for (const [f, changes] of r.candidates) {
        const item = parts("li", "", element("span", nameOf(f), "mono"), element("span", "  " + placeOf(f), "place"));
        if (changes.length) item.append(parts("ul", "", ...changes.map(codeChange)));
        list.append(item);
      }
      what.append(element("div", "Look at", "soft"), list);
    }
    if (r.changes.length) what.append(parts("ul", "notes", ...r.changes.map(codeChange)));
    if (r.path.length) what.append(parts("details", "", element("summary", `Call path, ${counted(r.path.length, "call")}`), longPath(r.path)));
    return parts("tr", "", cell(r.rank + ".", "number"), cell(signed(r.delta), "number " + tone(r.delta)), cell(r.side, "soft number"), what);
  };
  for (const [name, rows, left] of S.lists) {
    if (!rows.length) continue;
    const body = table([["", ""], ["change", "number"], ["", ""], ["what", ""]], []);
    const panel = parts("div", "panel", element("h3", name), body);
    const more = from => {
      body.append(...rows.slice(from, from + AT_ONCE).map(row));
      const hidden = rows.length - from - AT_ONCE;
      if (hidden <= 0) return;
      const open = element("button", `Show ${count(Math.min(hidden, AT_ONCE))} more of ${count(hidden)}`);
      open.onclick = () => { open.remove(); more(from + AT_ONCE); };
      panel.append(open);
    };
    more(0);
    if (left) panel.append(element("p", `${count(left)} more are not on this page; --format json shows more.`, "note"));
    place.append(panel);
  }
}
