// The panes below the lanes. Each has an element, and show(runtime, snapshot) while it is seen.

const WINDOWS = ["1 s", "10 s", "60 s"];

function searchBox(label, changed) {
  const input = make("input", { type: "search", placeholder: "Filter ( / )", "aria-label": label, oninput: () => changed(input.value) });
  return input;
}

const holds = (text, words) => words.every((word) => text.includes(word));
const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

// Tasks of one place that have different names are different rows.
const siteKey = (site) => `${site.site} ${site.name || ""}`;

class SitesPane {
  constructor() {
    this.window = 1;
    this.search = searchBox("Filter spawn sites", () => this.draw());
    this.choice = make("select", { "aria-label": "Window for rates", onchange: () => { this.window = Number(this.choice.value); this.draw(); } },
      ...WINDOWS.map((name, at) => make("option", { value: at, selected: at === 1 }, name)));
    this.hint = make("span", { class: "hint" });
    const spawned = (site) => (site.spawn_rate ? site.spawn_rate[this.window] : null);
    const polled = (site) => (site.poll_rate ? site.poll_rate[this.window] : null);
    // Of the window, if that is known, else of the whole time.
    const during = (name) => (site) => (site.windows && site.windows[this.window] ? site.windows[this.window] : site)[name];
    const time = (name, key, title) => ({ name, title, number: true, only: true, get: during(key), cell: (site) => nanos(during(key)(site)) });
    this.table = new Table([
      { name: "Spawn site", get: (site) => site.site, cell: (site) => siteCell(site.site) },
      { name: "Name", only: true, get: (site) => site.name },
      { name: "Live", number: true, get: (site) => site.live, cell: (site) => count(site.live) },
      { name: "Spawned", number: true, only: true, get: (site) => site.spawned, cell: (site) => count(site.spawned) },
      { name: "Spawns/s", number: true, only: true, get: spawned, cell: (site) => rate(spawned(site)) },
      { name: "Polls/s", number: true, only: true, get: polled, cell: (site) => rate(polled(site)) },
      time("Poll p50", "poll_p50", "Half of the polls take at most this long"),
      time("Poll p99", "poll_p99", "All but one in a hundred polls take at most this long"),
      { name: "Poll max", number: true, only: true, title: "The longest poll of all", get: (site) => site.poll_max, cell: (site) => nanos(site.poll_max) },
      time("Delay p50", "delay_p50", "From being woken to being polled"),
      time("Delay p99", "delay_p99", "From being woken to being polled"),
      { name: "Longest idle", number: true, only: true, get: (site) => site.longest_idle_ms, cell: (site) => millis(site.longest_idle_ms) },
      { name: "Oldest", number: true, only: true, get: (site) => site.oldest_ms, cell: (site) => millis(site.oldest_ms) },
      { name: "Bytes", number: true, only: true, get: (site) => site.bytes, cell: (site) => bytes(site.bytes) },
    ], {
      label: "Spawn sites", key: siteKey, sort: ["Live", true], empty: "No task lives that matches.",
      open: (site) => { location.hash = `tasks?site=${encodeURIComponent(site.site)}&q=${encodeURIComponent(site.name || "")}`; },
    });
    this.rates = make("label", {}, "Rates over ", this.choice);
    this.element = make("div", {}, make("div", { class: "bar" }, this.search, this.rates, this.hint), this.table.element);
    this.sites = [];
  }
  route(query) { if (query.has("q")) this.search.value = query.get("q"); }
  show(runtime) { this.sites = runtime.sites || []; this.draw(); }
  draw() {
    const words = wordsOf(this.search.value);
    const shown = this.sites.filter((site) => holds(`${site.site} ${site.name || ""}`.toLowerCase(), words));
    this.rates.hidden = !this.sites.some((site) => site.spawn_rate || site.poll_rate);
    say(this.hint, `${count(shown.length)} of ${count(this.sites.length)} sites`);
    this.table.show(shown);
  }
  count(runtime) { return (runtime.sites || []).length; }
}

const PAGE = 100;

