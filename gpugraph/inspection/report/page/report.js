// Puts the page together.
function tiles() {
  const total = steps.reduce((sum, step) => sum + step.duration, 0);
  const moved = data.transfers.reduce((sum, [, , , bytes]) => sum + (bytes || 0), 0);
  const facts = [
    [duration(data.run_us), "the run, with its trace"],
    [data.counts.steps, `steps, ${duration(total)}`],
    [data.counts.nodes, `nodes of ${data.counts.placements} operations`],
    [data.devices.length, `devices: ${data.devices.map((_, device) => deviceName(device)).join(", ")}`],
    [size(data.memory.reduce((sum, memory) => sum + memory.peak, 0)), "memory at the peaks"],
    [data.transfers.length, `transfers, ${size(moved)}`],
  ];
  byId("tiles").replaceChildren(...facts.map(([value, label]) => element("div", { class: "tile" }, element("b", {}, value), element("span", {}, label))));
  const left = Object.entries({ nodes: nodes.length, steps: steps.length, placements: placements.length }).filter(([name, count]) => data.counts[name] > count);
  if (left.length) byId("tiles").after(element("p", { class: "hint", id: "left-out" }, `The page holds ${left.map(([name, count]) => `the first ${count} of ${data.counts[name]} ${name}`).join(", ")}.`));
}

function startSearch() {
  const field = byId("search");
  let order = [], place = -1;
  const said = () => {
    const many = `${order.length} ${order.length === 1 ? "node" : "nodes"}`;
    byId("matches").textContent = !shown.words.length ? "" : place >= 0 ? `${place + 1} of ${many}` : many;
  };
  const go = (step) => {
    if (!order.length) return;
    place = place < 0 ? (step > 0 ? 0 : order.length - 1) : (place + step + order.length) % order.length;
    select(order[place]);
    reveal(order[place]);
    said();
  };
  field.addEventListener("input", () => { search(field.value); order = [...shown.matches]; place = -1; said(); });
  field.addEventListener("keydown", (event) => { if (event.key === "Enter") go(event.shiftKey ? -1 : 1); });
  byId("next").addEventListener("click", () => go(1));
  byId("previous").addEventListener("click", () => go(-1));
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== field) { event.preventDefault(); field.focus(); }
  });
}

tiles();
startGraph();
startTime();
dearestTable();
totalsTable("by-op", "op type", (step) => step.op, "No step was timed.");
totalsTable("by-scope", "scope", scopeOfStep, "No step was timed.");
byId("memory").replaceChildren(...data.memory.map(memoryPart));
fusionTable();
placementTable();
passList();
startSearch();
const dearest = steps.reduce((most, step) => (step.places.length && (!most || step.duration > most.duration) ? step : most), null);
if (dearest) select(dearest.places[0]);
document.documentElement.dataset.ready = "yes";
