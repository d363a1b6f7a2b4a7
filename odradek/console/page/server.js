"use strict";
// Requests to the console's server, event streams, and the session.

const session = { facts: null };
// The page also works below a path of a proxy, with and without a slash at its end.
const BASE = location.pathname.replace(/\/?$/, "/");

class ServerError extends Error {
  constructor(status, answer) {
    super(answer.error || `the server answered ${status}`);
    this.status = status;
    this.code = answer.code || "";
  }
}

function path(strings, ...values) {
  return strings.map((text, at) => text + (at < values.length ? encodeURIComponent(values[at]) : "")).join("");
}

function query(values) {
  const made = new URLSearchParams();
  for (const [name, value] of Object.entries(values || {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "" && one !== false) made.append(name, one);
    }
  }
  const text = made.toString();
  return text ? `?${text}` : "";
}

async function ask(where, values, signal) {
  return answerOf(await fetch(`${BASE}api/${where}${query(values)}`, { signal, headers: { Accept: "application/json" } }));
}

async function tell(where, body) {
  return answerOf(await fetch(`${BASE}api/${where}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Odradek-Console": "1" },
    body: JSON.stringify(body),
  }));
}

async function answerOf(response) {
  let answer = {};
  try {
    answer = await response.json();
  } catch (error) {
    if (response.ok) throw error;
  }
  if (response.ok) return answer;
  if (response.status === 401 && session.facts) showLogin();
  throw new ServerError(response.status, answer);
}

// An event stream. A hidden tab closes it, and it is opened again with the tab unless it had ended.
class Stream {
  constructor(where, values, onValue, onEnd) {
    Object.assign(this, { where, values, onValue, onEnd, isOver: false, source: null });
    this.onVisibility = () => (document.hidden ? this.pause() : this.open());
    document.addEventListener("visibilitychange", this.onVisibility);
    this.open();
  }

  open() {
    if (this.isOver || this.source) return;
    const source = new EventSource(`${BASE}api/${this.where}${query(typeof this.values === "function" ? this.values() : this.values)}`);
    this.source = source;
    source.onmessage = (event) => this.onValue(JSON.parse(event.data));
    source.addEventListener("failed", (event) => this.close(new ServerError(0, JSON.parse(event.data))));
    source.addEventListener("end", () => this.close(null));
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED) return this.close(new ServerError(0, { error: "the stream was closed" }));
      this.pause(); // the browser would ask for the same again; a search goes on where it was
      setTimeout(() => document.hidden || this.open(), 1000);
    };
  }

  pause() {
    if (this.source) this.source.close();
    this.source = null;
  }

  close(error) {
    if (this.isOver) return;
    this.isOver = true;
    this.pause();
    document.removeEventListener("visibilitychange", this.onVisibility);
    if (this.onEnd) this.onEnd(error);
  }

  stop() {
    this.onEnd = null;
    this.close(null);
  }
}

async function startSession() {
  const token = /^#token=(.+)$/.exec(location.hash);
  if (token) {
    history.replaceState(null, "", location.pathname + location.search);
    session.facts = await tell("session", { token: decodeURIComponent(token[1]) });
    return true;
  }
  const found = await ask("session");
  if (found.session) session.facts = found;
  else await showLogin(found);
  return found.session;
}

// Asks for a login. A console that needs none opens a new session, for instance after its process has started again.
async function showLogin(found) {
  session.facts = null;
  found = found || await ask("session");
  if (found.access === "open") {
    session.facts = await tell("session", {});
    return showFrame();
  }
  const place = document.getElementById("login");
  document.getElementById("frame").hidden = true;
  const failure = h("div", { role: "alert" });
  const user = h("input", { autocomplete: "username", class: "wide" });
  const password = h("input", { type: "password", autocomplete: "current-password", class: "wide" });
  const mechanism = choice((found.mechanisms || []).map((name) => [name, name]), (found.mechanisms || [])[0], { class: "wide" });
  const token = h("input", { autocomplete: "off", class: "wide" });
  const body = () => found.access === "token" ? { token: token.value }
    : { user: user.value, password: password.value, ...(found.access === "kafka" ? { mechanism: mechanism.value } : {}) };
  put(place, h("form", { onsubmit: async (event) => {
    event.preventDefault();
    try {
      session.facts = await tell("session", body());
      place.hidden = true;
      showFrame();
    } catch (error) {
      put(failure, note(error.message, "bad"));
    }
  } }, h("h1", {}, "Odradek console"),
  found.access === "token"
    ? [h("p", {}, "Open the address that odradek console printed, or enter its token."), field("Token", token)]
    : [h("p", {}, found.access === "kafka" ? "Log in as a user of Kafka. You see and change what that user may." : "Log in."),
      field("User", user), field("Password", password), found.access === "kafka" ? field("Mechanism", mechanism) : null],
  failure, h("button", { class: "main" }, "Log in")));
  place.hidden = false;
  place.querySelector("input").focus();
}
