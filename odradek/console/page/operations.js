"use strict";
// Transactions, connections, storage, the cluster and the broker's log.

async function transactionsView(view) {
  const details = new Details("transaction-details", () => table.redraw());
  const of = (row, shown) => later(details.of(row.name), shown);
  const table = new Table([
    { name: "Transactional id", width: "28%", cell: (row) => row.name },
    { name: "State", cell: (row) => badge(row.state, stateKind(row.state)) },
    { name: "Producer id", isNumber: true, cell: (row) => row.producerId },
    { name: "Epoch", isNumber: true, cell: (row) => of(row, (found) => found.producerEpoch) },
    { name: "Open for", isNumber: true, cell: (row) => of(row, (found) => found.openSeconds === null ? "–" : lasted(found.openSeconds)) },
    { name: "Timeout", isNumber: true, cell: (row) => of(row, (found) => span(found.timeoutMs)) },
    { name: "Partitions", isNumber: true, cell: (row) => of(row, (found) => grouped(found.partitionCount)) },
    { name: "Coordinator", isNumber: true, cell: (row) => row.coordinator },
  ], { label: "Transactions", empty: "No transactional ids.", keyOf: (row) => row.name,
    onSight: (rows) => details.want(rows.map((row) => row.name)), onOpen: (row) => openTransaction(row, details.of(row.name)) });
  const search = searchBox("Search transactional ids", view, () => show());
  let all = [];
  const show = () => table.show(all.filter((row) => row.name.toLowerCase().includes(search.value.toLowerCase())));
  view.fill(pageTop("Transactions", { under: "Transactional ids of all coordinators. The producers of a partition are on its page.", actions: [refreshButton(view)] }),
    h("div", { class: "bar" }, search), table.element, asCommand("transactions", ...session.facts.commandOptions, "list"));
  all = (await ask("transactions", {}, view.signal)).transactions;
  show();
}

function openTransaction(row, found) {
  openDialog(row.name, [pairs([["State", row.state], ["Producer id", row.producerId], ["Coordinator", String(row.coordinator)],
    ["Open since", found && found.startTime ? timed(found.startTime) : "not open"]]),
  h("h3", {}, "Partitions"), found && found.partitions.length ? h("ul", { class: "lines" }, found.partitions.map((one) => h("li", {}, one))) : h("p", { class: "muted" }, "None."),
  asCommand("transactions", ...session.facts.commandOptions, "describe", "--transactional-id", row.name)]);
}

async function connectionsView(view) {
  const table = new Table([
    { name: "Client library", width: "26%", cell: (row) => row.library || h("span", { class: "absent" }, "not named") },
    { name: "Version", cell: (row) => row.version || "–" },
    { name: "Listener", cell: (row) => row.listener },
    { name: "User", width: "22%", cell: (row) => row.user },
    { name: "Connections", isNumber: true, cell: (row) => grouped(row.connections) },
    { name: "Idle", isNumber: true, cell: (row) => lasted(row.idle) },
  ], { label: "Connections by client library", empty: "No connections." });
  const place = h("div", {}, "Loading…");
  view.fill(pageTop("Connections", { under: "Open connections to this broker, by the library that the client names.", actions: [refreshButton(view)] }), place);
  await orReason(view, place, async () => {
    const found = await ask("connections", {}, view.signal);
    put(place, found.others ? note(`${grouped(found.others)} of ${grouped(found.total)} connections are not in these rows: there are too many kinds.`) : null, table.element);
    table.show(found.connections);
  });
}

const NO_INSIGHTS = "Kafka's protocol does not tell this. A broker of Odradek that serves its own console (odradek serve --console) shows it.";

// Shows why a part is missing in place of the part.
async function orReason(view, place, shown) {
  if (!session.facts.hasInsights) return put(place, note(NO_INSIGHTS));
  try {
    await shown();
  } catch (error) {
    if (![403, 404].includes(error.status)) throw error;
    put(place, note(error.message));
  }
}

async function storageView(view) {
  const place = h("div", {}, "Loading…");
  view.fill(pageTop("Storage", { under: "Log directories, and their largest replicas. A partition's page has the headers of its batches.", actions: [refreshButton(view)] }),
    place, asCommand("log-dirs", ...session.facts.commandOptions, "--describe"));
  const found = await ask("storage", {}, view.signal);
  put(place, ...found.directories.map((directory) => {
    const title = h("h2", {}, `Broker ${directory.broker}: `, h("span", { class: "mono" }, directory.path || "unknown"));
    if (directory.error) return h("section", { class: "card" }, title, note(directory.error, "bad"));
    const hasSize = Number(directory.total) > 0;
    const taken = hasSize ? 100 - Number(directory.usable) / Number(directory.total) * 100 : 0;
    const table = new Table([
      { name: "Topic", width: "45%", cell: (row) => h("a", { href: href("topics", row.topic, "partitions", row.partition), tabindex: "-1" }, row.topic) },
      { name: "Partition", isNumber: true, cell: (row) => row.partition },
      { name: "Size", isNumber: true, cell: (row) => sized(row.size) },
      { name: "State", cell: (row) => row.isFuture ? badge("moving here", "warn") : row.offsetLag === "0" ? "" : badge(`${grouped(row.offsetLag)} offsets behind`, "warn") },
    ], { label: `Replicas on broker ${directory.broker}`, isShort: true, keyOf: (row) => `${row.topic}-${row.partition}`, onOpen: (row) => go(["topics", row.topic, "partitions", row.partition]) });
    table.show(directory.largest);
    return h("section", {}, h("div", { class: "card" }, title,
      pairs([["Replicas", `${grouped(directory.replicas)}, ${sized(directory.used)}`], hasSize ? ["Volume", `${sized(directory.usable)} free of ${sized(directory.total)}`] : ["Volume", "the broker does not say"]]),
      hasSize ? h("span", { class: "meter", role: "meter", "aria-label": "Volume in use", "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": Math.round(taken) }, h("i", { style: { width: `${taken}%` } })) : null), table.element);
  }));
}

