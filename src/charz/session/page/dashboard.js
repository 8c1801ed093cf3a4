"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const grid = document.getElementById("grid"), told = document.getElementById("told");
const column = Object.fromEntries(data.columns.map((name, i) => [name, i]));
const get = (row, name) => { const value = row[column[name]]; return data.words[name] && value !== null ? data.words[name][value] : value; };
const conditions = ["backend", "precision", "batch"], filters = ["family", ...conditions];
let order = null;

function shown(value, unit) {
  if (value === null || value === undefined) return "";
  if (unit === "byte") {
    const power = Math.min(4, Math.max(0, Math.floor(Math.log2(Math.max(value, 1)) / 10)));
    return `${Number((value / 2 ** (10 * power)).toPrecision(3))} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
  }
  if (value === 0) return `0 ${unit}`;
  const power = Math.max(-4, Math.min(4, Math.floor(Math.log10(Math.abs(value)) / 3)));
  return `${Number((value / 1000 ** power).toPrecision(3))} ${["p", "n", "µ", "m", "", "k", "M", "G", "T"][power + 4]}${unit}`;
}

function option(select, value, label) {
  const found = document.createElement("option");
  found.value = value; found.textContent = label; select.append(found);
}

const usual = new Map(data.rows.filter((row) => get(row, "is_default")).map((row) => [`${get(row, "model")} ${get(row, "hardware")}`, row]));

// "usual" in a filter means the value of the default run of that model and part; in all of them, that run alone.
function isUsual(row, wanted) {
  const found = usual.get(`${get(row, "model")} ${get(row, "hardware")}`), asked = conditions.filter((name) => wanted[name] === "usual");
  return asked.length === conditions.length ? row === found : asked.every((name) => found !== undefined && get(row, name) === get(found, name));
}

function chosen() {
  const wanted = Object.fromEntries(filters.map((name) => [name, document.getElementById(name).value]));
  const text = document.getElementById("part").value.toLowerCase();
  return data.rows.filter((row) =>
    filters.every((name) => ["", "usual", String(get(row, name))].includes(wanted[name])) && isUsual(row, wanted)
    && (String(get(row, "hardware")).toLowerCase().includes(text)));
}

// Another backend seldom runs the usual precision, so it begins with all of its precisions.
function widen() {
  const precision = document.getElementById("precision");
  if (document.getElementById("backend").value !== "usual" && precision.value === "usual") precision.value = "";
}

function counted(number, word) { return `${number} ${word}${number === 1 ? "" : "s"}`; }

function isHost(row) { return get(row, "bottleneck") === "overhead"; }

// The energy of the same run, where a cell shows its time; empty if the part has no coefficients.
function energy(row, metric) {
  const sample = get(row, "energy_per_sample_j");
  return metric.column === "latency_s" && sample !== null ? shown(sample * get(row, "batch"), "J") : "";
}

function mixed(parts) {
  const found = new Set(parts.flatMap(([, part]) => [...part.cells.values()].map((cell) => get(cell.row, "precision"))));
  return found.size > 1 ? `: ${found.size} precisions, the filter shows one alone` : "";
}

function draw() {
  const metric = data.metrics[document.getElementById("metric").value];
  const better = (a, b) => a === null ? false : b === undefined || (metric.is_high ? a > b : a < b);
  const parts = new Map();
  let count = 0;
  for (const row of chosen()) {
    const value = get(row, metric.column), part = get(row, "hardware"), model = get(row, "model");
    if (!parts.has(part)) parts.set(part, { simulated: get(row, "is_simulated"), cells: new Map() });
    const cells = parts.get(part).cells, before = cells.get(model);
    if (better(value, before && before.value)) cells.set(model, { value, row });
    count += 1;
  }
  const models = data.words.model.filter((model) => [...parts.values()].some((part) => part.cells.has(model)));
  if (!models.includes(order)) order = models[0];
  const by = (part) => { const cell = part[1].cells.get(order); return cell ? (metric.is_high ? -cell.value : cell.value) : Infinity; };
  const sorted = [...parts].filter((part) => part[1].cells.size).sort((a, b) => by(a) - by(b) || (a[0] < b[0] ? -1 : 1));
  grid.replaceChildren();
  const head = grid.createTHead().insertRow();
  for (const name of ["part", ...models]) {
    const cell = document.createElement("th");
    if (name === "part") cell.textContent = name;
    else {
      const button = document.createElement("button");
      button.textContent = name === order ? `${name} ▾` : name; button.type = "button";
      button.addEventListener("click", () => { order = name; draw(); });
      cell.append(button);
    }
    head.append(cell);
  }
  const body = grid.createTBody();
  for (const [name, part] of sorted) {
    const line = body.insertRow(), first = document.createElement("th");
    first.textContent = name; first.scope = "row"; line.append(first);
    if (part.simulated) line.className = "simulated";
    for (const model of models) {
      const cell = line.insertCell(), found = part.cells.get(model);
      if (!found) continue;
      const beside = document.createElement("small");
      beside.textContent = [energy(found.row, metric), get(found.row, "precision"), isHost(found.row) ? "host" : ""].filter(Boolean).join(" · ");
      cell.append(shown(found.value, metric.unit), " ", beside);
      if (isHost(found.row)) cell.className = "host";
      cell.title = `${get(found.row, "backend")}, ${get(found.row, "precision")}, batch ${get(found.row, "batch")}, ${get(found.row, "bottleneck") ?? "no bottleneck"}`;
    }
  }
  const isMarked = sorted.some(([, part]) => [...part.cells.values()].some((cell) => isHost(cell.row)));
  const host = isMarked ? ' "host" marks runs whose pace the host sets by issuing kernels, so that a faster part would not shorten them.' : "";
  const joules = metric.column === "latency_s" ? ", the energy of that run" : "";
  told.textContent = `${counted(sorted.length, "part")}, ${counted(models.length, "model")}, ${counted(count, "run")}; each cell shows the ${metric.is_high ? "highest" : "lowest"} of the chosen runs${joules} and its precision${mixed(sorted)}.${host} Hold a cell for its conditions, choose a model to sort.`;
}

for (const [i, metric] of data.metrics.entries()) option(document.getElementById("metric"), i, metric.label);
for (const name of filters) {
  const select = document.getElementById(name);
  if (conditions.includes(name)) option(select, "usual", "the usual one");
  option(select, "", "all");
  const values = [...new Set(data.rows.map((row) => get(row, name)))].sort((a, b) => (typeof a === "number" ? a - b : a < b ? -1 : 1));
  for (const value of values) option(select, value, value);
  select.addEventListener("change", () => { if (name === "backend") widen(); draw(); });
}
document.getElementById("metric").addEventListener("change", draw);
document.getElementById("part").addEventListener("input", draw);
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement, isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
});
draw();
