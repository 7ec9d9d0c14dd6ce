// A flame graph on a canvas. Boxes are rows of flat arrays, parents first, and there may be hundreds of thousands:
// nothing is allocated per box, a level finds what is in view by bisection, what is thinner than half a pixel is drawn
// as one grey run with its neighbours, and what follows the pointer is drawn over a picture that is kept.
//
// `o` says what boxes are: `parent`, `group` (function of each box, negative for folded ones), `name(i)`, `fill(i)`,
// `groupName(i)` and optionally `decorate(ctx, i, x, y, w, h, ink)`, `prefix(i)`; what is said of them: `describe(i)`
// (elements), `spoken(i)`, `note(i)`, `allText()`, `hint`; and `onEscape()`, true when it had something to do.
function flameGraph(o) {
  const ROW = 20, TOP = 4, N = o.parent.length, { parent, group } = o;
  const scroll = $("scroll"), canvas = $("canvas"), screen = canvas.getContext("2d");
  const sheet = document.createElement("canvas"), ctx = sheet.getContext("2d");
  const left = new Float64Array(N), next = new Float64Array(N), depth = new Int32Array(N);
  const order = new Int32Array(N), level = new Int32Array(N), place = new Int32Array(N);
  let width = new Float64Array(N), whole = 0, ruler = 0, deepest = 0;
  let zoom = -1, hover = -1, picked = -1, matches = null, queued = false, stale = true, revealed = false, W = 0, H = 0;
  // Row, left, top and width of what is on the sheet.
  let boxes = new Float64Array(4096), drawnBoxes = 0;

  // The callees of row i are kids[first[i + 1]..first[i + 2]]; those of no row are the roots.
  const first = new Int32Array(N + 2), kids = new Int32Array(N);
  for (let i = 0; i < N; i++) {
    first[parent[i] + 2]++;
    depth[i] = parent[i] < 0 ? 1 : depth[parent[i]] + 1;
    if (depth[i] > deepest) deepest = depth[i];
  }
  for (let s = 1; s < N + 2; s++) first[s] += first[s - 1];
  {
    const at = first.slice();
    for (let i = 0; i < N; i++) kids[at[parent[i] + 1]++] = i;
  }
  const levelStart = new Int32Array(deepest + 2);
  for (let i = 0; i < N; i++) levelStart[depth[i] + 1]++;
  for (let d = 1; d < deepest + 2; d++) levelStart[d] += levelStart[d - 1];

  // Puts siblings in order, the heaviest first and what was folded last.
  function arrange(weight) {
    const before = (a, b) => (group[a] < 0) - (group[b] < 0) || weight[b] - weight[a] || a - b;
    for (let s = 0; s <= N; s++) {
      const a = first[s], b = first[s + 1];
      let sorted = true;
      for (let k = a + 1; k < b && sorted; k++) sorted = before(kids[k - 1], kids[k]) <= 0;
      if (!sorted) kids.subarray(a, b).sort(before);
    }
    const todo = new Int32Array(N + 1), at = levelStart.slice();
    let n = 0, c = 0;
    const push = s => { for (let k = first[s + 1] - 1; k >= first[s]; k--) todo[n++] = kids[k]; };
    push(0);
    while (n) {
      const i = todo[--n];
      order[c++] = i;
      place[i] = at[depth[i]];
      level[at[depth[i]]++] = i;
      push(i + 1);
    }
  }
  // Gives every box its width (its callees' included) and place; `full` is what the whole width of the canvas stands for.
  function lay(widths, full) {
    width = widths;
    whole = 0;
    for (let k = 0; k < N; k++) {
      const i = order[k], p = parent[i], x = p < 0 ? whole : next[p];
      left[i] = next[i] = x;
      if (p < 0) whole += width[i]; else next[p] += width[i];
    }
    ruler = Math.max(full, whole);
    if (zoom >= 0 && !(width[zoom] > 0)) zoom = -1;
    if (picked >= 0 && !(width[picked] > 0)) picked = -1;
    hover = -1;
    hideTip();
    trail();
    draw();
  }

  function resize() {
    const ratio = devicePixelRatio || 1;
    W = scroll.clientWidth; H = scroll.clientHeight;
    for (const c of [canvas, sheet]) {
      c.width = Math.round(W * ratio); c.height = Math.round(H * ratio);
      c.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    canvas.style.width = W + "px"; canvas.style.height = H + "px";
    $("space").style.height = height() + "px";
    draw();
  }
  function height() { return (deepest + 1) * ROW + 2 * TOP; }
  function draw() { stale = true; point(); }
  function point() { if (!queued) { queued = true; requestAnimationFrame(paint); } }
  function view() { return zoom < 0 ? [0, ruler] : [left[zoom], width[zoom]]; }
  // The first box of a level that ends right of x.
  function bisect(d, x) {
    let a = levelStart[d], b = levelStart[d + 1];
    while (a < b) { const m = (a + b) >> 1; if (left[level[m]] + width[level[m]] > x) b = m; else a = m + 1; }
    return a;
  }

  function paint() {
    queued = false;
    const began = performance.now(), style = getComputedStyle(document.documentElement);
    const text = style.getPropertyValue("--text"), focus = style.getPropertyValue("--focus");
    if (stale) paintSheet(text);
    stale = false;
    if (!W || !H) return;
    screen.clearRect(0, 0, W, H);
    screen.drawImage(sheet, 0, 0, W, H);
    const same = hover >= 0 && group[hover] >= 0 ? group[hover] : null;
    for (let k = 0; k < drawnBoxes; k += 4) {
      const i = boxes[k];
      if (i !== picked && group[i] !== same) continue;
      const [x, y, w] = boxes.subarray(k + 1, k + 4);
      if (group[i] === same && w > 2) outline(screen, x, y, w, text, i === hover ? 2 : 1);
      if (i === picked) outline(screen, x, y, w, focus, 3);
    }
    canvas.dataset.frame = (performance.now() - began).toFixed(2);
  }
  function paintSheet(text) {
    const grey = dark ? "#3b3835" : "#e2ddd6";
    drawnBoxes = 0;
    ctx.clearRect(0, 0, W, H);
    ctx.font = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
    ctx.textBaseline = "middle";
    const letter = ctx.measureText("m").width, top = scroll.scrollTop;
    const [x0, span] = view(), scale = span > 0 ? W / span : 0;
    if (top < ROW + TOP) box(o.allText(), 0, zoom < 0 ? whole * scale : W, TOP - top, dark ? "#4a4641" : "#d8d2c9", letter);
    const from = Math.max(1, Math.floor((top - TOP) / ROW)), to = Math.min(deepest, Math.ceil((top + H) / ROW));
    for (let d = from; d <= to; d++) {
      const y = TOP + d * ROW - top, end = levelStart[d + 1], above = zoom >= 0 && d < depth[zoom];
      let runStart = 0, runEnd = -1;
      const flush = () => {
        if (runEnd - runStart >= .5) { ctx.fillStyle = grey; ctx.fillRect(runStart, y, runEnd - runStart, ROW - 1); }
      };
      for (let a = bisect(d, x0); a < end; a++) {
        const i = level[a];
        let x = (left[i] - x0) * scale, w = width[i] * scale;
        if (x >= W) break;
        if (w < .5) {
          if (w <= 0) continue;
          if (x > runEnd + .5) { flush(); runStart = x; }
          runEnd = x + w;
          continue;
        }
        if (x < 0) { w += x; x = 0; }
        w = Math.min(w, W - x);
        if (w < .5) continue;
        const found = matches && matches[i];
        const alpha = matches && !found ? .3 : above ? .6 : 1;
        const fill = group[i] < 0 ? grey : found && o.found ? o.found() : o.fill(i);
        box(o.name(i), x, w, y, fill, letter, i, alpha, text);
        if (found && !o.found && w > 2) outline(ctx, x, y, w, text, 2);
        if (drawnBoxes + 4 > boxes.length) { const more = new Float64Array(2 * boxes.length); more.set(boxes); boxes = more; }
        boxes[drawnBoxes] = i; boxes[drawnBoxes + 1] = x; boxes[drawnBoxes + 2] = y; boxes[drawnBoxes + 3] = w;
        drawnBoxes += 4;
      }
      flush();
    }
  }
  function outline(ctx, x, y, w, colour, thick) {
    ctx.strokeStyle = colour; ctx.lineWidth = thick;
    ctx.strokeRect(x + thick / 2, y + thick / 2, Math.max(1, w - 1 - thick), ROW - 1 - thick);
  }
  function box(text, x, w, y, fill, letter, i, alpha = 1, plain = "") {
    // What is pale is close to the paper, where text has the page's colour.
    const shown = Math.max(.5, w > 3 ? w - 1 : w), ink = alpha < 1 ? plain : inkOn(fill);
    ctx.globalAlpha = alpha;
    ctx.fillStyle = fill;
    ctx.fillRect(x, y, shown, ROW - 1);
    if (i >= 0 && o.decorate && w >= 3) o.decorate(ctx, i, x, y, shown, ROW - 1, ink);
    ctx.globalAlpha = alpha < 1 ? .75 : 1;
    write(text, x, w, y, letter, i, ink);
    ctx.globalAlpha = 1;
  }
  function write(text, x, w, y, letter, i, ink) {
    if (w < letter * 3) return;
    const prefix = i >= 0 && o.prefix ? o.prefix(i) : "", fits = Math.floor((w - 8) / letter) - prefix.length;
    // A package says less than a class and its method.
    if (text.length > fits && text.length < 1000) text = text.replace(/^(?:[a-z_]\w*[.\/])+(?=[A-Z])/, "");
    if (text.length > fits && fits < 5) text = fits + prefix.length < 3 || !prefix ? "" : "…";
    else if (text.length > fits) {
      const keep = fits - 1, head = Math.floor(keep * .4);
      text = text.slice(0, head) + "…" + text.slice(text.length - (keep - head));
    }
    text = prefix + text;
    if (!text) return;
    ctx.fillStyle = ink;
    // Letters outside the usual ones can be wider than the rest.
    const odd = /[^\u0000-\u024f\u2190-\u2260…−]/.test(text);
    if (odd) { ctx.save(); ctx.beginPath(); ctx.rect(x, y, w - 2, ROW); ctx.clip(); }
    ctx.fillText(text, x + 4, y + ROW / 2);
    if (odd) ctx.restore();
  }

  function at(event) {
    const area = canvas.getBoundingClientRect();
    const d = Math.floor((event.clientY - area.top + scroll.scrollTop - TOP) / ROW);
    if (d === 0) return -2;
    if (d < 0 || d > deepest) return -1;
    const [x0, span] = view(), x = x0 + (event.clientX - area.left) / W * span, a = bisect(d, x);
    return a < levelStart[d + 1] && left[level[a]] <= x ? level[a] : -1;
  }

  function zoomTo(i) {
    zoom = i;
    hideTip();
    trail();
    if (i >= 0) reveal(i, 3);
    draw();
  }
  function reveal(i, rows) {
    const y = TOP + depth[i] * ROW;
    if (y < scroll.scrollTop + ROW || y > scroll.scrollTop + H - (rows + 1) * ROW) {
      const before = scroll.scrollTop;
      scroll.scrollTop = Math.max(0, y - 3 * ROW);
      revealed = scroll.scrollTop !== before;
    }
  }
  function path(i) {
    const p = [];
    for (; i >= 0; i = parent[i]) p.push(i);
    return p.reverse();
  }
  function trail() {
    const nav = $("trail");
    nav.replaceChildren();
    if (zoom < 0) {
      nav.append(element("span", o.hint));
      return;
    }
    const step = (text, i) => {
      const b = element("button", text.slice(0, 300));
      b.title = text;
      b.onclick = () => { zoomTo(i); scroll.focus({ preventScroll: true }); };
      return b;
    };
    nav.append(step("all", -1));
    const p = path(zoom), shown = p.length > 6 ? [...p.slice(0, 2), null, ...p.slice(-3)] : p;
    for (const i of shown) {
      nav.append(parts("span", "step",
        i === null ? element("span", `… ${counted(p.length - 5, "call")} …`) : i === zoom ? element("b", o.name(i)) : step(o.name(i), i)));
    }
    nav.append(element("span", "  " + o.note(zoom)));
  }

  function pick(i) {
    if (i < 0) return;
    picked = hover = i;
    reveal(i, 1);
    const [x0, span] = view(), area = canvas.getBoundingClientRect();
    const x = area.left + Math.max(0, (left[i] - x0) / span * W);
    showTip(o.describe(i), Math.min(x, area.right), area.top + TOP + depth[i] * ROW - scroll.scrollTop);
    if ($("spoken")) $("spoken").textContent = o.spoken(i);
    point();
  }
  // The next box of the level that can be seen.
  function neighbour(step) {
    const d = depth[picked], [x0, span] = view(), least = .5 * span / W;
    for (let k = place[picked] + step; k >= levelStart[d] && k < levelStart[d + 1]; k += step) {
      const i = level[k], middle = left[i] + width[i] / 2;
      if (middle < x0 || middle > x0 + span) break;
      if (width[i] >= least) return i;
    }
    return picked;
  }
  function callee(i) {
    for (let k = first[i + 1]; k < first[i + 2]; k++) if (width[kids[k]] > 0) return kids[k];
    return i;
  }
  // Keys of the graph; true when it was one.
  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open || event.target.matches("input, select, button")) return false;
    let start = picked >= 0 ? picked : zoom;
    if (start < 0) start = callee(-1);
    const move = to => pick(picked < 0 ? start : to());
    const keys = {
      c: () => { if (hover >= 0) navigator.clipboard?.writeText(path(hover).map(o.name).join("\n")); },
      Enter: () => { if (picked >= 0) zoomTo(picked); },
      Escape: () => { if (!o.onEscape()) zoomTo(-1); },
      Backspace: () => zoomTo(zoom >= 0 ? parent[zoom] : -1),
      ArrowDown: () => move(() => callee(picked)),
      ArrowUp: () => move(() => parent[picked] >= 0 ? parent[picked] : picked),
      ArrowRight: () => move(() => neighbour(1)),
      ArrowLeft: () => move(() => neighbour(-1)),
    };
    if (!keys[event.key]) return false;
    keys[event.key]();
    event.preventDefault();
    return true;
  }

  scroll.addEventListener("scroll", () => {
    if (!revealed) hideTip();
    revealed = false;
    draw();
  });
  scroll.addEventListener("mousemove", event => {
    const i = at(event);
    if (i !== hover) { hover = i < 0 ? -1 : i; point(); }
    canvas.style.cursor = i >= 0 || i === -2 ? "pointer" : "default";
    if (i >= 0) showTip(o.describe(i), event.clientX, event.clientY); else hideTip();
  });
  scroll.addEventListener("mouseleave", () => { hover = -1; hideTip(); point(); });
  scroll.addEventListener("blur", hideTip);
  scroll.addEventListener("click", event => {
    const i = at(event);
    if (i === -2) zoomTo(-1);
    else if (i >= 0) { picked = i; zoomTo(i); }
  });
  addEventListener("resize", resize);
  onTheme.push(draw);

  return {
    arrange, lay, resize, paint, zoomTo, key, height,
    find(found) { matches = found; draw(); },
    // Zooms so that a box is at least `pixels` wide, and no closer.
    show(i, pixels) {
      let z = -1;
      for (let p = parent[i]; p >= 0; p = parent[p]) if (width[i] / width[p] * W >= pixels || z < 0) z = p; else break;
      if (width[i] / ruler * W >= pixels) z = -1;
      zoomTo(z);
      pick(i);
    },
    get zoomed() { return zoom; },
    get whole() { return whole; },
    widthOf: i => width[i],
  };
}

// The ink that can be read on a colour: a contrast of 4.5 by WCAG 2, which either black or white has.
const inks = new Map();
function inkOn(fill) {
  let ink = inks.get(fill);
  if (ink) return ink;
  const probe = inks.probe ||= document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  probe.fillStyle = fill;
  probe.fillRect(0, 0, 1, 1);
  const [r, g, b] = [...probe.getImageData(0, 0, 1, 1).data].map(c => (c /= 255) <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4);
  const light = .2126 * r + .7152 * g + .0722 * b + .05;
  ink = light / .064 >= 4.5 ? "#22201d" : light / .05 > 1.05 / light ? "#000000" : "#ffffff";
  inks.set(fill, ink);
  return ink;
}
