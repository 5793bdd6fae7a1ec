// The table of models: sorted, searched, grouped, folded where it is long, taken along as CSV.

const FOLDED_ROWS = 15;
const models = { rows: [], sortBy: null, isUnfolded: false };

function watchModels() {
  const table = document.querySelector("table.models");
  if (!table) return;
  models.rows = [...table.tBodies[0].rows];
  for (const button of table.querySelectorAll("th button")) {
    button.addEventListener("click", () => sortModels(button.closest("th")));
  }
  byId("models-q").addEventListener("input", arrangeModels);
  byId("models-by")?.addEventListener("change", arrangeModels);
  byId("models-all").addEventListener("click", () => {
    models.isUnfolded = !models.isUnfolded;
    arrangeModels();
  });
  byId("models-csv").addEventListener("click", downloadModels);
  arrangeModels();
}

function sortModels(heading) {
  const place = [...heading.parentElement.children].indexOf(heading);
  const isText = heading.dataset.kind === "text";
  const up = heading.ariaSort === "descending" || (heading.ariaSort === "none" && isText);
  for (const other of heading.parentElement.children) if (other.ariaSort) other.ariaSort = "none";
  heading.ariaSort = up ? "ascending" : "descending";
  const key = (row) => row.children[place].dataset.sort;
  const ascending = isText ? (a, b) => key(a).localeCompare(key(b), "en") : (a, b) => key(a) - key(b);
  models.rows.sort((a, b) => (up ? ascending(a, b) : ascending(b, a)));
  arrangeModels();
}

function arrangeModels() {
  const body = document.querySelector("table.models").tBodies[0], words = value("models-q").toLowerCase().split(/\s+/).filter(Boolean);
  const kept = models.rows.filter((row) => words.every((word) => row.dataset.text.includes(word)));
  const shown = models.isUnfolded || value("models-by") !== "" ? kept : kept.slice(0, FOLDED_ROWS);
  body.replaceChildren(...(value("models-by") === "" ? shown : grouped(shown, value("models-by"))));
  byId("models-count").textContent = kept.length === models.rows.length ? counted(kept.length, "model") : `${whole(kept.length)} of ${counted(models.rows.length, "model")}`;
  byId("models-all").hidden = kept.length <= FOLDED_ROWS || value("models-by") !== "";
  byId("models-all").textContent = models.isUnfolded ? `Show the first ${FOLDED_ROWS}` : `Show all ${whole(kept.length)}`;
}

// Rows under a heading for each value of a fact, the groups in order of their first row.
function grouped(rows, fact) {
  const groups = new Map();
  for (const row of rows) {
    const name = JSON.parse(row.dataset.facts)[fact] ?? "not known";
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  const width = document.querySelector("table.models thead tr").children.length;
  return [...groups].flatMap(([name, members]) => [
    make("tr", { class: "group" }, make("th", { colSpan: width, scope: "rowgroup" }, named(name), make("span", { class: "fine" }, ` ${counted(members.length, "model")}`))),
    ...members]);
}

function downloadModels() {
  const heads = [...document.querySelectorAll("table.models thead th")].filter((head) => head.dataset.kind);
  const places = heads.map((head) => [...head.parentElement.children].indexOf(head));
  const facts = [...new Set(models.rows.flatMap((row) => Object.keys(JSON.parse(row.dataset.facts))))];
  // A bound is no figure: what is not exact is written as it is shown.
  const cell = (row, place) => {
    const box = row.children[place];
    return /[–≤]/.test(box.textContent) ? box.textContent.trim().replace(/^–$/, "") : box.dataset.sort;
  };
  download("models.csv", [[...heads.map((head) => head.textContent.trim()), ...facts],
    ...models.rows.map((row) => [...places.map((place) => cell(row, place)), ...facts.map((fact) => JSON.parse(row.dataset.facts)[fact] ?? "")])]);
}
