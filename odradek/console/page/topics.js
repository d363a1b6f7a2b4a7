"use strict";
// Topics: the list, and one topic with its partitions, configurations and readers. Records are in records.js.

async function topicsView(view) {
  const details = new Details("topic-details", () => table.redraw());
  const of = (row, shown) => later(details.of(row.name), shown);
  const config = (found, name) => found.configs.find((one) => one.name === name);
  const table = new Table([
    { name: "Name", width: "30%", cell: (row) => [h("a", { href: href("topics", row.name), tabindex: "-1" }, row.name), row.isInternal ? [" ", badge("internal")] : null] },
    { name: "Partitions", isNumber: true, cell: (row) => grouped(row.partitions) },
    { name: "Replicas", isNumber: true, cell: (row) => grouped(row.replicas) },
    { name: "Offsets", isNumber: true, cell: (row) => of(row, (found) => grouped(found.offsets)) },
    { name: "Size", isNumber: true, cell: (row) => of(row, (found) => sized(found.bytes)) },
    { name: "Kept", width: "17%", cell: (row) => of(row, (found) => keptText(config(found, "cleanup.policy"), config(found, "retention.ms"))) },
    { name: "State", width: "15%", cell: topicState },
  ], {
    label: "Topics", empty: "No topic matches.", keyOf: (row) => row.name,
    onOpen: (row) => go(["topics", row.name]), onSight: (rows) => details.want(rows.map((row) => row.name)),
  });
  const search = searchBox("Search topics", view, () => show());
  const internal = check("Internal topics", view.params.get("internal") === "1", { onchange: () => { view.set({ internal: internal.box.checked ? "1" : "" }); show(); } });
  const under = h("span", {}, "Loading…");
  let all = [];
  const show = () => {
    const wanted = search.value.toLowerCase();
    const rows = all.filter((row) => row.name.toLowerCase().includes(wanted) && (internal.box.checked || !row.isInternal));
    table.show(rows);
    under.textContent = `${grouped(rows.length)} of ${plural(all.length, "topic", "topics")}, ${plural(all.reduce((sum, row) => sum + row.partitions, 0), "partition", "partitions")} in all`;
    announce(under.textContent);
  };
  view.fill(pageTop("Topics", { under, actions: [refreshButton(view), changeButton("Create topic", () => createTopic(view), "main")] }),
    h("div", { class: "bar" }, search, internal.element), table.element, asCommand("topics", ...session.facts.commandOptions, "--list"));
  all = (await ask("topics", {}, view.signal)).topics;
  show();
}

function topicState(row) {
  if (row.error) return badge(row.error, "bad");
  if (row.offline) return badge(`${row.offline} without leader`, "bad");
  if (row.underReplicated) return badge(`${row.underReplicated} under-replicated`, "warn");
  return badge("in sync", "good");
}

function keptText(policy, retention) {
  const isOwn = [policy, retention].some((one) => one && one.source === "DYNAMIC_TOPIC_CONFIG");
  const text = !policy ? "–" : policy.value === "compact" ? "compacted" : `${policy.value.includes("compact") ? "compacted, " : ""}${retention ? span(retention.value) : ""}`;
  return h("span", { title: `cleanup.policy ${policy ? policy.source : ""}, retention.ms ${retention ? retention.source : ""}` }, text, isOwn ? [" ", badge("own")] : null);
}

const TOPIC_TABS = [["records", "Records"], ["partitions", "Partitions"], ["configs", "Configurations"], ["readers", "Readers"]];

function topicTop(view, name, tab, actions, under) {
  return [pageTop(name, { crumbs: [h("a", { href: href("topics") }, "Topics"), " / "], under, actions: [refreshButton(view), ...actions] }),
    tabs("Parts of the topic", TOPIC_TABS.map(([key, text]) => [href("topics", name, key), text, key]), tab)];
}

async function topicView(view) {
  const [name, tab = "records", number] = view.parts;
  if (tab === "partitions" && number !== undefined) return partitionView(view, name, number);
  if (tab === "records") return recordsView(view, name);
  if (tab === "partitions") return partitionsView(view, name);
  if (tab === "configs") return configsView(view, name);
  if (tab === "readers") return readersView(view, name);
  return view.fill(pageTop("No such page"));
}

