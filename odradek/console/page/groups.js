"use strict";
// Groups of all types: the list, and one group with members, assignment, lag and rebalances.

async function groupsView(view) {
  const details = new Details("group-details", () => table.redraw());
  const of = (row, shown) => later(details.of(row.name), shown);
  const table = new Table([
    { name: "Group", width: "36%", cell: (row) => h("a", { href: href("groups", row.name), tabindex: "-1" }, row.name) },
    { name: "Type", cell: (row) => badge(row.type, "accent") },
    { name: "State", cell: (row) => row.state ? badge(row.state, stateKind(row.state)) : "–" },
    { name: "Members", isNumber: true, cell: (row) => of(row, (found) => grouped(found.members)) },
    { name: "Topics", isNumber: true, cell: (row) => of(row, (found) => grouped(found.topics)) },
    { name: "Lag", isNumber: true, cell: (row) => of(row, (found) => found.lag === null ? h("span", { class: "absent" }, "none") : grouped(found.lag)) },
  ], {
    label: "Groups", empty: "No group matches.", keyOf: (row) => row.name,
    onOpen: (row) => go(["groups", row.name]), onSight: (rows) => details.want(rows.map((row) => row.name)),
  });
  const search = searchBox("Search groups", view, () => show());
  const type = choice([["", "All types"], ...["classic", "consumer", "share", "streams"].map((one) => [one, one])], view.params.get("type") || "",
    { onchange: () => { view.set({ type: type.value }); show(); }, "aria-label": "Type" });
  const under = h("span", {}, "Loading…");
  let all = [];
  const show = () => {
    const rows = all.filter((row) => row.name.toLowerCase().includes(search.value.toLowerCase()) && (!type.value || row.type === type.value));
    table.show(rows);
    under.textContent = `${grouped(rows.length)} of ${plural(all.length, "group", "groups")}. Lag counts offsets to the high watermark.`;
    announce(under.textContent);
  };
  view.fill(pageTop("Groups", { under, actions: [refreshButton(view)] }), h("div", { class: "bar" }, search, type), table.element,
    asCommand("groups", ...session.facts.commandOptions, "--list", "--all-types"));
  all = (await ask("groups", {}, view.signal)).groups;
  show();
}

async function groupView(view) {
  const [name] = view.parts;
  const place = h("div", {}, "Loading…");
  const under = h("span", {});
  view.fill(pageTop(name, { under, crumbs: [h("a", { href: href("groups") }, "Groups"), " / "], actions: [refreshButton(view), changeButton("Reset offsets", () => resetOffsets(view, name))] }), place);
  const group = await ask(path`groups/${name}`, {}, view.signal);
  under.textContent = groupText(group);
  const slowest = group.partitions.reduce((most, one) => Math.max(most, one.seconds ?? 0), 0);
  const charts = h("div", { class: "columns" });
  const history = h("div", {});
  const members = new Table([
    { name: "Colour", width: "84px", cell: (row) => swatch(row.at) },
    { name: "Member", width: "34%", cell: (row) => row.instance ? [row.instance, " ", badge("static")] : row.id },
    { name: "Client", cell: (row) => row.client },
    { name: "Host", cell: (row) => row.host },
    { name: "Epoch", isNumber: true, width: "90px", cell: (row) => row.epoch ?? "–" },
    { name: "Partitions", isNumber: true, width: "110px", cell: (row) => [grouped(row.partitions), row.target !== null && row.target !== row.partitions ? [" ", badge(`→ ${row.target}`, "warn")] : null] },
  ], { label: "Members", isShort: true, empty: "No members.", keyOf: (row) => row.id });
  const partitions = new Table([
    { name: "Topic", width: "32%", cell: (row) => h("a", { href: href("topics", row.topic) }, row.topic) },
    { name: "Partition", isNumber: true, cell: (row) => row.partition },
    { name: group.type === "share" ? "Start" : "Committed", isNumber: true, cell: (row) => row.committed === null ? h("span", { class: "absent" }, "none") : grouped(row.committed) },
    { name: "End", isNumber: true, cell: (row) => grouped(row.end) },
    { name: "Lag", isNumber: true, cell: (row) => row.lag === null ? h("span", { class: "absent" }, "none") : grouped(row.lag) },
    { name: "Behind", isNumber: true, cell: (row) => lasted(row.seconds) },
    { name: "Member", cell: (row) => row.member === null ? h("span", { class: "absent" }, "none") : [swatch(row.member), " ", memberName(group, row.member)] },
  ], { label: "Lag by partition", isShort: true, empty: "No committed offsets and no assigned partitions.", keyOf: (row) => `${row.topic}-${row.partition}` });
  put(place,
    facts([["State", badge(group.state, stateKind(group.state))], ["Members", grouped(group.memberCount)], ["Partitions", grouped(group.partitions.length)],
      ["Lag", group.lag === null ? "none" : grouped(group.lag), group.lag === null ? "" : "offsets"], ["Furthest behind", group.lag === null ? "–" : lasted(slowest)]]),
    h("section", { class: "card" }, h("h2", {}, "Lag, last hour"), charts),
    h("section", { class: "card" }, h("h2", {}, "Assignment"), group.partitions.length ? assignmentPicture(group) : h("p", { class: "muted" }, "Nothing is assigned.")),
    h("h2", {}, "Members"), members.element, h("h2", {}, "Partitions"), partitions.element,
    h("section", { class: "card" }, h("h2", {}, "Rebalances"), history),
    asCommand(group.type === "share" ? "share-groups" : group.type === "streams" ? "streams-groups" : "groups", ...session.facts.commandOptions, "--describe", "--group", name));
  members.show(group.members.map((row, at) => ({ ...row, at })));
  partitions.show(group.partitions);
  await Promise.all([showLag(view, name, charts), showRebalances(view, name, history)]);
}

