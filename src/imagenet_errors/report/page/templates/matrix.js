// Which superclass is taken for which, of the errors that the explorer shows: a table of the largest, each cell a link.

const MATRIX_SIZE = 12;

// A class counts in each of its superclasses, as in the filters; one in none stands for itself.
function kindsOf(index) {
  const names = superclassNames(index);
  return names.length ? names : [`class ${book.classes[index]}`];
}

function largest(counts) {
  return [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0], "en")).slice(0, MATRIX_SIZE).map(([name]) => name);
}

function showMatrix() {
  const box = byId("matrix");
  if (!box.open) return;
  const cells = new Map(), rows = new Map(), columns = new Map();
  const add = (counts, key, by = 1) => counts.set(key, (counts.get(key) ?? 0) + by);
  for (const place of view.found) {
    const froms = kindsOf(labelOf(place)), tos = kindsOf(cases.prediction[place]);
    for (const from of froms) {
      add(rows, from);
      for (const to of tos) add(cells, `${from}\n${to}`);
    }
    for (const to of tos) add(columns, to);
  }
  const names = largest(rows), heads = largest(columns);
  const most = Math.max(1, ...names.flatMap((from) => heads.map((to) => cells.get(`${from}\n${to}`) ?? 0)));
  const cell = (from, to) => {
    const count = cells.get(`${from}\n${to}`) ?? 0;
    if (!count) return make("td", { class: "n" });
    const shade = make("td", { class: "n heat" }, make("a", { href: `#${addressWith(askFor(from, to))}`, title: `${from} → ${to}` }, whole(count)));
    shade.style.setProperty("--heat", `${Math.round(12 + 68 * (count / most))}%`);
    return shade;
  };
  byId("matrix-table").replaceChildren(names.length === 0 ? make("p", {}, "There is none.") : make("table", { class: "matrix" },
    make("caption", {}, "Rows: superclass of the label; columns: of the prediction. A number leads to its errors."),
    make("thead", {}, make("tr", {}, make("td"), ...heads.map((name) => make("th", { scope: "col" }, make("span", {}, name))))),
    make("tbody", {}, ...names.map((from) => make("tr", {}, make("th", { scope: "row" }, from), ...heads.map((to) => cell(from, to)))))));
}

function askFor(from, to) {
  const superclass = superclassNamed.has(from) ? { superclass: from } : { label: from.replace(/^class /, "") };
  return { ...superclass, ...(superclassNamed.has(to) ? { into: to } : { prediction: to.replace(/^class /, "") }) };
}
