"use strict";
// The frame of the page: navigation, addresses, keys. Loads nothing but the view that is open.

const VIEWS = [
  ["topics", "Topics", topicsView, topicView], ["groups", "Groups", groupsView, groupView], ["transactions", "Transactions", transactionsView],
  ["connections", "Connections", connectionsView], ["storage", "Storage", storageView], ["cluster", "Cluster", clusterView], ["log", "Log", logView],
];
const main = document.getElementById("main");
let current = null;

function href(...parts) {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

function go(parts, values) {
  location.hash = href(...parts) + query(values);
}

// One visit of a view: its address, and what ends with it.
class View {
  constructor(hash) {
    const [where, text = ""] = hash.replace(/^#\/?/, "").split("?");
    this.hash = hash;
    this.path = where.split("/").filter(Boolean).map(decodeURIComponent);
    this.parts = this.path.slice(1);
    this.params = new URLSearchParams(text);
    this.ends = new AbortController();
    this.signal = this.ends.signal;
    this.leavers = [];
  }

  fill(...content) {
    if (!this.signal.aborted) put(main, content);
  }

  onLeave(leaver) {
    this.leavers.push(leaver);
  }

  leave() {
    this.ends.abort();
    this.leavers.forEach((leaver) => leaver());
  }

  // Writes parameters into the address, so that the address shows the same again. An empty value removes one.
  set(values) {
    if (this.signal.aborted) return;
    for (const [name, value] of Object.entries(values)) {
      if (value) this.params.set(name, value);
      else this.params.delete(name);
    }
    const text = this.params.toString();
    this.hash = href(...this.path) + (text ? `?${text}` : "");
    history.replaceState(null, "", this.hash);
  }

  again() {
    if (!this.signal.aborted) open(this.hash, true);
  }
}

async function open(hash, isAgain) {
  if (current) current.leave();
  document.querySelectorAll("dialog").forEach((dialog) => dialog.close());
  let view;
  try {
    view = new View(hash);
  } catch (error) {
    view = new View("#/nowhere");
  }
  current = view;
  const [name = "topics"] = view.path;
  const found = VIEWS.find(([key]) => key === name);
  document.querySelectorAll("#nav a").forEach((link) => link.dataset.key === name ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current"));
  document.title = `${view.parts[0] ? `${view.parts[0]} – ` : ""}${found ? found[1] : "No such page"} – Odradek console`;
  if (!isAgain) scrollTo(0, 0);
  try {
    const shown = found && (view.parts.length ? found[3] : found[2]);
    if (shown) await shown(view);
    else view.fill(pageTop("No such page", { under: "The address has no page here." }), h("a", { href: href("topics") }, "Topics"));
    main.dataset.ready = view.hash;
  } catch (error) {
    if (view.signal.aborted || error.name === "AbortError") return;
    view.fill(pageTop(view.parts[0] || (found ? found[1] : "")), note(error.message, "bad"),
      h("div", { class: "actions" }, h("button", { onclick: () => view.again() }, "Try again"), h("a", { class: "button", href: href(name) }, "Back")));
    main.dataset.ready = view.hash;
  }
}

function refreshButton(view) {
  return h("button", { type: "button", onclick: () => view.again() }, "Refresh");
}

// A button for an action; disabled, with the reason, if this console only shows.
function changeButton(text, onclick, kind) {
  const allowed = session.facts.allowsChanges;
  return h("button", { type: "button", class: kind || null, disabled: !allowed, title: allowed ? null : "This console only shows (--read-only)", onclick }, text);
}

function searchBox(label, view, onInput) {
  return h("input", { type: "search", id: "search", "aria-label": label, placeholder: `${label}  ( / )`, size: 34, value: view.params.get("search") || "",
    oninput: (event) => { view.set({ search: event.target.value }); onInput(); },
    onkeydown: (event) => {
      const row = event.key === "ArrowDown" ? main.querySelector("tbody tr[tabindex='0'], tbody tr[tabindex]") : null;
      if (row) { event.preventDefault(); row.focus(); }
    } });
}

function zoneSwitch() {
  const button = (isUtc, text) => h("button", { type: "button", "aria-pressed": String(zone.isUtc === isUtc), onclick: () => {
    zone.set(isUtc);
    showFacts();
    current.again();
    document.querySelector("#facts [aria-pressed=true]").focus();
  } }, text);
  return h("div", { class: "segment", role: "group", "aria-label": "Time zone" }, button(true, "UTC"), button(false, "Local"));
}

function showFacts() {
  const given = session.facts;
  put(document.getElementById("facts"), 
    h("div", {}, h("div", {}, "Times in"), zoneSwitch()),
    h("div", {}, "Connected to", h("br"), h("span", { class: "mono" }, given.bootstrapServers)),
    given.user ? h("div", {}, "User ", h("strong", {}, given.user)) : "",
    given.allowsChanges ? "" : h("div", {}, badge("read-only", "warn")),
    h("div", {}, `Odradek ${given.version}`),
    given.access === "open" ? "" : h("div", {}, h("button", { type: "button", class: "quiet", onclick: async () => { await tell("session/end", {}); location.reload(); } }, "Log out")));
}

function showFrame() {
  document.getElementById("frame").hidden = false;
  put(document.getElementById("nav"), ...VIEWS.map(([key, text]) => h("a", { href: href(key), "data-key": key }, text)));
  showFacts();
  open(location.hash);
}

const JUMPS = { t: "topics", g: "groups", x: "transactions", n: "connections", s: "storage", c: "cluster", l: "log" };
let isJump = false;

addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, textarea, select, dialog");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isJump && JUMPS[event.key]) go([JUMPS[event.key]]);
  isJump = event.key === "g" && !isJump;
  if (event.key === "/") {
    const box = document.getElementById("search");
    if (box) { event.preventDefault(); box.focus(); box.select(); }
  } else if (event.key === "?") openKeys();
});

function openKeys() {
  openDialog("Keys", pairs([["/", "search"], ["↓ ↑ PgDn PgUp Home End", "move in a table, after Tab or ↓ in the search"], ["Enter", "open the row"], ["Esc", "close a dialog"],
    ["g then t, g, x, n, s, c, l", "topics, groups, transactions, connections, storage, cluster, log"], ["?", "this list"]]));
}

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", () => session.facts && open(location.hash));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => current && current.path[0] === "groups" && current.again());

startSession().then((isOpen) => (isOpen ? showFrame() : null), (error) => {
  document.getElementById("login").hidden = false;
  put(document.getElementById("login"), note(error.message, "bad"), h("button", { onclick: () => showLogin() }, "Log in"));
});
