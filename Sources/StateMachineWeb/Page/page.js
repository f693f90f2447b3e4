
"use strict";
// All that a machine says is text: it is put where text goes, and never read as HTML.

// Cards that are open at first: what is around a machine is asked for while its card is open.
const openCards = 2;
// Seconds without anything heard after which the page says so; something comes every 15 s.
const silence = 40;
// Seconds that an answer may take.
const patience = 10;
// Changes that the page keeps of a machine, and numbers that it has seen.
const kept = { changes: 300, seqs: 20000 };
// The page's own record of what it was told, for whoever checks it.
const seen = { seqs: {}, resyncs: {}, times: {} };
Object.defineProperty(window, "statemachine", { value: seen });

const cards = new Map();
const place = document.getElementById("machines");

function make(name, text, kind) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

const svg = (name, attributes = {}) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};

// What would be obeyed or would hide something instead of being seen is spelled out.
const unseen = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
function plain(value, limit = 400) {
  let text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
  const length = text.length;
  if (length > limit) text = text.slice(0, limit);
  text = text.toWellFormed ? text.toWellFormed() : text;
  text = text.replace(unseen, (sign) => `\\u{${sign.charCodeAt(0).toString(16)}}`);
  return length > limit ? `${text}… (${length.toLocaleString("en")} characters)` : text;
}

const shortState = (line) => {
  const values = Object.entries(line.data ?? {}).map(([key, value]) => `${plain(key, 60)}: ${plain(value, 60)}`);
  return values.length ? `${plain(line.state, 80)}(${values.join(", ").slice(0, 200)})` : plain(line.state, 80);
};

function span(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d`;
}

const clock = (at) => at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

function who(by) {
  if (!by) return "";
  const name = by.unit ?? by.comm;
  return name ? `${plain(name, 60)} (uid ${plain(by.uid)})` : `uid ${plain(by.uid)}, pid ${plain(by.pid)}`;
}

// Paths are relative, so that the page works below any path of a proxy.
async function ask(path) {
  let response;
  try {
    response = await fetch(path, { signal: AbortSignal.timeout(patience * 1000) });
  } catch (error) {
    throw new Error(error.name === "TimeoutError" ? `the page's service did not answer within ${patience} s` : "the page's service does not answer");
  }
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.json();
}

// The colours of states, the same from load to load: one made of the name, or the next that is free. Six can be told
// apart by everybody; more states share them.
const colours = 6;
function colour(name) {
  let hash = 2166136261;
  for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, 16777619) >>> 0;
  return hash % colours;
}
function palette(names) {
  const chosen = new Map();
  const taken = new Set();
  for (const name of [...names].sort()) {
    let own = colour(name);
    for (let step = 0; step < colours && taken.has(own); step++) own = (own + 1) % colours;
    chosen.set(name, own);
    taken.add(own);
    if (taken.size === colours) taken.clear();
  }
  return chosen;
}

class Card {
  constructor(name) {
    this.name = name;
    this.path = `machines/${encodeURIComponent(name)}`;
    this.line = null;
    this.graph = null;
    this.changes = [];
    seen.seqs[name] = [];
    seen.resyncs[name] = [];
    seen.times[name] = {};
    this.element = document.getElementById("card").content.firstElementChild.cloneNode(true);
    this.find = (selector) => this.element.querySelector(selector);
    this.find("h2").textContent = plain(name, 80);
    this.element.setAttribute("aria-label", `Machine ${plain(name, 80)}`);
    this.find(".fold").addEventListener("click", () => (this.isOpen ? this.close() : this.open()));
    this.link("waiting", "waiting");
    place.append(this.element);
  }

  get isOpen() { return !this.find(".more").hidden; }

  open() {
    this.find(".more").hidden = false;
    this.find(".fold").textContent = "Fold";
    this.find(".fold").setAttribute("aria-expanded", "true");
    this.askAround();
    this.askPast();
  }

  close() {
    this.find(".more").hidden = true;
    this.find(".fold").textContent = "Details";
    this.find(".fold").setAttribute("aria-expanded", "false");
  }

  link(kind, text) {
    this.element.dataset.link = kind;
    if (this.find(".link").textContent !== text) this.find(".link").textContent = text;
  }

  notice(text) {
    this.find(".notice").hidden = !text;
    this.find(".notice").textContent = text ?? "";
  }

  // MARK: what is told