async function partitionsView(view, name) {
  const known = new Map();
  const asked = new Set();
  const of = (row, shown) => row.leader < 0 ? "–" : later(known.get(row.partition), shown);
  const table = new Table([
    { name: "Partition", isNumber: true, width: "10%", cell: (row) => h("a", { href: href("topics", name, "partitions", row.partition), tabindex: "-1" }, String(row.partition)) },
    { name: "Start", isNumber: true, cell: (row) => of(row, (found) => grouped(found.start)) },
    { name: "End", isNumber: true, cell: (row) => of(row, (found) => grouped(found.end)) },
    { name: "Stable end", isNumber: true, cell: (row) => of(row, (found) => grouped(found.stable)) },
    { name: "Size", isNumber: true, cell: (row) => of(row, (found) => sized(found.bytes)) },
    { name: "Leader", isNumber: true, cell: (row) => row.leader < 0 ? badge("none", "bad") : String(row.leader) },
    { name: "Replicas", cell: (row) => row.replicas.join(", ") },
    { name: "In sync", cell: (row) => [row.isr.join(", "), row.isr.length < row.replicas.length ? [" ", badge("behind", "warn")] : null] },
  ], {
    label: `Partitions of ${name}`, keyOf: (row) => row.partition,
    onOpen: (row) => go(["topics", name, "partitions", row.partition]),
    onSight: async (rows) => {
      const missing = rows.filter((row) => !asked.has(row.partition));
      if (!missing.length) return;
      const from = missing[0].partition;
      for (let at = 0; at < 100; at++) asked.add(from + at);
      for (const one of await ask(path`topics/${name}/offsets`, { from, count: 100 }, view.signal)) known.set(one.partition, one);
      table.redraw();
    },
  });
  view.fill(topicTop(view, name, "partitions", [changeButton("Add partitions", () => addPartitions(view, name, table.rows.length))], null),
    table.element, asCommand("topics", ...session.facts.commandOptions, "--describe", "--topic", name));
  table.show((await ask(path`topics/${name}`, {}, view.signal)).partitions);
}

async function partitionView(view, name, number) {
  const start = view.params.get("from") || "";
  const place = h("div", {}, "Loading…");
  const from = h("input", { inputmode: "numeric", value: start, size: 14, placeholder: "log start" });
  view.fill(pageTop(`${name}, partition ${number}`, { crumbs: [h("a", { href: href("topics") }, "Topics"), " / ", h("a", { href: href("topics", name, "partitions") }, name), " /"], actions: [refreshButton(view)] }),
    h("div", { class: "columns" }, h("section", {}, h("h2", {}, "Batches as they are stored"),
      h("form", { class: "bar", onsubmit: (event) => { event.preventDefault(); view.set({ from: from.value }); view.again(); } }, field("From offset", from), h("button", {}, "Show")))),
    place, asCommand("get-offsets", ...session.facts.commandOptions, "--topic-partitions", `${name}:${number}`));
  const [found, producers] = await Promise.all([
    ask(path`topics/${name}/partitions/${number}/batches`, { from: start }, view.signal),
    ask(path`topics/${name}/partitions/${number}/producers`, {}, view.signal).catch((error) => error)]);
  const table = new Table([
    { name: "Offsets", width: "13%", cell: (row) => `${grouped(row.baseOffset)} – ${grouped(row.lastOffset)}` },
    { name: "Records", isNumber: true, cell: (row) => row.records < 0 ? "–" : grouped(row.records) },
    { name: "Size", isNumber: true, cell: (row) => sized(row.size) },
    { name: "Kind", width: "14%", cell: (row) => row.isControl ? badge("control", "accent") : row.isTransactional ? badge("transactional", "accent") : "data" },
    { name: "Codec", cell: (row) => row.compression },
    { name: "Latest time", width: "24%", cell: (row) => timed(row.maxTime) },
    { name: "Producer", isNumber: true, cell: (row) => row.producerId === "-1" ? "–" : row.producerId },
    { name: "CRC", width: "12%", cell: (row) => [h("span", { class: "mono" }, row.crc), row.isSound ? null : [" ", badge("wrong", "bad")]] },
  ], { label: "Batches", isShort: true, empty: "No batch from there on.", keyOf: (row) => row.baseOffset, onOpen: (row) => openDialog(`Batch at ${row.baseOffset}`, batchPairs(row)) });
  table.show(found.rows);
  put(place,
    facts([["Start", grouped(found.start)], ["End", grouped(found.end)], ["Stable end", grouped(found.stable)], ["Read for this", sized(found.bytes)]]),
    table.element,
    found.next ? h("p", {}, h("a", { href: href("topics", name, "partitions", number) + query({ from: found.next }) }, `Batches from offset ${grouped(found.next)}`)) : null,
    h("h2", {}, "Producers that the leader knows"), producers instanceof Error ? note(producers.message) : producersTable(producers).element);
}

