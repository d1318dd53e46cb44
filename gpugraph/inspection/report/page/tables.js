// Tables that a search filters, that sort by a column, and show more where there is more.
const FIRST_ROWS = 40;
const MORE_ROWS = 200;
const FIRST_OWNERS = 6;
const FIRST_TOTALS = 12;

// columns: [title, cell of a row, value to sort by, class]; rows have the parts that are searched.
function table(place, columns, rows, nothing, first = FIRST_ROWS) {
  const state = { most: first, column: -1, down: false };
  const head = element("tr", {}, ...columns.map(([title, , , kind], number) => element("th", { class: kind || "", scope: "col", title: "Sort", onclick: () => {
    state.down = state.column === number ? !state.down : kind === "number";
    state.column = number;
    fill();
  } }, title)));
  const body = element("tbody"), more = element("div", { class: "more" });
  const fill = () => {
    let left = shown.words.length ? rows.filter((row) => includes(row.haystack ??= haystack(...row.searched))) : rows;
    if (state.column >= 0) {
      const value = columns[state.column][2];
      left = [...left].sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * (state.down ? -1 : 1));
    }
    body.replaceChildren(...left.slice(0, state.most).map((row) => {
      const line = element("tr", { "data-node": row.node }, ...columns.map(([, cell, , kind]) => element("td", { class: kind || "" }, cell(row))));
      if (row.node !== undefined) {
        line.addEventListener("click", () => { select(row.node); reveal(row.node); });
        line.classList.toggle("selected", row.node === shown.selected);
      }
      return line;
    }));
    const rest = left.length - state.most;
    if (!left.length) more.replaceChildren(element("span", { class: "none" }, rows.length ? "Nothing here matches." : nothing));
    else if (rest > 0) more.replaceChildren(element("button", { onclick: () => { state.most += MORE_ROWS; fill(); } }, `Show more (${rest} left)`));
    else more.replaceChildren();
  };
  place.append(element("div", { class: "scroll" }, element("table", {}, element("thead", {}, head), body)), more);
  shown.listeners.push(fill);
  fill();
}

const nodeIndex = (name) => (nodeOf.has(name) ? nodeOf.get(name).index : undefined);

function dearestTable() {
  const dearest = [...steps].sort((a, b) => b.duration - a.duration).slice(0, 10);
  const total = steps.reduce((sum, step) => sum + step.duration, 0) || 1;
  const longest = dearest.length ? dearest[0].duration : 1;
  const rows = dearest.map((step) => ({ step, node: step.places[0], searched: [step.name, step.op, deviceName(step.device), step.how] }));
  table(byId("dearest"), [
    ["time", (row) => duration(row.step.duration), (row) => row.step.duration, "number"],
    ["share", (row) => `${(100 * row.step.duration / total).toFixed(1)} %`, (row) => row.step.duration, "number"],
    ["", (row) => element("span", { class: "share", style: { width: `${70 * row.step.duration / longest}px`, background: `var(--${kindOf(row.step.op)})` } }), (row) => row.step.duration],
    ["step", (row) => row.step.name, (row) => row.step.name],
    ["op", (row) => (row.step.how ? `${row.step.op}, ${row.step.how}` : row.step.op), (row) => row.step.op, "op"],
    ["device", (row) => deviceName(row.step.device), (row) => row.step.device, "device"],
  ], rows, "No step was timed.");
}

// The time of all steps with the same key: an op type, or a scope.
function totalsTable(id, title, keyOf, nothing) {
  const total = steps.reduce((sum, step) => sum + step.duration, 0) || 1;
  const rows = [...grouped(steps, keyOf)].map(([key, own]) => {
    const time = own.reduce((sum, step) => sum + step.duration, 0);
    return { key, count: own.length, time, searched: [key] };
  }).sort((a, b) => b.time - a.time);
  table(byId(id), [
    ["time", (row) => duration(row.time), (row) => row.time, "number"],
    ["share", (row) => `${(100 * row.time / total).toFixed(1)} %`, (row) => row.time, "number"],
    ["steps", (row) => row.count, (row) => row.count, "number"],
    [title, (row) => row.key, (row) => row.key],
  ], rows, nothing, FIRST_TOTALS);
}

// The name scope of a step; an op without a scope stands for itself.
const scopeOfStep = (step) => path(step).slice(0, 2).slice(0, Math.max(path(step).length - 1, 1)).join("/");

