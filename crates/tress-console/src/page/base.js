"use strict";
// What all parts use: elements, numbers as text, requests with the token.

const byId = (id) => document.getElementById(id);

// Makes an element. Text always goes through text nodes: names of tasks are not ours.
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") element.className = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function drawn(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

// Sets text only if it differs, so that a screen reader and a selection are left alone.
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const NONE = "–";
const known = (value) => value !== null && value !== undefined;
const counts = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const count = (n) => (known(n) ? counts.format(n) : NONE);

function rate(n) {
  if (!known(n)) return NONE;
  if (n >= 10000) return `${(n / 1000).toFixed(0)}k`;
  return n >= 100 ? n.toFixed(0) : n.toFixed(n >= 10 || n === 0 ? 0 : 1);
}

function nanos(ns) {
  if (!known(ns)) return NONE;
  if (ns < 1000) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${(ns / 1e3).toFixed(ns < 1e4 ? 1 : 0)} µs`;
  return millis(ns / 1e6);
}

function millis(ms) {
  if (!known(ms)) return NONE;
  if (ms < 1) return `${(ms * 1000).toFixed(0)} µs`;
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 100) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

function bytes(n) {
  if (!known(n)) return NONE;
  if (n < 1024) return `${n} B`;
  return n < 1048576 ? `${(n / 1024).toFixed(1)} KiB` : `${(n / 1048576).toFixed(1)} MiB`;
}

const share = (part) => (known(part) ? `${Math.round(part * 100)} %` : NONE);

// The last part of a path is what people look for; the whole is in the title.
function place(site) {
  if (!known(site)) return NONE;
  const parts = site.split("/");
  return parts.length > 3 ? `…/${parts.slice(-3).join("/")}` : site;
}
const siteCell = (site) => make("code", { title: site }, place(site));

const token = new URLSearchParams(location.search).get("token");

function address(path, query = {}) {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (known(value) && value !== "") words.set(key, value);
  if (token) words.set("token", token);
  const text = words.toString();
  return text ? `${path}?${text}` : path;
}

async function ask(path, query, signal) {
  const answer = await fetch(address(path, query), { signal, cache: "no-store" });
  if (answer.status === 404) return null;
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  return answer.json();
}

const still = matchMedia("(prefers-reduced-motion: reduce)");

// Colours of the sheet, for the canvas.
let colours = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["poll", "park", "io", "steal", "offcpu", "line", "dim", "card", "text"]) {
    colours[name] = style.getPropertyValue(`--${name}`).trim();
  }
}