  hear(kind, line) {
    if (kind === "state" || kind === "change") {
      if (this.isGone !== true) this.link("live", "live");
      this[kind](line);
    } else if (kind === "declared") {
      this.askAround();
    } else if (kind === "gone") {
      this.link("gone", "the daemon is gone");
      this.isGone = true;
      this.notice(plain(line.message));
    } else if (kind === "back") {
      this.link("live", "live");
      this.isGone = false;
      this.notice(null);
      this.askAround();
    }
  }

  // The stream is there again, or is not.
  connected(text) {
    if (text) this.link("gone", text);
    else if (this.isGone) this.link("gone", "the daemon is gone");
    else if (this.line) this.link("live", "live");
  }

  note(line) {
    const seqs = seen.seqs[this.name];
    seqs.push(line.seq);
    if (seqs.length > kept.seqs) seqs.splice(0, seqs.length - kept.seqs);
    const times = seen.times[this.name];
    times[line.seq] = Date.now();
    if (seqs.length % 1000 === 0) for (const seq of Object.keys(times).slice(0, -1000)) delete times[seq];
  }

  state(line) {
    this.note(line);
    if (line.resync) {
      seen.resyncs[this.name].push({ seq: line.seq, resync: line.resync, missed: line.missed ?? null });
      const count = line.missed === undefined ? "some changes" : line.missed === 1 ? "1 change" : `${line.missed} changes`;
      const because = { lagged: "this browser was too slow", evicted: "they are no longer kept",
        restarted: "the daemon has a new history", unknown: "the daemon does not know where this page was" }[line.resync] ?? line.resync;
      const text = `Not shown here: ${count}; ${because}.`;
      this.notice(text);
      setTimeout(() => { if (this.find(".notice").textContent === text) this.notice(null); }, 60000);
      if (line.resync === "restarted") this.changes = [];
    }
    this.now(line);
    if (this.isOpen) { this.askPast(); this.askAround(); }
  }

  change(line) {
    this.note(line);
    this.taken = line.from && { from: line.from.state, to: line.state };
    this.remember(line);
    this.now(line);
    this.soon();
  }

  now(line) {
    this.line = line;
    if (this.isDrawing) return;
    this.isDrawing = true;
    // Of a flood what can be seen is drawn.
    const draw = () => { this.isDrawing = false; this.draw(); };
    if (document.hidden) setTimeout(draw, 100); else requestAnimationFrame(draw);
  }

  // What changes with a state: asked once in a while, however many changes there are.
  soon() {
    if (this.isAsking || !this.isOpen) return;
    this.isAsking = true;
    setTimeout(() => { this.isAsking = false; this.askAround(); }, 800);
  }

  remember(line) {
    if (this.changes.some((other) => other.seq === line.seq)) return;
    this.changes.push(line);
    if (this.changes.length > 1 && this.changes.at(-2).seq > line.seq) this.changes.sort((a, b) => a.seq - b.seq);
    if (this.changes.length > kept.changes) this.changes.splice(0, this.changes.length - kept.changes);
  }

  async askPast() {
    try {
      for (const line of await ask(`${this.path}/past`)) this.remember(line);
      this.drawPast();
      this.trouble(null);
    } catch (error) { this.trouble(error.message); }
  }

  async askAround() {
    if (!this.isOpen || this.element.dataset.link === "gone") return;
    try {
      const overview = await ask(`${this.path}/overview`);
      this.around(overview.stats);
      const drawing = JSON.stringify(overview.graph);
      if (drawing !== this.drawing) {
        this.drawing = drawing;
        this.graph = overview.graph;
        this.palette = palette((overview.graph?.states ?? []).map((state) => state.name));
        this.drawGraph();
        this.drawPast();
      }
      this.light();
      this.trouble(null);
    } catch (error) { this.trouble(error.message); }
  }

  // What was asked for and has not come; it is asked for again in a while.
  trouble(text) {
    this.find(".trouble").hidden = !text;
    this.find(".trouble").textContent = text ?? "";
  }

  // MARK: what is seen

  draw() {
    const line = this.line;
    if (!line) return;
    const state = this.find(".state");
    const text = plain(line.state, 120);
    if (state.textContent !== text) state.textContent = text;
    const data = Object.entries(line.data ?? {}).map(([key, value]) => {
      const row = make("div");
      row.append(make("dt", plain(key, 60)), make("dd", plain(value)));
      return row;
    });
    this.find(".data").replaceChildren(...data);
    this.tick();
    if (this.isOpen) { this.light(); this.drawPast(); }
  }

