// Looks at pages of failing simulations in a browser. Called by ci/pictures, with the folder of the pages, the browser, and the
// folder that pictures of docs/ are written to, or nothing.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { chromium } = require("playwright-core");

const [folder, executablePath, docs] = process.argv.slice(2);
const LARGEST = 150 * 1024;

function pageOf(test) {
  const name = fs.readdirSync(folder).find((file) => file.startsWith(`${test}-`) && file.endsWith(".html"));
  assert.ok(name, `there is a page of ${test}`);
  return path.join(folder, name);
}

function dataOf(file) {
  const text = fs.readFileSync(file, "utf8");
  return JSON.parse(/id="data">(.*?)<\/script>/s.exec(text)[1]);
}

// Opens a page, and fails if it writes an error or asks for anything.
async function open(browser, file, { hash = "", width = 1000, height = 680, colorScheme = "light" } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion: "reduce" });
  const page = await context.newPage();
  page.troubles = [];
  page.on("console", (message) => { if (message.type() === "error" || message.type() === "warning") page.troubles.push(message.text()); });
  page.on("pageerror", (error) => page.troubles.push(String(error)));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith("file://") && !url.startsWith("data:")) page.troubles.push(`asks for ${url}`);
  });
  await page.goto(`file://${file}${hash}`);
  await page.waitForSelector("#view .event");
  return page;
}

async function close(page) {
  assert.deepEqual(page.troubles, []);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.error), undefined);
  await page.context().close();
}

const facts = (page) => page.evaluate(() => ({ ...document.documentElement.dataset }));
const number = (page, selector) => page.locator(selector).count();
const about = (page) => page.locator("#about h2").textContent();

async function save(page, name) {
  const picture = await page.screenshot();
  assert.ok(picture.length < LARGEST, `${name} has ${picture.length} bytes`);
  if (docs) {
    fs.mkdirSync(docs, { recursive: true });
    fs.writeFileSync(path.join(docs, name), picture);
    console.log(`pictures: ${name}: ${picture.length} bytes`);
  }
}

// What is drawn is what was recorded.
async function drawing(browser) {
  const file = pageOf("planted-seeds-retry");
  const data = dataOf(file);
  const packets = data.events.filter((event) => event[0] === "packet");
  const [failure] = data.events.filter((event) => event[0] === "failure");
  const page = await open(browser, file);

  const { hosts, arrows } = await facts(page);
  assert.equal(Number(hosts), data.hosts.length);
  assert.deepEqual(await page.locator("#heads span").allTextContents(), data.hosts);
  assert.equal(Number(arrows), packets.filter((packet) => packet[5] !== "ACK").length);
  // The end is in sight, with what has failed.
  const expected = `${data.hosts[failure[2]]} ${failure[3]}`;
  assert.equal(await number(page, "#failures button"), 1);
  assert.ok((await page.locator("#failures button").textContent()).endsWith(expected));
  assert.ok((await page.locator("#view .failure text").textContent()).endsWith(expected));
  assert.ok(await page.locator("#view .failure").isVisible());
  assert.ok((await number(page, "#view .packet .arrow")) > 5);
  // With room for all of it everything is drawn.
  await page.setViewportSize({ width: 1000, height: 20_000 });
  await page.waitForFunction((all) => document.querySelectorAll("#view .packet").length === all, Number(arrows));
  const lost = packets.filter((packet) => packet[5] !== "ACK" && packet[7].startsWith("lost"));
  assert.equal(await number(page, "#view .lost .cross"), lost.length);
  assert.ok(lost.length > 0);
  assert.equal(await number(page, "#view .printed"), data.events.filter((event) => event[0] === "line").length);
  assert.equal(await number(page, "#view .fault-row"), data.events.filter((event) => event[0] === "fault").length);
  assert.ok((await number(page, "#view rect.fault")) > 0);
  await close(page);

  // The fault that the picture of the guide shows: the last one.
  const times = data.events.filter((event) => event[0] === "fault").map((event) => event[1]);
  const shown = await open(browser, file, { width: 960, height: 880 });
  await shown.fill("#search", "Fault");
  await shown.waitForFunction((all) => document.querySelectorAll("#view .fault-row").length === all, times.length);
  await shown.locator("#view .fault-row").last().click();
  await shown.fill("#search", "");
  await shown.waitForFunction((all) => document.documentElement.dataset.arrows === all, arrows);
  await shown.locator("#search").blur();
  await shown.evaluate(() => {
    const [scroller, chosen] = [document.getElementById("scroller"), document.querySelector("#view .chosen")];
    scroller.scrollTop += chosen.getBoundingClientRect().top - scroller.getBoundingClientRect().top - 110;
  });
  await shown.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
  await save(shown, "simulation-page.png");
  await close(shown);
}

