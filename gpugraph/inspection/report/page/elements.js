// Data, elements, and what is selected and searched. Texts are set as text, never as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const texts = data.texts;
const nodes = data.nodes.map(([name, op, device, depth, edges, outputs, bytes, members], index) => (
  { index, name, op: texts[op], device, depth, edges, outputs: texts[outputs], bytes, members, time: 0 }));
const steps = data.steps.map(([name, op, device, lane, start, duration, how, places], index) => (
  { index, name, op: texts[op], device, lane, start, duration, how: texts[how], places }));
const placements = data.placements.map(([name, op, device, mode, reason, origin]) => (
  { name, op: texts[op], device, mode: texts[mode], reason: texts[reason], origin: texts[origin] }));
const nodeOf = new Map(nodes.map((node) => [node.name, node]));
const placementOf = new Map(placements.map((row) => [row.name, row]));
for (const node of nodes) {
  for (const member of node.members) if (!nodeOf.has(member)) nodeOf.set(member, node);
}
// A node without inputs is drawn above the first node that reads it.
for (const node of nodes) {
  node.row = node.depth;
  for (const [source] of node.edges) {
    const from = nodes[source];
    if (!from.edges.length) from.first = Math.min(from.first ?? node.depth, node.depth);
  }
}
for (const node of nodes) if (node.first !== undefined) node.row = Math.max(node.first - 1, 0);
for (const step of steps) if (step.places.length) nodes[step.places[0]].time += step.duration;

const byId = (id) => document.getElementById(id);

function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}
function drawn(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}
function filled(result, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") result.addEventListener("click", value);
    else if (name === "style") for (const [key, text] of Object.entries(value)) result.style.setProperty(key, text);
    else if (value !== null && value !== undefined) result.setAttribute(name, value);
  }
  result.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return result;
}

const deviceName = (number) => (number < 0 || number === null ? "" : data.devices[number].split("device:").pop());
function duration(us) {
  if (us >= 1e6) return `${(us / 1e6).toFixed(2)} s`;
  if (us >= 1e3) return `${(us / 1e3).toFixed(2)} ms`;
  return `${us.toFixed(us < 10 ? 2 : 1)} \u00b5s`;
}
function size(bytes) {
  if (bytes === null) return "sized in the run";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) { bytes /= 1024; unit += 1; }
  return `${unit ? bytes.toFixed(1) : bytes} ${units[unit]}`;
}
function short(text, most) {
  if (text.length <= most) return text;
  const head = Math.floor((most - 1) / 2);
  return `${text.slice(0, head)}\u2026${text.slice(text.length - (most - 1 - head))}`;
}

const KINDS = [["product", "products, convolutions"], ["fused", "fused"], ["kernel", "other kernels"], ["transfer", "transfers"], ["state", "variables, constants, control"]];
const STATE = new Set(["Const", "VariableV2", "VarHandleOp", "Variable", "_Arg", "_Retval", "NoOp", "Identity", "ReadVariableOp", "Placeholder"]);
function kindOf(op) {
  if (op === "_Fused") return "fused";
  if (op === "_Send" || op === "_Recv") return "transfer";
  if (/MatMul|Conv|Einsum|_FusedAttention/.test(op)) return "product";
  return STATE.has(op) ? "state" : "kernel";
}

// What listens to a search or a selection.
const shown = { words: [], matches: new Set(), selected: -1, listeners: [] };
const changed = (what) => shown.listeners.forEach((listener) => listener(what));
const includes = (haystack) => shown.words.every((word) => haystack.includes(word));
const haystack = (...parts) => parts.join("\n").toLowerCase();
function search(text) {
  shown.words = text.toLowerCase().split(/\s+/).filter(Boolean);
  shown.matches = new Set();
  if (shown.words.length) {
    for (const node of nodes) {
      if (node.haystack === undefined) {
        const why = placementOf.get(node.name);
        node.haystack = haystack(node.name, node.op, deviceName(node.device), node.members.join("\n"), why ? why.reason : "", why ? why.mode : "");
      }
      if (includes(node.haystack)) shown.matches.add(node.index);
    }
  }
  changed("search");
}
function select(index) {
  shown.selected = index;
  changed("selection");
}