  tick() {
    const line = this.line;
    if (!line) return;
    const parts = [];
    if (line.at) parts.push(`for ${span(Date.now() - new Date(line.at))}`);
    if (line.due?.at) parts.push(`${plain(line.due.state, 80)} in ${span(new Date(line.due.at) - Date.now())}`);
    // A state at the beginning of a stream does not say who made it; the past does.
    const change = line.by ? line : this.changes.findLast((other) => other.seq === line.seq) ?? line;
    if (change.by) parts.push(`by ${who(change.by)}`);
    if (change.cause) parts.push(plain(change.cause, 256));
    parts.push(`#${line.seq}`);
    this.find(".meta").textContent = parts.join(" · ");
  }

  colour(name) { return `c${this.palette.get(name) ?? colour(name)}`; }

  drawPast() {
    // The colours come with the graph.
    if (!this.palette) return;
    const changes = this.changes;
    const shown = changes.slice(-30).reverse().map((line) => {
      const row = make("li");
      const at = new Date(line.at);
      const time = make("time", clock(at));
      time.dateTime = line.at;
      time.title = at.toLocaleString();
      const why = [line.by && who(line.by), line.cause && plain(line.cause, 256)].filter(Boolean).join(" · ");
      row.append(time, make("i", "", this.colour(line.state)), make("span", shortState(line)));
      row.append(make("small", [`#${line.seq}`, why].filter(Boolean).join(" · ")));
      return row;
    });
    this.find(".changes").replaceChildren(...(shown.length ? shown : [make("li", "No change yet.", "none")]));
    this.drawBands();
    this.tick();
  }

  drawBands() {
    if (!this.palette) return;
    const bands = this.find(".bands");
    const axis = this.find(".axis").children;
    // A machine that has not changed has been in its state all the time.
    const changes = this.changes.length ? this.changes : this.line?.at ? [this.line] : [];
    if (!changes.length) { bands.replaceChildren(); return; }
    const end = Date.now();
    const start = new Date(changes[0].at).getTime();
    const whole = Math.max(1, end - start);
    const places = changes.map((line) => (new Date(line.at) - start) / whole * 100);
    bands.replaceChildren(...changes.map((line, index) => {
      const band = make("i", "", this.colour(line.state));
      band.style.left = `${places[index]}%`;
      band.style.width = `${(places[index + 1] ?? 100) - places[index]}%`;
      band.title = `${shortState(line)}\n${new Date(line.at).toLocaleString()}`;
      return band;
    }));
    axis[0].textContent = `${span(whole)} ago`;
    axis[1].textContent = "now";
  }

  around(stats) {
    const rows = [];
    const states = (row) => (row.before ?? []).map((pattern) => plain(pattern.state ?? pattern, 80)).join(", ") || "everything";
    const reason = (row) => [who(row.by ?? row), row.why && plain(row.why, 256)].filter(Boolean).join(": ");
    for (const row of stats.holds ?? []) rows.push(["held", `${states(row)} · ${reason(row)}`]);
    for (const row of stats.guards ?? []) rows.push(["guarded", `${states(row)} · ${reason(row)}`]);
    if (stats.more) rows.push(["", `and ${plain(stats.more)} more holds and guards`]);
    if (!rows.length) rows.push(["held", "nothing"]);
    const watching = (stats.connections ?? []).filter((row) => row.watches > 0).sort((a, b) => b.lag - a.lag);
    for (const row of watching.slice(0, 8)) {
      rows.push(["watching", `${who(row)} · ${row.lag ? `${row.lag} behind` : "up to date"}`]);
    }
    if (watching.length > 8) rows.push(["", `and ${watching.length - 8} others`]);
    rows.push(["refused", `${plain(stats.counters?.refusals ?? 0)} of ${plain(stats.counters?.requests ?? 0)} requests`]);
    rows.push(["up", span(stats.uptimeMs ?? 0)]);
    this.find(".around").replaceChildren(...rows.flatMap(([name, text]) => [make("dt", name), make("dd", text)]));
  }

  // MARK: the graph

