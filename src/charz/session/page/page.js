"use strict";
const root = document.documentElement;
const charts = JSON.parse(document.getElementById("charts").textContent);
const trees = JSON.parse(document.getElementById("trees").textContent);
const isDark = () => root.dataset.theme === "dark" || (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);

// Replacements on a dark page for the colors that the specifications state for a light one.
const inks = { "#222": "#e6edf3", "#333": "#c9d1d9", "#444": "#c9d1d9", "#555": "#9aa4af", "#999": "#6e7681", "#b00": "#ff7b72" };
function themed(whole) {
  const spec = isNarrow() ? narrowed(whole) : whole;
  if (!isDark()) return { ...spec, background: null };
  const text = JSON.stringify(spec).replace(/"(#[0-9a-f]{3})"/gi, (all, ink) => `"${inks[ink] ?? ink}"`);
  const ink = "#c9d1d9", line = "#30363d";
  const config = {
    axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line },
    legend: { labelColor: ink, titleColor: ink, symbolBaseFillColor: ink, symbolBaseStrokeColor: ink }, text: { fill: ink }, view: { stroke: line },
  };
  const dark = JSON.parse(text), own = dark.config ?? {};
  const both = Object.fromEntries(Object.keys(config).map((name) => [name, { ...(own[name] ?? {}), ...config[name] }]));
  return { ...dark, background: null, config: { ...own, ...both } };
}

// On a narrow page, legends are below the plot, in as many columns as their names allow, and titles and names at axes are smaller.
const isNarrow = () => innerWidth < 600;
function narrowed(spec) {
  const own = spec.config ?? {};
  const legend = { ...(own.legend ?? {}), orient: "bottom", direction: "vertical", columns: spec.usermeta?.columns ?? 1, layout: { bottom: { direction: "vertical", anchor: "start" } } };
  return { ...spec, config: { ...own, legend, axis: { ...(own.axis ?? {}), titleFontSize: 9 } } };
}

// Tab reaches one of several neighboring controls, and arrow keys move between them.
function rove(place, selector) {
  const all = () => [...place.querySelectorAll(selector)];
  const take = (one) => { all().forEach((other) => other.setAttribute("tabindex", other === one ? "0" : "-1")); one.focus(); };
  all().forEach((one, i) => one.setAttribute("tabindex", i ? "-1" : "0"));
  place.onkeydown = (event) => {
    const found = all(), at = found.indexOf(event.target.closest(selector));
    if (at < 0 || !event.key.startsWith("Arrow")) return;
    const cell = found[at].closest("td"), row = cell?.closest("tr");
    const wide = row ? row.querySelectorAll(selector).length : 1;
    const to = found[at + { ArrowRight: 1, ArrowLeft: -1, ArrowDown: wide, ArrowUp: -wide }[event.key]];
    if (!to) return;
    event.preventDefault();
    take(to);
  };
}
function drawCharts() {
  document.querySelectorAll(".chart").forEach((place, i) => {
    place.setAttribute("aria-label", place.closest("section").querySelector(".finding").textContent);
    vegaEmbed(place, themed(charts[i]), { actions: false, renderer: "svg" }).catch((error) => console.error(error));
  });
}