function waitsCell(task) {
  const [first, ...more] = task.waits || [];
  if (!first) return NONE;
  const at = first.site ? ` of ${place(first.site)}` : "";
  return `${first.kind}${at} for ${millis(first.for_ms)}${more.length ? ` or ${more.length} more` : ""}`;
}

class TasksPane {
  constructor() {
    this.offset = 0;
    this.site = null;
    this.task = null;
    this.search = searchBox("Filter tasks by name, number, site or type", () => { this.offset = 0; this.soon(); });
    this.state = make("select", { "aria-label": "State", onchange: () => { this.offset = 0; this.load(); } },
      make("option", { value: "" }, "all states"), ...["idle", "ready", "running"].map((state) => make("option", { value: state }, state)));
    this.of = make("span", {});
    this.back = make("button", { type: "button", onclick: () => this.turn(-PAGE) }, "Previous");
    this.forth = make("button", { type: "button", onclick: () => this.turn(PAGE) }, "Next");
    this.hint = make("span", { class: "hint", role: "status" });
    this.table = new Table([
      { name: "Task", number: true, cell: (task) => make("a", { href: `#task/${task.id}` }, String(task.id)) },
      { name: "Name", cell: (task) => task.name },
      { name: "State", cell: (task) => make("span", { class: `state ${task.state}` }, task.state) },
      { name: "Idle", number: true, cell: (task) => millis(task.idle_ms) },
      { name: "Waits for", cell: waitsCell },
      { name: "Polls", number: true, only: true, get: (task) => task.polls, cell: (task) => count(task.polls) },
      { name: "Spawned at", cell: (task) => siteCell(task.site) },
    ], {
      label: "Tasks", key: (task) => task.id, empty: "No task matches.",
      open: (task) => { location.hash = `task/${task.id}`; },
    });
    this.list = make("div", {}, make("div", { class: "bar" }, this.search, this.state, this.of, this.back, this.forth, this.hint), this.table.element);
    this.one = make("div", { class: "task", hidden: true });
    this.element = make("div", {}, this.list, this.one);
  }
  route(query, task) {
    this.task = task;
    if (!known(task)) {
      const site = query.get("site");
      if (query.has("q")) this.search.value = query.get("q");
      else if (site !== this.site) this.search.value = "";
      this.site = site;
      this.offset = 0;
    }
    this.list.hidden = known(task);
    this.one.hidden = !known(task);
    if (this.one.dataset.task !== String(task)) this.one.replaceChildren();
    const clear = make("button", { type: "button", onclick: () => { location.hash = "tasks"; } }, "All sites");
    this.of.replaceChildren(...(this.site ? [siteCell(this.site), " ", clear] : []));
    this.load();
  }
  show(runtime) {
    const other = this.runtime !== runtime.id;
    this.runtime = runtime.id;
    // A list under the eyes of its reader changes every other second only.
    if (other || performance.now() - (this.loadedAt || 0) > 1900) this.load();
  }
  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(), 150);
  }
  turn(by) {
    this.offset = Math.max(0, this.offset + by);
    this.load();
  }
  async load() {
    if (!known(this.runtime)) return;
    this.loadedAt = performance.now();
    if (this.asked) this.asked.abort();
    const asked = (this.asked = new AbortController());
    try {
      if (known(this.task)) {
        const id = this.task;
        const task = await ask(`/api/task/${id}`, {}, asked.signal);
        if (this.task === id) this.drawOne(id, task);
      } else {
        const query = { runtime: this.runtime, site: this.site, state: this.state.value, q: this.search.value, offset: this.offset, limit: PAGE };
        this.drawList(await ask("/api/tasks", query, asked.signal));
      }
    } catch (error) {
      if (error.name !== "AbortError") say(this.hint, `The program does not answer: ${error.message}`);
    }
  }
  drawList(answer) {
    if (this.offset >= answer.total && this.offset > 0) {
      this.offset = Math.max(0, Math.floor((answer.total - 1) / PAGE) * PAGE);
      this.load();
      return;
    }
    const last = Math.min(this.offset + PAGE, answer.total);
    say(this.hint, answer.total ? `${count(this.offset + 1)}–${count(last)} of ${count(answer.total)}` : "none");
    this.back.disabled = this.offset === 0;
    this.forth.disabled = last >= answer.total;
    this.table.show(answer.tasks);
  }
  drawOne(id, task) {
    const back = make("p", { class: "bar" }, make("a", { href: this.site ? `#tasks?site=${encodeURIComponent(this.site)}` : "#tasks" }, "← Tasks"));
    if (!task) {
      this.one.dataset.task = String(id);
      this.one.replaceChildren(back, make("p", { class: "quiet" }, `Task ${id} has ended.`));
      return;
    }
    const parts = [];
    const part = (name, value) => { if (known(value) && value !== "") parts.push(make("dt", {}, name), make("dd", {}, value)); };
    part("State", make("span", { class: `state ${task.state}` }, task.state));
    part("Idle for", known(task.idle_ms) ? millis(task.idle_ms) : null);
    part("Spawned at", make("a", { href: `#tasks?site=${encodeURIComponent(task.site)}`, class: "code" }, task.site));
    part("Type", make("code", {}, task.type || ""));
    part("Polls", known(task.polls) ? count(task.polls) : null);
    for (const wait of task.waits || []) part("Waits for", `${wait.kind}${wait.site ? ` created at ${wait.site}` : ""}, for ${millis(wait.for_ms)}`);
    for (const held of task.held || []) part("Holds", `${held.kind}${held.site ? ` created at ${held.site}` : ""}, with ${count(held.waiters)} waiting`);
    const chain = (task.chain || []).length > 0 && (task.waits || []).length > 0
      ? [make("h3", {}, "What it waits for"), drawChain(task.chain), make("p", { class: "quiet" }, chainInWords(task.chain))]
      : [make("p", { class: "quiet" }, task.state === "idle" ? "What it waits for is not known." : "It does not wait.")];
    const fresh = [back, make("h2", {}, task.name ? `${task.name} · task ${task.id}` : `Task ${task.id}`), make("dl", {}, ...parts), ...chain];
    // What has the focus inside of it stays where it is.
    const focused = this.one.contains(document.activeElement) && this.one.dataset.task === String(id) ? [...this.one.querySelectorAll("a, [tabindex]")].indexOf(document.activeElement) : -1;
    this.one.dataset.task = String(id);
    this.one.replaceChildren(...fresh);
    const again = this.one.querySelectorAll("a, [tabindex]")[focused];
    if (again) again.focus();
  }
  count(runtime) { return runtime.alive; }
}

