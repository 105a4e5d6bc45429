// A table that is sorted by its heads, walked by arrow keys, and kept in place while its rows change.
//
// columns: { name, number, get(row), cell(row) → node or text, title, only: shown only if a row has it }
// options: { label, key(row), open(row), empty, sort: [column name, descending] }
class Table {
  constructor(columns, options) {
    this.columns = columns;
    this.options = options;
    this.sort = options.sort || null;
    this.rows = new Map();
    this.head = make("tr");
    this.body = make("tbody");
    this.caption = make("caption", { class: "unseen" }, options.label);
    this.table = make("table", {}, this.caption, make("thead", {}, this.head), this.body);
    this.element = make("div", { class: "scroll" }, this.table);
    this.body.addEventListener("keydown", (event) => this.walk(event));
    this.body.addEventListener("click", (event) => {
      if (event.target.closest("a, button")) return;
      this.openRow(event.target.closest("tr"));
    });
    this.shown = "";
  }

  openRow(tr) {
    if (tr && tr.item && this.options.open) this.options.open(tr.item);
  }

  walk(event) {
    const tr = event.target.closest("tr");
    const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    let to = step ? tr[step] : null;
    if (event.key === "Home") to = this.body.firstElementChild;
    if (event.key === "End") to = this.body.lastElementChild;
    if (event.key === "Enter" && event.target === tr) this.openRow(tr);
    else if (!to) return;
    else this.focusRow(to);
    event.preventDefault();
  }

  focusRow(tr) {
    for (const other of this.body.children) if (other.tabIndex === 0) other.tabIndex = -1;
    tr.tabIndex = 0;
    tr.focus();
  }

  drawHead(columns) {
    const names = columns.map((column) => column.name).join() + JSON.stringify(this.sort);
    if (names === this.shown) return;
    const focused = this.head.contains(document.activeElement) ? document.activeElement.textContent : null;
    this.shown = names;
    this.head.replaceChildren(...columns.map((column) => {
      const sorted = this.sort && this.sort[0] === column.name;
      const order = sorted ? (this.sort[1] ? "descending" : "ascending") : null;
      const mark = sorted ? (this.sort[1] ? " ↓" : " ↑") : "";
      const inside = !column.get || !this.sort
        ? make("span", {}, column.name)
        : make("button", { type: "button", onclick: () => this.sortBy(column) }, column.name, make("span", { "aria-hidden": "true" }, mark));
      return make("th", { scope: "col", title: column.title, "aria-sort": order, class: column.number ? "number" : null }, inside);
    }));
    if (focused) {
      const bare = (text) => text.replace(/ [↓↑]$/, "");
      const again = [...this.head.querySelectorAll("button")].find((button) => bare(button.textContent) === bare(focused));
      if (again) again.focus();
    }
  }

  sortBy(column) {
    const same = this.sort[0] === column.name;
    this.sort = [column.name, same ? !this.sort[1] : Boolean(column.number)];
    if (this.options.sorted) this.options.sorted(this.sort);
    this.show(this.items);
  }

  show(items) {
    this.items = items;
    const columns = this.columns.filter((column) => !column.only || items.some((item) => known(column.get(item))));
    this.drawHead(columns);
    const by = this.sort && this.columns.find((column) => column.name === this.sort[0]);
    let sorted = items;
    if (by && by.get) {
      const sign = this.sort[1] ? -1 : 1;
      const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
      sorted = [...items].sort((x, y) => {
        const [a, b] = [by.get(x), by.get(y)];
        // What is not known is last, in both orders.
        if (!known(a) || !known(b)) return Number(known(b)) - Number(known(a));
        return sign * compare(a, b);
      });
    }
    const rows = new Map();
    const focus = this.body.contains(document.activeElement) ? document.activeElement : null;
    const wanted = sorted.map((item) => {
      const key = String(this.options.key(item));
      const tr = this.rows.get(key) || make("tr", { tabindex: -1, class: this.options.open ? "opens" : null });
      tr.item = item;
      tr.dataset.key = key;
      rows.set(key, tr);
      this.fill(tr, columns);
      return tr;
    });
    this.rows = rows;
    if (wanted.length === 0) {
      const cell = make("td", { colspan: Math.max(1, columns.length) }, this.options.empty || "Nothing here.");
      this.body.replaceChildren(make("tr", { class: "empty" }, cell));
      return;
    }
    // Moves only what has moved: the row that has the focus keeps it.
    wanted.forEach((tr, at) => {
      if (this.body.children[at] !== tr) this.body.insertBefore(tr, this.body.children[at] || null);
    });
    while (this.body.children.length > wanted.length) this.body.lastElementChild.remove();
    if (focus && focus !== document.activeElement && this.body.contains(focus)) focus.focus();
    if (!wanted.some((tr) => tr.tabIndex === 0)) wanted[0].tabIndex = 0;
  }

  fill(tr, columns) {
    while (tr.children.length > columns.length) tr.lastElementChild.remove();
    columns.forEach((column, at) => {
      const cell = tr.children[at] || tr.appendChild(make("td"));
      const wanted = column.number ? "number" : "";
      if (cell.className !== wanted) cell.className = wanted;
      const content = column.cell ? column.cell(tr.item) : column.get(tr.item);
      if (content instanceof Node) {
        if (!(cell.firstChild && cell.childNodes.length === 1 && cell.firstChild.isEqualNode(content))) cell.replaceChildren(content);
      } else {
        say(cell, known(content) ? String(content) : NONE);
      }
    });
  }
}