async function clusterView(view) {
  const under = h("span", {}, "Brokers, leaders, replicas and who is in sync.");
  const place = h("div", {}, "Loading…");
  view.fill(pageTop("Cluster", { under, actions: [refreshButton(view)] }), place,
    asCommand("topics", ...session.facts.commandOptions, "--describe", "--under-replicated-partitions"));
  const found = await ask("cluster", {}, view.signal);
  const brokers = new Table([
    { name: "Broker", isNumber: true, width: "90px", cell: (row) => row.id },
    { name: "Address", width: "30%", cell: (row) => row.address },
    { name: "Rack", cell: (row) => row.rack || "–" },
    { name: "Leads", isNumber: true, cell: (row) => grouped(row.leads) },
    { name: "Replicas", isNumber: true, cell: (row) => grouped(row.replicas) },
    { name: "Role", cell: (row) => row.id === found.controller ? badge("controller", "accent") : "" },
  ], { label: "Brokers", isShort: true });
  const lagging = new Table([
    { name: "Topic", width: "40%", cell: (row) => h("a", { href: href("topics", row.topic, "partitions"), tabindex: "-1" }, row.topic) },
    { name: "Partition", isNumber: true, cell: (row) => row.partition },
    { name: "Leader", isNumber: true, cell: (row) => row.leader < 0 ? badge("none", "bad") : row.leader },
    { name: "Replicas", cell: (row) => row.replicas.join(", ") },
    { name: "In sync", cell: (row) => row.isr.join(", ") },
  ], { label: "Partitions that miss replicas", isShort: true, empty: "All replicas of all partitions are in sync.", keyOf: (row) => `${row.topic}-${row.partition}` });
  under.textContent = `Id ${found.clusterId}`;
  put(place,
    facts([["Brokers", String(found.brokers.length)], ["Topics", grouped(found.topics)], ["Partitions", grouped(found.partitions)],
      ["Miss replicas", found.laggingCount ? badge(grouped(found.laggingCount), "bad") : "0"]]),
    h("h2", {}, "Brokers"), brokers.element, h("h2", {}, "Partitions that miss replicas or a leader"), lagging.element,
    h("div", { class: "columns" },
      h("section", { class: "card" }, h("h2", {}, "Controllers"), found.quorum ? pairs([["Leader", `${found.quorum.leader}, epoch ${found.quorum.epoch}`], ["High watermark", grouped(found.quorum.highWatermark)],
        ["Voters", found.quorum.voters.map((one) => `${one.id} at ${grouped(one.end)}`).join("; ")], ["Observers", found.quorum.observers.map((one) => `${one.id} at ${grouped(one.end)}`).join("; ") || "none"]])
        : h("p", { class: "muted" }, "This cluster, or this user's rights, do not show its controllers.")),
      h("section", { class: "card" }, h("h2", {}, "Features"), pairs(found.features.map((one) => [one.name, `level ${one.level}, can be ${one.supported[0]} to ${one.supported[1]}`])))));
  brokers.show(found.brokers);
  lagging.show(found.lagging);
}

const LEVELS = { error: "bad", critical: "bad", warning: "warn" };
const MOST_LINES = 2000;

async function logView(view) {
  const place = h("div", { class: "log", tabindex: "0", role: "log", "aria-label": "Lines of the broker's log" });
  const search = searchBox("Search the log", view, () => show());
  const least = choice([["", "All levels"], ["warning", "Warnings and errors"]], view.params.get("level") || "", { "aria-label": "Level", onchange: () => { view.set({ level: least.value }); show(); } });
  const state = h("span", {}, "Loading…");
  let all = [];
  const show = () => {
    const wanted = search.value.toLowerCase();
    const atEnd = place.scrollTop + place.clientHeight >= place.scrollHeight - 30;
    put(place, ...all.filter((one) => (!least.value || LEVELS[one.level.toLowerCase()]) && `${one.logger} ${one.message}`.toLowerCase().includes(wanted)).map((one) =>
      h("div", {}, one.leftOut ? h("div", { class: "muted" }, `${plural(one.leftOut, "line", "lines")} left out here: there were too many a second`) : null, h("span", { class: "muted" }, timed(one.time)), " ", badge(one.level.toLowerCase(), LEVELS[one.level.toLowerCase()]), " ", h("span", { class: "muted" }, one.logger), " ", one.message)));
    if (atEnd) place.scrollTop = place.scrollHeight;
  };
  const box = h("div", { class: "card flush" }, place);
  view.fill(pageTop("Log", { under: state }), h("div", { class: "bar" }, search, least), box);
  if (!session.facts.hasInsights) {
    state.textContent = "";
    return put(box, h("div", { class: "empty" }, NO_INSIGHTS));
  }
  const stream = new Stream("log", { lines: 500 }, (found) => {
    state.textContent = `The broker's last lines, from level ${found.level} on. New ones come by themselves.`;
    if (!found.lines.length) return;
    all = [...all, ...found.lines].slice(-MOST_LINES);
    show();
  }, (error) => {
    state.textContent = "";
    put(box, h("div", { class: "empty" }, error ? error.message : "The log has ended."));
  });
  view.onLeave(() => stream.stop());
}