// The tree of modules: one row for each depth, each module as wide as its share; a click or Enter zooms into a module.
const ROW = 26, DEPTHS = 6;
function hue(text) { let h = 0; for (const c of text) h = (h * 31 + c.charCodeAt(0)) % 360; return h; }
function amount(value, unit) {
  if (value === null) return "-";
  const scale = [[1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"], [1e-12, "p"]];
  const [factor, prefix] = scale.find(([f]) => Math.abs(value) >= f) ?? scale[4];
  return `${(value / factor).toPrecision(3)} ${prefix}${unit}`;
}
// The longest text that fits: path, class and cost; path and cost; path; the end of the path that tells the module from its neighbors.
function fitting(path, kind, cost, fits) {
  const found = [`${path}${kind ? ` ${kind}` : ""}: ${cost}`, `${path}: ${cost}`, path].find((text) => text.length <= fits);
  return found ?? `…${path.slice(path.length - Math.max(0, fits - 1))}`;
}
function makeTree(place, rows) {
  const byPath = new Map(rows.map((row) => [row.module, { ...row, children: [] }]));
  if (!byPath.has("")) byPath.set("", { module: "", class_name: "", latency_s: 0, energy_j: 0, children: [] });
  for (const node of byPath.values()) {
    if (node.module === "") continue;
    let parent = node.module;
    do { parent = parent.includes(".") ? parent.slice(0, parent.lastIndexOf(".")) : ""; } while (!byPath.has(parent));
    byPath.get(parent).children.push(node);
    node.parent = parent;
  }
  let quantity = "latency_s", top = "";
  const unit = () => (quantity === "latency_s" ? "s" : "J");
  function draw(focused) {
    // In pixels of the screen, so that a narrow page has fewer letters and no smaller ones.
    const WIDTH = Math.max(280, place.clientWidth);
    const whole = byPath.get(top), total = whole[quantity] || whole.children.reduce((sum, c) => sum + (c[quantity] ?? 0), 0);
    const boxes = [];
    (function add(node, x, width, depth) {
      if (width < 1.5 || depth >= DEPTHS) return;
      boxes.push([node, x, width, depth]);
      let at = x;
      for (const child of [...node.children].sort((a, b) => (b[quantity] ?? 0) - (a[quantity] ?? 0))) {
        const share = total ? ((child[quantity] ?? 0) / total) * WIDTH : 0;
        add(child, at, share, depth + 1);
        at += share;
      }
    })(whole, 0, WIDTH, 0);
    const rowsUsed = Math.max(...boxes.map((box) => box[3])) + 1;
    const light = isDark() ? 32 : 82, ink = isDark() ? "#fff" : "#111";
    const shapes = boxes.map(([node, x, width, depth]) => {
      const name = node.module || "model", cost = amount(node[quantity], unit());
      const label = `${name}${node.class_name ? ` (${node.class_name})` : ""}: ${cost}`;
      const fits = Math.floor(width / 6.8) - 1, shown = fitting(name, node.class_name, cost, fits);
      const g = document.createElementNS("http://www.w3.org/2000/svg", "g");
      g.setAttribute("tabindex", "0"); g.setAttribute("role", "button"); g.setAttribute("aria-label", label); g.dataset.module = node.module;
      g.innerHTML = `<title></title><rect x="${x}" y="${depth * ROW}" width="${width}" height="${ROW}" fill="hsl(${hue(node.class_name || name)},55%,${light}%)"/><text x="${x + 5}" y="${depth * ROW + 17}" fill="${ink}"></text>`;
      g.querySelector("title").textContent = label;
      g.querySelector("text").textContent = fits > 3 ? shown : "";
      return g;
    });
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", `0 0 ${WIDTH} ${rowsUsed * ROW}`);
    svg.append(...shapes);
    place.querySelector("svg")?.remove();
    place.append(svg);
    rove(svg, "g");
    if (focused) svg.querySelector("g").focus();
  }
  const zoom = (event) => {
    const g = event.target.closest("g");
    if (!g || (event.type === "keydown" && event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    top = g.dataset.module === top ? byPath.get(top).parent ?? "" : g.dataset.module;
    draw(true);
  };
  place.addEventListener("click", zoom);
  place.addEventListener("keydown", zoom);
  const bar = document.createElement("div");
  bar.className = "bar";
  for (const [name, text] of [["latency_s", "Time"], ["energy_j", "Energy"]]) {
    const button = document.createElement("button");
    button.type = "button"; button.textContent = text;
    button.addEventListener("click", () => { quantity = name; draw(false); });
    bar.append(button);
  }
  bar.append("Click a module to make it the whole width, once more to go back.");
  place.append(bar);
  draw(false);
  return () => draw(false);
}
const redraw = Object.entries(trees).map(([name, rows]) => makeTree(document.querySelector(`#${name} .tree`), rows));

document.querySelectorAll("table").forEach((table) => rove(table, "[data-about]"));

const about = document.getElementById("about");
document.addEventListener("click", async (event) => {
  const number = event.target.closest("[data-about]"), copy = event.target.closest("[data-copy]");
  if (number) {
    const [head, meaning] = [document.createElement("p"), document.createElement("p")];
    head.textContent = number.dataset.about; meaning.textContent = number.dataset.meaning;
    about.querySelector("div").replaceChildren(head, meaning);
    about.showModal();
  }
  if (copy) {
    try { await navigator.clipboard.writeText(copy.dataset.copy); copy.textContent = "Copied"; }
    catch { getSelection().selectAllChildren(copy.nextElementSibling); copy.textContent = "Selected: copy it"; }
  }
});
let width = innerWidth;
addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; redraw.forEach((draw) => draw()); } });
function retheme() { drawCharts(); redraw.forEach((draw) => draw()); }
document.getElementById("theme").addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; retheme(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", retheme);
if (isDark()) root.dataset.theme = "dark";
drawCharts();
