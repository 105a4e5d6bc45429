// Drives the page in a real browser. Run by ci/console, which says where things are:
// PLAYWRIGHT (the folder of playwright-core), CHROMIUM, FAULTY (the example), SHOTS (where pictures go).

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const { PLAYWRIGHT, CHROMIUM, FAULTY, SHOTS } = process.env;
const { chromium } = createRequire(import.meta.url)(PLAYWRIGHT);
const PATIENCE = 40_000;

const programs = new Set();

// Starts the example. Returns its address and a way to end it.
async function start(...words) {
  const program = spawn(FAULTY, words, { stdio: ["ignore", "pipe", "inherit"] });
  programs.add(program);
  const [line] = await once(createInterface({ input: program.stdout }), "line");
  return {
    url: line,
    async end() {
      programs.delete(program);
      program.kill("SIGKILL");
      await once(program, "exit");
    },
  };
}

const browser = await chromium.launch({
  executablePath: CHROMIUM,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

// Opens a page that must neither log an error nor ask anybody but its own server.
async function open(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1080, height: 700 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.wrong = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) page.wrong.push(message.text()); });
  page.on("pageerror", (error) => page.wrong.push(error.message));
  page.on("request", (request) => { if (!request.url().startsWith(new URL(url).origin)) page.wrong.push(`asks ${request.url()}`); });
  await page.goto(url);
  return page;
}

const live = (page) => page.waitForSelector(".status.live");
const text = (page, selector) => page.locator(selector).innerText();
const focused = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.tagName);

// Goes to a pane by its key.
async function go(page, key) {
  await page.keyboard.press(String(key));
  const id = ["sites", "tasks", "locks", "timing", "processes", "runtime"][key - 1];
  await page.waitForSelector(`#pane-${id}:not([hidden])`);
}
const hash = (page) => new URL(page.url()).hash;

