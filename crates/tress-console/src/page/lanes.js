// What the workers do, drawn as lanes: ten seconds, the newest at the right.

const WINDOW = 10e9;
const LANE = 24;
const AXIS = 16;

// Adds to each column the share of it that lies between two places.
function cover(columns, left, right) {
  const from = Math.max(0, Math.floor(left));
  const to = Math.min(columns.length - 1, Math.floor(right));
  for (let column = from; column <= to; column++) {
    columns[column] += Math.max(1e-6, Math.min(right, column + 1) - Math.max(left, column));
  }
}

class Lanes {
  constructor(canvas, names, tip) {
    this.canvas = canvas;
    this.names = names;
    this.tip = tip;
    this.runtimes = new Map();
    this.runtime = null;
    this.workers = [];
    this.drawnAt = 0;
    canvas.addEventListener("mousemove", (event) => this.point(event));
    canvas.addEventListener("mouseleave", () => { tip.hidden = true; });
    canvas.addEventListener("click", (event) => {
      const hit = this.hit(event);
      if (hit && hit[2] === "poll" && hit[3]) location.hash = `tasks?q=${encodeURIComponent(hit[3])}`;
    });
    new ResizeObserver(() => this.draw()).observe(canvas.parentElement);
  }

  // Takes an event "lanes" of the server.
  add(lanes) {
    let kept = this.runtimes.get(lanes.runtime);
    if (!kept) this.runtimes.set(lanes.runtime, (kept = { workers: [], to: 0, at: 0 }));
    kept.to = lanes.to_ns;
    kept.at = performance.now();
    lanes.workers.forEach((events, worker) => {
      const lane = (kept.workers[worker] = kept.workers[worker] || []);
      for (const event of events) lane.push(event);
      const oldest = lanes.to_ns - WINDOW - 1e9;
      const first = lane.findIndex((event) => event[0] + event[1] >= oldest);
      if (first > 0) lane.splice(0, first);
      else if (first < 0) lane.length = 0;
    });
    if (lanes.runtime === this.runtime) this.want();
  }

  // Takes the workers of a snapshot.
  show(runtime, workers) {
    this.runtime = runtime;
    this.workers = workers;
    while (this.names.children.length > workers.length) this.names.lastElementChild.remove();
    workers.forEach((worker, at) => {
      const row = this.names.children[at] || this.names.appendChild(make("div", {}, make("b"), make("span")));
      const busy = known(worker.busy) ? ` · ${share(worker.busy)} busy` : "";
      const queue = worker.queue ? ` · ${count(worker.queue)} queued` : "";
      const doing = worker.state === "polling" && worker.task ? `polls ${worker.task_name || worker.task}` : worker.state;
      say(row.firstChild, String(worker.index));
      say(row.lastChild, `${doing}${busy}${queue}`);
      row.title = row.textContent;
    });
    this.canvas.setAttribute("aria-label", this.inWords());
    this.want();
  }

  inWords() {
    const kept = this.runtimes.get(this.runtime);
    const words = this.workers.map((worker) => {
      const shares = known(worker.busy) ? `, busy ${share(worker.busy)} of the time` : "";
      const lane = (kept && kept.workers[worker.index]) || [];
      const polls = lane.filter((event) => event[2] === "poll");
      const longest = polls.reduce((most, event) => Math.max(most, event[1]), 0);
      const seen = polls.length ? `, longest poll drawn ${nanos(longest)}` : "";
      return `worker ${worker.index} is ${worker.state}${shares}${seen}`;
    });
    return `Timeline of the workers over ten seconds: ${words.join("; ") || "no workers"}.`;
  }

  want() {
    if (this.wanted || document.hidden) return;
    this.wanted = true;
    requestAnimationFrame(() => {
      this.wanted = false;
      if (performance.now() - this.drawnAt >= 45) this.draw();
      const kept = this.runtimes.get(this.runtime);
      // Goes on between two events, so that time flows; not for those that prefer less motion.
      if (!still.matches && kept && performance.now() - kept.at < 1000) this.want();
    });
  }

  now(kept) {
    const since = still.matches ? 0 : Math.min(performance.now() - kept.at, 1000) * 1e6;
    // A little behind, so that the next event comes before its time is drawn.
    return kept.to + since - 3e8;
  }

