// The graph: a column a device, rows by depth.
const BOX = { width: 136, height: 34, gapX: 12, gapY: 22, left: 34, top: 30 };
BOX.most = Math.max(Math.floor(6 / data.devices.length), 2);
const graphView = { root: scopeTree(), items: [], itemOf: new Map(), scale: 1 };
const FIRST_ITEMS = 46;
const MAX_ITEMS = 600;
const MAX_EDGES = 4000;

function connect(items) {
  const itemOf = new Map();
  for (const one of items) for (const node of one.members) itemOf.set(node.index, one);
  for (const one of items) {
    for (const node of one.members) {
      for (const [source, kind] of node.edges) {
        const from = itemOf.get(source);
        if (!from || from === one) continue;
        const known = one.inputs.get(from);
        // A transfer is seen as one, data before control.
        if (known === undefined || kind === 2 || (kind === 0 && known === 1)) one.inputs.set(from, kind);
      }
    }
  }
  graphView.itemOf = itemOf;
}

// Rows by depth; a device's part of a row is broken where it is long.
function place(items) {
  const rows = [...grouped(items, (one) => one.depth)].sort((a, b) => a[0] - b[0]);
  const widths = data.devices.map(() => 1);
  for (const [, row] of rows) {
    for (const [device, own] of grouped(row, (one) => one.device)) widths[device] = Math.max(widths[device], Math.min(own.length, BOX.most));
  }
  const lefts = [];
  let left = BOX.left;
  for (const width of widths) {
    lefts.push(left);
    left += width * (BOX.width + BOX.gapX) + BOX.gapX + 10;
  }
  let top = BOX.top;
  const labels = [];
  for (const [depth, row] of rows) {
    let lines = 1;
    for (const [device, own] of grouped(row, (one) => one.device)) {
      for (const one of own) one.wish = center([...one.inputs.keys()].filter((from) => from.x !== undefined && from.device === device).map((from) => from.x));
      own.sort((a, b) => a.wish - b.wish);
      lines = Math.max(lines, Math.ceil(own.length / BOX.most));
      own.forEach((one, number) => {
        const inLine = Math.min(own.length - Math.floor(number / BOX.most) * BOX.most, BOX.most);
        const spare = (widths[device] - inLine) * (BOX.width + BOX.gapX) / 2;
        one.x = lefts[device] + BOX.gapX + spare + (number % BOX.most) * (BOX.width + BOX.gapX);
        one.y = top + Math.floor(number / BOX.most) * (BOX.height + 8);
      });
    }
    labels.push([depth, top]);
    top += lines * (BOX.height + 8) - 8 + BOX.gapY;
  }
  return { lefts, labels, width: left, height: top };
}
const center = (values) => (values.length ? values.reduce((a, b) => a + b) / values.length : 1e9);

function drawGraph(fits = false) {
  const items = visibleItems(graphView.root);
  connect(items);
  const plan = place(items);
  graphView.items = items;
  if (fits) graphView.scale = Math.min(Math.max((byId("graph").clientWidth - 4) / plan.width, 0.7), 1);
  const picture = drawn("svg", { width: plan.width * graphView.scale, height: plan.height * graphView.scale, viewBox: `0 0 ${plan.width} ${plan.height}`, role: "img", "aria-label": "The graph by depth and device" });
  plan.lefts.forEach((left, device) => {
    const right = device + 1 < plan.lefts.length ? plan.lefts[device + 1] - 10 : plan.width - 6;
    picture.append(
      drawn("rect", { class: "lane", x: left, y: 4, width: right - left, height: plan.height - 8, rx: 6 }),
      drawn("text", { class: "device", x: left + 10, y: 20 }, deviceName(device)));
  });
  for (const [depth, top] of plan.labels) picture.append(drawn("text", { class: "depth", x: BOX.left - 8, y: top + BOX.height / 2 + 3 }, depth));
  const edges = drawn("g", { "data-edges": "" });
  let count = 0;
  for (const one of items) {
    for (const [from, kind] of one.inputs) {
      if (count++ < MAX_EDGES) edges.append(edge(from, one, kind));
    }
  }
  picture.append(edges);
  const longest = Math.max(...items.map((one) => one.time), 1e-9);
  for (const one of items) picture.append(one.drawing = box(one, longest));
  byId("graph").replaceChildren(picture);
  byId("unfolded").replaceChildren(...chips(graphView.root));
  markItems();
}

function edge(from, to, kind) {
  const x1 = from.x + BOX.width / 2, y1 = from.y + BOX.height, x2 = to.x + BOX.width / 2, y2 = to.y;
  const bend = Math.max(Math.abs(y2 - y1) / 2, 10);
  const way = y2 >= y1
    ? `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`
    : `M${x1 + BOX.width / 2} ${from.y + 17}C${x1 + BOX.width} ${from.y + 17} ${x2 + BOX.width} ${to.y + 17} ${x2 + BOX.width / 2} ${to.y + 17}`;
  const line = drawn("path", { class: `edge ${["data", "control", "transfer"][kind]}`, d: way });
  line.ends = [from, to];
  return line;
}