const tests = {
  async "findings come first, worst first, and lead to their evidence"(page) {
    for (const kind of ["deadlock", "blocking pool", "full channel", "leak", "convoy"]) {
      await page.waitForFunction((kind) => {
        const more = document.getElementById("findings-more");
        if (!more.hidden && more.textContent.includes("more")) more.click();
        return [...document.querySelectorAll(".findings .kind")].some((one) => one.textContent === kind);
      }, kind);
    }
    for (const kind of ["deadlock", "blocking pool", "full channel", "leak", "convoy", "lost wake"]) {
      const line = page.locator(".findings a", { has: page.locator(`.kind:text-is("${kind}")`) }).first();
      await line.screenshot({ path: `${SHOTS}/finding-${kind.replace(" ", "-")}.png` });
    }
    const order = await page.$$eval(".findings a", (all) => all.map((one) => ["critical", "warning", "note"].indexOf(one.className)));
    assert.deepEqual(order, [...order].sort());
    const deadlock = page.locator(".findings a", { hasText: "deadlock" }).first();
    const sentence = await deadlock.innerText();
    for (const word of ["transfer", "audit", "Mutex", "faulty.rs"]) assert.ok(sentence.includes(word), sentence);
    await deadlock.click();
    await page.waitForSelector(".graph svg");
    assert.match(hash(page), /^#task\/\d+$/);
    assert.ok(await page.locator(".graph rect.in-cycle").count() >= 4);
    assert.match(await page.locator(".graph svg").getAttribute("aria-label"), /transfer.*waited.*Mutex.*audit.*deadlock/s);
    await page.locator("#pane-tasks").screenshot({ path: `${SHOTS}/deadlock.png` });
    // From a task of the chain to the other one.
    const before = hash(page);
    await page.locator(".graph a").nth(1).click();
    await page.waitForFunction((before) => location.hash !== before && document.querySelector(".task h2"), before);
  },

  async "spawn sites are sorted, filtered and walked by keys"(page) {
    await go(page, 1);
    await page.waitForSelector("#pane-sites tbody tr.opens");
    const lives = () => page.$$eval("#pane-sites tbody tr", (rows) => rows.map((row) => Number(row.children[2].textContent.replace(/,/g, ""))));
    const down = await lives();
    assert.deepEqual(down, [...down].sort((a, b) => b - a));
    await page.click("#pane-sites th:has-text('Live') button");
    assert.equal(await page.locator("#pane-sites th[aria-sort=ascending]").count(), 1);
    await page.click("#pane-sites th:has-text('Live') button");
    // Rates and times are those of the window that is chosen.
    await page.waitForSelector("#pane-sites th:has-text('Polls/s')");
    for (const label of ["1 s", "60 s", "10 s"]) await page.selectOption("#pane-sites select", { label });
    assert.ok(await page.locator("#pane-sites th:has-text('Delay p99')").count());
    await page.keyboard.press("Escape");
    await page.locator("#tab-sites").focus();
    await page.keyboard.press("/");
    await page.waitForFunction(() => document.activeElement.type === "search");
    await page.keyboard.type("lookup");
    await page.waitForFunction(() => document.querySelectorAll("#pane-sites tbody tr").length === 1);
    await page.keyboard.press("Escape");
    await page.locator("#pane-sites tbody tr").focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector("#pane-tasks tbody tr.opens");
    assert.match(hash(page), /^#tasks\?site=/);
    await page.waitForFunction(() => document.querySelector("#pane-tasks .hint").textContent.endsWith("of 40"));
    const key = () => page.evaluate(() => document.activeElement.dataset.key);
    await page.locator("#pane-tasks tbody tr").first().focus();
    const first = await key();
    await page.keyboard.press("ArrowDown");
    const second = await key();
    assert.notEqual(first, second);
    await page.keyboard.press("End");
    await page.keyboard.press("Home");
    assert.equal(await key(), first);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".task h2");
    assert.match(await text(page, ".task h2"), /lookup/);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => location.hash.startsWith("#tasks"));
    await page.goBack();
    await page.waitForFunction(() => !document.getElementById("pane-sites").hidden);
    await page.fill("#pane-sites input", "");
  },

  async "tabs, the skip link and findings are reached by keys"(page) {
    await page.locator("#tab-sites").focus();
    for (const id of ["tasks", "locks", "timing", "processes", "runtime", "sites"]) {
      await page.keyboard.press("ArrowRight");
      assert.equal(await focused(page), `tab-${id}`);
      await page.waitForFunction((id) => !document.getElementById(`pane-${id}`).hidden, id);
      assert.equal(await page.locator("[role=tabpanel]:not([hidden])").count(), 1);
      assert.equal(await page.locator("[role=tab][aria-selected=true]").count(), 1);
    }
    await page.keyboard.press("f");
    assert.equal(await focused(page), "A");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    const other = await open(page.url().split("#")[0]);
    await live(other);
    await other.keyboard.press("Tab");
    assert.equal(await other.evaluate(() => document.activeElement.className), "skip");
    await other.keyboard.press("Enter");
    assert.equal(await focused(other), "findings");
    await other.context().close();
  },

  async "locks name what holds them"(page) {
    await go(page, 3);
    await page.waitForSelector("#pane-locks tbody tr.opens");
    const rows = await page.$$eval("#pane-locks tbody tr", (rows) => rows.map((row) => row.textContent));
    assert.ok(rows.some((row) => row.includes("Mutex") && /task \d+|lookup|transfer/.test(row)), rows.join("\n"));
    assert.ok(rows.some((row) => row.includes("ChannelSend")), rows.join("\n"));
    await page.locator("#pane-locks").screenshot({ path: `${SHOTS}/locks.png` });
  },

  async "timing, processes and the runtime are shown"(page) {
    await go(page, 4);
    await page.waitForFunction(() => /\d+ (ns|µs|ms): \d/.test(document.querySelector("#pane-timing svg").getAttribute("aria-label")));
    await page.locator("#pane-timing").screenshot({ path: `${SHOTS}/timing.png` });
    await go(page, 5);
    await page.waitForSelector("#pane-processes tbody tr:has-text('slow')");
    const process = await page.$$eval("#pane-processes tbody tr:has-text('slow') td", (cells) => cells.map((cell) => cell.textContent));
    assert.ok(process[0].includes("orders") && Number(process[3].replace(/,/g, "")) > 0, process.join(" | "));
    await page.click("#pane-processes summary");
    assert.match(await text(page, "#pane-processes .tree"), /slow .*mailbox/);
    await go(page, 6);
    await page.waitForFunction(() => document.querySelectorAll("#pane-runtime table:first-of-type tbody tr").length >= 4);
    assert.match(await text(page, "#pane-runtime .cards"), /Blocking threads\s+2/);
    await page.locator("#pane-runtime").screenshot({ path: `${SHOTS}/runtime.png` });
  },

  async "lanes are drawn, and said in words"(page) {
    await page.waitForFunction(() => /worker 0 is \w+.*longest poll drawn/s.test(document.getElementById("lanes").getAttribute("aria-label")));
    const colours = await page.evaluate(() => {
      const canvas = document.getElementById("lanes");
      const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      const seen = new Set();
      for (let at = 0; at < data.length; at += 4) seen.add(`${data[at]},${data[at + 1]},${data[at + 2]}`);
      return [...seen];
    });
    assert.ok(colours.includes("0,114,178"), colours.slice(0, 20).join(" "));
  },

  async "another runtime can be chosen"(page) {
    await page.selectOption("#runtime-select", { label: "batch" });
    await page.waitForFunction(() => document.getElementById("lane-names").children.length === 1);
    await page.selectOption("#runtime-select", { label: "service" });
    await page.waitForFunction(() => document.getElementById("lane-names").children.length === 4);
  },

  async "the last seconds can be saved"(page) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#save")]);
    assert.ok(readFileSync(await download.path()).length > 1000);
  },

  async "everything that can be used has a name"(page) {
    for (const key of "123456") {
      await go(page, Number(key));
      const nameless = await page.evaluate(() => [...document.querySelectorAll("button, a, input, select, table, canvas, svg")]
        .filter((one) => one.getClientRects().length)
        .filter((one) => !(one.getAttribute("aria-label") || one.textContent.trim() || one.labels?.length || one.closest("[aria-hidden]")))
        .map((one) => one.outerHTML.slice(0, 200)));
      assert.deepEqual(nameless, []);
      const captions = await page.$$eval("table", (tables) => tables.filter((one) => !one.caption || !one.caption.textContent).length);
      assert.equal(captions, 0);
    }
    await page.waitForFunction(() => document.getElementById("findings-said").textContent.length > 0);
  },

  async "names of tasks are text, never markup"(page) {
    await page.evaluate(() => { window.hit = 0; });
    await page.route("**/api/tasks*", (route) => route.fulfill({ json: { total: 1, tasks: [{ id: 1, name: "<img src=x onerror='window.hit=1'>", site: "<b>a</b>", state: "idle", waits: [] }] } }));
    await go(page, 2);
    await page.waitForFunction(() => document.querySelector("#pane-tasks tbody").textContent.includes("<img"));
    assert.equal(await page.evaluate(() => window.hit), 0);
    await page.unroute("**/api/tasks*");
  },

  async "a hidden page is paused"(page) {
    const hide = (hidden) => page.evaluate((hidden) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
    await hide(true);
    assert.equal(await text(page, "#status"), "paused");
    await hide(false);
    await live(page);
  },
};

