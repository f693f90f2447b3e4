
"use strict";
// All that a machine says is text: it is put where text goes, and never read as HTML.

// The most machines of which the details are shown at first.
const openCards = 2;
// Seconds between two looks at who stands around the machines.
const look = 5;
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

// The time where the machines are, by the last answer that said it: a browser's own clock may be another.
let ahead = 0;
const now = () => Date.now() + ahead;

const clock = (at) => at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

function who(by) {
  if (!by) return "";
  const name = by.unit ?? by.comm;
  const user = `uid ${plain(by.uid)}${by.host === undefined ? "" : `@${plain(by.host, 60)}`}`;
  return name ? `${plain(name, 60)} (${user})` : `${user}, pid ${plain(by.pid)}`;
}

// What a hold or guard is about, and who has it, from a row of `stats` or of who denied.
const states = (row) => (row.before ?? []).map((pattern) => plain(pattern.state ?? pattern, 80)).join(", ") || "everything";
const reason = (row) => [who(row.by ?? row), row.why && plain(row.why, 256)].filter(Boolean).join(": ");
function denial(row) {
  if (row.link !== undefined) return `denied: ${plain(row.why ?? row.link, 256)}`;
  if (row.missing) return `denied, as guard ${plain(row.required ?? row.guard, 60)} is gone`;
  if (row.guard !== undefined) return `denied by ${row.required ? `guard ${plain(row.required, 60)} of ` : ""}${reason(row)}`;
  if (row.delegate !== undefined) return `denied by the daemon's own program${row.why ? `: ${plain(row.why, 256)}` : ""}`;
  return `held by ${row.as ? `${plain(row.as, 64)} of ` : ""}${reason(row)}`;
}
const denials = (rows, more = 0) => rows.length ? `${denial(rows[0])}${rows.length + more > 1 ? `, and ${rows.length + more - 1} more` : ""}` : "";

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
// Beside states that their file marks, the others have none that looks like a mark.
const unlike = [0, 3, 5];
function palette(names, marks) {
  const usable = marks ? unlike : [...Array(colours).keys()];
  const chosen = new Map();
  const taken = new Set();
  for (const name of [...names].sort()) {
    if (marks?.[name]) continue;
    let own = colour(name) % usable.length;
    for (let step = 0; step < usable.length && taken.has(own); step++) own = (own + 1) % usable.length;
    chosen.set(name, usable[own]);
    taken.add(own);
    if (taken.size === usable.length) taken.clear();
  }
  return chosen;
}

// Whether patterns match a state, whatever its fields; without any, everything does.
function covers(patterns, state, groups) {
  const names = patterns.map((pattern) => (pattern.state ?? String(pattern)).split(":")[0]);
  const has = (name) => name === state || (groups?.[name] ?? []).includes(state);
  const [yes, no] = [names.filter((name) => !name.startsWith("!")), names.filter((name) => name.startsWith("!"))];
  return (!yes.length || yes.some(has)) && !no.some((name) => has(name.slice(1)));
}

class Card {
  constructor(name) {
    this.name = name;
    this.path = `machines/${encodeURIComponent(name)}`;
    this.line = null;
    this.graph = null;
    this.changes = [];
    this.summary = {};
    seen.seqs[name] = [];
    seen.resyncs[name] = [];
    seen.times[name] = {};
    this.element = document.getElementById("card").content.firstElementChild.cloneNode(true);
    this.find = (selector) => this.element.querySelector(selector);
    this.find(".fold").textContent = plain(name, 80);
    this.element.setAttribute("aria-label", `Machine ${plain(name, 80)}`);
    this.find(".line").addEventListener("click", (event) => {
      // Text may be selected there.
      if (!event.target.closest(".fold") && !getSelection().isCollapsed) return;
      if (this.isOpen) this.close(); else this.open();
    });
    this.link("waiting");
    place.append(this.element);
  }

  get isOpen() { return !this.find(".more").hidden; }

  open() {
    this.fold(true);
    this.askAround();
    this.askPast();
    if (this.line) this.draw();
  }

  close() { this.fold(false); }

  fold(isOpen) {
    this.find(".more").hidden = !isOpen;
    this.element.toggleAttribute("data-open", isOpen);
    this.find(".fold").setAttribute("aria-expanded", String(isOpen));
    // Of a list of machines nobody wants to be read every change.
    if (isOpen) this.find(".state").setAttribute("aria-live", "polite"); else this.find(".state").removeAttribute("aria-live");
  }

  // Whether it is heard of, and if not, why.
  link(kind, text = "") {
    this.element.dataset.link = kind;
    this.away = kind === "gone" ? text : null;
    this.tick();
  }

