// A chain of tasks that wait for each other, drawn: tasks at the left, what they wait for at the right.

const BOX = { width: 270, height: 50, left: 12, gap: 150, down: 78 };

// Returns the index of the task in the chain that the last one waits for, or -1.
function cycleStart(chain) {
  const last = chain[chain.length - 1];
  if (!last || !known(last.held_by)) return -1;
  return chain.findIndex((link) => link.task === last.held_by);
}

const taskLabel = (link) => link.name || `task ${link.task}`;

function chainInWords(chain) {
  const from = cycleStart(chain);
  const steps = chain.map((link) => {
    const who = link.name ? `${link.name} (task ${link.task})` : `Task ${link.task}`;
    if (!link.waits_for) return `${who} does not wait`;
    const at = link.resource_site ? ` of ${link.resource_site}` : "";
    const held = known(link.held_by) ? `, which task ${link.held_by} holds` : "";
    return `${who} has waited ${millis(link.for_ms)} for ${link.waits_for}${at}${held}`;
  });
  return steps.join(". ") + (from >= 0 ? ". This is a deadlock: the last waits for an earlier one." : ".");
}

function cut(text, most) {
  return text.length > most ? `…${text.slice(text.length - most + 1)}` : text;
}

function graphBox(x, y, kind, inCycle, title, below) {
  const group = drawn("g", {});
  group.append(
    drawn("rect", { x, y, width: BOX.width, height: BOX.height, rx: kind === "thing" ? 3 : 10, class: `${kind}${inCycle ? " in-cycle" : ""}` }),
    drawn("text", { x: x + 12, y: y + 21, class: "title" }, cut(title, 36)),
    drawn("text", { x: x + 12, y: y + 38, class: "small" }, cut(below, 42)),
  );
  return group;
}

function arrow(path, inCycle) {
  const mark = inCycle ? "head-red" : "head-dim";
  return drawn("path", { d: path, class: `arrow${inCycle ? " in-cycle" : ""}`, "marker-end": `url(#${mark})` });
}

function marker(id, kind) {
  return drawn("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" },
    drawn("path", { d: "M0 0L8 4L0 8z", class: kind }));
}

function drawChain(chain) {
  const from = cycleStart(chain);
  const right = BOX.left + BOX.width + BOX.gap;
  const middle = BOX.height / 2;
  const ends = right + BOX.width;
  const open = from < 0 && known(chain[chain.length - 1].held_by);
  const rows = chain.length + (open ? 1 : 0);
  const width = ends + (from >= 0 ? 120 : 20);
  const height = rows * BOX.down + 6;
  const svg = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": chainInWords(chain) },
    drawn("defs", {}, marker("head-dim", "head"), marker("head-red", "head in-cycle")));
  chain.forEach((link, at) => {
    const y = 8 + at * BOX.down;
    const inCycle = from >= 0 && at >= from;
    const box = graphBox(BOX.left, y, "box", inCycle, link.name ? `${link.name} · task ${link.task}` : `task ${link.task}`, link.site || "");
    svg.append(drawn("a", { href: `#task/${link.task}` }, box));
    if (!link.waits_for) return;
    const red = inCycle ? " red" : "";
    svg.append(
      arrow(`M${BOX.left + BOX.width} ${y + middle}H${right - 2}`, inCycle),
      drawn("text", { x: BOX.left + BOX.width + BOX.gap / 2, y: y + middle - 6, "text-anchor": "middle", class: `small${red}` }, `waits ${millis(link.for_ms)}`),
      graphBox(right, y, "thing", inCycle, link.waits_for, link.resource_site || link.resource || ""),
    );
    const next = at + 1 < chain.length;
    if (next || (open && at + 1 === chain.length)) {
      const down = 8 + (at + 1) * BOX.down;
      const turn = y + BOX.height + (BOX.down - BOX.height) / 2;
      svg.append(
        arrow(`M${right + 40} ${y + BOX.height}V${turn}H${BOX.left + 60}V${down - 2}`, inCycle),
        drawn("text", { x: BOX.left + BOX.width + BOX.gap / 2, y: turn - 5, "text-anchor": "middle", class: `small${red}` }, "held by"),
      );
      if (!next) svg.append(drawn("a", { href: `#task/${link.held_by}` }, graphBox(BOX.left, down, "box", false, `task ${link.held_by}`, "")));
    } else if (from >= 0) {
      const top = 8 + from * BOX.down;
      const far = ends + 22;
      svg.append(
        arrow(`M${ends} ${y + middle}H${far}V${top - 5}H${BOX.left + 60}V${top - 1}`, true),
        drawn("text", { x: far + 6, y: (y + top) / 2 + middle, class: "small red" }, "held by"),
        drawn("text", { x: far + 6, y: (y + top) / 2 + middle + 15, class: "small red" }, "deadlock"),
      );
    }
  });
  return make("div", { class: "graph", tabindex: 0, role: "group", "aria-label": "Wait-for chain" }, svg);
}