function batchPairs(row) {
  return pairs([
    ["Base offset", row.baseOffset], ["Last offset", row.lastOffset], ["Position in the answer", row.position], ["Bytes", row.size], ["Leader epoch", String(row.leaderEpoch)],
    ["Format", String(row.magic)], ["CRC", [row.crc, " ", row.isSound ? badge("matches", "good") : badge("does not match", "bad")]],
    ["Attributes", `0x${row.attributes.toString(16).padStart(4, "0")}`], ["Compression", row.compression], ["Time type", row.timeType],
    ["Transactional", String(row.isTransactional)], ["Control batch", String(row.isControl)], ["Delete horizon", row.deleteHorizon ? timed(row.deleteHorizon) : "none"],
    ["Base time", timed(row.baseTime)], ["Max time", timed(row.maxTime)], ["Producer id", row.producerId], ["Producer epoch", String(row.producerEpoch)],
    ["Base sequence", String(row.baseSequence)], ["Records", String(row.records)],
  ]);
}

function producersTable(rows) {
  const table = new Table([
    { name: "Producer id", isNumber: true, cell: (row) => row.producerId },
    { name: "Epoch", isNumber: true, cell: (row) => row.producerEpoch },
    { name: "Last sequence", isNumber: true, cell: (row) => row.lastSequence },
    { name: "Last time", width: "26%", cell: (row) => timed(row.lastTime) },
    { name: "Open transaction", width: "24%", cell: (row) => row.openSince === null ? "none" : badge(`since offset ${row.openSince}`, "warn") },
  ], { label: "Producers", isShort: true, empty: "No producer with an id has written here lately." });
  table.show(rows);
  return table;
}

const SOURCES = {
  DYNAMIC_TOPIC_CONFIG: ["this topic", "accent"], DYNAMIC_BROKER_CONFIG: ["this broker, dynamic", "warn"], DYNAMIC_DEFAULT_BROKER_CONFIG: ["all brokers, dynamic", "warn"],
  STATIC_BROKER_CONFIG: ["broker's file", "warn"], DEFAULT_CONFIG: ["default", ""],
};

async function configsView(view, name) {
  const search = searchBox("Search configurations", view, () => show());
  const own = check("Without defaults", view.params.get("own") === "1", { onchange: () => { view.set({ own: own.box.checked ? "1" : "" }); show(); } });
  const table = new Table([
    { name: "Name", width: "34%", cell: (row) => row.name },
    { name: "Value", width: "36%", cell: (row) => row.isSensitive ? h("span", { class: "absent" }, "hidden") : h("span", { class: "mono" }, row.value === null ? "–" : row.value) },
    { name: "Set by", cell: (row) => badge(...(SOURCES[row.source] || [row.source, ""])) },
  ], { label: `Configurations of ${name}`, keyOf: (row) => row.name, onOpen: (row) => configDialog(view, name, row) });
  let all = [];
  const show = () => table.show(all.filter((row) => row.name.includes(search.value) && (!own.box.checked || row.source !== "DEFAULT_CONFIG")));
  view.fill(topicTop(view, name, "configs", [changeButton("Change configurations", () => changeConfigs(view, name, "", []))], null),
    h("div", { class: "bar" }, search, own.element), table.element,
    asCommand("configs", ...session.facts.commandOptions, "--describe", "--topic", name, "--all"));
  all = await ask(path`topics/${name}/configs`, {}, view.signal);
  show();
}

