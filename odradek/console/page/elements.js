"use strict";
// Elements from code. Texts become text nodes only: no name from a broker is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";

// An element with attributes, listeners (functions whose name begins with "on") and children (elements, texts, lists).
function h(name, attributes, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function svg(name, attributes, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Replaces what is in an element. Children that are null or false are left out.
function put(element, ...children) {
  element.replaceChildren();
  filled(element, null, children);
}

function announce(text) {
  document.getElementById("announcer").textContent = text;
}

let fieldCount = 0;

// A labelled control: `control` is an input, select or textarea.
function field(text, control, attributes) {
  control.id = control.id || `field-${++fieldCount}`;
  return h("div", { class: "field", ...attributes }, h("label", { for: control.id }, text), control);
}

function check(text, isChecked, attributes) {
  const box = h("input", { type: "checkbox", ...attributes });
  box.checked = isChecked;
  return { box, element: h("label", { class: "check" }, box, text) };
}

function choice(values, chosen, attributes) {
  const made = h("select", attributes, values.map(([value, text]) => h("option", { value }, text)));
  made.value = chosen;
  return made;
}

function badge(text, kind) {
  return h("span", { class: `badge ${kind || ""}` }, text);
}

function note(text, kind) {
  return h("p", { class: `note ${kind || ""}`, role: kind === "bad" ? "alert" : null }, text);
}

function copyButton(text, what) {
  return h("button", { type: "button", class: "quiet", "aria-label": `Copy ${what}`, onclick: async () => {
    await navigator.clipboard.writeText(typeof text === "function" ? text() : text);
    announce(`Copied ${what}`);
  } }, "Copy");
}

function commandLine(words) {
  const text = typeof words === "string" ? words : ["odradek", ...words].map(shellWord).join(" ");
  return h("div", { class: "command" }, h("pre", { "aria-label": "Command line" }, text), copyButton(text, "the command line"));
}

// A folded box with the command line of a view.
function asCommand(...words) {
  return h("details", {}, h("summary", {}, "As a command line"), commandLine(words));
}

function shellWord(word) {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

function pageTop(title, { crumbs, under, actions } = {}) {
  return h("div", { class: "top" },
    h("div", {}, crumbs ? h("div", { class: "crumbs" }, crumbs) : null, h("h1", {}, title), under ? h("p", { class: "under" }, under) : null),
    actions ? h("div", { class: "actions" }, actions) : null);
}

function facts(pairs) {
  return h("dl", { class: "cards" }, pairs.filter(Boolean).map(([name, value, small]) =>
    h("div", { class: "fact" }, h("dt", {}, name), h("dd", {}, value, small ? h("small", {}, ` ${small}`) : null))));
}

function pairs(rows) {
  return h("dl", { class: "pairs" }, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function tabs(label, all, current) {
  return h("nav", { class: "tabs", "aria-label": label }, all.map(([href, text, key]) =>
    h("a", { href, "aria-current": key === current ? "page" : null }, text)));
}
