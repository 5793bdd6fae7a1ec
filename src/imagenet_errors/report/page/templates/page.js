// The page as a whole: which model is in front, colours, addresses, keys.

const front = { model: 0, kept: new Map() };

// Models other than the one in front wait in <template> elements, and change places with it.
function bringToFront(model) {
  if (model === front.model || !(front.kept.has(model) || byId(`model-${model}`))) return;
  const stage = byId("model"), waiting = document.createDocumentFragment();
  waiting.append(...stage.childNodes);
  front.kept.set(front.model, waiting);
  stage.append(front.kept.get(model) ?? byId(`model-${model}`).content.cloneNode(true));
  front.kept.delete(model);
  front.model = model;
  if (byId("focus")) byId("focus").value = String(model);
  markFront();
}

function markFront() {
  document.querySelectorAll(".models tbody tr").forEach((row) => {
    const isFront = row.querySelector("a").getAttribute("href") === `#focus/${front.model}`;
    row.classList.toggle("front", isFront);
    row.querySelector("a").ariaCurrent = isFront ? "true" : null;
  });
}

function follow() {
  const [where, rest = ""] = location.hash.slice(1).split(/\/(.*)/s);
  if (where === "explore") {
    ask(rest);
    byId("explorer").scrollIntoView();
  } else if (where === "focus") {
    bringToFront(Number(rest));
    byId("headline").scrollIntoView();
  }
}

function watchTheme() {
  const order = ["auto", "light", "dark"];
  byId("theme").addEventListener("click", () => {
    const now = document.documentElement.dataset.theme ?? "auto";
    const next = order[(order.indexOf(now) + 1) % order.length];
    if (next === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    byId("theme-name").textContent = next;
  });
}

function watchKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const act = { "/": () => byId("q").focus(), j: () => stepBetweenRows(1), k: () => stepBetweenRows(-1) }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

function sortTable(table, heading) {
  const place = [...heading.parentElement.children].indexOf(heading);
  const up = heading.ariaSort === "descending" || (heading.ariaSort === "none" && place === 0);
  for (const other of heading.parentElement.children) if (other.ariaSort) other.ariaSort = "none";
  heading.ariaSort = up ? "ascending" : "descending";
  const key = (row) => row.children[place].dataset.sort;
  const ascending = place === 0 ? (a, b) => key(a).localeCompare(key(b), "en") : (a, b) => key(a) - key(b);
  const rows = [...table.tBodies[0].rows].sort((a, b) => (up ? ascending(a, b) : ascending(b, a)));
  table.tBodies[0].append(...rows);
}

function watchTables() {
  for (const table of document.querySelectorAll("table.sortable")) {
    for (const button of table.querySelectorAll("th button")) {
      button.addEventListener("click", () => sortTable(table, button.closest("th")));
    }
  }
}

fillChoices();
watchFilters();
watchComparison();
watchTheme();
watchKeys();
watchTables();
markFront();
byId("focus")?.addEventListener("change", () => bringToFront(Number(value("focus"))));
addEventListener("hashchange", follow);
if (/^#explore\//.test(location.hash)) follow();
else { ask(""); follow(); }
document.documentElement.dataset.ready = "true";
