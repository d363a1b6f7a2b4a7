"use strict";
// The records of a topic: browse, search, tail, one record whole, produce.

const STARTS = [["latest", "Newest"], ["earliest", "Oldest"], ["offset", "Offset"], ["time", "Time"]];
const MOST_ROWS_KEPT = 1000;

async function recordsView(view, name) {
  const params = view.params;
  const kind = params.get("start") || "latest";
  const start = choice(STARTS, kind);
  const direction = choice([["backward", "Backward"], ["forward", "Forward"]], params.get("direction") || (kind === "latest" ? "backward" : "forward"));
  const offset = h("input", { inputmode: "numeric", size: 12, value: params.get("offset") || "0" });
  const time = h("input", { type: "datetime-local", step: "0.001", value: params.get("time") ? pickerText(params.get("time")) : "" });
  const partitions = h("input", { size: 10, placeholder: "all", value: params.get("partitions") || "", inputmode: "numeric" });
  const limit = choice([["20", "20"], ["50", "50"], ["100", "100"], ["200", "200"]], params.get("limit") || "50");
  const text = h("input", { type: "search", size: 26, id: "search", placeholder: "plain text", value: params.get("text") || "" });
  const parts = [["key", "Key"], ["value", "Value"], ["headers", "Headers"]].map(([part, label]) => [part, check(label, !params.get("in") || params.get("in").split(",").includes(part))]);
  const matchCase = check("Match case", params.get("case") === "1");
  const offsetField = field("Offset", offset);
  const timeField = field(`Time (${zone.name})`, time);
  const follow = () => {
    offsetField.hidden = start.value !== "offset";
    timeField.hidden = start.value !== "time";
  };
  start.addEventListener("change", () => {
    direction.value = start.value === "latest" ? "backward" : "forward";
    follow();
  });
  follow();

  const state = { rows: [], cursor: "", stream: null, held: [], isTail: false, isHovered: false };
  const rows = { set: (found) => { state.rows = found.slice(0, MOST_ROWS_KEPT); table.show(state.rows); } };
  const table = new Table([
    { name: "Time", width: "225px", cell: (row) => timed(row.time) },
    { name: "P", isNumber: true, width: "70px", cell: (row) => String(row.partition) },
    { name: "Offset", isNumber: true, width: "110px", cell: (row) => grouped(row.offset) },
    { name: "Key", width: "20%", cell: (row) => row.control ? badge("control", "accent") : brief(row.key) },
    { name: "Value", cell: (row) => [recordState(row), row.control ? row.control : brief(row.value)] },
    { name: "Headers", width: "90px", isNumber: true, cell: (row) => row.headerCount ? String(row.headerCount) : "" },
  ], { label: `Records of ${name}`, empty: "No records to show.", keyOf: recordKey, onOpen: (row) => { view.set({ record: recordKey(row) }); openRecord(view, name, row.partition, row.offset); } });
  const looked = h("div", { class: "looked" });
  const more = h("button", { type: "button", hidden: true }, "Next");
  const stop = h("button", { type: "button", hidden: true }, "Stop");
  const held = h("button", { type: "button", hidden: true, onclick: () => release() });
  const buttons = {
    show: h("button", { type: "submit", class: "main" }, "Show"),
    tail: h("button", { type: "button", onclick: () => { view.set(collected({ mode: "tail" })); startTail(); } }, "Tail"),
  };
  const values = () => ({
    start: start.value === "offset" ? `offset:${offset.value || "0"}` : start.value === "time" ? `time:${pickedTime(time.value) ?? 0}` : start.value,
    direction: direction.value, partitions: partitions.value.split(/[ ,]+/).filter(Boolean), limit: limit.value,
    text: text.value, in: parts.filter(([, one]) => one.box.checked).map(([part]) => part), case: matchCase.box.checked ? "true" : "",
  });
  const collected = (extra) => ({
    start: start.value, direction: direction.value, offset: start.value === "offset" ? offset.value : "", time: start.value === "time" ? String(pickedTime(time.value) ?? "") : "",
    partitions: partitions.value, limit: limit.value, text: text.value, case: matchCase.box.checked ? "1" : "",
    in: parts.every(([, one]) => one.box.checked) ? "" : parts.filter(([, one]) => one.box.checked).map(([part]) => part).join(","), mode: "", record: "", ...extra,
  });
  const halt = () => {
    if (state.stream) state.stream.stop();
    state.stream = null;
    stop.hidden = true;
  };
  const failed = (error) => {
    halt();
    if (error.name !== "AbortError") put(looked, note(error.message, "bad"));
  };

  const page = async (cursor) => {
    halt();
    more.hidden = held.hidden = true;
    looked.textContent = "Reading…";
    try {
      const found = await ask(path`topics/${name}/records`, { ...values(), text: "", in: [], cursor }, view.signal);
      rows.set(found.rows);
      tellLooked(found, found.isFinished ? "everything there is that way" : "");
      offerNext(found, () => page(found.cursor));
    } catch (error) {
      failed(error);
    }
  };
  const search = (cursor) => {
    halt();
    more.hidden = held.hidden = true;
    if (!cursor) rows.set([]);
    let last = null;
    stop.hidden = false;
    state.stream = new Stream(path`topics/${name}/search`, () => ({ ...values(), cursor: last ? last.cursor : cursor }), (found) => {
      last = found;
      if (found.rows.length) rows.set([...state.rows, ...found.rows]);
      tellLooked(found, found.isDone ? (found.isFinished ? "searched everything" : "stopped: resume to go on") : "searching…", state.rows.length);
      if (found.isDone) {
        halt();
        announce(`${state.rows.length} found`);
        offerNext(found, () => search(found.cursor), "Resume");
      }
    }, (error) => (error ? failed(error) : null));
    stop.onclick = () => {
      halt();
      if (!last) return;
      tellLooked(last, "stopped: resume to go on", state.rows.length);
      offerNext(last, () => search(last.cursor), "Resume");
    };
  };
  const startTail = () => {
    halt();
    more.hidden = true;
    rows.set([]);
    state.held = [];
    looked.textContent = "Waiting for new records…";
    stop.hidden = false;
    state.stream = new Stream(path`topics/${name}/tail`, values, (found) => {
      if (found.rows.length) state.held = [...found.rows.slice().reverse(), ...state.held].slice(0, MOST_ROWS_KEPT);
      tellLooked(found, found.dropped ? `tail; ${found.dropped} of a burst left out` : "tail");
      if (!state.isHovered) release();
      showHeld();
    }, (error) => (error ? failed(error) : null));
    stop.onclick = () => {
      halt();
      release();
      looked.append(" stopped");
    };
  };
  // New records are held back while the pointer or the focus is on the rows: they must not move under it.
  const release = () => {
    if (!state.held.length) return;
    const fresh = state.held;
    state.held = [];
    rows.set([...fresh, ...state.rows]);
    showHeld();
  };
  const showHeld = () => {
    held.hidden = !state.held.length;
    held.textContent = `Show ${plural(state.held.length, "new record", "new records")}`;
  };
  table.element.addEventListener("pointerenter", () => { state.isHovered = true; });
  table.element.addEventListener("pointerleave", () => { state.isHovered = false; release(); });
  table.element.addEventListener("focusin", () => { state.isHovered = true; });
  table.element.addEventListener("focusout", () => { state.isHovered = false; });

  const tellLooked = (found, how, matches) => {
    const ranges = found.offsets.length === 1 ? `offsets ${found.offsets[0].start} to ${found.offsets[0].end}, now at ${found.offsets[0].position}` : "";
    put(looked, h("span", {}, `Looked at ${plural(found.records, "record", "records")} in ${sized(found.bytes)} of ${plural(found.partitions, "partition", "partitions")}`
      + (found.leftOut ? ` (${found.leftOut} more have records: name the partitions)` : "")
      + (ranges ? `, ${ranges}` : "") + (matches === undefined ? "" : `; ${matches} found`) + (how ? `; ${how}` : "") + "."),
    h("span", {}, found.order === "time" ? "Partitions are merged by time." : ""));
  };
  const offerNext = (found, again, label) => {
    more.hidden = found.isFinished || !found.partitions;
    more.textContent = label || (direction.value === "backward" ? "Older" : "Newer");
    more.onclick = again;
  };

  const form = h("form", { class: "card", "aria-label": "Which records", onsubmit: (event) => {
    event.preventDefault();
    view.set(collected({}));
    run();
  } },
  h("div", { class: "bar" }, field("Start at", start), offsetField, timeField, field("Direction", direction), field("Partitions", partitions), field("Rows", limit)),
  h("div", { class: "bar" }, field("Search text", text), h("div", {}, parts.map(([, one]) => one.element), matchCase.element), h("div", { class: "actions" }, buttons.show, buttons.tail, stop)));
  const run = () => (text.value ? search("") : page(""));
  view.onLeave(halt);
  view.fill(topicTop(view, name, "records", [
    changeButton("Produce", () => produceDialog(view, name, null)),
    changeButton("Delete topic", () => deleteTopic(name), "danger"),
  ], null), form, h("div", { class: "looked" }, looked, held), table.element, h("div", { class: "bar" }, h("span", {}), more),
  asCommand("consume", ...session.facts.commandOptions, "--topic", name, "--from-beginning", "--max-messages", limit.value));
  if (params.get("mode") === "tail") startTail();
  else await run();
  const wanted = /^(\d+):(\d+)$/.exec(params.get("record") || "");
  if (wanted) openRecord(view, name, wanted[1], wanted[2]);
}

