// Puts the parts together: events of the server, panes by the address's hash, keys.

const lanes = new Lanes(byId("lanes"), byId("lane-names"), byId("lane-tip"));
const PANES = [
  ["sites", "Spawn sites", new SitesPane()],
  ["tasks", "Tasks", new TasksPane()],
  ["locks", "Locks and channels", new LocksPane()],
  ["timing", "Timing", new TimingPane(lanes)],
  ["processes", "Processes", new ProcessesPane()],
  ["runtime", "Runtime", new RuntimePane()],
];
const SEVERITIES = ["critical", "warning", "note"];
const MARKS = { critical: "■", warning: "▲", note: "●" };

let snapshot = null;
let before = null;
let chosenRuntime = null;
let pane = "sites";

for (const [at, [id, name, part]] of PANES.entries()) {
  const tab = make("button", { id: `tab-${id}`, type: "button", role: "tab", "aria-controls": `pane-${id}`, onclick: () => { location.hash = id; } }, name, make("span", { class: "count" }));
  tab.dataset.at = at;
  byId("tabs").append(tab);
  byId("panes").append(make("div", { id: `pane-${id}`, role: "tabpanel", "aria-labelledby": `tab-${id}`, hidden: true }, part.element));
}

byId("tabs").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const at = PANES.findIndex(([id]) => id === pane);
  let to = step ? (at + step + PANES.length) % PANES.length : null;
  if (event.key === "Home") to = 0;
  if (event.key === "End") to = PANES.length - 1;
  if (to === null) return;
  event.preventDefault();
  location.hash = PANES[to][0];
  byId(`tab-${PANES[to][0]}`).focus();
});

const currentPart = () => PANES.find(([id]) => id === pane)[2];

function follow() {
  const [path, search = ""] = location.hash.slice(1).split("?");
  if (path === "findings") return;
  const task = path.match(/^task\/(\d+)$/);
  const wanted = task ? "tasks" : path;
  pane = PANES.some(([id]) => id === wanted) ? wanted : "sites";
  for (const [id] of PANES) {
    const chosen = id === pane;
    byId(`pane-${id}`).hidden = !chosen;
    byId(`tab-${id}`).setAttribute("aria-selected", String(chosen));
    byId(`tab-${id}`).tabIndex = chosen ? 0 : -1;
  }
  const part = currentPart();
  const runtime = current();
  if (runtime && part instanceof TasksPane) part.runtime = runtime.id;
  if (part.route) part.route(new URLSearchParams(search), task ? Number(task[1]) : null);
  if (runtime) part.show(runtime, snapshot);
}
addEventListener("hashchange", follow);

function current() {
  const runtimes = (snapshot && snapshot.runtimes) || [];
  return runtimes.find((runtime) => runtime.id === chosenRuntime) || runtimes[0] || null;
}

// Rates of what the program only counts, from two snapshots.
function addRates(now, last) {
  const passed = last ? (now.uptime_ms - last.uptime_ms) / 1000 : 0;
  if (passed <= 0) return;
  for (const runtime of now.runtimes) {
    const old = last.runtimes.find((other) => other.id === runtime.id);
    for (const worker of (old && runtime.workers) || []) {
      const was = old.workers.find((other) => other.index === worker.index);
      if (!was) continue;
      for (const name of ["polls", "steals", "parks"]) {
        if (known(worker[name]) && known(was[name])) worker[`${name}_rate`] = Math.max(0, (worker[name] - was[name]) / passed);
      }
      if (!known(worker.busy) && known(worker.busy_ms) && known(was.busy_ms)) {
        worker.busy = Math.min(1, Math.max(0, (worker.busy_ms - was.busy_ms) / 1000 / passed));
      }
    }
  }
}

// Findings of one kind and place become one: a leak of thousands is one line.
function grouped(findings) {
  const groups = new Map();
  for (const finding of findings) {
    const key = finding.cycle || !finding.site ? `${groups.size}` : `${finding.kind} ${finding.severity} ${finding.site}`;
    if (groups.has(key)) groups.get(key).more += 1;
    else groups.set(key, { ...finding, more: 0 });
  }
  return [...groups.values()];
}