// Keys, search, filters and the table do what they say.
async function using(browser) {
  const file = pageOf("planted-seeds-two_leaders");
  const data = dataOf(file);
  const page = await open(browser, file, { colorScheme: "dark" });
  const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.notEqual(ground, "rgb(255, 255, 255)");

  const chosen = async (key) => {
    await page.keyboard.press(key);
    return page.locator("#view .chosen").getAttribute("data-event");
  };
  const steps = [];
  for (const key of ["Home", "j", "ArrowDown", "k", "ArrowUp"]) steps.push(await chosen(key));
  const [first, second, third] = steps;
  assert.equal(new Set(steps).size, 3);
  assert.deepEqual(steps, [first, second, third, second, first]);
  assert.equal(await about(page), "starts");
  // What is chosen has the focus, and says what it is.
  assert.ok(await page.evaluate(() => document.activeElement.matches("#view .event.chosen")));
  assert.ok(await page.evaluate(() => document.activeElement.getAttribute("aria-label").length > 10));
  assert.ok(await page.evaluate(() => [...document.querySelectorAll("#view .event")].every((event) => event.getAttribute("aria-label"))));
  await page.keyboard.press("f");
  assert.ok((await about(page)).includes(data.events.find((event) => event[0] === "failure")[3]));
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#about").textContent(), "");
  // Tab leads to an event.
  let isEvent = false;
  for (let presses = 0; presses < 40 && !isEvent; presses += 1) {
    await page.keyboard.press("Tab");
    isEvent = await page.evaluate(() => document.activeElement.matches("#view .event"));
  }
  assert.ok(isEvent, "Tab leads to an event");
  await page.keyboard.press("Escape");

  const before = Number((await facts(page)).arrows);
  await page.getByLabel("ACKs").check();
  assert.equal(Number((await facts(page)).arrows), data.events.filter((event) => event[0] === "packet").length);
  await page.getByLabel("ACKs").uncheck();
  assert.equal(Number((await facts(page)).arrows), before);
  await page.getByText("Hosts", { exact: true }).first().click();
  await page.locator("#hosts label", { hasText: data.hosts[0] }).locator("input").uncheck();
  assert.equal(await number(page, "#heads span"), data.hosts.length - 1);
  assert.ok(Number((await facts(page)).arrows) < before);
  await page.locator("#hosts label", { hasText: data.hosts[0] }).locator("input").check();
  await page.keyboard.press("/");
  await page.keyboard.type("partition");
  await page.waitForFunction((all) => Number(document.documentElement.dataset.events) < all, 100);
  assert.ok((await number(page, "#view .event")) > 0);
  await page.fill("#search", "nothing has this in it");
  // What has failed is always there.
  await page.waitForFunction(() => document.documentElement.dataset.events === "1");
  await page.fill("#search", "");
  await page.waitForFunction((all) => Number(document.documentElement.dataset.arrows) === all, before);
  await page.locator("h1").click();

  await page.keyboard.press("Escape");
  await page.keyboard.press("Home");
  await page.keyboard.press("t");
  assert.ok(await page.locator("#table").isVisible());
  assert.equal(await number(page, "#rows tr"), 200);
  assert.ok(await page.locator("#back").isDisabled());
  await page.locator("#on").click();
  assert.ok((await page.locator("#page").textContent()).startsWith("201 to 400"));
  await page.keyboard.press("f");
  assert.equal(await number(page, "#rows tr.failure.chosen"), 1);
  await page.keyboard.press("t");
  assert.ok(await page.locator("#view .failure").isVisible());
  await close(page);

  const narrow = await open(browser, file, { width: 400, height: 700 });
  assert.ok(await narrow.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "only the diagram scrolls sidewards");
  assert.ok(await narrow.locator("#view .failure").isVisible());
  await close(narrow);
}

// Only what is in sight is drawn.
async function many(browser) {
  const file = pageOf("picture-runner-fails_after_many_packets");
  const data = dataOf(file);
  assert.ok(data.leftOut > 0 && data.events.length >= 50_000);
  const page = await open(browser, file);
  assert.ok((await page.locator("#left-out").textContent()).startsWith(data.leftOut.toLocaleString("en")));
  assert.ok(Number((await facts(page)).arrows) > 45_000);
  for (const part of [0, 0.31, 0.5, 0.99]) {
    await page.locator("#scroller").evaluate((scroller, at) => { scroller.scrollTop = scroller.scrollHeight * at; }, part);
    await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
    const drawn = await number(page, "#view .event");
    assert.ok(drawn > 10 && drawn < 2_000, `${drawn} are drawn`);
  }
  await page.keyboard.press("End");
  assert.ok((await about(page)).includes("all were sent"));
  await close(page);
}

(async () => {
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"];
  const browser = await chromium.launch({ executablePath, args });
  try {
    for (const check of [drawing, using, many]) {
      const started = Date.now();
      await check(browser);
      console.log(`pictures: ${check.name}: ok (${((Date.now() - started) / 1000).toFixed(1)} s)`);
    }
  } finally {
    await browser.close();
  }
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
