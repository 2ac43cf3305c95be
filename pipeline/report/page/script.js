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
    verdicts: new Map(Array.from(row.querySelectorAll("td[data-c]"), (c) => [c.dataset.c, c.dataset.v])),
    passed: row.querySelector("td[data-grade=passed]").dataset.v,
    safe: row.querySelector("td[data-grade=safe]").dataset.v,
  }));

  const matches = (f) => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.every((w) => f.text.includes(w))) return false;
    if (service.value !== "" && f.service !== plain(service.selectedOptions[0]).replace(/^\(no service\)$/, "–")) return false;
    if (verdict.value !== "" || criterion.value !== "") {
      const asked = criterion.value === "" ? Array.from(f.verdicts.values()) : [f.verdicts.get(criterion.value)];
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

  const first = 200; // of the rows that match, as many are laid out until all are asked for
  const more = document.getElementById("more"), all = document.getElementById("show-all");
  let most = first;
  const byRow = new Map(facts.map((f) => [f.row, f]));

  const filter = () => {
    let found = 0;
    for (const row of body.rows) { // as they are sorted
      row.hidden = !matches(byRow.get(row));
      row.classList.toggle("far", !row.hidden && ++found > most);
    }
    const shown = Math.min(found, most);
    count.textContent = found + " of " + rows.length + (shown < found ? " found, " + shown + " shown" : " shown");
    more.hidden = shown === found;
    all.textContent = "Show all " + found;
  };
  all.addEventListener("click", () => { most = Infinity; filter(); });

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
    filter();
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
    filter();
    heads.forEach((h) => h.removeAttribute("aria-sort"));
  });
  form.addEventListener("submit", (e) => e.preventDefault());
  form.addEventListener("input", filter);
  form.addEventListener("reset", () => setTimeout(() => { filter(); order.dispatchEvent(new Event("change")); }));
  form.hidden = false;
  filter();

  // A session's page in place. Everything that is drawn is text of a data block, set as text: nothing of it is markup.
  const data = Array.from(document.querySelectorAll("script.session-data"));
  const page = document.getElementById("session");
  const title = document.title;
  const place = new Map(rows.map((row, at) => [row.dataset.key, at]));
  const part = (id) => document.getElementById("session-" + id);
  const make = (tag, text, kind) => {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (kind) e.className = kind;
    return e;
  };
  const link = (key, step) => "#session=" + encodeURIComponent(key) + (step === undefined ? "" : "&step=" + step);
  let open = null; // key of the session that is shown
  let from = null; // where the list was

  const drawVerdicts = (key, d, shown) => {
    part("verdicts").replaceChildren(...d.v.map((v) => {
      const row = make("tr");
      const question = make("th", (v.b ? v.b + ": " : "") + v.q);
      question.scope = "row";
      if (v.a) question.append(" ", make("span", "safety", "safety"));
      const verdict = make("td");
      const chip = make("span", undefined, "chip v-" + v.c);
      const sign = make("span", v.y);
      sign.ariaHidden = "true";
      chip.append(sign, " " + v.t);
      verdict.append(chip);
      if (v.d) verdict.append(make("span", v.d, "detail"));
      const evidence = make("td");
      (v.e || []).forEach((n, i) => {
        if (i) evidence.append(", ");
        if (!shown.has(n)) return evidence.append("step " + n);
        const a = make("a", "step " + n);
        a.href = link(key, n);
        evidence.append(a);
      });
      if (!v.e) evidence.append(make("span", "–", "none"));
      row.append(question, verdict, evidence, make("td", v.w || "–", v.w ? "" : "none"));
      return row;
    }));
  };

  const drawSteps = (d) => {
    const points = new Map();
    for (const v of d.v) for (const n of v.e || []) points.set(n, (points.get(n) || []).concat((v.b ? v.b + ": " : "") + v.q + " (" + v.t.toLowerCase() + ")"));
    part("steps").replaceChildren(...(d.s || []).map((s) => {
      const item = make("li", undefined, points.has(s.n) ? "evidence" : "");
      item.id = "step-" + s.n;
      item.tabIndex = -1;
      const body = make("div", undefined, "body");
      const who = make("div", undefined, "who");
      who.append(make("b", s.w));
      if (s.x) who.append(make("code", s.x));
      if (s.o) who.append(make("span", s.o, s.b ? "bad" : "of"));
      if (s.t) who.append(make("span", "turn " + s.t, "of"));
      if (s.m) who.append(make("span", s.m, "of"));
      body.append(who);
      if (s.a) body.append(make("pre", s.a));
      if (s.p) body.append(make("pre", s.p));
      if (points.has(s.n)) body.append(make("div", "Evidence of " + points.get(s.n).join(", "), "of"));
      item.append(make("span", String(s.n), "n"), body);
      return item;
    }));
  };

  const draw = (key) => {
    const at = place.get(key);
    const d = JSON.parse(data[at].textContent);
    const said = plain(rows[at].cells[0].querySelector(".sid"));
    part("h").textContent = "Session " + said;
    document.title = "Session " + said;
    part("facts").replaceChildren(...d.f.map(([name, value]) => {
      const div = make("div");
      const dd = make("dd");
      dd.append(make("bdi", value));
      div.append(make("dt", name), dd);
      return div;
    }));
    drawVerdicts(key, d, new Set((d.s || []).map((s) => s.n)));
    drawSteps(d);
    part("note").textContent = [d.n, d.l ? d.l + " more steps are not shown here; aggregate --show session:" + key + " has them." : ""].filter(Boolean).join(" ");
    const visible = Array.from(body.rows).filter((r) => !r.hidden || r === rows[at]);
    const here = visible.indexOf(rows[at]);
    for (const [id, other] of [["prev", visible[here - 1]], ["next", visible[here + 1]]]) {
      part(id).hidden = !other;
      part(id).href = other ? link(other.dataset.key) : "#sessions";
    }
  };

  const route = () => {
    const asked = /^#session=([^&]*)(?:&step=(\d+))?$/.exec(location.hash);
    let key = null;
    try {
      if (asked) key = decodeURIComponent(asked[1]);
    } catch { /* not one of ours */ }
    if (key === null || !place.has(key)) {
      if (open === null) return;
      const row = rows[place.get(open)];
      document.body.classList.remove("one");
      page.hidden = true;
      document.title = title;
      open = null;
      if (location.hash === "" || location.hash === "#sessions") {
        row.classList.remove("far");
        row.querySelector("a.open").focus({ preventScroll: true });
        if (from !== null) window.scrollTo(0, from);
        else row.scrollIntoView({ block: "center" });
      }
      return;
    }
    if (key !== open) {
      if (open === null) from = document.body.classList.contains("seen") ? window.scrollY : null;
      draw(key);
      open = key;
      page.hidden = false;
      document.body.classList.add("one");
      window.scrollTo(0, 0);
      part("h").focus({ preventScroll: true });
    }
    if (asked[2]) {
      const step = document.getElementById("step-" + asked[2]);
      if (step) {
        step.scrollIntoView({ block: "center" });
        step.focus({ preventScroll: true });
      }
    }
  };
  window.addEventListener("hashchange", route);
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape" && open !== null) location.hash = "sessions";
  });
  route();
  document.body.classList.add("seen");
})();