function evidence(finding) {
  if (finding.more) return `#tasks?site=${encodeURIComponent(finding.site)}`;
  if (known(finding.task)) return `#task/${finding.task}`;
  const site = finding.site ? encodeURIComponent(finding.site) : "";
  if (["convoy", "full_channel"].includes(finding.kind)) return `#locks?q=${site}`;
  if (finding.kind === "full_mailbox") return "#processes";
  if (finding.kind === "blocking_pool" || !site) return "#runtime";
  return `#sites?q=${site}`;
}

const FEW = 6;
let allFindings = false;
byId("findings-more").addEventListener("click", () => {
  allFindings = !allFindings;
  showFindings();
});

function showFindings() {
  const badness = (finding) => SEVERITIES.indexOf(finding.severity);
  const all = [...(snapshot.findings || [])].sort((a, b) => badness(a) - badness(b) || (b.since_ms || 0) - (a.since_ms || 0));
  const groups = grouped(all);
  const findings = allFindings ? groups : groups.slice(0, FEW);
  byId("findings-more").hidden = groups.length <= FEW;
  say(byId("findings-more"), allFindings ? "Show fewer" : `Show ${groups.length - FEW} more`);
  const list = byId("findings-list");
  // As many as there are now: those that stay keep their element, and the focus.
  while (list.children.length > findings.length) list.lastElementChild.remove();
  findings.forEach((finding, at) => {
    const item = list.children[at] || list.appendChild(make("li", {}, make("a", {}, make("span", { class: "mark", "aria-hidden": "true" }), make("span", { class: "kind" }), make("span", { class: "text" }), make("span", { class: "since" }))));
    const link = item.firstChild;
    const [mark, kind, text, since] = link.children;
    const severity = SEVERITIES.includes(finding.severity) ? finding.severity : "note";
    if (link.className !== severity) link.className = severity;
    link.href = evidence(finding);
    link.onclick = () => { if (known(finding.runtime)) choose(finding.runtime); };
    say(mark, MARKS[severity]);
    say(kind, finding.kind.replace(/_/g, " "));
    say(text, finding.more ? `${finding.text}; and ${count(finding.more)} more like it` : finding.text);
    say(since, known(finding.since_ms) ? `for ${millis(finding.since_ms)}` : "");
  });
  const none = byId("findings-none");
  none.hidden = findings.length > 0;
  say(none, snapshot.sight === false ? "Sight is off: the program does not look for what is wrong." : "Nothing is wrong that the program can see.");
  // Sentences change every second; a screen reader is told only of what is new.
  const name = (finding) => `${finding.kind} ${finding.task} ${finding.site}`;
  const old = new Set((showFindings.said || []).map(name));
  const fresh = findings.filter((finding) => !old.has(name(finding)));
  if (fresh.length) say(byId("findings-said"), `${fresh.length} new: ${fresh.slice(0, 3).map((finding) => finding.text).join(" ")}`);
  else if (!findings.length && showFindings.said && showFindings.said.length) say(byId("findings-said"), "Nothing is wrong any more.");
  showFindings.said = findings;
  const critical = groups.filter((finding) => finding.severity === "critical").length;
  document.title = `${groups.length ? `(${critical || groups.length}${critical ? "!" : ""}) ` : ""}${snapshot.program || "tress"} – tress console`;
}

function choose(runtime) {
  chosenRuntime = runtime;
  if (snapshot) show();
}

function showRuntimes() {
  const choice = byId("runtime-select");
  const runtimes = snapshot.runtimes || [];
  byId("runtime-choice").hidden = runtimes.length < 2;
  const names = runtimes.map((runtime) => `${runtime.id} ${runtime.name}`).join("\n");
  if (choice.dataset.names !== names) {
    choice.dataset.names = names;
    choice.replaceChildren(...runtimes.map((runtime) => make("option", { value: runtime.id }, runtime.name || `#${runtime.id}`)));
  }
  const runtime = current();
  if (runtime) choice.value = String(runtime.id);
}
byId("runtime-select").addEventListener("change", () => choose(Number(byId("runtime-select").value)));

