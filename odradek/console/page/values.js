"use strict";
// Numbers, sizes, times and bytes as texts. Numbers of 64 bits come as texts and stay BigInt.

const zone = {
  isUtc: localStorage.getItem("odradek-zone") !== "local",
  set(isUtc) {
    zone.isUtc = isUtc;
    localStorage.setItem("odradek-zone", isUtc ? "utc" : "local");
  },
  get name() { return zone.isUtc ? "UTC" : "local time"; },
};

function grouped(number) {
  return number === null || number === undefined ? "–" : BigInt(number).toString().replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

function sized(bytes) {
  if (bytes === null || bytes === undefined) return "–";
  let amount = Number(bytes);
  if (amount < 0) return "–";
  for (const unit of ["B", "KiB", "MiB", "GiB", "TiB"]) {
    if (amount < 1024 || unit === "TiB") return `${unit === "B" || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${unit}`;
    amount /= 1024;
  }
  return "";
}

// ISO 8601 with milliseconds, in the chosen zone.
function timed(milliseconds) {
  const ms = Number(milliseconds);
  if (milliseconds === null || milliseconds === undefined || ms < 0) return "–";
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return `${milliseconds} ms`;
  if (zone.isUtc) return date.toISOString();
  const local = new Date(ms - date.getTimezoneOffset() * 60000);
  return local.toISOString().slice(0, -1) + offsetText(-date.getTimezoneOffset());
}

function offsetText(minutes) {
  const absolute = Math.abs(minutes);
  const two = (number) => String(number).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(absolute / 60))}:${two(absolute % 60)}`;
}

// The milliseconds of a datetime-local control, which is in the chosen zone; null if it is empty.
function pickedTime(text) {
  if (!text) return null;
  const ms = Date.parse(zone.isUtc ? `${text}Z` : text);
  return Number.isNaN(ms) ? null : ms;
}

function pickerText(milliseconds) {
  return timed(milliseconds).slice(0, 23);
}

function lasted(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  const two = (big, bigUnit, small, smallUnit) => `${Math.floor(big)} ${bigUnit}${Math.floor(small) ? ` ${Math.floor(small)} ${smallUnit}` : ""}`;
  if (seconds < 7200) return two(seconds / 60, "min", seconds % 60, "s");
  if (seconds < 172800) return two(seconds / 3600, "h", (seconds % 3600) / 60, "min");
  return two(seconds / 86400, "d", (seconds % 86400) / 3600, "h");
}

// Milliseconds of a configuration as a short text beside the number.
function span(milliseconds) {
  const ms = Number(milliseconds);
  return ms < 0 ? "unlimited" : lasted(ms / 1000);
}

// A key or value in a row: null, empty, text and bytes look different.
function brief(data) {
  if (data.isNull) return h("span", { class: "absent" }, "null");
  if (data.size === "0") return h("span", { class: "absent" }, "empty");
  if (data.text === null) return h("span", {}, badge("hex"), " ", h("span", { class: "mono" }, data.hex + (data.isCut ? " …" : "")));
  return h("span", { class: "mono" }, data.isCut ? [badge(sized(data.size)), " "] : null, data.text + (data.isCut ? " …" : ""));
}

function stateKind(state) {
  const known = { Stable: "good", Empty: "", Dead: "bad", Ongoing: "accent", CompleteCommit: "good", CompleteAbort: "warn" };
  return state in known ? known[state] : "warn";
}

function plural(count, one, many) {
  return `${grouped(count)} ${String(count) === "1" ? one : many}`;
}