  drawGraph() {
    const states = this.graph?.states ?? [];
    this.nodes = new Map();
    this.edges = [];
    const layout = lay(states, this.graph?.initial ?? 0);
    const picture = svg("svg", { viewBox: `0 0 ${layout.width} ${layout.height}`, width: layout.width, height: layout.height,
      role: "img", "aria-label": `${states.length} states` });
    const lines = svg("g");
    const boxes = svg("g");
    const tips = svg("g");
    picture.append(lines, boxes, tips);
    states.forEach((state, from) => {
      for (const arrow of state.arrows) {
        const edge = layout.edge(from, arrow.to);
        const path = svg("path", { d: edge.path, class: arrow.set ? "edge set" : "edge" });
        const tip = svg("path", { d: "M0 0L-8 -4L-8 4Z", class: "tip",
          transform: `translate(${edge.x} ${edge.y}) rotate(${edge.angle})` });
        const title = svg("title");
        title.textContent = `${plain(state.name, 80)} → ${plain(states[arrow.to].name, 80)}: ${plain(arrow.labels.join(", "))}`;
        path.append(title);
        lines.append(path);
        tips.append(tip);
        this.edges.push({ path, tip, from: state.name, to: states[arrow.to].name, arrow });
      }
      const box = layout.boxes[from];
      const node = svg("g", { class: state.final ? "node final" : "node" });
      const title = svg("title");
      title.textContent = [state.name, ...state.lines].map((text) => plain(text)).join("\n");
      const name = svg("text", { x: box.x, y: box.y });
      name.textContent = box.label;
      node.append(title, svg("rect", { x: box.x - box.width / 2, y: box.y - 17, width: box.width, height: 34, rx: 9 }), name);
      if (state.bar) {
        const bar = svg("text", { x: box.x, y: box.y - 25, class: "bar" });
        bar.textContent = state.bar;
        node.append(bar);
      }
      boxes.append(node);
      this.nodes.set(state.name, node);
    });
    this.find(".picture").replaceChildren(picture);
    this.lit = null;
  }

  // Where the picture is larger than its window, the present state is in sight when it becomes that.
  show(name) {
    const node = this.nodes.get(name);
    if (!node || this.lit === name) return;
    this.lit = name;
    const picture = this.find(".picture");
    const [inner, outer] = [node.getBoundingClientRect(), picture.getBoundingClientRect()];
    if (inner.top < outer.top || inner.bottom > outer.bottom) {
      picture.scrollTop += inner.top - outer.top - (outer.height - inner.height) / 2;
    }
    if (inner.left < outer.left || inner.right > outer.right) {
      picture.scrollLeft += inner.left - outer.left - (outer.width - inner.width) / 2;
    }
  }

  light() {
    if (!this.nodes || !this.line) return;
    const present = this.line.state;
    for (const [name, node] of this.nodes) node.classList.toggle("present", name === present);
    this.show(present);
    for (const edge of this.edges) {
      edge.path.classList.toggle("out", edge.from === present);
      edge.tip.classList.toggle("out", edge.from === present);
      const isTaken = this.taken?.from === edge.from && this.taken.to === edge.to;
      edge.path.classList.toggle("taken", isTaken);
    }
    clearTimeout(this.fading);
    this.fading = setTimeout(() => { this.taken = null; for (const edge of this.edges) edge.path.classList.remove("taken"); }, 900);
    const state = (this.graph?.states ?? []).find((other) => other.name === present);
    const ways = (state?.arrows ?? []).map((arrow) => `${arrow.labels.map((text) => plain(text, 60)).join(", ")} → ${plain(this.graph.states[arrow.to].name, 80)}`);
    const text = state?.open ? ["set → any state", ...ways] : ways;
    this.find(".next").textContent = text.length ? `From here: ${text.join(" · ")}` : "Nothing leads out of this state.";
  }
}