function groupText(group) {
  const epochs = group.groupEpoch === null ? "" : `epoch ${group.groupEpoch}${group.targetEpoch === group.groupEpoch ? "" : `, assignment of epoch ${group.targetEpoch}`}`;
  return [`${group.type} group`, group.assignor ? `assignor ${group.assignor}` : "", `coordinator ${group.coordinator}`, epochs].filter(Boolean).join(", ");
}

async function showLag(view, name, place) {
  try {
    const found = await ask(path`groups/${name}/lag`, {}, view.signal);
    const samples = found.samples.map((one) => ({ at: Number(one.time), records: Number(one.records), seconds: one.seconds }));
    const chart = (title, key, shown) => h("div", {}, h("h3", {}, title), lineChart(title, samples.map((one) => ({ at: one.at, value: one[key] })), shown));
    put(place, (samples.length
      ? [chart("In offsets", "records", (value) => grouped(Math.round(value))), chart("In seconds", "seconds", lasted)]
      : [h("p", { class: "muted" }, "This group has no committed offsets.")]));
  } catch (error) {
    if (error.name !== "AbortError") put(place, note(error.message));
  }
}

async function showRebalances(view, name, place) {
  await orReason(view, place, async () => {
    const all = (await ask("rebalances", { group: name }, view.signal)).rebalances;
    put(place, all.length ? h("ol", { class: "times" }, all.slice().reverse().map((one) => h("li", {},
      h("strong", {}, timed(one.time)), " ", h("span", { class: "muted" }, rebalanceText(one)), h("div", {}, one.reason)))) : h("p", { class: "muted" }, "None since this console was opened. The broker's log level must be INFO or lower."));
  });
}

function rebalanceText(one) {
  return [`generation ${one.generation}`, one.members === null ? "" : plural(one.members, "member", "members"),
    one.duration === null ? "not over" : `took ${lasted(one.duration)}`].filter(Boolean).join(", ");
}

function resetOffsets(view, name) {
  const topic = h("input", { class: "wide", required: true, autocomplete: "off" });
  const first = document.querySelector("table[aria-label='Lag by partition'] td a");
  topic.value = first ? first.textContent : "";
  const to = choice([["earliest", "the start"], ["latest", "the end"], ["offset", "an offset"], ["shift", "from here by"], ["time", "a time"]], "earliest");
  const amount = h("input", { inputmode: "numeric", value: "0", size: 12 });
  const time = h("input", { type: "datetime-local", step: "0.001" });
  const partitions = h("input", { placeholder: "all", size: 12 });
  const amountField = field("Offset, or number of offsets", amount);
  const timeField = field(`Time (${zone.name})`, time);
  const follow = () => {
    amountField.hidden = !["offset", "shift"].includes(to.value);
    timeField.hidden = to.value !== "time";
  };
  to.addEventListener("change", follow);
  follow();
  openAction(`Reset the offsets of ${name}`, {
    where: () => path`groups/${name}/offsets`, button: "Reset offsets", isDanger: true,
    fields: [field("Topic", topic), field("Partitions", partitions), field("To", to), amountField, timeField],
    body: () => ({ topic: topic.value, to: to.value, partitions: partitions.value.split(/[ ,]+/).filter(Boolean), amount: to.value === "time" ? String(pickedTime(time.value) ?? 0) : amount.value || "0" }),
    done: () => view.again(),
  });
}