class LocksPane {
  constructor() {
    this.search = searchBox("Filter locks and channels", () => this.draw());
    this.hint = make("span", { class: "hint" });
    const holders = (one) => {
      const links = (one.holders || []).filter((holder) => known(holder.task))
        .flatMap((holder) => [", ", make("a", { href: `#task/${holder.task}` }, holder.name || `task ${holder.task}`), ` for ${millis(holder.for_ms)}`]);
      return links.length ? make("span", {}, ...links.slice(1)) : NONE;
    };
    this.table = new Table([
      { name: "Kind", get: (one) => one.kind },
      { name: "Created at", get: (one) => one.site, cell: (one) => (one.site ? siteCell(one.site) : make("code", {}, one.resource)) },
      { name: "Held by", get: (one) => (one.holders || []).length || null, cell: holders },
      { name: "Waiting", number: true, get: (one) => one.waiters, cell: (one) => count(one.waiters) },
      { name: "Longest wait", number: true, get: (one) => one.longest_ms, cell: (one) => millis(one.longest_ms) },
      { name: "Length", number: true, only: true, get: (one) => one.length, cell: (one) => count(one.length) },
      { name: "Capacity", number: true, only: true, get: (one) => one.capacity, cell: (one) => count(one.capacity) },
    ], { label: "Locks and channels that tasks wait for", key: (one) => one.resource, sort: ["Waiting", true], empty: "No task waits for a lock or a channel that matches.",
      open: (one) => { location.hash = `tasks?q=${encodeURIComponent(one.resource)}`; } });
    this.element = make("div", {}, make("div", { class: "bar" }, this.search, this.hint), this.table.element);
    this.all = [];
  }
  route(query) { if (query.has("q")) this.search.value = query.get("q"); }
  show(runtime) { this.all = runtime.resources || []; this.draw(); }
  draw() {
    const words = wordsOf(this.search.value);
    const shown = this.all.filter((one) => holds(`${one.kind} ${one.site || ""} ${one.resource}`.toLowerCase(), words));
    say(this.hint, `${count(shown.length)} of ${count(this.all.length)}`);
    this.table.show(shown);
  }
  count(runtime) { return (runtime.resources || []).length; }
}