function configDialog(view, name, row) {
  const dialog = openDialog(row.name, [
    row.documentation ? h("p", {}, row.documentation.replace(/<[^>]*>/g, "")) : null,
    pairs([["Value", row.isSensitive ? "hidden" : row.value], ["Set by", row.source], ["Can be changed", row.isReadOnly ? "no" : "yes"]]),
    h("h3", {}, "By precedence"), h("ul", { class: "lines" }, row.synonyms.map((one) => h("li", {}, `${one.source}: ${one.name} = ${one.value}`))),
    h("div", { class: "actions" },
      changeButton("Remove from this topic", () => { dialog.close(); changeConfigs(view, name, "", [row.name]); }),
      changeButton("Change", () => { dialog.close(); changeConfigs(view, name, `${row.name}=${row.value ?? ""}`, []); }, "main"))]);
}

async function readersView(view, name) {
  const table = new Table([
    { name: "Group", cell: (row) => h("a", { href: href("groups", row.group), tabindex: "-1" }, row.group) },
    { name: "State", cell: (row) => badge(row.state, stateKind(row.state)) },
  ], { label: `Readers of ${name}`, empty: "No group has committed offsets of this topic.", keyOf: (row) => row.group, onOpen: (row) => go(["groups", row.group]) });
  view.fill(topicTop(view, name, "readers", [], "Groups with committed offsets of this topic."), table.element);
  table.show(await ask(path`topics/${name}/readers`, {}, view.signal));
}

// Actions

function createTopic(view) {
  const name = h("input", { class: "wide", autocomplete: "off", spellcheck: "false", required: true });
  const partitions = h("input", { inputmode: "numeric", placeholder: "default", size: 8 });
  const replicas = h("input", { inputmode: "numeric", placeholder: "default", size: 8 });
  const configs = h("textarea", { placeholder: "retention.ms=86400000\ncleanup.policy=compact", spellcheck: "false" });
  openAction("Create a topic", {
    where: () => "topics", button: "Create topic",
    fields: [field("Name", name), h("div", { class: "bar" }, field("Partitions", partitions), field("Replicas", replicas)), field("Configurations, one KEY=VALUE a line", configs)],
    body: () => ({ name: name.value.trim(), partitions: partitions.value || "-1", replicas: replicas.value || "-1", configs: lines(configs.value) }),
    done: () => (view.parts.length ? null : view.again()),
  });
}

function changeConfigs(view, name, set, remove) {
  const added = h("textarea", { spellcheck: "false", placeholder: "retention.ms=86400000" });
  added.value = set;
  const removed = h("textarea", { spellcheck: "false", placeholder: "retention.ms" });
  removed.value = remove.join("\n");
  openAction(`Change ${name}`, {
    where: () => path`topics/${name}/configs`, button: "Change",
    fields: [field("Set, one KEY=VALUE a line", added), field("Remove, one KEY a line", removed)],
    body: () => ({ set: lines(added.value), remove: lines(removed.value) }), done: () => view.again(),
  });
}

function addPartitions(view, name, now) {
  const count = h("input", { inputmode: "numeric", value: String(now + 1), size: 8 });
  openAction(`Add partitions to ${name}`, {
    where: () => path`topics/${name}/partitions`, button: "Add partitions",
    fields: [field("Partitions afterwards", count)], body: () => ({ count: count.value }), done: () => view.again(),
  });
}

function deleteTopic(name) {
  openAction(`Delete ${name}`, {
    where: () => path`topics/${name}/delete`, button: "Delete topic", isDanger: true, typedName: name,
    fields: [], body: () => ({}), done: () => go(["topics"]),
  });
}
