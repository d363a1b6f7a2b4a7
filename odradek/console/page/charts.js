"use strict";
// Pictures made of SVG elements: lag over time, and who owns which partition.

const HUES = [174, 28, 262, 205, 330, 95, 48, 0, 230, 140];

function colour(number) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const ring = Math.floor(number / HUES.length) % 4;
  return `hsl(${HUES[number % HUES.length]} ${dark ? 45 : 50}% ${(dark ? 58 : 46) + (dark ? -7 : 8) * ring}%)`;
}

// samples: {at, value}; the values are numbers, or null where unknown.
function lineChart(title, samples, shown) {
  const [width, height, left, bottom] = [560, 150, 64, 20];
  const known = samples.filter((one) => one.value !== null);
  if (!known.length) return h("p", { class: "muted" }, "No sample has this yet.");
  const start = samples[0].at;
  const end = Math.max(samples[samples.length - 1].at, start + 60000);
  const top = Math.max(...known.map((one) => one.value), 2);
  const x = (at) => left + (at - start) / (end - start) * (width - left - 8);
  const y = (value) => 8 + (1 - value / top) * (height - bottom - 12);
  const points = known.map((one) => `${x(one.at).toFixed(1)},${y(one.value).toFixed(1)}`);
  const last = known[known.length - 1];
  return svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${title}: ${shown(last.value)} now, at most ${shown(Math.max(...known.map((one) => one.value)))}, ${known.length} samples` },
  [0, top / 2, top].map((value) => [
    svg("line", { class: "grid", x1: left, x2: width - 8, y1: y(value), y2: y(value) }),
    svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, shown(value))]),
  svg("polygon", { class: "area", points: `${x(known[0].at)},${y(0)} ${points.join(" ")} ${x(last.at)},${y(0)}` }),
  svg("polyline", { class: "line", points: points.join(" ") }),
  svg("circle", { cx: x(last.at), cy: y(last.value), r: 3.5, fill: "var(--accent)" }),
  svg("text", { x: left, y: height - 4 }, timed(start).slice(11, 19)),
  svg("text", { x: width - 8, y: height - 4, "text-anchor": "end" }, timed(end).slice(11, 19)));
}

const CELL = 15;
const MOST_CELLS = 10000;

// One row of squares for each topic, a square for each partition, in the colour of its member.
function assignmentPicture(group) {
  const byTopic = new Map();
  for (const part of group.partitions.slice(0, MOST_CELLS)) {
    if (!byTopic.has(part.topic)) byTopic.set(part.topic, []);
    byTopic.get(part.topic).push(part);
  }
  const across = 50;
  const drawn = [];
  let y = 0;
  for (const [topic, parts] of byTopic) {
    drawn.push(svg("text", { x: 0, y: y + 12 }, `${topic} (${parts.length})`));
    y += 18;
    parts.forEach((part, at) => drawn.push(svg("rect", {
      class: part.member === null ? "cell unowned" : "cell", width: CELL, height: CELL, rx: 3,
      x: (at % across) * CELL, y: y + Math.floor(at / across) * CELL,
      fill: part.member === null ? null : colour(part.member),
    }, svg("title", {}, `${topic}-${part.partition}: ${part.member === null ? "no member" : memberName(group, part.member)}, lag ${part.lag === null ? "unknown" : grouped(part.lag)}`))));
    y += Math.ceil(parts.length / across) * CELL + 10;
  }
  const owners = group.partitions.filter((part) => part.member !== null).map((part) => part.member);
  return h("div", { class: "picture", tabindex: "0", role: "group", "aria-label": "Assignment" }, svg("svg", {
    viewBox: `0 0 ${across * CELL} ${Math.max(y, 20)}`, width: across * CELL, height: Math.max(y, 20), role: "img",
    "aria-label": `${owners.length} of ${plural(group.partitions.length, "partition", "partitions")} are assigned, to ${new Set(owners).size} of ${plural(group.memberCount, "member", "members")}`,
  }, drawn));
}

function memberName(group, number) {
  const member = group.members[number];
  return member ? member.instance || member.client || member.id : `member ${number}`;
}

function swatch(number) {
  return svg("svg", { width: 12, height: 12, "aria-hidden": "true" }, svg("rect", { width: 12, height: 12, rx: 3, fill: colour(number) }));
}
