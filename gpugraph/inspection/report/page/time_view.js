// The time line: lanes of a device, drawn where they are looked at.
const LANE = 24;
const timeView = { from: 0, to: 1, end: 1, lanes: [], spans: [], hovered: null };

function startTime() {
  timeView.end = Math.max(data.run_us, ...steps.map((step) => step.start + step.duration).slice(-1), 1e-3);
  for (const step of steps) timeView.end = Math.max(timeView.end, step.start + step.duration);
  timeView.to = timeView.end;
  const used = grouped(steps, (step) => step.device);
  data.devices.forEach((_, device) => {
    const own = used.get(device) || [];
    const count = own.reduce((most, step) => Math.max(most, step.lane + 1), 1);
    for (let lane = 0; lane < count; lane += 1) timeView.lanes.push({ device, lane, label: lane ? "" : deviceName(device), steps: own.filter((step) => step.lane === lane) });
  });
  const laneOf = new Map(timeView.lanes.map((lane, row) => [`${lane.device} ${lane.lane}`, row]));
  for (const step of steps) step.row = laneOf.get(`${step.device} ${step.lane}`);
  const stepOf = new Map();
  for (const step of steps) for (const index of step.places) if (!stepOf.has(index)) stepOf.set(index, step);
  timeView.stepOf = stepOf;
  timeView.arrows = [];
  for (const node of nodes) {
    for (const [source, kind] of node.edges) {
      const from = kind === 2 && source in nodes ? sender(source, stepOf) : null;
      if (from && stepOf.has(node.index)) timeView.arrows.push([from, stepOf.get(node.index)]);
    }
  }
  const canvas = byId("time");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "The time line of the steps");
  const buttons = { "zoom-in": () => zoom(0.5), "zoom-out": () => zoom(2), "zoom-all": () => look(0, timeView.end), earlier: () => shift(-0.3), later: () => shift(0.3) };
  for (const [id, action] of Object.entries(buttons)) byId(id).addEventListener("click", action);
  byId("legend").replaceChildren(...KINDS.map(([kind, label]) => element("span", {}, element("i", { style: { background: `var(--${kind})` } }), label)));
  listenToCanvas(canvas);
  shown.listeners.push(drawTime);
  window.addEventListener("resize", drawTime);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawTime);
  drawTime();
}

// The step that computes what a Send sends, where the Send has no step of its own.
function sender(index, stepOf) {
  if (stepOf.has(index)) return stepOf.get(index);
  const before = nodes[index].edges[0];
  return before ? stepOf.get(before[0]) || null : null;
}

function look(from, to) {
  const least = Math.min(0.05, timeView.end);
  const length = Math.min(Math.max(to - from, least), timeView.end);
  timeView.from = Math.min(Math.max(from, 0), timeView.end - length);
  timeView.to = timeView.from + length;
  drawTime();
}
function zoom(factor, around = (timeView.from + timeView.to) / 2) {
  look(around - (around - timeView.from) * factor, around + (timeView.to - around) * factor);
}
const shift = (part) => look(timeView.from + part * (timeView.to - timeView.from), timeView.to + part * (timeView.to - timeView.from));

