// Drives a page in Chromium: node drive.cjs <playwright-core> <chromium> <page> <case> [<folder for pictures>].
// Prints what it saw as JSON; the test beside it says what that should be.
const fs = require("fs"), os = require("os"), path = require("path");
const [library, program, file, name, pictures] = process.argv.slice(2);
const { chromium } = require(library);

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];
const settled = page => page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
const text = (page, query) => page.evaluate(q => document.querySelector(q).innerText, query);
const state = page => page.evaluate(() => ({
  mode: document.getElementById("canvas").dataset.mode,
  trail: document.getElementById("trail").innerText,
  found: document.getElementById("found").innerText,
  tip: document.getElementById("tip").style.display === "block" ? document.querySelector("#tip b").innerText : null,
  focus: document.activeElement.id,
}));
// The middle of a place on the flame graph, in parts of its width and in rows.
async function place(page, part, row) {
  await page.evaluate(() => document.getElementById("flame").scrollIntoView());
  const area = await page.locator("#canvas").boundingBox();
  return [area.x + area.width * part, area.y + 4 + 20 * row + 10];
}

// The pictures of the documents.
async function photograph(page, name) {
  const save = part => page.screenshot({ path: path.join(pictures, `diff-${part}.png`) });
  if (name.startsWith("wide")) await page.setViewportSize({ width: 1400, height: 860 });
  await settled(page);
  const go = id => page.evaluate(id => document.getElementById(id).scrollIntoView(), id);
  if (name === "wide-light") {
    await save("page-light");
    await page.click("#suspects button >> nth=0");
    await settled(page);
    await save("suspect-light");
    await page.evaluate(() => document.activeElement.blur());
  } else if (name === "wide-dark") {
    await page.keyboard.press("/");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await go("flame");
    await settled(page);
    await save("flame-dark");
    await go("graph");
    await settled(page);
    await save("paths-dark");
  } else if (name === "narrow-light") {
    await page.evaluate(() => scrollTo(0, 0));
    await settled(page);
    await save("narrow-light");
  } else {
    await go("flame");
    await settled(page);
    await save("narrow-dark");
  }
}