  notice(text) {
    this.find(".notice").hidden = !text;
    this.find(".notice").textContent = text ?? "";
  }

  // MARK: what is told

  hear(kind, line) {
    if (kind === "state" || kind === "change") {
      if (this.isGone !== true) this.link("live");
      this[kind](line);
    } else if (kind === "declared" || kind === "shared") {
      this.askAround();
    } else if (kind === "gone") {
      this.link("gone", "the daemon is gone");
      this.isGone = true;
      this.notice(plain(line.message));
    } else if (kind === "back") {
      this.link("live");
      this.isGone = false;
      this.notice(null);
      this.askAround();
      if (this.isOpen) this.askPast();
    }
  }

  // The stream is there again, or is not.
  connected(text) {
    if (text) this.link("gone", text);
    else if (this.isGone) this.link("gone", "the daemon is gone");
    else if (this.line) this.link("live");
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
    // What stood in the way of another change says nothing of the next.
    this.summary = { ...this.summary, overdue: undefined, trouble: undefined };
    this.flash();
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

  // A change is seen from the corner of an eye.
  flash() {
    this.element.classList.add("changed");
    clearTimeout(this.fadingOut);
    this.fadingOut = setTimeout(() => this.element.classList.remove("changed"), 150);
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
    if (this.away !== null) return;
    try {
      for (const line of await ask(`${this.path}/past`)) this.remember(line);
      this.drawPast();
      this.trouble(null);
    } catch (error) { this.trouble(error.message); }
  }

  async askAround() {
    if (!this.isOpen || this.away !== null) return;
    try {
      const overview = await ask(`${this.path}/overview`);
      this.around(overview.stats);
      const { holds, guards, more, trouble, suspended, overdue, seq } = overview.stats;
      this.summed({ ...this.summary, holds, guards, more, trouble, suspended, overdue, seq, error: undefined, toldAt: now() });
      const drawing = JSON.stringify(overview.graph);
      if (drawing !== this.drawing) {
        this.drawing = drawing;
        this.graph = overview.graph;
        this.palette = palette((overview.graph?.states ?? []).map((state) => state.name), this.summary.marks);
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
    this.element.toggleAttribute("data-known", true);
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

  // What the list says of it: who stands around it, and how its file marks its states.
  summed(summary) {
    const marks = JSON.stringify(summary.marks ?? {});
    this.summary = summary;
    if (marks !== this.marks) {
      this.marks = marks;
      if (this.graph) this.palette = palette(this.graph.states.map((state) => state.name), summary.marks);
      if (this.graph) { this.drawGraph(); this.light(); }
      this.drawPast();
    }
    this.tick();
  }

  get mark() { return this.line && this.summary.marks?.[this.line.state]; }

  // Since when what is due has been overdue, as a time; null if nothing is.
  get overdue() {
    const due = this.line?.due?.at && new Date(this.line.due.at).getTime();
    if (!due || now() < due) return null;
    // The daemon's own count is right whatever the clocks say.
    const told = this.summary.overdue && this.summary.seq === this.line.seq ? this.summary.toldAt - this.summary.overdue.ms : null;
    const since = told ?? due;
    return now() - since > 1000 ? since : null;
  }

  // Who stands in the way of what is due, or holds anything else.
  get held() {
    const told = this.summary.seq === this.line?.seq ? this.summary.overdue : null;
    if (told?.by) return denials(told.by, told.more);
    const rows = this.summary.holds ?? [];
    const target = this.line?.due?.state;
    const own = target ? rows.filter((row) => covers(row.before ?? [], target, this.summary.groups)) : [];
    if (own.length) return denials(own);
    return rows.length ? `${states(rows[0])} ${denials(rows)}` : "";
  }

  // How much it wants somebody to look: the smaller the rank, the more.
  get standing() {
    const { summary, line } = this;
    if (this.away !== null) return { rank: 0, word: "gone", text: this.away };
    if (summary.error) return { rank: 0, word: "silent", text: plain(summary.error) };
    if (summary.trouble) return { rank: 1, word: "refusing changes", text: `changes are refused: ${plain(summary.trouble)}` };
    if (summary.suspended) {
      const { moves, inMs } = summary.suspended;
      return { rank: 2, word: "suspended", text: `its own moves are suspended, as there were ${plain(moves)} within ${span(inMs)}` };
    }
    const since = this.overdue;
    const target = line?.due && (line.due.state === undefined ? "a time" : plain(line.due.state, 80));
    if (since !== null) {
      const text = [`${target} overdue for ${span(now() - since)}`, this.held].filter(Boolean).join(", ");
      return { rank: 3, word: "overdue", text, since };
    }
    const due = line?.due?.at && new Date(line.due.at).getTime() - now();
    const next = due === undefined || due === null ? "" : due < 1000 ? `${target} any moment` : `${target} in ${span(Math.ceil(due / 1000) * 1000)}`;
    const rank = { bad: 4, warn: 5 }[this.mark] ?? 6;
    return { rank, word: rank < 6 ? `marked ${this.mark}` : null, text: [next, this.held].filter(Boolean).join(", "), since: rank < 6 ? line.at : undefined };
  }

  tick() {
    const line = this.line;
    const standing = this.standing;
    const set = (selector, text) => { if (this.find(selector).textContent !== text) { this.find(selector).textContent = text; this.find(selector).title = text; } };
    this.element.toggleAttribute("data-trouble", standing.rank < 4);
    if (this.mark) this.element.dataset.mark = this.mark; else delete this.element.dataset.mark;
    const mark = this.find(".mark");
    mark.title = this.mark ? `marked ${this.mark}` : "";
    if (this.mark) { mark.setAttribute("role", "img"); mark.setAttribute("aria-label", mark.title); } else mark.removeAttribute("role");
    set(".due", standing.text);
    this.rank = standing;
    if (!line) return;
    set(".age", line.at ? `for ${span(now() - new Date(line.at))}` : "");
    const parts = [];
    // A state at the beginning of a stream does not say who made it; the past does.
    const change = line.by ? line : this.changes.findLast((other) => other.seq === line.seq) ?? line;
    if (change.by) parts.push(`by ${who(change.by)}`);
    if (change.cause) parts.push(plain(change.cause, 256));
    parts.push(`#${line.seq}`);
    set(".meta", parts.join(" · "));
  }

  // Whether a word of the filter means it.
  isMeant(word) {
    const colon = word.indexOf(":");
    const groups = Object.entries(this.summary.groups ?? {}).filter(([, names]) => names.includes(this.line?.state)).map(([name]) => name);
    const names = [this.line?.state ?? "", ...groups];
    if (colon < 0) return [this.name, this.summary.machine ?? "", ...names].some((name) => name.toLowerCase().includes(word.toLowerCase()));
    return names.includes(word.slice(0, colon)) && word.slice(colon + 1).split(",").every((part) => {
      const [key, text] = [part.split("=", 1)[0], part.slice(part.indexOf("=") + 1)];
      const value = this.line.data?.[key];
      return value !== undefined && (value === text || JSON.stringify(value) === text);
    });
  }

  colour(name) { return this.summary.marks?.[name] ?? `c${this.palette.get(name) ?? colour(name)}`; }

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
    const end = now();
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
      const node = svg("g", { class: ["node", state.final && "final", this.summary.marks?.[state.name]].filter(Boolean).join(" ") });
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
  const at = [];
  lines.forEach((row, line) => { for (const index of row) at[index] = line; });
  const { left, right, tracks } = routes(states, at, lines.length);
  const side = { left: 30 + left.count * lane, right: 44 + right.count * lane };
  const width = Math.max(200, ...rowWidths) + side.left + side.right;
  const middle = side.left + (width - side.left - side.right) / 2;
  const boxes = [];
  let top = 38;
  lines.forEach((row, line) => {
    let x = middle - rowWidths[line] / 2;
    for (const index of row) {
      boxes[index] = { x: x + widths[index] / 2, y: top, width: widths[index], line, label: label(states[index].name) };
      x += widths[index] + gap.x;
    }
    top += 34 + Math.max(gap.y, 30 + (tracks[line] ?? 0) * track);
  });
  // An arrow within the last row hangs below it.
  const last = lines.at(-1) ?? [];
  const isHanging = last.some((index) => states[index].arrows.some((arrow) => arrow.to !== index && last.includes(arrow.to)));
  const height = (lines.length ? boxes[last[0]].y : 38) + (isHanging ? 66 : 34);
  const shift = (from, to) => ((from * 7 + to * 13) % 5 - 2) * 4;
  const edge = (from, to) => {
    const [a, b] = [boxes[from], boxes[to]];
    if (from === to) {
      const x = a.x + a.width / 2;
      return { path: `M${x} ${a.y - 8}C${x + 30} ${a.y - 20} ${x + 30} ${a.y + 20} ${x + 5} ${a.y + 8}`, x: x + 1, y: a.y + 8, angle: 200 };
    }
    // Ways down keep to the left of a box's middle, and ways up to the right.
    const down = b.line >= a.line ? 1 : -1;
    const [x1, x2] = [a.x - down * 14 + shift(from, to), b.x - down * 14 + shift(to, from)];
    const [y1, y2] = [a.y + down * 17, b.y - down * 17];
    const angle = down * 90;
    if (Math.abs(b.line - a.line) === 1) {
      const bend = Math.min(30, Math.abs(y2 - y1) / 2);
      return { path: `M${x1} ${y1}C${x1} ${y1 + down * bend} ${x2} ${y2 - down * bend} ${x2} ${y2 - down * 5}`, x: x2, y: y2, angle };
    }
    if (a.line === b.line) {
      const y = 26 + Math.min(20, Math.abs(a.x - b.x) / 12);
      return { path: `M${x1} ${a.y + 17}C${x1} ${a.y + 17 + y} ${x2} ${b.y + 17 + y} ${x2} ${b.y + 22}`, x: x2, y: b.y + 17, angle: 270 };
    }
    // Over several rows: between two rows to a lane beside all boxes, along it, and between two rows to the other.
    const own = (down > 0 ? right : left).of.get(`${from} ${to}`);
    const x = down > 0 ? width - side.right + 14 + (own.lane + 1) * lane : side.left - (own.lane + 1) * lane;
    const [out, back] = [y1 + down * (12 + own.out * track), y2 - down * (14 + own.back * track)];
    return { path: rounded([[x1, y1], [x1, out], [x, out], [x, back], [x2, back], [x2, y2 - down * 5]]), x: x2, y: y2, angle };
  };
  return { width, height, boxes, edge };
}

// Pixels between two arrows beside each other.
const lane = 10;
const track = 6;

// Places of the arrows over several rows: those down are on the right, and those up on the left; of two that meet, each has a lane of its
// own, and between two rows each has its own track.
function routes(states, at, count) {
  const tracks = new Array(count).fill(0);
  const sides = { left: { of: new Map(), count: 0 }, right: { of: new Map(), count: 0 } };
  const all = states.flatMap((state, from) => state.arrows.map(({ to }) => ({ from, to, rows: Math.abs(at[to] - at[from]) }))).filter((way) => way.rows > 1);
  const taken = { left: [], right: [] };
  // Short ones inside.
  for (const { from, to } of all.sort((a, b) => a.rows - b.rows)) {
    const side = at[to] > at[from] ? "right" : "left";
    const [first, last] = [Math.min(at[from], at[to]), Math.max(at[from], at[to])];
    const lanes = taken[side];
    let own = lanes.findIndex((spans) => spans.every(([a, b]) => b < first || a > last));
    if (own < 0) own = lanes.push([]) - 1;
    lanes[own].push([first, last]);
    // Between the first row and the next, and between the last and the one before.
    const [upper, lower] = [tracks[first]++, tracks[last - 1]++];
    sides[side].of.set(`${from} ${to}`, side === "right" ? { lane: own, out: upper, back: lower } : { lane: own, out: lower, back: upper });
    sides[side].count = lanes.length;
  }
  return { ...sides, tracks };
}

// A way along these points, with round corners.
function rounded(points) {
  const towards = ([x, y], [toX, toY]) => {
    const length = Math.hypot(toX - x, toY - y) || 1;
    const part = Math.min(8, length / 2) / length;
    return `${x + (toX - x) * part} ${y + (toY - y) * part}`;
  };
  const corners = points.slice(1, -1).map((point, index) => `L${towards(point, points[index])}Q${point.join(" ")} ${towards(point, points[index + 2])}`);
  return `M${points[0].join(" ")}${corners.join("")}L${points.at(-1).join(" ")}`;
}

// MARK: the list

const filter = document.getElementById("filter");

// Which machines are shown, and in which order: who wants somebody to look comes first.
function arrange() {
  const words = filter.value.split(/\s+/).filter(Boolean);
  const [yes, no] = [words.filter((word) => !word.startsWith("!")), words.filter((word) => word.length > 1 && word.startsWith("!"))];
  for (const card of cards.values()) {
    const isShown = (!yes.length || yes.some((word) => card.isMeant(word))) && !no.some((word) => card.isMeant(word.slice(1)));
    card.element.hidden = !isShown;
  }
  const order = [...cards.values()].sort((a, b) => a.rank.rank - b.rank.rank
    || new Date(a.rank.since ?? 0) - new Date(b.rank.since ?? 0) || a.name.localeCompare(b.name, undefined, { numeric: true }));
  const focused = document.activeElement;
  order.forEach((card, index) => {
    if (place.children[index] !== card.element) place.insertBefore(card.element, place.children[index] ?? null);
  });
  if (document.activeElement !== focused) focused?.focus({ preventScroll: true });
}

// Who stands around the machines, and which there are: those that have ended are not listed.
let isListed = false;
async function list() {
  if (document.hidden) return;
  let all;
  const asked = Date.now();
  try { all = await ask("overview"); } catch { return; }
  const offset = new Date(all.at) - (asked + Date.now()) / 2;
  // Of an answer that others had before, or that took its time, nothing is known to the second.
  ahead = Math.abs(offset) > 5000 ? offset : 0;
  const names = new Set(all.machines.map((machine) => machine.name));
  for (const [name, card] of cards) if (!names.has(name)) forget(name, card);
  for (const machine of all.machines) card(machine.name).summed({ ...machine, toldAt: now() });
  const hidden = document.getElementById("hidden");
  hidden.hidden = !all.hidden;
  hidden.textContent = `${all.hidden} more machines are not shown; start the page with --runtime-directory for those that shall be.`;
  filter.hidden = cards.size < 4 && !filter.value;
  if (!isListed) {
    isListed = true;
    if (cards.size <= openCards) for (const card of cards.values()) card.open();
  }
  sum();
}

function forget(name, card) {
  card.element.remove();
  cards.delete(name);
  last.delete(name);
}

filter.addEventListener("input", () => {
  history.replaceState(null, "", filter.value ? `#${encodeURIComponent(filter.value)}` : location.pathname + location.search);
  sum();
});
function filtered() {
  try { filter.value = decodeURIComponent(location.hash.slice(1)); } catch { filter.value = ""; }
  if (filter.value) filter.hidden = false;
  sum();
}
addEventListener("hashchange", filtered);

// MARK: the stream

// All windows of a browser share one stream of all machines: the window that has the lock reads it and tells the others.
// Of all pages of a host a browser makes six connections.
// Another service may have a page of its own below the same origin.
const shared = `statemachine ${new URL(".", location.href).pathname}`;
const channel = "BroadcastChannel" in window ? new BroadcastChannel(shared) : null;
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
    if (isListed && cards.size <= openCards) cards.get(name).open();
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
  if ((kind === "state" || kind === "change") && own.state && own.state.epoch === epoch(line) && line.seq <= own.state.seq && !line.resync) return;
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
  for (const kind of ["state", "change", "declared", "shared", "gone", "back", "beat"]) {
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
  navigator.locks.request(shared, { signal: waiting.signal }, () => new Promise((resolve) => {
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

let isSumming = false;
function sum() {
  if (isSumming) return;
  isSumming = true;
  setTimeout(() => { isSumming = false; summing(); }, 50);
}

function summing() {
  arrange();
  const all = [...cards.values()].sort((a, b) => a.rank.rank - b.rank.rank);
  const words = new Map();
  for (const card of all) if (card.rank.word) words.set(card.rank.word, (words.get(card.rank.word) ?? 0) + 1);
  const shown = all.filter((card) => !card.element.hidden).length;
  const element = document.getElementById("summary");
  const troubles = [...words].map(([word, count]) => `${count} ${word}`);
  const count = `${all.length} ${all.length === 1 ? "machine" : "machines"}`;
  const text = isQuiet ?? (!all.length ? "" : [shown < all.length ? `${shown} of ${count}` : count, troubles.length ? "" : "all live"].filter(Boolean).join(" · "));
  if (element.dataset.text !== text + troubles) {
    element.dataset.text = text + troubles;
    element.replaceChildren(text, ...(isQuiet === null ? troubles : []).flatMap((trouble) => [" · ", make("b", trouble)]));
  }
  document.getElementById("empty").hidden = all.length > 0;
  const one = all.length === 1 && all[0].line;
  document.title = one ? `${plain(one.state, 40)} · ${plain(all[0].name, 40)}` : [...(isQuiet === null ? troubles : []), "statemachine"].join(" · ");
}

setInterval(() => {
  for (const card of cards.values()) { card.tick(); if (card.isOpen && !document.hidden) card.drawBands(); }
  sum();
  if (document.hidden) heard = Date.now();
  if (Date.now() - heard < silence * 1000) return;
  quiet(`nothing heard for ${silence} s; trying again`);
  heard = Date.now();
  if (source) read(); else follow();
}, 1000);
setInterval(() => { list(); for (const card of cards.values()) if (!document.hidden) card.askAround(); }, look * 1000);
document.addEventListener("visibilitychange", () => { follow(); list(); });
matchMedia("(max-width: 499px)").addEventListener("change", () => {
  for (const card of cards.values()) if (card.isOpen && card.graph) { card.drawGraph(); card.light(); }
});
setTimeout(() => { document.getElementById("empty").textContent = "There is no machine yet; the page shows one as soon as it starts."; }, 3000);
filtered();
list();
follow();
