"use strict";
// Draws what is long: the map of partitions and the tables of all rows, from the JSON in #data. No request is made.
(function () {
  const PAGE_ROWS = 200;
  const SEVERITIES = ["info", "warning", "error"];
  const data = JSON.parse(document.getElementById("data").textContent);
  const BYTES = new Set(["size", "decoded_size", "dirty_bytes"]);
  const TIMES = new Set(["min_timestamp", "max_timestamp", "commit_timestamp"]);

  function valueAt(column, row) {
    return Array.isArray(column) ? column[row] : column.values[column.indices[row]];
  }

  function rowCount(table) {
    const first = Object.values(table.columns)[0];
    return Array.isArray(first) ? first.length : first.indices.length;
  }

  function bytesText(size) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = 0;
    while (size >= 1024 && unit < units.length - 1) { size /= 1024; unit += 1; }
    return (unit === 0 || size >= 100 ? size.toFixed(0) : size.toFixed(1)) + " " + units[unit];
  }

  function shown(name, value) {
    if (value === null || (Number(value) === -1 && name !== "partition")) { return ""; }
    if (name === "severity" && typeof value === "number") { return SEVERITIES[value]; }
    if (BYTES.has(name)) { return bytesText(Number(value)); }
    if (TIMES.has(name)) { return new Date(Number(value)).toISOString().replace(".000Z", "Z"); }
    if (name === "lag_ms") { return (Number(value) / 1000).toFixed(0) + " s"; }
    return String(value);
  }

  function quoted(word) {
    return /^[\w@%+=:,.\/-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\"'\"'") + "'";
  }

  // The command that shows the bytes of a finding, and the one that mends it (commands.py), as a part that opens.
  function commandsOf(columns, row) {
    const file = valueAt(columns.file, row), position = Number(valueAt(columns.position, row));
    const inside = (place) => file === place || file.startsWith(place.replace(/\/+$/, "") + "/");
    const values = {
      DIR: data.directories.find(inside) || ".", TOPIC: valueAt(columns.topic, row), FILE: file, POSITION: String(position),
    };
    const templates = [showing(file, position), data.commands[valueAt(columns.name, row)]].filter(Boolean);
    if (!templates.length) { return []; }
    const details = document.createElement("details");
    details.className = "commands";
    const summary = document.createElement("summary");
    summary.textContent = "commands";
    details.append(summary, ...templates.map((template) => {
      const line = document.createElement("code");
      line.textContent = template.split(" ").map((word) => word in values ? quoted(values[word]) : word).join(" ");
      return line;
    }));
    return [details];
  }

  // As showing() in commands.py.
  function showing(file, position) {
    const name = file.slice(file.lastIndexOf("/") + 1);
    if (!name.includes(".") && !name.includes("-checkpoint")) { return ""; }
    if (position >= 0) { return "od -A d -t x1 -j POSITION -N 256 FILE"; }
    if (/(-checkpoint|\.properties|\.metadata)$/.test(name)) { return "cat FILE"; }
    return /\.(log|index|timeindex|txnindex|snapshot)$/.test(name) ? "odradek dump-log --bytes --files FILE" : "";
  }

  class LongTable {
    constructor(root) {
      this.root = root;
      this.table = data[root.dataset.table];
      this.names = Object.keys(this.table.columns);
      this.total = rowCount(this.table);
      this.sorted = null;
      this.limit = PAGE_ROWS;
      this.search = root.querySelector("input");
      this.search.addEventListener("input", () => { this.limit = PAGE_ROWS; this.draw(); });
      this.more = root.querySelector(".more");
      this.more.addEventListener("click", () => { this.limit += PAGE_ROWS; this.draw(); });
      this.texts = null;
      this.links = { findings: "all-partitions", groups: "all-partitions", partitions: "all-findings" }[root.dataset.table];
      this.drawHead();
      this.draw();
    }

    // The partition of a finding, the findings of a partition.
    link(row) {
      const topic = valueAt(this.table.columns.topic, row), partition = valueAt(this.table.columns.partition, row);
      const link = document.createElement("a");
      link.href = "#" + this.links + "=" + encodeURIComponent(topic) + "/" + partition;
      link.textContent = topic;
      return link;
    }

    // Shows only the rows of a partition (of a topic without one), and puts the focus there.
    only(topic, partition) {
      this.search.value = partition === null ? "topic=" + topic : "topic=" + topic + " partition=" + partition;
      this.limit = PAGE_ROWS;
      this.draw();
      this.root.closest("section").scrollIntoView();
      this.search.focus({ preventScroll: true });
    }

    drawHead() {
      const line = document.createElement("tr");
      this.heads = this.names.map((name) => {
        const head = document.createElement("th");
        head.scope = "col";
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = name.replaceAll("_", " ");
        button.addEventListener("click", () => this.sort(name));
        head.append(button);
        line.append(head);
        return head;
      });
      this.root.querySelector("thead").append(line);
    }

    sort(name) {
      const isRising = this.sorted !== null && this.sorted.name === name && !this.sorted.isRising;
      this.sorted = { name, isRising };
      this.heads.forEach((head, index) => {
        const how = this.names[index] !== name ? "none" : isRising ? "ascending" : "descending";
        head.setAttribute("aria-sort", how);
      });
      this.draw();
    }

    text(row) {
      return this.names.map((name) => {
        const value = valueAt(this.table.columns[name], row);
        return name === "severity" ? shown(name, value) : value;
      }).join("\t").toLowerCase();
    }

    rows() {
      let rows = Array.from({ length: this.total }, (_, row) => row);
      const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
      if (words.length) {
        const exact = words.map((word) => word.match(/^(topic|partition)=(.*)$/)).filter(Boolean);
        const loose = words.filter((word) => !/^(topic|partition)=/.test(word));
        for (const [, name, text] of exact) {
          const column = this.table.columns[name];
          rows = rows.filter((row) => String(valueAt(column, row)).toLowerCase() === text);
        }
        if (loose.length) {
          this.texts = this.texts || Array.from({ length: this.total }, (_, row) => this.text(row));
          rows = rows.filter((row) => loose.every((word) => this.texts[row].includes(word)));
        }
      }
      if (this.sorted !== null) {
        const column = this.table.columns[this.sorted.name];
        const direction = this.sorted.isRising ? 1 : -1;
        const compare = Array.isArray(column)
          ? (a, b) => Number(column[a]) - Number(column[b])
          : (a, b) => (valueAt(column, a) < valueAt(column, b) ? -1 : valueAt(column, a) > valueAt(column, b) ? 1 : 0);
        rows.sort((a, b) => direction * compare(a, b) || a - b);
      }
      return rows;
    }

    draw() {
      const rows = this.rows();
      const body = document.createDocumentFragment();
      for (const row of rows.slice(0, this.limit)) {
        const line = document.createElement("tr");
        for (const name of this.names) {
          const column = this.table.columns[name];
          const value = valueAt(column, row);
          const cell = document.createElement("td");
          if (name === "severity") {
            const kind = shown(name, value).toLowerCase();
            cell.innerHTML = kind ? '<span class="mark ' + kind + '"></span>' : "";
            if (kind) { cell.firstChild.textContent = kind; }
          } else if (name === "topic" && value && this.links) {
            cell.append(this.link(row));
          } else {
            cell.textContent = shown(name, value);
            if (name === "file") { cell.append(...commandsOf(this.table.columns, row)); }
            if (Array.isArray(column)) { cell.className = "number"; cell.title = String(value); }
          }
          line.append(cell);
        }
        body.append(line);
      }
      this.root.querySelector("tbody").replaceChildren(body);
      const inAll = this.table.total > this.total ? ", of " + this.table.total + " in the tables beside this page" : "";
      const visible = Math.min(rows.length, this.limit);
      this.root.querySelector(".count").textContent = visible + " of " + rows.length + " shown" + inAll;
      this.more.hidden = rows.length <= this.limit;
    }
  }

  class PartitionMap {
    constructor(canvas, table) {
      this.canvas = canvas;
      this.columns = data.partitions.columns;
      this.total = rowCount(data.partitions);
      this.readout = document.getElementById("map-readout");
      this.table = table;
      canvas.addEventListener("mousemove", (event) => this.tell(this.rowAt(event)));
      canvas.addEventListener("click", (event) => this.choose(this.rowAt(event)));
      canvas.addEventListener("keydown", (event) => this.press(event));
      canvas.addEventListener("blur", () => this.mark(-1));
      this.at = -1;
      addEventListener("resize", () => this.draw());
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
      this.draw();
    }

    draw() {
      const width = this.canvas.clientWidth || 960;
      this.cell = Math.max(5, Math.min(22, Math.floor(Math.sqrt((width * 420) / Math.max(this.total, 1)))));
      this.across = Math.max(1, Math.floor(width / this.cell));
      const height = Math.ceil(this.total / this.across) * this.cell;
      const scale = devicePixelRatio || 1;
      this.canvas.width = width * scale;
      this.canvas.height = height * scale;
      this.canvas.style.height = height + "px";
      const context = this.canvas.getContext("2d");
      if (context === null) { return; }
      context.scale(scale, scale);
      const style = getComputedStyle(document.documentElement);
      const colours = SEVERITIES.map((name) => style.getPropertyValue("--" + name));
      const fine = style.getPropertyValue("--fine");
      const side = this.cell - 1;
      // One path for each severity: 50,000 single squares would take most of the time in which the page opens.
      for (const severity of [-1, 0, 1, 2]) {
        const path = new Path2D();
        for (let row = 0; row < this.total; row += 1) {
          if (this.columns.severity[row] === severity) {
            this.addCell(path, (row % this.across) * this.cell, Math.floor(row / this.across) * this.cell, side, severity);
          }
        }
        context.globalAlpha = severity < 0 ? 0.6 : 1;
        context.fillStyle = context.strokeStyle = severity < 0 ? fine : colours[severity];
        if (severity < 0) { context.stroke(path); } else { context.fill(path); }
      }
      if (this.at >= 0) {
        context.globalAlpha = 1;
        context.strokeStyle = style.getPropertyValue("--ink");
        context.lineWidth = 2;
        context.strokeRect((this.at % this.across) * this.cell, Math.floor(this.at / this.across) * this.cell, this.cell, this.cell);
      }
    }

    // The square that the keys have reached.
    mark(row) {
      this.at = row;
      this.draw();
      this.tell(row);
    }

    press(event) {
      const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.across, ArrowUp: -this.across };
      if (event.key in steps) {
        const row = this.at < 0 ? 0 : this.at + steps[event.key];
        if (row >= 0 && row < this.total) { this.mark(row); }
      } else if (event.key === "Enter" && this.at >= 0) {
        this.choose(this.at);
      } else {
        return;
      }
      event.preventDefault();
    }

    // Shapes differ as well as colours: errors fill the square, warnings half of it, notes its middle, nothing its edge.
    addCell(path, x, y, side, severity) {
      if (SEVERITIES[severity] === "warning") {
        path.moveTo(x, y);
        path.lineTo(x, y + side);
        path.lineTo(x + side, y + side);
        path.closePath();
      } else if (SEVERITIES[severity] === "info") {
        path.rect(x + side / 4, y + side / 4, side / 2, side / 2);
      } else if (SEVERITIES[severity] === "error") {
        path.rect(x, y, side, side);
      } else {
        path.rect(x + 0.5, y + 0.5, side - 1, side - 1);
      }
    }

    rowAt(event) {
      const box = this.canvas.getBoundingClientRect();
      const column = Math.floor((event.clientX - box.left) / this.cell);
      const row = Math.floor((event.clientY - box.top) / this.cell) * this.across + column;
      return column < this.across && row >= 0 && row < this.total ? row : -1;
    }

    name(row) {
      return valueAt(this.columns.topic, row) + "-" + this.columns.partition[row];
    }

    tell(row) {
      if (row < 0) { this.readout.textContent = "\u00a0"; return; }
      const count = this.columns.findings[row];
      const size = bytesText(Number(this.columns.size[row]));
      this.readout.textContent = this.name(row) + " in " + valueAt(this.columns.directory, row) + ": " +
        (count ? count + " findings" : "nothing wrong") + ", " + this.columns.records[row] + " records, " + size;
    }

    choose(row) {
      if (row < 0) { return; }
      this.table.only(valueAt(this.columns.topic, row), this.columns.partition[row]);
    }
  }

  const tables = {};
  for (const root of document.querySelectorAll(".long")) { tables[root.dataset.table] = new LongTable(root); }
  const canvas = document.getElementById("map");
  if (canvas !== null) { new PartitionMap(canvas, tables.partitions); }

  // Links of the tables: #all-partitions=orders/3.
  function follow() {
    const found = location.hash.match(/^#all-(findings|partitions)=(.*)\/(-?\d+)$/);
    if (found !== null) { tables[found[1]].only(decodeURIComponent(found[2]), Number(found[3])); }
  }
  addEventListener("hashchange", follow);
  follow();
})();