function recordKey(row) {
  return `${row.partition}:${row.offset}`;
}

function recordState(row) {
  if (row.state === "aborted") return [badge("aborted", "bad"), " "];
  if (row.state === "unstable") return [badge("not yet stable", "warn"), " "];
  if (row.state === "committed") return [badge("transaction", "good"), " "];
  return null;
}

async function openRecord(view, topic, partition, offset) {
  const place = h("div", {}, "Loading…");
  const dialog = openDialog(`${topic}, partition ${partition}, offset ${offset}`, place, { isLarge: true });
  dialog.addEventListener("close", () => view.set({ record: "" }));
  try {
    const found = await ask(path`topics/${topic}/partitions/${partition}/records/${offset}`, {}, view.signal);
    const at = BASE + path`api/topics/${topic}/partitions/${partition}/records/${offset}/download`;
    put(place,
      pairs([["Time", `${timed(found.time)} (${found.timeType})`],
        found.control ? ["Control record", found.control] : null,
        found.state ? ["Transaction", found.state === "unstable" ? "not yet stable: readers with read_committed wait" : found.state] : null,
        ["Leader epoch", String(found.leaderEpoch)],
        ["Producer", found.producerId === "-1" ? "without an id" : `id ${found.producerId}, epoch ${found.producerEpoch}${found.sequence < 0 ? "" : `, sequence ${found.sequence}`}`],
        ["Batch", h("a", { href: href("topics", topic, "partitions", partition) + query({ from: found.batchOffset }), onclick: () => dialog.close() }, `at offset ${found.batchOffset}`)],
      ].filter(Boolean)),
      bytesBlock("Key", found.key, `${at}?part=key`), bytesBlock("Value", found.value, `${at}?part=value`),
      h("h2", {}, `Headers (${found.headerCount})`), found.headers.map((one) => bytesBlock(one.name, one.value, null, true)),
      h("div", { class: "actions" },
        found.control ? null : changeButton("Edit and send again", () => { dialog.close(); produceDialog(view, topic, found); }, "main")),
      asCommand("consume", ...session.facts.commandOptions, "--topic", topic, "--partition", String(partition), "--offset", String(offset), "--max-messages", "1"));
  } catch (error) {
    put(place, note(error.message, "bad"));
  }
}