// Rows of states, by how many steps they are from the beginning; each row in the order of those that lead there.
function lay(states, initial) {
  const rank = new Array(states.length).fill(-1);
  const queue = [initial];
  if (states.length) rank[initial] = 0;
  // In a narrow window more rows, and letters that can be read.
  const most = innerWidth < 500 ? 2 : 4;
  const visit = () => {
    while (queue.length) {
      const from = queue.shift();
      // What only a client sets would make everything one step away.
      for (const arrow of states[from].arrows) {
        if (arrow.set || rank[arrow.to] >= 0) continue;
        rank[arrow.to] = rank[from] + 1;
        queue.push(arrow.to);
      }
    }
  };
  visit();
  const isMoved = rank.some((value) => value > 0);
  for (let index = 0; index < states.length; index++) {
    if (rank[index] >= 0) continue;
    const into = states.findIndex((state, from) => rank[from] >= 0 && state.arrows.some((arrow) => arrow.to === index));
    rank[index] = isMoved ? (into >= 0 ? rank[into] + 1 : Math.max(...rank) + 1) : 0;
    queue.push(index);
    if (isMoved) visit();
  }
  const rows = [];
  rank.forEach((value, index) => (rows[value] ??= []).push(index));
  const lines = rows.filter(Boolean).flatMap((row) => {
    const parts = [];
    for (let index = 0; index < row.length; index += most) parts.push(row.slice(index, index + most));
    return parts;
  });
  const label = (name) => { const text = plain(name, 60); return text.length > 20 ? `${text.slice(0, 19)}…` : text; };
  const widths = states.map((state) => Math.max(72, label(state.name).length * 8.6 + 28));
  const gap = { x: 34, y: 50 };
  const rowWidths = lines.map((row) => row.reduce((sum, index) => sum + widths[index] + gap.x, -gap.x));
  const side = 70;
  const width = Math.max(200, ...rowWidths) + 2 * side;
  const boxes = [];
  lines.forEach((row, line) => {
    let x = (width - rowWidths[line]) / 2 + (lines.length > 2 && row.length === 1 && line % 2 ? 26 : 0);
    for (const index of row) {
      boxes[index] = { x: x + widths[index] / 2, y: 38 + line * (34 + gap.y), width: widths[index], line, label: label(states[index].name) };
      x += widths[index] + gap.x;
    }
  });
  // An arrow within the last row hangs below it.
  const last = lines.at(-1) ?? [];
  const isHanging = last.some((index) => states[index].arrows.some((arrow) => arrow.to !== index && last.includes(arrow.to)));
  const height = 38 + Math.max(0, lines.length - 1) * (34 + gap.y) + (isHanging ? 66 : 34);
  const shift = (from, to) => ((from * 7 + to * 13) % 5 - 2) * 7;
  const edge = (from, to) => {
    const [a, b] = [boxes[from], boxes[to]];
    if (from === to) {
      const x = a.x + a.width / 2;
      return { path: `M${x} ${a.y - 8}C${x + 34} ${a.y - 22} ${x + 34} ${a.y + 22} ${x + 5} ${a.y + 8}`, x: x + 1, y: a.y + 8, angle: 200 };
    }
    if (b.line === a.line + 1) {
      const [x1, x2] = [a.x + shift(from, to), b.x + shift(to, from)];
      return { path: `M${x1} ${a.y + 17}C${x1} ${a.y + 45} ${x2} ${b.y - 48} ${x2} ${b.y - 22}`, x: x2, y: b.y - 17, angle: 90 };
    }
    if (a.line === b.line) {
      const [x1, x2] = [a.x + shift(from, to), b.x + shift(to, from)];
      const y = 26 + Math.min(20, Math.abs(a.x - b.x) / 12);
      return { path: `M${x1} ${a.y + 17}C${x1} ${a.y + 17 + y} ${x2} ${b.y + 17 + y} ${x2} ${b.y + 22}`, x: x2, y: b.y + 17, angle: 270 };
    }
    // Over several rows, or back: around the side on which less is.
    const sign = b.line > a.line ? 1 : -1;
    const [x1, x2] = [a.x + sign * a.width / 2, b.x + sign * b.width / 2];
    const far = Math.abs(a.line - b.line);
    const edgeX = sign > 0 ? Math.max(x1, x2) : Math.min(x1, x2);
    const bow = Math.max(6, Math.min(width - 6, edgeX + sign * (18 + far * 13 + (from % 3) * 4)));
    const [y1, y2] = [a.y + shift(to, from) / 2, b.y + shift(from, to) / 2];
    return { path: `M${x1} ${y1}C${bow} ${y1} ${bow} ${y2} ${x2 + sign * 5} ${y2}`, x: x2, y: y2, angle: sign > 0 ? 180 : 0 };
  };
  return { width, height, boxes, edge };
}

// MARK: the stream

// All windows of a browser share one stream of all machines: the window that has the lock reads it and tells the others.
// Of all pages of a host a browser makes six connections.
const channel = "BroadcastChannel" in window ? new BroadcastChannel("statemachine") : null;
let source = null;
let since = "";
let heard = Date.now();
let isQuiet = null;
let giveUp = null;
// The last state and the daemon's absence of each machine, for a window that has just come.
const last = new Map();