function drawTime() {
  const canvas = byId("time");
  const width = canvas.clientWidth || 1000, height = 26 + timeView.lanes.length * LANE;
  const ratio = window.devicePixelRatio || 1;
  canvas.style.setProperty("height", `${height}px`);
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const colors = new Map(["ink", "soft", "line", "match", "accent", ...KINDS.map(([kind]) => kind)].map((name) => [name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`)]));
  pen.font = "11.5px system-ui, sans-serif";
  const left = Math.max(48, ...timeView.lanes.map((lane) => pen.measureText(lane.label).width + 12));
  timeView.left = left;
  timeView.width = width;
  const scale = (width - left) / (timeView.to - timeView.from);
  const at = (moment) => left + (moment - timeView.from) * scale;
  drawAxis(pen, colors, at, width, height);
  pen.save();
  pen.beginPath();
  pen.rect(left, 0, width - left, height);
  pen.clip();
  timeView.lanes.forEach((lane, row) => drawLane(pen, colors, lane, 24 + row * LANE, at));
  drawArrows(pen, colors, at);
  if (timeView.drag) {
    pen.fillStyle = colors.get("accent");
    pen.globalAlpha = 0.18;
    pen.fillRect(timeView.drag[0], 0, timeView.drag[1] - timeView.drag[0], height);
  }
  pen.restore();
  timeView.lanes.forEach((lane, row) => {
    pen.fillStyle = colors.get("ink");
    pen.fillText(lane.label, 2, 24 + row * LANE + 15);
  });
  byId("range").textContent = `${duration(timeView.from)} \u2013 ${duration(timeView.to)} of ${duration(timeView.end)}`;
}

function drawAxis(pen, colors, at, width, height) {
  const span = timeView.to - timeView.from, most = Math.max(Math.min(width / 80, 12), 2);
  const power = 10 ** Math.floor(Math.log10(span / most));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((one) => span / one <= most);
  pen.fillStyle = colors.get("soft");
  pen.strokeStyle = colors.get("line");
  for (let moment = Math.ceil(timeView.from / step) * step; moment <= timeView.to; moment += step) {
    const x = Math.round(at(moment)) + 0.5;
    pen.beginPath();
    pen.moveTo(x, 16);
    pen.lineTo(x, height);
    pen.stroke();
    const label = duration(moment);
    pen.fillText(label, Math.min(x, width - pen.measureText(label).width), 11);
  }
}

function drawLane(pen, colors, lane, top, at) {
  let drawnTo = -1;
  for (const step of lane.steps) {
    if (step.start > timeView.to) break;
    if (step.start + step.duration < timeView.from) continue;
    const x = at(step.start), width = Math.max(at(step.start + step.duration) - x, 1);
    const isMatch = shown.words.length > 0 && (step.places.some((index) => shown.matches.has(index)) || includes(step.haystack ??= haystack(step.name, step.op)));
    const isSelected = step.places.includes(shown.selected);
    if (x + width < drawnTo && !isMatch && !isSelected) continue;
    drawnTo = Math.max(drawnTo, x + width);
    pen.globalAlpha = shown.words.length && !isMatch ? 0.25 : 1;
    pen.fillStyle = colors.get(isMatch ? "match" : kindOf(step.op));
    pen.fillRect(x, top, Math.max(width - 0.5, 0.8), LANE - 5);
    if (isSelected) {
      pen.strokeStyle = colors.get("accent");
      pen.lineWidth = 2;
      pen.strokeRect(x, top, width, LANE - 5);
      pen.lineWidth = 1;
    }
    if (width > 34) {
      pen.fillStyle = isMatch ? "#1d2430" : "#ffffff";
      pen.fillText(short(step.op === "_Fused" || step.places.length > 1 ? step.name.split("/").slice(-2).join("/") : step.op, Math.floor((width - 6) / 6.2)), x + 3, top + 13);
    }
  }
  pen.globalAlpha = 1;
}

function drawArrows(pen, colors, at) {
  const seen = timeView.arrows.filter(([from, to]) => to.start >= timeView.from && from.start <= timeView.to);
  if (seen.length > 300) return;
  pen.strokeStyle = colors.get("transfer");
  pen.lineWidth = 1.4;
  for (const [from, to] of seen) {
    const x1 = at(from.start + from.duration), x2 = at(to.start), y1 = 24 + from.row * LANE + LANE / 2, y2 = 24 + to.row * LANE + LANE / 2;
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.bezierCurveTo(x1 + 12, y1, x2 - 12, y2, x2, y2);
    pen.stroke();
  }
  pen.lineWidth = 1;
}

function stepAt(event) {
  const row = Math.floor((event.offsetY - 24) / LANE), lane = timeView.lanes[row];
  if (!lane) return null;
  const scale = (timeView.to - timeView.from) / (timeView.width - timeView.left);
  const moment = timeView.from + (event.offsetX - timeView.left) * scale;
  let best = null, distance = 2 * scale;
  for (const step of lane.steps) {
    const away = Math.max(step.start - moment, moment - step.start - step.duration, 0);
    if (away <= distance) { best = step; distance = away; }
  }
  return best;
}

function listenToCanvas(canvas) {
  const moment = (x) => timeView.from + (x - timeView.left) * (timeView.to - timeView.from) / (timeView.width - timeView.left);
  let start = null;
  canvas.addEventListener("pointerdown", (event) => { start = event.offsetX; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    const tip = byId("tip"), step = stepAt(event);
    tip.hidden = step === null || start !== null;
    if (step) {
      tip.textContent = `${short(step.name, 160)}\n${step.op}${step.how ? `, ${step.how}` : ""} on ${deviceName(step.device)}\n${duration(step.duration)} from ${duration(step.start)} on`;
      tip.style.setProperty("left", `${Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8)}px`);
      tip.style.setProperty("top", `${event.clientY + 16}px`);
    }
    if (start !== null) { timeView.drag = [start, event.offsetX]; drawTime(); }
  });
  canvas.addEventListener("pointerleave", () => { byId("tip").hidden = true; });
  canvas.addEventListener("pointercancel", () => { start = timeView.drag = null; drawTime(); });
  canvas.addEventListener("pointerup", (event) => {
    const from = start, to = event.offsetX;
    start = timeView.drag = null;
    if (from !== null && Math.abs(to - from) > 4) look(moment(Math.min(from, to)), moment(Math.max(from, to)));
    else {
      const step = stepAt(event);
      if (step && step.places.length) { select(step.places[0]); reveal(step.places[0]); }
      drawTime();
    }
  });
  canvas.addEventListener("dblclick", () => look(0, timeView.end));
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, moment(event.offsetX));
  }, { passive: false });
}