// Bars with a text alternative. rows: [label, number, slow]
function drawBars(title, rows, unit) {
  const [width, height, foot] = [460, 150, 26];
  const most = Math.max(1, ...rows.map((row) => row[1]));
  const step = (width - 20) / rows.length;
  const words = rows.filter((row) => row[1]).map((row) => `${row[0]}: ${count(row[1])}`).join(", ");
  const svg = drawn("svg", { class: "bars", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}. ${words || "Nothing yet"}.` });
  rows.forEach(([label, n, slow], at) => {
    // Square roots: rare ones are those that matter.
    const tall = n ? Math.max(2, Math.sqrt(n / most) * (height - foot - 16)) : 0;
    const x = 10 + at * step;
    svg.append(drawn("rect", { x: x + 1, y: height - foot - tall, width: step - 2, height: tall, rx: 1, class: slow ? "slow" : "bar-of" }, drawn("title", {}, `${label}: ${count(n)} ${unit}`)));
    if (at % 3 === 0) svg.append(drawn("text", { x: x + 1, y: height - 10 }, label));
  });
  svg.append(drawn("line", { x1: 10, x2: width - 10, y1: height - foot, y2: height - foot, class: "base" }));
  return make("section", {}, make("h3", {}, title), svg);
}

// How long tasks of each site wait for a worker: from the middle of them to all but one in a hundred. Null if none is known.
function drawDelays(sites) {
  const rows = sites.filter((site) => known(site.delay_p99)).sort((a, b) => b.delay_p99 - a.delay_p99).slice(0, 8);
  if (!rows.length) return null;
  const [width, high, left] = [460, 150, 150];
  // From 1 µs to 1 s.
  const x = (ns) => left + (Math.min(Math.max(Math.log10(Math.max(ns, 1)) - 3, 0), 6) / 6) * (width - left - 15);
  const name = (site) => cut(site.name || place(site.site), 24);
  const words = rows.map((site) => `${name(site)}: ${nanos(site.delay_p50)} to ${nanos(site.delay_p99)}`).join(", ");
  const title = "From being woken to being polled, p50 to p99 by site";
  const svg = drawn("svg", { class: "bars", viewBox: `0 0 ${width} ${high}`, role: "img", "aria-label": `${title}. ${words}.` });
  ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s"].forEach((label, power) => {
    const at = x(10 ** (power + 3));
    svg.append(drawn("line", { x1: at, x2: at, y1: 4, y2: high - 18, class: "base" }), drawn("text", { x: at, y: high - 6, "text-anchor": "middle" }, label));
  });
  rows.forEach((site, at) => {
    const y = 6 + at * 15;
    const [from, to] = [x(site.delay_p50 || site.delay_p99), x(site.delay_p99)];
    svg.append(drawn("text", { x: left - 8, y: y + 9, "text-anchor": "end" }, name(site)),
      drawn("rect", { x: from, y, width: Math.max(3, to - from), height: 10, rx: 2, class: site.delay_p99 >= 5e6 ? "slow" : "bar-of" }, drawn("title", {}, `${nanos(site.delay_p50)} to ${nanos(site.delay_p99)}`)));
  });
  return make("section", {}, make("h3", {}, title), svg);
}

class TimingPane {
  constructor(lanes) {
    this.lanes = lanes;
    this.charts = make("div", { class: "two" });
    this.table = new Table([
      { name: "Spawn site", get: (site) => site.site, cell: (site) => siteCell(site.site) },
      { name: "Name", only: true, get: (site) => site.name },
      { name: "Poll p50", number: true, get: (site) => site.poll_p50, cell: (site) => nanos(site.poll_p50) },
      { name: "Poll p99", number: true, get: (site) => site.poll_p99, cell: (site) => nanos(site.poll_p99) },
      { name: "Poll max", number: true, get: (site) => site.poll_max, cell: (site) => nanos(site.poll_max) },
      { name: "Delay p50", number: true, get: (site) => site.delay_p50, cell: (site) => nanos(site.delay_p50) },
      { name: "Delay p99", number: true, get: (site) => site.delay_p99, cell: (site) => nanos(site.delay_p99) },
    ], { label: "Polls and delays by spawn site", key: siteKey, sort: ["Poll p99", true], empty: "No times are known by site.",
      open: (site) => { location.hash = `tasks?site=${encodeURIComponent(site.site)}&q=${encodeURIComponent(site.name || "")}`; } });
    this.element = make("div", {}, this.charts, make("h3", {}, "By spawn site"), this.table.element);
  }
  show(runtime) {
    const kept = this.lanes.runtimes.get(runtime.id);
    const histogram = (kinds) => {
      const rows = [];
      for (let power = 8; power <= 30; power++) rows.push([`${nanos(2 ** power).replace(".0", "")}`, 0, power >= 23]);
      for (const lane of (kept && kept.workers) || []) {
        for (const event of lane || []) {
          if (kinds.includes(event[2])) rows[Math.min(Math.max(Math.floor(Math.log2(event[1] || 1)), 8), 30) - 8][1] += 1;
        }
      }
      return rows;
    };
    const given = (name, key) => drawBars(name, runtime[key].map(([upTo, n]) => [nanos(upTo), n, upTo >= 1e7]), "of them");
    const charts = [
      runtime.poll_histogram ? given("How long polls take", "poll_histogram") : drawBars("How long recorded polls took, last 10 s", histogram(["poll"]), "polls"),
      runtime.delay_histogram ? given("From being woken to being polled", "delay_histogram") : drawDelays(runtime.sites || []) || drawBars("How long workers were parked, last 10 s", histogram(["park"]).map((row) => [row[0], row[1], false]), "parks"),
    ];
    this.charts.replaceChildren(...charts);
    this.table.show((runtime.sites || []).filter((site) => known(site.poll_p50) || known(site.delay_p50)));
  }
}

// Sections come as a list of { name, text, json } or as an object by name.
function sectionsOf(runtime) {
  const sections = runtime.sections || [];
  const list = Array.isArray(sections)
    ? sections
    : Object.entries(sections).map(([name, value]) => (typeof value === "string" ? { name, text: value } : { name, json: value }));
  return list.filter((section) => section.name !== "findings");
}

// A line of the dump of a host of processes: pid, state, steps, mailbox, waiting, names, parent, links, age, kind.
const PROCESS = /^ +(\{[^}]*\}) (.+?) (\d+) steps, mailbox (\d+)(?: and (\d+) waiting)?((?: "(?:[^"\\]|\\.)*")*)(?: of (\{[^}]*\}))?, (\d+) links, (\S+) old: (.*)$/;

// Returns the processes of a section, or null if it has something else.
function processesOf(section) {
  if (section.json && section.json.processes) return section.json.processes;
  const [head, ...lines] = (section.text || "").trimEnd().split("\n");
  if (!/^host .* processes, /.test(head)) return null;
  const found = lines.map((line) => PROCESS.exec(line));
  if (!found.every(Boolean)) return null;
  return found.map(([, pid, state, steps, mailbox, waiting, names, parent, links, age, kind]) => ({
    pid, state, kind, parent, age,
    steps: Number(steps), mailbox: Number(mailbox), waiting: waiting ? Number(waiting) : 0, links: Number(links),
    names: (names.match(/"(?:[^"\\]|\\.)*"/g) || []).map((name) => name.slice(1, -1)),
  }));
}

class ProcessesPane {
  constructor() {
    this.element = make("div");
    this.tables = new Map();
    this.shown = "";
  }
  show(runtime) {
    const sections = sectionsOf(runtime).map((section) => ({ ...section, processes: processesOf(section) }));
    const names = sections.map((section) => `${section.name} ${Boolean(section.processes)}`).join("\n");
    if (names !== this.shown || sections.length === 0) {
      this.shown = names;
      this.places = new Map(sections.map((section) => [section.name, make("div")]));
      this.element.replaceChildren(...(sections.length
        ? sections.flatMap((section) => [make("h3", {}, section.name), this.places.get(section.name)])
        : [make("p", { class: "quiet" }, "No host of processes runs here, and no other section was added to the runtime.")]));
    }
    for (const section of sections) this.draw(this.places.get(section.name), section);
  }
  draw(to, section) {
    const processes = section.processes;
    if (!processes) {
      const pre = to.firstElementChild || to.appendChild(make("pre", { tabindex: 0 }));
      say(pre, section.text || JSON.stringify(section.json, null, 1));
      return;
    }
    let table = this.tables.get(section.name);
    if (!table) {
      table = new Table([
        { name: "Process", get: (one) => one.pid, cell: (one) => make("code", {}, one.pid) },
        { name: "Names", only: true, get: (one) => (one.names || []).join(", ") || null },
        { name: "State", get: (one) => one.state },
        { name: "Mailbox", number: true, get: (one) => one.mailbox, cell: (one) => count(one.mailbox) },
        { name: "Waiting to send", number: true, only: true, get: (one) => one.waiting, cell: (one) => count(one.waiting) },
        { name: "Steps", number: true, get: (one) => one.steps, cell: (one) => count(one.steps) },
        { name: "Links", number: true, get: (one) => one.links },
        { name: "Age", number: true, get: (one) => one.age, cell: (one) => one.age },
        { name: "Runs", get: (one) => one.kind, cell: (one) => make("code", { title: one.kind }, one.kind) },
      ], { label: section.name, key: (one) => one.pid, sort: ["Mailbox", true], empty: "No process lives." });
      this.tables.set(section.name, table);
    }
    const tree = make("details", {}, make("summary", {}, "Who has started whom"), this.tree(processes));
    const before = to.querySelector("details");
    if (before) tree.open = before.open;
    if (!to.contains(table.element)) to.replaceChildren(table.element, tree);
    else if (!before.isEqualNode(tree)) before.replaceWith(tree);
    table.show(processes.slice(0, 1000));
  }
  tree(processes) {
    const alive = new Set(processes.map((one) => one.pid));
    const below = new Map();
    for (const one of processes) {
      const parent = alive.has(one.parent) ? one.parent : null;
      below.set(parent, [...(below.get(parent) || []), one]);
    }
    const seen = new Set();
    const list = (parent) => make("ul", { class: "tree" }, ...(below.get(parent) || []).slice(0, 200).filter((one) => !seen.has(one.pid)).map((one) => {
      seen.add(one.pid);
      const name = (one.names || [])[0] || one.pid;
      return make("li", {}, make("code", {}, name), ` ${one.state}, mailbox ${count(one.mailbox)}`, below.has(one.pid) ? list(one.pid) : null);
    }));
    return list(null);
  }
  count(runtime) { return sectionsOf(runtime).reduce((sum, section) => sum + (processesOf(section) || [0]).length, 0); }
}

// The name of the backend: what follows it are its numbers.
function backend(worker) {
  const name = (worker.io_backend || "").split(/[ ,]/)[0].toLowerCase();
  return name === "uring" ? "io_uring" : name || null;
}

class RuntimePane {
  constructor() {
    this.cards = make("div", { class: "cards" });
    this.workers = new Table([
      { name: "Worker", number: true, get: (one) => one.index },
      { name: "State", get: (one) => one.state },
      { name: "Task", only: true, get: (one) => one.task, cell: (one) => (known(one.task) ? make("a", { href: `#task/${one.task}` }, one.task_name || String(one.task)) : NONE) },
      { name: "Busy", number: true, only: true, get: (one) => one.busy, cell: (one) => share(one.busy) },
      { name: "On the CPU", number: true, only: true, title: "How much of the time in which it was ready to run it had a processor, lately", get: (one) => one.on_cpu, cell: (one) => share(one.on_cpu) },
      { name: "Queue", number: true, get: (one) => one.queue, cell: (one) => count(one.queue) },
      { name: "Polls/s", number: true, only: true, get: (one) => one.polls_rate, cell: (one) => rate(one.polls_rate) },
      { name: "Steals/s", number: true, only: true, get: (one) => one.steals_rate, cell: (one) => rate(one.steals_rate) },
      { name: "Parks/s", number: true, only: true, get: (one) => one.parks_rate, cell: (one) => rate(one.parks_rate) },
      { name: "Slow polls", number: true, only: true, get: (one) => one.slow_polls, cell: (one) => count(one.slow_polls) },
      { name: "Longest poll", number: true, only: true, get: (one) => one.max_poll_ns, cell: (one) => nanos(one.max_poll_ns) },
      { name: "I/O backend", get: backend, cell: (one) => make("span", { title: one.io_backend }, backend(one) || NONE) },
      { name: "Timers", number: true, only: true, get: (one) => one.timers, cell: (one) => count(one.timers) },
    ], { label: "Workers", key: (one) => one.index, sort: ["Worker", false], empty: "No worker." });
    this.waiting = new Table([
      { name: "Tasks wait for", get: (one) => one[0] },
      { name: "Tasks", number: true, get: (one) => one[1], cell: (one) => count(one[1]) },
    ], { label: "What tasks wait for", key: (one) => one[0], sort: ["Tasks", true], empty: "Not known: sight is off, or no task waits." });
    this.dispatchers = new Table([
      { name: "Dispatcher", get: (one) => one.name },
      { name: "Limit", number: true, get: (one) => one.limit },
      { name: "Submitted", number: true, get: (one) => one.submitted, cell: (one) => count(one.submitted) },
      { name: "Completed", number: true, get: (one) => one.completed, cell: (one) => count(one.completed) },
      { name: "Ready", number: true, get: (one) => one.ready, cell: (one) => count(one.ready) },
      { name: "Running", number: true, get: (one) => one.running, cell: (one) => count(one.running) },
    ], { label: "Dispatchers", key: (one) => one.name, sort: ["Dispatcher", false], empty: "No dispatcher." });
    this.hosts = make("pre", { tabindex: 0 });
    this.hostsPart = make("section", { hidden: true }, make("h3", {}, "Simulated hosts"), this.hosts);
    this.element = make("div", {}, this.cards, make("h3", {}, "Workers"), this.workers.element,
      make("div", { class: "two" }, make("section", {}, make("h3", {}, "What tasks wait for"), this.waiting.element),
        make("section", {}, make("h3", {}, "Dispatchers"), this.dispatchers.element)), this.hostsPart);
  }
  show(runtime, snapshot) {
    const blocking = runtime.blocking || {};
    const workers = runtime.workers || [];
    const timers = workers.every((one) => known(one.timers)) ? workers.reduce((sum, one) => sum + one.timers, 0) : null;
    const cards = [
      ["Runtime", runtime.name || `#${runtime.id}`], ["Kind", (runtime.flavor || NONE).replace("_", " ")], ["Tasks alive", count(runtime.alive)], ["Global queue", count(runtime.global_queue)],
      ["Timers", count(timers)], ["Blocking threads", `${count(blocking.threads)}${known(blocking.idle) ? `, ${count(blocking.idle)} idle` : ""}`],
      ["Blocking queue", `${count(blocking.queued)}${blocking.oldest_ms ? `, ${millis(blocking.oldest_ms)} old` : ""}`],
      ["I/O", [...new Set(workers.map(backend).filter(Boolean))].join(", ") || "none"],
    ];
    cards.forEach(([name, value], at) => {
      const card = this.cards.children[at] || this.cards.appendChild(make("div", {}, make("p", { class: "name" }), make("p", { class: "value" })));
      say(card.firstChild, name);
      say(card.lastChild, value);
    });
    this.workers.show(workers);
    this.waiting.show(Object.entries(runtime.waiting || {}));
    this.dispatchers.show(runtime.dispatchers || []);
    const hosts = runtime.hosts || snapshot.hosts;
    this.hostsPart.hidden = !hosts;
    if (hosts) say(this.hosts, JSON.stringify(hosts, null, 1));
  }
}
