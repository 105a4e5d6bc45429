"use strict";
(() => {
  // What went wrong here is shown to tests of the page.
  window.addEventListener("error", (event) => {
    document.documentElement.dataset.error = event.message;
  });

  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const AXIS = 92;
  const ROW = 17;
  const ARRIVAL = 6;
  const HEADS = 26;
  const PAGE = 200;
  const SVG = "http://www.w3.org/2000/svg";

  // ---- Events ----

  const SET_UP = new Set(["SYN", "SYN ACK", "FIN", "RST"]);
  const HOST_FAULTS = new Set(["Crash", "Kill", "Pause", "Clock", "Slow"]);
  const hostName = (host) => (host < 0 ? "test" : data.hosts[host]);

  function seconds(nanoseconds) {
    return (nanoseconds / 1e9).toFixed(6);
  }

  function duration(ns) {
    for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
      if (ns >= size) return `${Number((ns / size).toPrecision(3))} ${unit}`;
    }
    return `${ns} ns`;
  }

  const readers = {
    packet([, sent, end, from, to, kind, length, fate, flags, source, destination, bytes]) {
      const [held, copy, repeated] = [flags & 1, flags & 2, flags & 4];
      const classes = ["packet"];
      if (SET_UP.has(kind) || kind === "ACK") classes.push("set-up");
      if (held) classes.push("held");
      if (copy) classes.push("copy");
      if (repeated) classes.push("repeated");
      const isLost = fate.startsWith("lost");
      if (isLost) classes.push("lost");
      if (fate === "on its way") classes.push("way");
      const words = [kind];
      if (length) words.push(`${length} B`);
      if (bytes) words.push(`“${bytes}”`);
      const more = [];
      if (repeated) more.push("again");
      if (copy) more.push("duplicate");
      if (held) more.push("held");
      if (fate) more.push(fate.replace("lost: ", ""));
      const pair = [data.addresses[source], data.addresses[destination]];
      return {
        group: kind === "ACK" ? "ack" : SET_UP.has(kind) ? "connection" : "data",
        time: sent, end, from, to, hosts: to < 0 || to === from ? [from] : [from, to],
        classes, label: [words.join(" "), ...more].join(", "), isLost, isDelivered: fate === "",
        isTrouble: isLost || Boolean(flags),
        connection: pair.slice().sort().join(" "),
        about: [
          ["From", `${hostName(from)} (${pair[0]})`],
          ["To", `${to < 0 ? "nobody" : hostName(to)} (${pair[1]})`],
          ["Sent", `${seconds(sent)} s`],
          [isLost ? "Lost" : fate ? "On its way at" : "Arrived", `${seconds(end)} s`],
          ["Took", duration(end - sent)],
          ["Fate", fate || "delivered"],
          ["Data", bytes],
        ],
      };
    },
    line([, time, host, isError, text]) {
      return {
        group: "line", time, hosts: host < 0 ? [] : [host], host, isTrouble: false,
        classes: isError ? ["printed", "error"] : ["printed"], label: text,
        about: [["Host", hostName(host)], ["Printed", `${seconds(time)} s, on ${isError ? "stderr" : "stdout"}`]],
      };
    },
    state([, time, host, code, text]) {
      const isBad = code === "off" || code === "pause";
      return {
        group: "state", time, hosts: [host], host, code, isTrouble: isBad,
        classes: isBad ? ["state", "bad"] : ["state"], label: text,
        about: [["Host", hostName(host)], ["When", `${seconds(time)} s`]],
      };
    },
    fault([, time, number, kind, lasting, what, hosts]) {
      const isInstant = kind === "Clock";
      return {
        group: "fault", time, end: isInstant ? time : Math.min(time + lasting, data.end), hosts, isTrouble: true,
        classes: ["fault-row"], number, kind, isBand: !isInstant,
        label: `Fault ${number}: ${kind}, ${what}${isInstant ? "" : `, for ${duration(lasting)}`}`,
        about: [["Began", `${seconds(time)} s`], ["Lasts", duration(lasting)], ["Hosts", what]],
      };
    },
    act([, time, text, hosts]) {
      return {
        group: "fault", time, hosts, isTrouble: true, classes: ["act"], label: `Test: ${text}`,
        about: [["When", `${seconds(time)} s`]],
      };
    },
    failure([, time, host, text]) {
      return {
        group: "failure", time, hosts: host < 0 ? [] : [host], host, isTrouble: true, classes: ["failure"],
        label: host < 0 ? text : `${hostName(host)} ${text}`,
        about: [["Host", host < 0 ? "" : hostName(host)], ["When", `${seconds(time)} s`]],
      };
    },
  };

  const raw = data.events;
  if (data.verdict) raw.push(["failure", data.end, -1, data.verdict]);
  const events = raw.map((event) => readers[event[0]](event));
  const rank = (event) => (event.group === "failure" ? 1 : 0);
  events.forEach((event, place) => { event.place = place; });
  events.sort((a, b) => a.time - b.time || rank(a) - rank(b) || a.place - b.place);
  events.forEach((event, index) => {
    event.index = index;
    event.spoken = `${seconds(event.time)} s, ${event.hosts.map(hostName).join(" to ") || "test"}: ${event.label}`;
    event.search = event.spoken.toLowerCase();
  });
  const failures = events.filter((event) => event.group === "failure");

  // When hosts are up, off and paused.
  const lives = data.hosts.map((_, host) => {
    const spans = [];
    let [state, since] = ["none", 0];
    const change = (time, next) => {
      if (state !== "none" && (time > since || next === "none")) spans.push({ state, start: since, end: time });
      [state, since] = [next, time];
    };
    const after = { up: "up", off: "off", pause: "paused", resume: "up", end: "ended" };
    for (const event of events) {
      if (event.group !== "state" || event.host !== host) continue;
      if (event.code === "resume" && state !== "paused") continue;
      change(event.time, after[event.code]);
    }
    // Of what is left out at the start nothing is known.
    if (state === "none") [state, since] = ["up", 0];
    change(data.end, "none");
    return spans;
  });

  // ---- What is shown ----

  const KINDS = [
    ["data", "data", true], ["connection", "connections", true], ["ack", "ACKs", false], ["line", "output", true],
    ["state", "hosts", true], ["fault", "faults", true],
  ];
  const shownKinds = new Set(KINDS.filter(([, , on]) => on).map(([kind]) => kind));
  const shownHosts = new Set(data.hosts.keys());
  let onlyTrouble = false;
  let words = "";
  let shown = [];
  let chosen = null;

  // ---- Where it is shown ----

  // Points in time, in their order, with their places from the top.
  let times = [];
  let places = [];
  let gaps = [];
  let height = 0;
  let columns = [];
  let width = 0;
  // Faults of links beside the columns, and those of hosts in them.
  let lanes = [];
  let bands = [];
  let arrows = [];
  let reach = [];
  const BLOCK = 128;

  function choose() {
    shown = events.filter((event) => {
      if (event.group === "failure") return true;
      if (!shownKinds.has(event.group)) return false;
      if (onlyTrouble && !event.isTrouble && event.group !== "line") return false;
      if (event.hosts.length && !event.hosts.every((host) => shownHosts.has(host))) return false;
      return !words || event.search.includes(words);
    });
    $("found").textContent = `${shown.length.toLocaleString("en")} of ${events.length.toLocaleString("en")} events`;
  }

  function layOut() {
    const points = [];
    for (const event of shown) {
      points.push({ time: event.time, event, isStart: true });
      if (event.end > event.time && (event.group === "data" || event.group === "connection" || event.group === "ack" || event.isBand)) {
        points.push({ time: event.end, event, isStart: false });
      }
    }
    points.sort((a, b) => a.time - b.time || a.event.index - b.event.index || b.isStart - a.isStart);
    const steps = [];
    for (let at = 1; at < points.length; at += 1) {
      const step = points[at].time - points[at - 1].time;
      if (step > 0) steps.push(step);
    }
    steps.sort((a, b) => a - b);
    // What is longer than most steps is drawn as a gap.
    const long = Math.max(1e6, 2 * (steps[Math.floor(steps.length * 0.95)] || 0));
    times = [];
    places = [];
    gaps = [];
    let y = 8;
    let last = points.length ? points[0].time : 0;
    if (points.length && last > long) {
      gaps.push({ y: y + 10, text: duration(last) });
      y += 26;
    }
    let previous = null;
    for (const point of points) {
      const step = point.time - last;
      if (step > long) {
        gaps.push({ y: y + ROW / 2 + 13, text: duration(step) });
        y += 32;
      } else if (step > 0) {
        y += Math.min(14, 2.2 * Math.log2(1 + step / 1e5));
      }
      if (point.isStart) {
        // A row of its own, so that no two labels meet.
        y += previous && !previous.isStart ? ROW - ARRIVAL : ROW;
        point.event.y = y;
      } else {
        y += ARRIVAL;
        point.event.yEnd = y;
      }
      times.push(point.time);
      places.push(y);
      last = point.time;
      previous = point;
    }
    height = y + 40;

    const hosts = [...shownHosts].sort((a, b) => a - b);
    const busy = [];
    lanes = shown.filter((event) => event.isBand && !HOST_FAULTS.has(event.kind)).map((event) => {
      let lane = busy.findIndex((end) => end <= event.time);
      if (lane < 0) lane = busy.length;
      busy[lane] = event.end;
      return { event, lane };
    });
    bands = shown.filter((event) => event.isBand && HOST_FAULTS.has(event.kind));
    const left = AXIS + 10 + busy.length * 11;
    const room = $("scroller").clientWidth - left - 60;
    const each = Math.max(110, Math.min(300, room / Math.max(1, hosts.length)));
    columns = [];
    hosts.forEach((host, at) => { columns[host] = left + each * (at + 0.5) - Math.min(40, each / 4); });
    width = Math.max(left + each * hosts.length + 20, $("scroller").clientWidth);
    $("heads").replaceChildren(...hosts.map((host) => {
      const head = document.createElement("span");
      head.textContent = data.hosts[host];
      head.title = data.hosts[host];
      head.style.left = `${columns[host]}px`;
      head.style.maxWidth = `${each - 8}px`;
      return head;
    }));
    $("heads").style.width = `${width}px`;
    $("field").style.width = `${width}px`;
    $("field").style.height = `${height}px`;
    $("view").setAttribute("width", width);

    // For each block of events, how far down any of it goes.
    arrows = shown;
    reach = [];
    for (let at = 0; at < arrows.length; at += BLOCK) {
      let most = 0;
      for (const event of arrows.slice(at, at + BLOCK)) {
        const isPacket = event.classes[0] === "packet";
        most = Math.max(most, isPacket && event.end > event.time ? event.yEnd : event.y + ROW);
      }
      reach.push(most);
    }
  }

  function firstAtLeast(list, value) {
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle] < value) low = middle + 1; else high = middle;
    }
    return low;
  }

  // The place of any time.
  function placeOf(time) {
    const at = firstAtLeast(times, time);
    if (at === 0) return places.length ? (time < times[0] ? 0 : places[0]) : 0;
    if (at === times.length) return time > times[at - 1] ? places[at - 1] + 12 : places[at - 1];
    if (times[at] === time) return places[at];
    const part = (time - times[at - 1]) / (times[at] - times[at - 1]);
    return places[at - 1] + part * (places[at] - places[at - 1]);
  }

  // ---- Drawing ----

  function make(name, attributes, ...children) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  function cut(text, pixels) {
    const line = text.split("\n")[0];
    const most = Math.max(6, Math.floor(pixels / 6.1));
    return line.length > most ? `${line.slice(0, most - 1)}…` : line;
  }

  function arrowHead(x, y, angle) {
    const degrees = (angle * 180) / Math.PI;
    return make("path", { class: "head", d: "M0 0L-8 3.5L-8 -3.5Z", transform: `translate(${x} ${y}) rotate(${degrees})` });
  }

  function drawPacket(event, group) {
    const x = columns[event.from];
    const y = event.y;
    const end = event.end > event.time ? event.yEnd : y;
    if (event.from === event.to) {
      const d = `M${x} ${y}C${x + 26} ${y} ${x + 26} ${Math.max(end, y + 8)} ${x + 2} ${Math.max(end, y + 8)}`;
      group.append(make("path", { class: "hit", d }), make("path", { class: "arrow", d }));
      if (event.isLost) group.append(make("path", { class: "cross", d: `M${x + 16} ${y}l6 6m0 -6l-6 6` }));
      else group.append(arrowHead(x + 2, Math.max(end, y + 8), Math.PI));
      group.append(make("text", { x: x + 26, y: y + 4 }, cut(event.label, 220)));
      return;
    }
    const to = event.to < 0 ? x + 60 : columns[event.to];
    let [toX, toY] = [to, end];
    if (event.isLost) {
      // It got somewhere, and no further.
      toX = x + (to - x) * 0.55;
      toY = Math.max(end, y + 6);
    } else if (!event.isDelivered) {
      toX = x + (to - x) * 0.75;
      toY = Math.max(end, y + 8);
    }
    const d = `M${x} ${y}L${toX} ${toY}`;
    group.append(make("path", { class: "hit", d }), make("path", { class: "arrow", d }));
    if (event.isLost) group.append(make("path", { class: "cross", d: `M${toX - 4} ${toY - 4}l8 8m0 -8l-8 8` }));
    else if (!event.isDelivered) group.append(make("circle", { class: "end", cx: toX, cy: toY, r: 3 }));
    else group.append(arrowHead(toX, toY, Math.atan2(toY - y, toX - x)));
    const room = event.to < 0 ? 240 : Math.max(Math.abs(to - x) - 22, 90);
    const isRight = to > x;
    group.append(make("circle", { class: "head", cx: x, cy: y, r: 2 }));
    group.append(make("text", { x: x + (isRight ? 8 : -8), y: y - 3, "text-anchor": isRight ? "start" : "end" }, cut(event.label, room)));
  }

  function draw(event) {
    const isChosen = event === chosen;
    const classes = ["event", ...event.classes];
    if (isChosen) classes.push("chosen");
    if (chosen && chosen !== event && chosen.connection && chosen.connection === event.connection) classes.push("same");
    const group = make("g", {
      class: classes.join(" "), "data-event": event.index, role: "img", "aria-label": event.spoken,
      tabindex: isChosen || (!chosen && event === firstInSight) ? 0 : -1,
    });
    const row = make("rect", { class: "row", x: AXIS + 2, y: event.y - ROW + 3, width: width - AXIS - 6, height: ROW + 1, rx: 3 });
    if (isChosen || event.group === "failure") group.append(row);
    const host = event.host >= 0 ? columns[event.host] : undefined;
    switch (event.classes[0]) {
      case "packet":
        drawPacket(event, group);
        break;
      case "printed": {
        const x = host === undefined ? AXIS + 14 : host;
        group.append(make("rect", { class: "mark", x: x - 3, y: event.y - 7, width: 6, height: 6 }));
        group.append(make("text", { x: x + 8, y: event.y - 0.5 }, cut(event.label, width - x - 20)));
        break;
      }
      case "state":
        if (host === undefined) break;
        group.append(make("circle", { class: "mark", cx: host, cy: event.y - 4, r: 4 }));
        group.append(make("text", { x: host + 9, y: event.y }, event.label));
        break;
      case "failure": {
        group.append(make("text", { x: AXIS + 10, y: event.y }, `✗ ${cut(event.label, width - AXIS - 30)}`));
        break;
      }
      default: {
        const lane = lanes.find((one) => one.event === event);
        const x = lane ? AXIS + 8 + lane.lane * 11 + 13 : event.hosts.length === 1 && columns[event.hosts[0]] ? columns[event.hosts[0]] + 14 : AXIS + 14;
        group.append(make("text", { x, y: event.y }, cut(event.label, width - x - 20)));
      }
    }
    return group;
  }

  let firstInSight = null;
  let wanted = false;

  function inSight(top, bottom) {
    const found = [];
    for (let block = 0; block * BLOCK < arrows.length; block += 1) {
      if (reach[block] < top) continue;
      const start = block * BLOCK;
      if (arrows[start].y - ROW > bottom) break;
      for (const event of arrows.slice(start, start + BLOCK)) {
        if (event.y - ROW > bottom) break;
        const isPacket = event.classes[0] === "packet";
        const low = isPacket && event.end > event.time ? event.yEnd : event.y + ROW;
        if (low >= top) found.push(event);
      }
    }
    return found;
  }

  function render() {
    wanted = false;
    const scroller = $("scroller");
    const view = $("view");
    const size = scroller.clientHeight;
    const top = Math.max(0, scroller.scrollTop - 300);
    const bottom = scroller.scrollTop + size + 300;
    view.setAttribute("height", Math.max(10, Math.min(height, bottom) - top));
    view.setAttribute("viewBox", `0 ${top} ${width} ${Math.max(10, Math.min(height, bottom) - top)}`);
    view.style.transform = `translateY(${top}px)`;
    const hadFocus = view.contains(document.activeElement);
    const parts = [];

    for (const { event, lane } of lanes) {
      const [start, end] = [event.y - 4, event.yEnd || event.y];
      if (end < top || start > bottom) continue;
      const rect = make("rect", { class: "fault", x: AXIS + 8 + lane * 11, y: start, width: 7, height: Math.max(3, end - start), rx: 2 });
      rect.append(make("title", {}, event.label));
      parts.push(rect);
    }
    for (const event of bands) {
      const [start, end] = [event.y - 4, event.yEnd || event.y];
      if (end < top || start > bottom) continue;
      for (const host of event.hosts.filter((one) => columns[one])) {
        parts.push(make("rect", { class: "fault", x: columns[host] - 9, y: start, width: 18, height: Math.max(3, end - start), rx: 3 }));
      }
    }
    columns.forEach((x, host) => {
      for (const { state, start, end } of lives[host]) {
        const [from, to] = [placeOf(start), end >= data.end ? height - 20 : placeOf(end)];
        if (to < top || from > bottom) continue;
        parts.push(make("path", { class: `life ${state}`, d: `M${x} ${Math.max(from, top)}V${Math.min(to, bottom)}` }));
      }
    });
    for (const gap of gaps) {
      if (gap.y < top || gap.y > bottom) continue;
      const text = make("text", { x: AXIS - 6, y: gap.y + 4, "text-anchor": "end" }, `⋮ ${gap.text}`);
      parts.push(make("g", { class: "gap" }, make("line", { x1: AXIS, x2: width - 4, y1: gap.y, y2: gap.y }), text));
    }
    const visible = inSight(top, bottom);
    firstInSight = visible.find((event) => event.y - ROW >= scroller.scrollTop) || visible[0] || null;
    let before = "";
    for (const event of visible) {
      if (event.y < top) continue;
      const text = seconds(event.time);
      if (text !== before) parts.push(make("text", { class: "time", x: AXIS - 6, y: event.y }, text));
      before = text;
    }
    // What is chosen is on top.
    visible.sort((a, b) => (a === chosen) - (b === chosen));
    for (const event of visible) parts.push(draw(event));
    view.replaceChildren(...parts);
    if (hadFocus && chosen) focusChosen();
    drawMap();
  }

  function soon() {
    if (!wanted) {
      wanted = true;
      requestAnimationFrame(render);
    }
  }

  function drawMap() {
    const map = $("map");
    const [w, h] = [map.clientWidth, map.clientHeight];
    if (!w || !h) return;
    const ratio = window.devicePixelRatio || 1;
    map.width = w * ratio;
    map.height = h * ratio;
    const context = map.getContext("2d");
    context.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const scale = h / Math.max(1, height);
    const counts = new Float32Array(Math.ceil(h / 2) + 1);
    const bad = new Uint8Array(counts.length);
    for (const event of shown) {
      const at = Math.floor((event.y * scale) / 2);
      counts[at] += 1;
      if (event.isLost) bad[at] = 1;
    }
    const most = counts.reduce((a, b) => Math.max(a, b), 1);
    counts.forEach((count, at) => {
      if (!count) return;
      context.fillStyle = colour(bad[at] ? "--bad" : "--packet");
      const long = 2 + (w - 8) * (count / most);
      context.fillRect(w - long, at * 2, long, 2);
    });
    context.fillStyle = colour("--fault");
    for (const event of shown) {
      if (event.isBand) context.fillRect(0, event.y * scale, 3, Math.max(2, ((event.yEnd || event.y) - event.y) * scale));
    }
    context.fillStyle = colour("--bad");
    for (const event of failures) context.fillRect(0, event.y * scale - 1, w, 3);
    const scroller = $("scroller");
    context.strokeStyle = colour("--text");
    context.strokeRect(0.5, scroller.scrollTop * scale + 0.5, w - 1, Math.max(4, scroller.clientHeight * scale - 1));
  }

  // ---- Choosing an event ----

  function focusChosen() {
    const element = $("view").querySelector(".chosen");
    if (element) element.focus({ preventScroll: true });
  }

  function scrollTo(event) {
    const scroller = $("scroller");
    const room = scroller.clientHeight - HEADS;
    const [low, high] = [scroller.scrollTop + 30, scroller.scrollTop + room - 40];
    if (event.y < low || event.y > high) scroller.scrollTop = Math.max(0, event.y - room * 0.6);
    const x = columns[event.hosts[0]];
    const [left, right] = [scroller.scrollLeft + AXIS, scroller.scrollLeft + scroller.clientWidth - 60];
    if (x < left || x > right) scroller.scrollLeft = x - scroller.clientWidth / 2;
  }

  function select(event, hasFocus = true) {
    chosen = event;
    const about = $("about");
    if (!event) {
      about.replaceChildren();
      soon();
      return;
    }
    const title = document.createElement("h2");
    title.textContent = event.label;
    const list = document.createElement("dl");
    for (const [name, text] of event.about) {
      if (!text) continue;
      const [term, description] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = name;
      description.textContent = text;
      list.append(term, description);
    }
    about.replaceChildren(title, list);
    if ($("diagram").hidden) {
      showTable(Math.floor(shown.indexOf(event) / PAGE));
      return;
    }
    scrollTo(event);
    render();
    if (hasFocus) focusChosen();
  }

  function move(by) {
    if (!shown.length) return;
    const start = chosen || (firstInSight && { index: firstInSight.index - by });
    let at = start ? shown.findIndex((event) => event.index >= start.index) : 0;
    if (at < 0) at = shown.length;
    if (by > 0 && start && shown[at] && shown[at].index === start.index) at += by;
    if (by < 0) at += by;
    select(shown[Math.max(0, Math.min(shown.length - 1, at))]);
  }

  // ---- The table ----

  let page = 0;

  function showTable(number) {
    const pages = Math.max(1, Math.ceil(shown.length / PAGE));
    page = Math.max(0, Math.min(pages - 1, number));
    const start = page * PAGE;
    const rows = shown.slice(start, start + PAGE).map((event) => {
      const row = document.createElement("tr");
      row.className = [...event.classes, event === chosen ? "chosen" : ""].join(" ");
      const hosts = event.hosts.map(hostName);
      const isPacket = event.classes[0] === "packet";
      const details = isPacket ? event.about.slice(3).filter(([, text]) => text).map(([name, text]) => `${name}: ${text}`) : [];
      const cells = [`${seconds(event.time)} s`, hosts.join(isPacket ? " → " : ", ") || "test", event.label, details.join(" · ")];
      for (const text of cells) {
        const cell = document.createElement("td");
        cell.textContent = text;
        row.append(cell);
      }
      return row;
    });
    $("rows").replaceChildren(...rows);
    $("page").textContent = shown.length ? `${start + 1} to ${start + rows.length} of ${shown.length}` : "No events";
    $("back").disabled = page === 0;
    $("on").disabled = page === pages - 1;
    const row = $("rows").querySelector(".chosen");
    if (row) row.scrollIntoView({ block: "center" });
  }

  function view(isTable) {
    $("diagram").hidden = isTable;
    $("table").hidden = !isTable;
    $("to-diagram").setAttribute("aria-pressed", String(!isTable));
    $("to-table").setAttribute("aria-pressed", String(isTable));
    if (isTable) {
      const event = chosen || firstInSight;
      showTable(event ? Math.floor(shown.indexOf(event) / PAGE) : 0);
    } else {
      again();
      if (chosen) scrollTo(chosen);
    }
  }

  // ---- Everything else ----

  function again() {
    const keep = chosen || firstInSight;
    choose();
    layOut();
    if (chosen && !shown.includes(chosen)) select(null);
    if (keep && shown.includes(keep)) scrollTo(keep);
    render();
    if (!$("table").hidden) showTable(keep ? Math.floor(shown.indexOf(keep) / PAGE) : 0);
    const root = document.documentElement.dataset;
    root.hosts = String(data.hosts.length);
    root.events = String(shown.length);
    root.arrows = String(shown.filter((event) => event.classes[0] === "packet").length);
    root.height = String(Math.round(height));
  }

  function box(parent, text, isOn, change) {
    const label = document.createElement("label");
    const input = document.createElement("input");
    input.type = "checkbox";
    input.checked = isOn;
    input.addEventListener("change", () => { change(input.checked); again(); });
    label.append(input, text);
    parent.append(label);
  }

  const flip = (set, item) => (isOn) => { if (isOn) set.add(item); else set.delete(item); };
  for (const [kind, text] of KINDS) box($("kinds"), text, shownKinds.has(kind), flip(shownKinds, kind));
  box($("kinds"), "only trouble", false, (isOn) => { onlyTrouble = isOn; });
  data.hosts.forEach((name, host) => box($("hosts"), name, true, flip(shownHosts, host)));

  $("title").textContent = data.title;
  $("meta").textContent = `${data.hosts.length} hosts · ${events.length.toLocaleString("en")} events · ${seconds(data.end)} s of virtual time`;
  if (data.leftOut) {
    $("left-out").hidden = false;
    $("left-out").textContent = `${data.leftOut.toLocaleString("en")} earlier events are left out.`;
  }
  $("failures").append(...failures.slice(0, 5).map((event) => {
    const button = document.createElement("button");
    const when = document.createElement("small");
    when.textContent = `${seconds(event.time)} s`;
    button.append(when, event.label);
    button.type = "button";
    button.addEventListener("click", () => select(event));
    return button;
  }));

  let typing = 0;
  $("search").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      words = $("search").value.trim().toLowerCase();
      again();
    }, 120);
  });
  $("tools").addEventListener("submit", (event) => {
    event.preventDefault();
    move(1);
  });
  $("to-diagram").addEventListener("click", () => view(false));
  $("to-table").addEventListener("click", () => view(true));
  $("back").addEventListener("click", () => showTable(page - 1));
  $("on").addEventListener("click", () => showTable(page + 1));
  $("scroller").addEventListener("scroll", soon, { passive: true });
  window.addEventListener("resize", again);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", soon);
  $("view").addEventListener("click", (event) => {
    const group = event.target.closest(".event");
    select(group ? events[Number(group.dataset.event)] : null);
  });
  $("view").addEventListener("focusin", (event) => {
    const group = event.target.closest(".event");
    const focused = group && events[Number(group.dataset.event)];
    if (focused && focused !== chosen) select(focused);
  });
  const jump = (event) => {
    const map = $("map");
    const part = (event.clientY - map.getBoundingClientRect().top) / map.clientHeight;
    $("scroller").scrollTop = part * height - $("scroller").clientHeight / 2;
  };
  $("map").addEventListener("pointerdown", (event) => {
    $("map").setPointerCapture(event.pointerId);
    jump(event);
  });
  $("map").addEventListener("pointermove", (event) => { if (event.buttons) jump(event); });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === $("search")) {
      if (event.key === "Escape") $("search").blur();
      return;
    }
    if (event.target.matches("input, button, summary") && (event.key === " " || event.key === "Enter")) return;
    const keys = {
      j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1),
      Home: () => select(shown[0] || null), End: () => select(shown[shown.length - 1] || null),
      f: () => select(failures[failures.length - 1] || null), t: () => view($("table").hidden),
      "/": () => $("search").focus(), Escape: () => select(null),
    };
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  again();
  // A run that has failed is of interest where it did.
  const [first] = failures;
  const asked = /^#event-(\d+)$/.exec(location.hash);
  if (asked && events[Number(asked[1])]) select(events[Number(asked[1])], false);
  else if (first && location.hash !== "#start") {
    $("scroller").scrollTop = first.y - $("scroller").clientHeight + HEADS + 50;
    render();
  }
  if (location.hash === "#table") view(true);
})();
