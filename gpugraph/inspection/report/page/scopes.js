// The tree of name scopes; what has very many parts is folded into series.
const MAX_PARTS = 60;
const MAX_LEVELS = 40;

// The parts of a name; what the passes add to it (`x/fused/_7`, `x/send/_8`) is x.
const path = (node) => (/^_|^NoOp$/.test(node.op) ? node.name.replace(/(\/(fused|send|recv)\/_\d+)+$/, "") : node.name).split("/");

class Scope {
  constructor(path, label, above) {
    Object.assign(this, { path, label, above, children: new Map(), own: [], all: [], open: false });
  }
  child(key, label) {
    let child = this.children.get(key);
    if (!child) this.children.set(key, child = new Scope(this.path ? `${this.path}/${key}` : key, label || key, this));
    return child;
  }
  get parts() { return this.children.size + this.own.length; }
}

function grouped(items, keyOf) {
  const groups = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (groups.has(key)) groups.get(key).push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

function scopeTree() {
  const root = new Scope("", "", null);
  for (const node of nodes) {
    let scope = root;
    scope.all.push(node);
    for (const part of path(node).slice(0, -1).slice(0, MAX_LEVELS)) {
      scope = scope.child(part);
      scope.all.push(node);
    }
    scope.own.push(node);
  }
  root.open = true;
  bound(root);
  return root;
}

// A scope of one node is that node; one with too many parts gets parts of parts.
function bound(scope) {
  for (const [key, child] of [...scope.children]) {
    if (child.all.length === 1) {
      scope.children.delete(key);
      scope.own.push(child.all[0]);
    } else {
      bound(child);
    }
  }
  if (scope.own.length > MAX_PARTS) {
    const byOp = grouped(scope.own, (node) => node.op);
    scope.own = [];
    for (const [op, members] of byOp) {
      if (members.length < 4) scope.own.push(...members);
      else series(scope, `\u00d7${op}`, `${op} \u00d7 ${members.length}`, members);
    }
    if (scope.own.length > MAX_PARTS) chunks(scope);
  }
  if (scope.children.size > MAX_PARTS) chunkChildren(scope);
}

function series(above, key, label, members) {
  const scope = above.child(key, label);
  scope.all = members;
  scope.own = members;
  if (members.length > MAX_PARTS) chunks(scope);
}

function chunks(scope) {
  const members = scope.own;
  const length = Math.max(Math.ceil(members.length / MAX_PARTS), MAX_PARTS / 3);
  scope.own = [];
  for (let start = 0; start < members.length; start += length) {
    const part = members.slice(start, start + length);
    const last = (node) => path(node).pop();
    series(scope, `#${start}`, `${last(part[0])} \u2026 ${last(part[part.length - 1])}`, part);
  }
}

function chunkChildren(scope) {
  const children = [...scope.children.values()];
  const length = Math.max(Math.ceil(children.length / MAX_PARTS), MAX_PARTS / 3);
  scope.children = new Map();
  for (let start = 0; start < children.length; start += length) {
    const part = children.slice(start, start + length);
    const group = scope.child(`#${start}`, `${part[0].label} \u2026 ${part[part.length - 1].label}`);
    for (const child of part) {
      child.above = group;
      group.children.set(child.path, child);
      group.all = group.all.concat(child.all);
    }
    if (group.children.size > MAX_PARTS) chunkChildren(group);
  }
}

// What is seen: nodes, and folded scopes once for each device.
function visibleItems(root) {
  const items = [];
  const add = (scope, label, members) => {
    for (const [device, own] of grouped(members, (node) => node.device)) items.push(item(scope, label, device, own));
  };
  const walk = (scope) => {
    for (const node of scope.own) items.push(item(null, path(node).slice(-2).join("/"), node.device, [node]));
    for (const child of scope.children.values()) child.open ? walk(child) : add(child, child.label, child.all);
  };
  walk(root);
  return items;
}

function item(scope, label, device, members) {
  const computing = members.filter((node) => node.edges.length);
  const depths = (computing.length ? computing : members).map((node) => node.row).sort((a, b) => a - b);
  const time = members.reduce((sum, node) => sum + node.time, 0);
  return { scope, label, device, members, time, depth: depths[depths.length >> 1], from: depths[0], to: depths[depths.length - 1], inputs: new Map() };
}

function unfoldSome(root, most) {
  let count = visibleItems(root).length;
  let waiting = [root];
  let grown = true;
  while (grown) {
    grown = false;
    const folded = [];
    while (waiting.length) {
      const scope = waiting.pop();
      if (scope.open) waiting.push(...scope.children.values());
      else folded.push(scope);
    }
    folded.sort((a, b) => a.parts - b.parts);
    for (const scope of folded) {
      const more = scope.parts - 1;
      if (count + more <= most) {
        scope.open = grown = true;
        count += more;
      }
    }
    waiting = [root];
  }
}

function foldAll(scope) {
  for (const child of scope.children.values()) {
    child.open = false;
    foldAll(child);
  }
}
