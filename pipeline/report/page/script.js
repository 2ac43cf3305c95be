"use strict";
// Filter and sort the sessions. The page is whole without this; it only hides and reorders rows that are there.
(() => {
  const table = document.getElementById("session-table");
  const form = document.getElementById("filter");
  if (!table || !form) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const heads = Array.from(table.tHead.rows[0].cells);
  const field = (id) => document.getElementById("f-" + id);
  const text = field("text"), service = field("service"), criterion = field("criterion");
  const verdict = field("verdict"), grade = field("grade"), order = field("sort"), count = field("count");
  const rank = ["not_met", "unclear", "ungraded", "met", "not_applicable"];
  const plain = (cell) => cell.textContent.replace(/\s+/g, " ").trim();
  const facts = rows.map((row) => ({
    row,
    text: row.textContent.toLowerCase().replace(/\s+/g, " "),
    service: plain(row.cells[1]),
    undecided: row.dataset.undecided === "1",
    verdicts: Array.from(row.querySelectorAll("td[data-c]"), (c) => c.dataset.v),
    passed: row.querySelector("td[data-grade=passed]").dataset.v,
    safe: row.querySelector("td[data-grade=safe]").dataset.v,
  }));

  const matches = (f) => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.every((w) => f.text.includes(w))) return false;
    if (service.value !== "" && f.service !== plain(service.selectedOptions[0]).replace(/^\(no service\)$/, "–")) return false;
    if (verdict.value !== "" || criterion.value !== "") {
      const asked = criterion.value === "" ? f.verdicts : [f.verdicts[Number(criterion.value)]];
      if (verdict.value !== "" && !asked.includes(verdict.value)) return false;
      if (verdict.value === "" && !asked[0]) return false;
    }
    if (grade.value === "undecided") return f.undecided;
    if (grade.value !== "") {
      const [which, wanted] = grade.value.split(":");
      return f[which] === wanted;
    }
    return true;
  };

  const filter = () => {
    let shown = 0;
    for (const f of facts) {
      f.row.hidden = !matches(f);
      if (!f.row.hidden) shown++;
    }
    count.textContent = shown + " of " + rows.length + " shown";
  };

  const value = (row, column, kind) => {
    const cell = row.cells[column];
    if (kind === "verdict") {
      const at = rank.indexOf(cell.dataset.v);
      return at < 0 ? null : at;
    }
    const said = cell.dataset.key !== undefined ? cell.dataset.key : plain(cell);
    if (kind === "number") {
      const n = parseFloat(said.replace(/,/g, ""));
      return Number.isNaN(n) ? null : n;
    }
    return said === "–" ? null : said.toLowerCase();
  };

  const sort = (column, direction) => {
    const kind = heads[column].dataset.sort;
    const sign = direction === "descending" ? -1 : 1;
    const keyed = rows.map((row, at) => ({ row, at, key: value(row, column, kind) }));
    keyed.sort((a, b) => {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.at - b.at;
      return (a.key < b.key ? -1 : a.key > b.key ? 1 : 0) * sign || a.at - b.at;
    });
    body.append(...keyed.map((k) => k.row));
    heads.forEach((h, i) => (i === column ? h.setAttribute("aria-sort", direction) : h.removeAttribute("aria-sort")));
  };

  order.append(new Option("as sampled", ""));
  heads.forEach((head, column) => {
    const label = plain(head);
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      sort(column, head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending");
      order.value = String(column);
    });
    order.append(new Option(label, String(column)));
  });
  order.addEventListener("change", () => {
    if (order.value !== "") return sort(Number(order.value), "ascending");
    body.append(...rows);
    heads.forEach((h) => h.removeAttribute("aria-sort"));
  });
  form.addEventListener("submit", (e) => e.preventDefault());
  form.addEventListener("input", filter);
  form.addEventListener("reset", () => setTimeout(() => { filter(); order.dispatchEvent(new Event("change")); }));
  form.hidden = false;
  filter();
})();