function show() {
  byId("program").replaceChildren(make("b", {}, snapshot.program || "program"), ` · pid ${snapshot.pid} · up ${millis(snapshot.uptime_ms)}`);
  showFindings();
  showRuntimes();
  const runtime = current();
  if (!runtime) {
    lanes.show(null, []);
    return;
  }
  lanes.show(runtime.id, runtime.workers || []);
  for (const [id, , part] of PANES) {
    const number = part.count ? part.count(runtime) : null;
    say(byId(`tab-${id}`).lastChild, known(number) ? count(number) : "");
  }
  currentPart().show(runtime, snapshot);
}

function status(kind, text) {
  byId("status").className = `status ${kind}`;
  say(byId("status"), text);
  byId("lost").hidden = kind !== "old" || document.hidden;
}

let events = null;
function connect() {
  if (events) events.close();
  events = new EventSource(address("/api/events"));
  events.addEventListener("snapshot", (event) => {
    const now = JSON.parse(event.data);
    status("live", "live");
    // A connection begins with the last snapshot, which this page may have had.
    if (snapshot && snapshot.pid === now.pid && snapshot.uptime_ms === now.uptime_ms) return;
    before = snapshot;
    snapshot = now;
    addRates(now, before && before.pid === now.pid ? before : null);
    show();
    if (!before) follow();
  });
  events.addEventListener("lanes", (event) => lanes.add(JSON.parse(event.data)));
  events.addEventListener("error", () => {
    status("old", "lost");
    // The browser tries again by itself, unless the server has refused.
    if (events.readyState === EventSource.CLOSED) setTimeout(() => { if (!document.hidden) connect(); }, 2000);
  });
}

// Nobody looks: the program need not work for this page.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    if (events) events.close();
    events = null;
    status("", "paused");
  } else {
    status("", "connecting");
    connect();
  }
});

byId("save").addEventListener("click", () => {
  const link = make("a", { href: address("/api/trace", { seconds: 30, runtime: current() ? current().id : null }), download: "" });
  document.body.append(link);
  link.click();
  link.remove();
});

const darkSystem = matchMedia("(prefers-color-scheme: dark)");
let theme = null;
try { theme = localStorage.getItem("theme"); } catch { /* Storage may be forbidden; the system's choice does. */ }
function paint() {
  const dark = theme ? theme === "dark" : darkSystem.matches;
  document.documentElement.classList.toggle("dark", dark);
  byId("theme").setAttribute("aria-pressed", String(dark));
  readColours();
  lanes.draw();
}
byId("theme").addEventListener("click", () => {
  theme = document.documentElement.classList.contains("dark") ? "light" : "dark";
  try { localStorage.setItem("theme", theme); } catch { /* As above. */ }
  paint();
});
darkSystem.addEventListener("change", paint);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input, select, textarea");
  const part = currentPart();
  if (event.key === "Escape") {
    if (typing) event.target.blur();
    else if (location.hash.startsWith("#task/")) history.back();
    return;
  }
  if (typing) return;
  if (event.key === "/") {
    if (part instanceof TasksPane && known(part.task)) location.hash = "tasks";
    if (!part.search) location.hash = "sites";
    event.preventDefault();
    setTimeout(() => currentPart().search.focus(), 0);
  } else if (event.key === "f") {
    const first = byId("findings-list").querySelector("a");
    (first || byId("findings")).focus();
  } else if (/^[1-6]$/.test(event.key)) {
    location.hash = PANES[Number(event.key) - 1][0];
    byId(`tab-${PANES[Number(event.key) - 1][0]}`).focus();
  }
});
byId("findings-list").addEventListener("keydown", (event) => {
  const item = event.target.closest("li");
  const to = { ArrowDown: item && item.nextElementSibling, ArrowUp: item && item.previousElementSibling }[event.key];
  if (!to) return;
  event.preventDefault();
  to.firstChild.focus();
});

paint();
follow();
if (!document.hidden) connect();