function memoryPart(memory) {
  const part = element("div", { class: "memory" });
  const name = memory.device.split("device:").pop();
  part.append(element("h3", {}, `${name}: ${size(memory.peak)} at the peak `, element("span", {}, `arena ${size(data.arena[memory.device] || 0)}${memory.peak_node ? `, peak at ${short(memory.peak_node, 50)}` : ""}`)));
  const end = Math.max(data.run_us, memory.curve.length ? memory.curve[memory.curve.length - 1][0] : 0, 1e-3);
  const most = Math.max(memory.peak, 1), x = (moment) => (1000 * moment / end).toFixed(2), y = (bytes) => (100 - 94 * bytes / most).toFixed(2);
  if (memory.curve.length) {
    let line = `M${x(memory.curve[0][0])} 100V${y(memory.curve[0][1])}`;
    for (const [moment, bytes] of memory.curve.slice(1)) line += `H${x(moment)}V${y(bytes)}`;
    line += "H1000V100Z";
    part.append(drawn("svg", { class: "chart", viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img", "aria-label": `Memory of ${name} over time` },
      drawn("path", { class: "area", d: line }),
      drawn("path", { class: "peak", d: `M${x(memory.peak_us)} 0V100` })));
  }
  const rows = memory.owners.map(([owner, kind, bytes]) => ({ owner, kind, bytes, node: nodeIndex(owner.replace(/:\d+$/, "")), searched: [owner, kind] }));
  table(part, [
    ["bytes at the peak", (row) => size(row.bytes), (row) => row.bytes, "number"],
    ["", (row) => element("span", { class: "share", style: { width: `${70 * row.bytes / most}px` } }), (row) => row.bytes],
    ["owner", (row) => row.owner, (row) => row.owner],
    ["kind", (row) => row.kind, (row) => row.kind, "op"],
  ], rows, "It holds nothing.", FIRST_OWNERS);
  return part;
}

function fusionTable() {
  const fused = nodes.filter((node) => node.members.length).map((node) => {
    const why = placementOf.get(node.name);
    return { node: node.index, at: node, why: why ? why.reason : "", searched: [node.name, node.op, deviceName(node.device), ...node.members, why ? why.reason : ""] };
  });
  table(byId("fusion"), [
    ["fused step", (row) => row.at.name, (row) => row.at.name],
    ["ops", (row) => row.at.members.length, (row) => row.at.members.length, "number"],
    ["computes", (row) => row.at.members.join(", "), (row) => row.at.members.length],
    ["device", (row) => deviceName(row.at.device), (row) => row.at.device, "device"],
    ["reason", (row) => row.why, (row) => row.why],
  ], fused, "Nothing was fused.");
  const report = data.passes.find(([name]) => name === "fuse");
  if (report) byId("fusion").prepend(element("p", { class: "hint" }, report[1]));
}

function placementTable() {
  const rows = placements.map((row) => ({ at: row, node: nodeIndex(row.name), searched: [row.name, row.op, deviceName(row.device), row.mode, row.reason, row.origin] }));
  table(byId("placement"), [
    ["operation", (row) => row.at.name, (row) => row.at.name],
    ["op", (row) => row.at.op, (row) => row.at.op, "op"],
    ["device", (row) => deviceName(row.at.device), (row) => row.at.device, "device"],
    ["how it is run", (row) => row.at.mode, (row) => row.at.mode],
    ["why it is there", (row) => row.at.reason, (row) => row.at.reason],
    ["line", (row) => row.at.origin, (row) => row.at.origin],
  ], rows, "There are no operations.");
}

function passList() {
  const fill = () => {
    byId("passes").replaceChildren(...data.passes.map(([name, summary, milliseconds, lines, left]) => {
      const found = shown.words.length ? lines.filter((line) => includes(line.toLowerCase())) : lines;
      const all = found.slice(0, 100).map((line) => element("li", {}, line));
      const rest = shown.words.length ? found.length - all.length : lines.length + left - all.length;
      if (rest > 0) all.push(element("li", { class: "none" }, `and ${rest} more`));
      const title = element("summary", {}, element("b", {}, name), summary, element("span", {}, `${milliseconds.toFixed(2)} ms`));
      const attributes = shown.words.length && found.length ? { open: "" } : {};
      return element("details", attributes, title, ...(all.length ? [element("ul", {}, ...all)] : []));
    }));
  };
  shown.listeners.push((what) => { if (what === "search") fill(); });
  fill();
}