  draw() {
    this.drawnAt = performance.now();
    const lanes = Math.max(1, this.workers.length);
    const width = this.canvas.parentElement.clientWidth - this.names.offsetWidth;
    const height = lanes * LANE + AXIS;
    const scale = devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(height * scale);
      this.canvas.style.height = `${height}px`;
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    const kept = this.runtimes.get(this.runtime);
    const end = kept ? this.now(kept) : 0;
    const x = (ns) => ((ns - (end - WINDOW)) / WINDOW) * width;
    for (let worker = 0; worker < lanes; worker++) {
      const top = worker * LANE + 3;
      const lane = (kept && kept.workers[worker]) || [];
      const polled = new Float32Array(Math.ceil(width));
      for (const [start, length, kind] of lane) {
        const left = x(start);
        const right = x(start + length);
        if (right < 0 || left > width) continue;
        pen.fillStyle = colours[kind] || colours.dim;
        if (kind === "park") pen.fillRect(left, top + LANE - 8, Math.max(right - left, 0.5), 2);
        else if (kind === "poll") cover(polled, left, right);
        else if (kind === "offcpu") this.hatch(pen, left, top, Math.max(right - left, 1));
      }
      // As high as the share of the time: thousands of short polls are not one long one.
      pen.fillStyle = colours.poll;
      for (let column = 0; column < polled.length; column++) {
        if (polled[column] > 0) {
          const high = Math.max(2.5, Math.min(1, polled[column]) * (LANE - 6));
          pen.fillRect(column, top + LANE - 6 - high, 1, high);
        }
      }
      for (const [start, , kind] of lane) {
        if (kind !== "io" && kind !== "steal") continue;
        pen.fillStyle = colours[kind];
        pen.fillRect(x(start), top, 1.5, 4);
      }
      pen.fillStyle = colours.line;
      pen.fillRect(0, (worker + 1) * LANE - 1, width, 1);
    }
    this.axis(pen, width, lanes * LANE);
  }

  hatch(pen, left, top, width) {
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width, LANE - 6);
    pen.clip();
    pen.strokeStyle = colours.offcpu;
    pen.lineWidth = 1.5;
    for (let at = left - LANE; at < left + width; at += 5) {
      pen.beginPath();
      pen.moveTo(at, top + LANE - 6);
      pen.lineTo(at + LANE - 6, top);
      pen.stroke();
    }
    pen.restore();
  }

  axis(pen, width, top) {
    pen.fillStyle = colours.dim;
    pen.font = "10px system-ui, sans-serif";
    for (let second = 1; second < 10; second++) {
      const at = width - (second / 10) * width;
      pen.fillRect(at, top, 1, 3);
      pen.fillText(`-${second} s`, at + 3, top + 11);
    }
  }

  hit(event) {
    const kept = this.runtimes.get(this.runtime);
    if (!kept) return null;
    const lane = kept.workers[Math.floor(event.offsetY / LANE)];
    const at = this.now(kept) - WINDOW + (event.offsetX / this.canvas.clientWidth) * WINDOW;
    const slack = (WINDOW / this.canvas.clientWidth) * 2;
    const near = (lane || []).filter((one) => one[0] - slack <= at && one[0] + one[1] + slack >= at);
    // Of several the shortest: it is the hardest to point at.
    near.sort((a, b) => a[1] - b[1]);
    return near[0] || null;
  }

  point(event) {
    const hit = this.hit(event);
    this.tip.hidden = !hit;
    this.canvas.style.cursor = hit && hit[2] === "poll" ? "pointer" : "default";
    if (!hit) return;
    const kind = { poll: "poll", park: "parked", io: "I/O", steal: "steal", offcpu: "off the CPU while runnable" }[hit[2]] || hit[2];
    say(this.tip, `${kind}${hit[3] ? ` · ${hit[3]}` : ""}${hit[1] ? ` · ${nanos(hit[1])}` : ""}`);
    this.tip.style.left = `${Math.min(event.clientX + 12, innerWidth - 320)}px`;
    this.tip.style.top = `${event.clientY + 14}px`;
  }
}