function box(one, longest) {
  const first = one.members[0];
  const isScope = one.scope !== null;
  const group = drawn("g", { class: `item ${isScope ? "scope" : "node"}`, transform: `translate(${one.x} ${one.y})`, "data-name": isScope ? one.scope.path : first.name });
  if (isScope) group.append(drawn("rect", { class: "shadow", x: 3, y: 3, width: BOX.width, height: BOX.height, rx: 5 }));
  else group.style.setProperty("--kind", `var(--${kindOf(first.op)})`);
  group.append(drawn("rect", { class: "box", width: BOX.width, height: BOX.height, rx: 5 }));
  const heat = (BOX.width - 12) * one.time / longest;
  if (heat > 0.5) group.append(drawn("rect", { class: "heat", x: 6, y: BOX.height - 5, width: heat, height: 3, rx: 1.5 }));
  const depth = one.from === one.to ? `depth ${one.from}` : `depth ${one.from}\u2013${one.to}`;
  group.append(
    drawn("text", { x: 7, y: 14 }, short(isScope ? `+ ${one.label}` : one.label, 18)),
    drawn("text", { class: "sub", x: 7, y: 25 }, short(isScope ? `${one.members.length} ${one.members.length === 1 ? "node" : "nodes"}, ${depth}` : first.op === "_Fused" ? `fused: ${first.members.length} ops` : first.op, 22)),
    drawn("title", {}, `${isScope ? one.scope.path : first.name}\n${isScope ? "" : `${first.op}, `}${deviceName(one.device)}, ${depth}${one.time ? `, ${duration(one.time)}` : ""}`));
  group.addEventListener("click", () => (isScope ? toggle(one.scope) : select(first.index)));
  return group;
}

function toggle(scope) {
  scope.open = !scope.open;
  if (!scope.open) foldAll(scope);
  drawGraph();
}

function chips(root) {
  const open = [];
  const walk = (scope) => {
    for (const child of scope.children.values()) if (child.open) { open.push(child); walk(child); }
  };
  walk(root);
  const most = 14;
  const result = open.slice(0, most).map((scope) => element("button", { class: "chip", "data-fold": scope.path, title: `Fold ${scope.path}`, onclick: () => toggle(scope) }, `\u2212 ${short(scope.path, 34)}`));
  if (open.length > most) result.push(element("span", { class: "none" }, `and ${open.length - most} more unfolded`));
  return result;
}

function markItems() {
  byId("graph").classList.toggle("searching", shown.words.length > 0);
  const chosen = graphView.itemOf.get(shown.selected);
  for (const one of graphView.items) {
    one.drawing.classList.toggle("match", shown.words.length > 0 && one.members.some((node) => shown.matches.has(node.index)));
    one.drawing.classList.toggle("selected", one === chosen);
  }
  for (const line of byId("graph").querySelectorAll(".edge")) line.classList.toggle("near", chosen !== undefined && line.ends.includes(chosen));
}

// Unfolds the scopes around a node, and shows it.
function reveal(index) {
  const scopeOf = (scope) => {
    if (scope.own.some((node) => node.index === index)) return scope;
    for (const child of scope.children.values()) {
      if (child.all.some((node) => node.index === index)) return scopeOf(child);
    }
    return scope;
  };
  let redraw = false;
  for (let scope = scopeOf(graphView.root); scope; scope = scope.above) {
    redraw = redraw || !scope.open;
    scope.open = true;
  }
  if (redraw) drawGraph();
  const one = graphView.itemOf.get(index), area = byId("graph");
  if (one) area.scrollTo(one.x * graphView.scale - area.clientWidth / 2 + 60, one.y * graphView.scale - area.clientHeight / 2);
}

function details() {
  const panel = byId("details");
  const node = nodes[shown.selected];
  if (!node) {
    panel.replaceChildren(element("p", { class: "none" }, "Nothing is selected."));
    return;
  }
  const why = placementOf.get(node.name);
  const list = element("dl");
  const say = (term, ...what) => list.append(element("dt", {}, term), element("dd", {}, ...what));
  const links = (indexes) => element("ul", {}, ...indexes.slice(0, 30).map((index) => element("li", {}, element("button", { class: "link", onclick: () => { select(index); reveal(index); } }, nodes[index].name))));
  say("op", node.op);
  say("device", data.devices[node.device]);
  say("depth", node.depth);
  if (node.time) say("time", duration(node.time));
  if (node.outputs) say("outputs", node.outputs);
  if (node.bytes) say("bytes", size(node.bytes));
  if (why && why.mode) say("how", why.mode);
  if (why && why.reason) say("why there", why.reason);
  if (why && why.origin) say("line", why.origin);
  if (node.members.length) say("computes", element("ul", {}, ...node.members.map((name) => element("li", {}, name))));
  if (node.edges.length) say("takes", links(node.edges.map(([source]) => source)));
  const takers = nodes.filter((other) => other.edges.some(([source]) => source === node.index)).map((other) => other.index);
  if (takers.length) say("goes to", links(takers));
  panel.replaceChildren(element("h3", {}, node.name), list);
}

function startGraph() {
  unfoldSome(graphView.root, FIRST_ITEMS);
  byId("fold-all").addEventListener("click", () => { foldAll(graphView.root); drawGraph(); });
  byId("unfold-more").addEventListener("click", () => { unfoldSome(graphView.root, Math.min(graphView.items.length * 2, MAX_ITEMS)); drawGraph(); });
  const rescale = (factor) => () => { graphView.scale = Math.min(Math.max(graphView.scale * factor, 0.3), 2); drawGraph(); };
  byId("smaller").addEventListener("click", rescale(0.8));
  byId("larger").addEventListener("click", rescale(1.25));
  shown.listeners.push((what) => { markItems(); if (what === "selection") details(); });
  details();
  drawGraph(true);
}
