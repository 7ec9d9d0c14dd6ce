"use strict";
// Names come from profiles, that is from strangers: they reach the page through textContent and fillText only.
const D = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);

function element(tag, text, kind) {
  const e = document.createElement(tag);
  e.textContent = text;
  if (kind) e.className = kind;
  return e;
}
function parts(tag, kind, ...children) {
  const e = element(tag, "", kind);
  e.append(...children);
  return e;
}

const count = n => n.toLocaleString("en");
const counted = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;

// A stored value of a metric, with its unit.
function amount(stored, m) {
  const v = stored / 10 ** m.decimals, x = Math.abs(v);
  if (v < 0) return "−" + amount(-stored, m);
  const digits = x => x < 9.995 ? x.toFixed(2) : x < 99.95 ? x.toFixed(1) : x.toFixed(0);
  if (m.unit === "ns") {
    if (x === 0) return "0 s";
    if (x < 999.5) return `${x.toFixed(0)} ns`;
    if (x < 999.5e3) return `${digits(x / 1e3)} µs`;
    if (x < 999.5e6) return `${digits(x / 1e6)} ms`;
    if (x < 600e9) return `${digits(x / 1e9)} s`;
    return x < 7200e9 ? `${(x / 60e9).toFixed(1)} min` : `${(x / 3600e9).toFixed(1)} h`;
  }
  if (m.unit === "bytes") {
    let y = x, u = 0;
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    while (y >= 999.5 && u < 6) { y /= 1024; u++; }
    return u ? `${digits(y)} ${units[u]}` : `${y.toFixed(0)} B`;
  }
  // Means of counts are seldom whole.
  const places = Math.max(m.decimals, x < 100 ? 1 : 0);
  return `${v.toLocaleString("en", { maximumFractionDigits: places })} ${m.name}`;
}

// What a search text finds: a part of a name, or a regular expression between slashes; null when it is none.
function finder(text) {
  const pattern = /^\/(.+)\/$/.exec(text);
  if (!pattern) { const low = text.toLowerCase(); return s => s.toLowerCase().includes(low); }
  try { const r = new RegExp(pattern[1], "i"); return s => r.test(s); } catch { return null; }
}

// The box that follows the pointer; `content` are its elements.
const tip = $("tip");
function showTip(content, x, y) {
  tip.replaceChildren(...content);
  tip.style.display = "block";
  const w = tip.offsetWidth, h = tip.offsetHeight;
  tip.style.left = Math.max(6, Math.min(x + 14, innerWidth - w - 8)) + "px";
  tip.style.top = (y + 20 + h > innerHeight ? Math.max(6, y - h - 12) : y + 20) + "px";
}
function hideTip() { tip.style.display = "none"; }

// A hue per layer; within it, lightness by name, so that neighbours can be told apart.
const HUES = [[24, 82], [212, 62], [292, 48], [176, 48], [44, 74], [0, 0], [110, 42]];
function layerColour(layer, name) {
  let h = 2166136261;
  for (let k = 0; k < Math.min(name.length, 400); k++) h = Math.imul(h ^ name.charCodeAt(k), 16777619) >>> 0;
  const [hue, saturation] = HUES[layer];
  return `hsl(${hue + h % 17 - 8} ${saturation}% ${(dark ? 40 : 68) + (h >> 8) % 13}%)`;
}
function layerKey(layer) {
  const swatch = element("i", "");
  const [hue, saturation] = HUES[layer];
  swatch.style.background = `hsl(${hue} ${saturation}% ${dark ? 46 : 74}%)`;
  return parts("span", "key", swatch, element("span", D.layers[layer] + "\u2003"));
}

// Dark or light: as the system says, until someone presses the button.
let dark = false;
const onTheme = [];
function theme(night) {
  dark = night;
  document.documentElement.dataset.theme = night ? "dark" : "light";
  for (const call of onTheme) call();
}
const night = matchMedia("(prefers-color-scheme: dark)");
night.addEventListener("change", () => theme(night.matches));
$("theme").onclick = () => theme(!dark);
$("help").onclick = () => $("keys").showModal();
// Keys that work everywhere but in fields; true when it was one.
function commonKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open || event.target.matches("input, select")) return false;
  const keys = { "/": () => $("search").focus(), "?": () => $("keys").showModal(), t: () => theme(!dark) };
  if (!keys[event.key]) return false;
  keys[event.key]();
  event.preventDefault();
  return true;
}