async function faults() {
  const program = await start("--address", "127.0.0.1:0");
  const page = await open(program.url);
  await live(page);
  for (const [name, test] of Object.entries(tests)) {
    try {
      await test(page);
      assert.deepEqual(page.wrong, []);
    } catch (error) {
      await page.screenshot({ path: `${SHOTS}/failed.png`, fullPage: true });
      error.message = `${name}: ${error.message}`;
      throw error;
    }
    console.log(`ok  ${name}`);
  }
  await go(page, 1);
  await page.evaluate(() => {
    document.getElementById("findings-more").click();
    document.activeElement.blur();
    scrollTo(0, 0);
  });
  await page.screenshot({ path: `${SHOTS}/light.png` });
  const dark = await open(program.url, { colorScheme: "dark", reducedMotion: "reduce" });
  await live(dark);
  assert.ok(await dark.evaluate(() => document.documentElement.classList.contains("dark")));
  await dark.waitForSelector("#pane-sites tbody tr.opens");
  await dark.waitForTimeout(3000);
  await dark.screenshot({ path: `${SHOTS}/dark.png` });
  await dark.click("#theme");
  assert.ok(!(await dark.evaluate(() => document.documentElement.classList.contains("dark"))));
  assert.deepEqual(dark.wrong, []);
  console.log("ok  dark");
  await dark.context().close();

  // The program ends, and one of the same address begins.
  await program.end();
  await page.waitForSelector("#lost:not([hidden])");
  const again = await start("--address", new URL(program.url).host, "--clean");
  await live(page);
  assert.ok(await page.locator("#lost").isHidden());
  console.log("ok  a program that ends and begins again");
  await page.context().close();
  await again.end();
}

async function tokens() {
  const program = await start("--address", "127.0.0.1:0", "--token", "a+b/c", "--clean");
  const refused = await open(program.url);
  assert.match(await text(refused, "body"), /^401/);
  await refused.context().close();
  const page = await open(`${program.url}?token=${encodeURIComponent("a+b/c")}#tasks`);
  await live(page);
  await page.waitForSelector("#pane-tasks tbody tr.opens");
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#save")]);
  assert.ok(readFileSync(await download.path()).length > 0);
  assert.deepEqual(page.wrong, []);
  console.log("ok  a token is passed on");
  await page.context().close();
  await program.end();
}

async function many() {
  const program = await start("--address", "127.0.0.1:0", "--clean", "--tasks", "100000");
  const page = await open(`${program.url}#tasks`);
  await live(page);
  await page.waitForFunction(() => /of 100,\d\d\d$/.test(document.querySelector("#pane-tasks .hint").textContent));
  assert.equal(await page.locator("#pane-tasks tbody tr").count(), 100);
  await page.click("text=Next");
  await page.waitForFunction(() => document.querySelector("#pane-tasks .hint").textContent.startsWith("101–200"));
  await page.fill("#pane-tasks input", "client");
  await page.waitForFunction(() => document.querySelector("#pane-tasks .hint").textContent.endsWith("of 8"));
  await page.keyboard.press("Escape");
  await go(page, 1);
  await page.waitForFunction(() => [...document.querySelectorAll("#pane-sites tbody td")].some((cell) => cell.textContent === "100,000"));
  // Still alive, and with nothing to say against so many tasks that wait.
  await page.waitForFunction(() => /^Nothing is wrong/.test(document.getElementById("findings-none").textContent) && !document.getElementById("findings-none").hidden);
  await page.screenshot({ path: `${SHOTS}/many.png` });
  assert.deepEqual(page.wrong, []);
  console.log("ok  100,000 tasks");
  await page.context().close();
  await program.end();
}

try {
  await faults();
  await tokens();
  await many();
} finally {
  for (const program of programs) program.kill("SIGKILL");
  await browser.close();
}