// Text, JSON and hex at once.
function bytesBlock(name, data, download, isHeader) {
  const title = h(isHeader ? "h3" : "h2", {}, name, " ", data.isNull ? badge("null") : data.size === "0" ? badge("empty") : badge(sized(data.size)));
  if (data.isNull || data.size === "0") return h("section", {}, title);
  const block = (label, text) => h("section", {}, h("h3", {}, label, " ", copyButton(text, `${name} as ${label}`)), h("pre", { tabindex: "0", role: "region", "aria-label": `${name} as ${label}` }, text));
  return h("section", {}, title, h("div", { class: "forms" },
    data.json === null ? null : block("JSON", data.json),
    data.text === null ? null : block("text", data.text),
    block("hex", data.hex)),
  data.isCut ? note(`Only the first ${sized(65536)} are shown.`) : null,
  download ? h("p", {}, h("a", { href: download, download: "" }, `Download the ${name.toLowerCase()}`)) : null);
}

function produceDialog(view, topic, record) {
  const editable = (data) => (data.isNull ? { kind: "null", text: "" } : data.text === null ? { kind: "hex", text: data.hex } : { kind: "text", text: data.text });
  const key = bytesField("Key", record ? editable(record.key) : { kind: "null", text: "" });
  const value = bytesField("Value", record ? editable(record.value) : { kind: "text", text: "" });
  const headers = h("textarea", { spellcheck: "false", placeholder: "trace=abc" });
  headers.value = record ? record.headers.map((one) => (one.value.isNull ? one.name : `${one.name}=${one.value.text ?? ""}`)).join("\n") : "";
  const partition = h("input", { inputmode: "numeric", size: 8, placeholder: "by key", value: record ? String(record.partition) : "" });
  const isCut = record && (record.key.isCut || record.value.isCut || record.headers.some((one) => one.value.isCut || (one.value.text === null && !one.value.isNull)));
  openAction(record ? "Send an edited record" : `Produce to ${topic}`, {
    where: () => path`topics/${topic}/records`, button: "Write the record",
    fields: [isCut ? note("A part of this record is too long or not text: it is not complete here.", "warn") : null, field("Partition", partition), key.element, value.element, field("Headers, one NAME=VALUE a line", headers)],
    body: () => ({ partition: partition.value || "-1", ...key.body(), ...value.body(), headers: lines(headers.value) }), done: () => view.again(),
  });
}