// Every text that is shown against what is behind it, by WCAG 2.
const contrasts = page => page.evaluate(() => {
  const parse = c => { const n = c.match(/[\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
  const light = ([r, g, b]) => [r, g, b].map(c => (c /= 255) <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4).reduce((s, c, k) => s + c * [.2126, .7152, .0722][k], 0);
  const low = [];
  for (const e of document.querySelectorAll("body *")) {
    if (!e.checkVisibility() || e.closest(".unseen") || ["SCRIPT", "OPTION", "CANVAS"].includes(e.tagName)) continue;
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (!own) continue;
    const style = getComputedStyle(e);
    // A text in a drawing lies on its group's box, or on what the drawing lies on.
    const box = e.closest("g")?.querySelector("rect"), fill = box && getComputedStyle(box).fill;
    let back = fill && fill !== "none" ? parse(fill) : null;
    for (let up = e; up && !back; up = up.parentElement) { const c = parse(getComputedStyle(up).backgroundColor); if (c[3] > .99) back = c; }
    const ink = parse(e.tagName === "text" ? style.fill : style.color);
    const [a, b] = [light(ink), light(back || [255, 255, 255])].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) low.push(`${ratio.toFixed(2)} ${e.tagName} ${e.className.baseVal ?? e.className}: ${e.textContent.slice(0, 40)}`);
  }
  return low;
});

const CASES = {
  async looks(page) {
    const seen = { widths: [], contrasts: [] };
    for (const [width, height] of [[1600, 1000], [400, 800]]) {
      for (const scheme of ["light", "dark"]) {
        await page.setViewportSize({ width, height });
        await page.emulateMedia({ colorScheme: scheme });
        await settled(page);
        seen.widths.push(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth));
        seen.contrasts.push(...await contrasts(page));
        if (pictures) await photograph(page, `${width > 1000 ? "wide" : "narrow"}-${scheme}`);
      }
    }
    seen.theme = [];
    for (let k = 0; k < 2; k++) { await page.click("#theme"); seen.theme.push(await page.evaluate(() => document.documentElement.dataset.theme)); }
    seen.text = await page.evaluate(() => document.body.innerText);
    seen.unnamed = await page.evaluate(() => [...document.querySelectorAll("button, input, [role=img], [role=application], summary")]
      .filter(e => !(e.innerText || e.getAttribute("aria-label") || e.labels?.[0]?.innerText)).length);
    return seen;
  },
  async search(page) {
    const seen = [];
    await page.keyboard.press("/");
    seen.push(await state(page));
    for (const what of ["utf", "/^draw(Fill|Line)$/", "/(/", "nosuchthing"]) {
      await page.fill("#search", what);
      await settled(page);
      seen.push(await state(page));
    }
    await page.fill("#search", "utf");
    await page.keyboard.press("Enter");
    await settled(page);
    seen.push(await state(page));
    await page.keyboard.press("n");
    await page.keyboard.press("n");
    await page.keyboard.press("Escape");
    await settled(page);
    seen.push(await state(page));
    return seen;
  },
  async zoom(page) {
    const seen = [], at = async (part, row) => { const [x, y] = await place(page, part, row); await page.mouse.move(x, y); await settled(page); return [x, y]; };
    await at(.1, 4);
    seen.push(await state(page));
    await page.mouse.click(...await at(.1, 4));
    await settled(page);
    seen.push(await state(page));
    // The zoomed call has all of the width now.
    await at(.95, 4);
    seen.push(await state(page));
    await page.click("#trail button >> nth=0");
    seen.push(await state(page));
    await page.click("#suspects button >> nth=0");
    await settled(page);
    seen.push(await state(page));
    return seen;
  },
  async keys(page) {
    const seen = [];
    await page.focus("#scroll");
    for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowDown", "Enter", "ArrowUp", "Backspace", "Escape"]) {
      await page.keyboard.press(key);
      await settled(page);
      const { tip, trail } = await state(page);
      seen.push([key, tip, trail, await text(page, "#spoken")]);
    }
    await page.keyboard.press("?");
    seen.push(["?", await page.evaluate(() => document.getElementById("keys").open)]);
    await page.keyboard.press("Escape");
    seen.push(["Escape", await page.evaluate(() => document.getElementById("keys").open)]);
    return seen;
  },
  // The page of one profile.
  async flame(page) {
    const seen = [];
    for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "Enter", "Backspace", "Escape"]) {
      await page.keyboard.press(key);
      await settled(page);
      seen.push(await state(page));
    }
    await page.keyboard.press("/");
    await page.keyboard.type("read");
    await settled(page);
    seen.push(await state(page));
    await page.keyboard.press("Escape");
    seen.push(await state(page));
    return seen;
  },
  async modes(page) {
    const seen = [], row = async () => { const [x, y] = await place(page, .02, 5); await page.mouse.move(0, 0); await page.mouse.move(x, y); await settled(page); const { mode, tip } = await state(page); seen.push([mode, tip]); };
    await row();
    for (const [group, value] of [["mode", "before"], ["mode", "after"], ["scale", "share"], ["mode", "difference"]]) {
      await page.click(`#${group} label:has(input[value=${value}])`);
      await row();
    }
    await page.focus("#scroll");
    for (const key of ["b", "a", "d", "s"]) { await page.keyboard.press(key); await row(); }
    return seen;
  },
  async parts(page) {
    return page.evaluate(() => ({
      calls: [...document.querySelectorAll(".call text:first-of-type")].map(e => e.textContent),
      causes: document.querySelectorAll(".call.cause").length,
      new: document.querySelectorAll(".call.new").length,
      title: document.querySelector("#graph h2").innerText,
      rows: document.querySelectorAll("#paths tr").length,
      cells: document.querySelectorAll("#paths td").length,
      folded: document.getElementById("folded").innerText,
    }));
  },
  async harm(page) {
    await page.focus("#scroll");
    await page.keyboard.press("ArrowDown");
    await settled(page);
    return page.evaluate(() => ({
      harmed: window.harmed ?? null, scripts: document.scripts.length, images: document.images.length, bold: document.querySelectorAll("main b").length,
      tip: document.querySelector("#tip b").textContent,
      names: [...document.querySelectorAll(".suspect h3")].map(e => e.textContent), notes: [...document.querySelectorAll(".notes li")].map(e => e.textContent),
      warnings: [...document.querySelectorAll("#warnings li")].map(e => e.textContent),
    }));
  },
  // Milliseconds of a frame: the script's part, and from one frame to the next. Quartiles, since the machine may be busy.
  async fluid(page) {
    return page.evaluate(async () => {
      const canvas = document.getElementById("canvas"), scroll = document.getElementById("scroll"), seen = {};
      document.getElementById("flame").scrollIntoView();
      const quartiles = list => [1, 2, 3].map(k => Number(list.sort((a, b) => a - b)[Math.floor(list.length * k / 4)].toFixed(1)));
      const run = async (name, steps, step) => {
        const script = [], gaps = [];
        let last = performance.now();
        for (let k = 0; k < steps; k++) {
          step(k);
          await new Promise(done => requestAnimationFrame(done));
          script.push(Number(canvas.dataset.frame));
          gaps.push(performance.now() - last);
          last = performance.now();
        }
        seen[name] = { script: quartiles(script), frame: quartiles(gaps) };
      };
      const area = canvas.getBoundingClientRect();
      await run("hover", 60, k => scroll.dispatchEvent(new MouseEvent("mousemove", { clientX: area.left + 10 + k * 23, clientY: area.top + 30 + k % 20 * 20, bubbles: true })));
      await run("scroll", 60, k => { scroll.scrollTop = k * 11; });
      scroll.scrollTop = 0;
      scroll.focus();
      const key = key => scroll.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      await run("zoom", 40, k => { key(k % 2 ? "Enter" : "ArrowDown"); });
      await run("modes", 20, k => key("bad"[k % 3]));
      await run("search", 20, k => { const box = document.getElementById("search"); box.value = `function_${k}`; box.dispatchEvent(new Event("input")); });
      const [load] = performance.getEntriesByType("navigation");
      seen.load = load.domComplete - load.responseEnd;
      return seen;
    });
  },
};

(async () => {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "perfblame-browser-"));
  const browser = await chromium.launchPersistentContext(profile, { executablePath: program, headless: true, viewport: { width: 1600, height: 1000 }, args: FLAGS });
  try {
    const page = browser.pages()[0] || await browser.newPage(), errors = [];
    page.on("console", message => { if (message.type() !== "log") errors.push(message.text()); });
    page.on("pageerror", error => errors.push(error.message));
    page.on("request", request => { if (!request.url().startsWith("file://")) errors.push("asked for " + request.url()); });
    page.on("dialog", dialog => { errors.push("dialog " + dialog.message()); dialog.dismiss(); });
    await page.goto("file://" + file);
    await settled(page);
    const seen = await CASES[name](page);
    console.log(JSON.stringify({ errors, seen }));
  } finally {
    await browser.close();
    fs.rmSync(profile, { recursive: true, force: true });
  }
})().catch(error => { console.error(error); process.exitCode = 1; });
