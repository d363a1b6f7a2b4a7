"use strict";
// A table of any number of rows that draws only those in sight. Rows keep their order and their place: values that come
// later fill cells, and never move a row.

const ROW_HEIGHT = 38;
const SPARE_ROWS = 8;

class Table {
  // columns: {name, width, isNumber, cell(row)}; options: label, onOpen(row), onSight(rows), keyOf(row), isShort.
  constructor(columns, options) {
    this.columns = columns;
    this.options = options;
    this.rows = [];
    this.active = 0;
    this.first = this.last = -1;
    this.body = h("tbody", {});
    this.table = h("table", { "aria-label": options.label },
      h("colgroup", {}, columns.map((column) => h("col", { style: { width: column.width || "auto" } }))),
      h("thead", {}, h("tr", {}, columns.map((column) =>
        h("th", { scope: "col", class: column.isNumber ? "number" : null }, column.name)))),
      this.body);
    this.scroll = h("div", { class: `scroll ${options.isShort ? "short" : ""}`, onscroll: () => this.draw() }, this.table);
    this.emptyText = h("div", { class: "empty" }, options.empty || "Nothing here.");
    this.element = h("div", { class: "card flush" }, this.scroll, this.emptyText);
    this.table.addEventListener("keydown", (event) => this.onKey(event));
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.scroll);
    this.timer = 0;
  }

  show(rows) {
    this.rows = rows;
    this.active = Math.min(this.active, Math.max(0, rows.length - 1));
    this.table.setAttribute("aria-rowcount", String(rows.length + 1));
    this.scroll.hidden = rows.length === 0;
    this.emptyText.hidden = rows.length !== 0;
    this.redraw();
  }

  redraw() {
    this.first = -1;
    this.draw();
  }

  draw() {
    const height = this.scroll.clientHeight || 600;
    const first = Math.max(0, Math.floor(this.scroll.scrollTop / ROW_HEIGHT) - SPARE_ROWS);
    const last = Math.min(this.rows.length, Math.ceil((this.scroll.scrollTop + height) / ROW_HEIGHT) + SPARE_ROWS);
    if (first === this.first && last === this.last) return;
    const focused = this.body.contains(document.activeElement) ? this.active : -1;
    this.first = first;
    this.last = last;
    const drawn = [];
    for (let at = first; at < last; at++) drawn.push(this.rowElement(at));
    put(this.body, this.space(first), ...drawn, this.space(this.rows.length - last));
    if (focused >= first && focused < last) drawn[focused - first].focus({ preventScroll: true });
    clearTimeout(this.timer);
    if (this.options.onSight) this.timer = setTimeout(() => this.look(), 60);
  }

  async look() {
    try {
      await this.options.onSight(this.rows.slice(this.first, this.last));
    } catch (error) {
      if (error.name !== "AbortError") announce(error.message);
    }
  }

  space(count) {
    const row = h("tr", { class: "space", "aria-hidden": "true" }, h("td", { colspan: this.columns.length }));
    row.firstChild.style.height = `${Math.max(0, count) * ROW_HEIGHT}px`;
    return row;
  }

  rowElement(at) {
    const row = this.rows[at];
    const canOpen = Boolean(this.options.onOpen);
    return h("tr", {
      "aria-rowindex": at + 2,
      "data-key": this.options.keyOf ? this.options.keyOf(row) : at,
      class: this.options.isChosen && this.options.isChosen(row) ? "chosen" : null,
      tabindex: canOpen ? (at === this.active ? 0 : -1) : null,
      onclick: canOpen ? (event) => {
        if (event.target.closest("a, button") || String(getSelection())) return;
        this.active = at;
        this.options.onOpen(row);
      } : null,
      onfocus: () => { this.active = at; },
    }, this.columns.map((column) => h("td", { class: column.isNumber ? "number" : null }, column.cell(row))));
  }

  onKey(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity };
    if (event.target.tagName !== "TR") return;
    if (event.key === "Enter") {
      event.preventDefault();
      this.options.onOpen(this.rows[this.active]);
    } else if (event.key in steps) {
      event.preventDefault();
      this.focusRow(Math.max(0, Math.min(this.rows.length - 1, this.active + steps[event.key])));
    }
  }

  focusRow(at) {
    this.active = at;
    const top = at * ROW_HEIGHT;
    const room = this.scroll.clientHeight - 2 * ROW_HEIGHT;
    if (top < this.scroll.scrollTop) this.scroll.scrollTop = top;
    else if (top > this.scroll.scrollTop + room) this.scroll.scrollTop = top - room;
    this.redraw();
    const row = this.body.querySelector(`tr[aria-rowindex="${at + 2}"]`);
    if (row) row.focus({ preventScroll: true });
  }
}

// Asks for the details of rows in sight, each once until `forget`. `where` answers an object by name.
class Details {
  constructor(where, onNew) {
    Object.assign(this, { where, onNew, known: new Map(), asked: new Set() });
  }

  of(name) {
    return this.known.get(name);
  }

  async want(names) {
    const missing = names.filter((name) => !this.asked.has(name)).slice(0, 50);
    if (!missing.length) return;
    missing.forEach((name) => this.asked.add(name));
    try {
      const found = await ask(this.where, { names: missing });
      missing.forEach((name) => this.known.set(name, found[name] || null));
    } catch (error) {
      missing.forEach((name) => this.known.set(name, null));
      announce(error.message);
    }
    this.onNew();
    if (names.some((name) => !this.asked.has(name))) await this.want(names);
  }
}

// What a cell shows of details that may not be there yet.
function later(found, shown) {
  return found === undefined ? h("span", { class: "muted" }, "…") : found === null ? "–" : shown(found);
}