function card(name) {
  if (!cards.has(name)) {
    cards.set(name, new Card(name));
    if (cards.size <= openCards) cards.get(name).open();
    sum();
  }
  return cards.get(name);
}

function hear({ kind, id, line }) {
  heard = Date.now();
  quiet(null);
  if (id) since = id;
  if (kind === "beat") return;
  const name = line.instance;
  const own = last.get(name) ?? {};
  // Heard before, as when another window has just come.
  if (own.state && own.state.epoch === epoch(line) && line.seq <= own.state.seq && !line.resync) return;
  if (kind === "state" || kind === "change") own.state = { seq: line.seq, epoch: epoch(line), line };
  if (kind === "gone") own.gone = line;
  if (kind === "back") own.gone = null;
  last.set(name, own);
  card(name).hear(kind, line);
  sum();
}

const epoch = (line) => (line.cursor ?? "").split(":")[0];

function quiet(text) {
  if (isQuiet === text) return;
  isQuiet = text;
  for (const card of cards.values()) card.connected(text);
  sum();
}

function read() {
  source?.close();
  source = new EventSource(since ? `events?since=${encodeURIComponent(since)}` : "events");
  source.onopen = () => { heard = Date.now(); quiet(null); };
  source.onerror = () => {
    quiet("the page's service does not answer; trying again");
    // A browser gives up for good where a proxy answers instead; the place is kept by hand then.
    if (source?.readyState === EventSource.CLOSED) setTimeout(() => source && read(), 3000);
  };
  for (const kind of ["state", "change", "declared", "gone", "back", "beat"]) {
    source.addEventListener(kind, (event) => {
      const told = { kind, id: event.lastEventId, line: JSON.parse(event.data) };
      hear(told);
      channel?.postMessage(told);
    });
  }
}

function stop() {
  source?.close();
  source = null;
}

// A hidden window reads nothing: another may, and a browser may put this one to sleep.
function follow() {
  giveUp?.abort();
  if (document.hidden) return stop();
  // Only for pages that came by https or from this computer are there locks.
  if (!navigator.locks || !channel) return read();
  const waiting = new AbortController();
  giveUp = waiting;
  channel.postMessage({ kind: "hello" });
  navigator.locks.request("statemachine", { signal: waiting.signal }, () => new Promise((resolve) => {
    if (waiting.signal.aborted) return resolve();
    read();
    waiting.signal.addEventListener("abort", () => { stop(); resolve(); });
  })).catch(() => { /* Given up before it was ours. */ });
}

channel?.addEventListener("message", ({ data }) => {
  if (data.kind !== "hello") return hear(data);
  if (!source) return;
  for (const [name, own] of last) {
    if (own.state) channel.postMessage({ kind: "state", id: since, line: { ...own.state.line, instance: name } });
    if (own.gone) channel.postMessage({ kind: "gone", line: own.gone });
  }
  channel.postMessage({ kind: "beat", id: since, line: {} });
});

function sum() {
  const all = [...cards.values()];
  const present = all.filter((card) => card.element.dataset.link === "live").length;
  const text = isQuiet ?? (!all.length ? "" : all.length === present ? `${present} live` : `${present} of ${all.length} live`);
  const element = document.getElementById("summary");
  if (element.textContent !== text) element.textContent = text;
  document.getElementById("empty")?.toggleAttribute("hidden", all.length > 0);
  const one = all.length === 1 && all[0].line;
  document.title = one ? `${plain(one.state, 40)} · ${plain(all[0].name, 40)}` : "statemachine";
}

setInterval(() => {
  for (const card of cards.values()) { card.tick(); if (card.isOpen && !document.hidden) card.drawBands(); }
  if (document.hidden) heard = Date.now();
  if (Date.now() - heard < silence * 1000) return;
  quiet(`nothing heard for ${silence} s; trying again`);
  heard = Date.now();
  if (source) read(); else follow();
}, 1000);
setInterval(() => { for (const card of cards.values()) if (!document.hidden) card.askAround(); }, 5000);
document.addEventListener("visibilitychange", follow);
matchMedia("(max-width: 499px)").addEventListener("change", () => {
  for (const card of cards.values()) if (card.isOpen && card.graph) { card.drawGraph(); card.light(); }
});
setTimeout(() => { document.getElementById("empty").textContent = "There is no machine yet; the page shows one as soon as it starts."; }, 3000);
follow();
