// Two models side by side; everything is counted beforehand, by comparison.py.

const pairs = JSON.parse(byId("compare-json").textContent);
const moves = columnOf(pairs.moves);
const nTypes = book.types.length;

// The pair (a, b) of models with moves[type in a][type in b], turned round if it was counted as (b, a).
function pairOf(a, b) {
  const turned = a > b;
  const at = pairs.pairs.findIndex(([first, second]) => first === Math.min(a, b) && second === Math.max(a, b));
  const count = (from, to) => moves[at * nTypes * nTypes + (turned ? to * nTypes + from : from * nTypes + to)];
  return { count, nSame: pairs.pairs[at][2], p: pairs.pairs[at][3] };
}

function sum(count, froms, tos) {
  return froms.reduce((total, from) => total + tos.reduce((row, to) => row + count(from, to), 0), 0);
}

function showComparison() {
  const a = Number(value("compare-a")), b = Number(value("compare-b")), box = byId("comparison");
  if (a === b) return box.replaceChildren(make("p", { class: "fine" }, "Choose two different models."));
  const pair = pairOf(a, b), wrong = book.types.map((_, place) => place).slice(1);
  const both = sum(pair.count, wrong, wrong), fixed = sum(pair.count, wrong, [0]), added = sum(pair.count, [0], wrong);
  const right = pair.count(0, 0);
  return box.replaceChildren(
    make("p", { class: "lead" }, "Of ", counted(right + both + fixed + added, "image"), " that both were evaluated on, ", named(book.models[b]),
      ` fixes ${counted(fixed, "error")} and introduces ${added.toLocaleString("en-US")}; ${both.toLocaleString("en-US")} are wrong in both, ${pair.nSame.toLocaleString("en-US")} of them alike.`),
    threeParts(a, b, fixed, both, added), severeTest(a, b, pair, wrong), typeTable(a, b, pair, wrong));
}

function threeParts(a, b, fixed, both, added) {
  const part = (kind, count) => make("span", { class: `part ${kind}`, style: `flex-grow:${count}` }, count.toLocaleString("en-US"));
  const key = (kind, ...text) => make("li", {}, make("i", { class: `swatch part ${kind}`, "aria-hidden": "true" }), ...text);
  return make("div", {},
    make("div", { class: "bar", role: "img", "aria-label": `${fixed} errors only in the first, ${both} in both, ${added} only in the second` },
      part("only-a", fixed), part("both", both), part("only-b", added)),
    make("ul", { class: "captions" },
      key("only-a", link({ model: a, not: b }, "only ", named(book.models[a]))), key("both", "both wrong"),
      key("only-b", link({ model: b, not: a }, "only ", named(book.models[b])))));
}

function link(question, ...text) {
  return make("a", { href: `#explore/${new URLSearchParams(question)}` }, ...text);
}

function severeTest(a, b, pair, wrong) {
  const others = [0, ...wrong.slice(0, -1)];
  const onlyA = sum(pair.count, [FAILURE], others), onlyB = sum(pair.count, others, [FAILURE]);
  const better = onlyA > onlyB ? b : a;
  const told = pair.p < 0.05 ? [named(book.models[better]), " makes fewer severe errors, and more so than chance would have it"]
    : ["A split so even may well be chance"];
  return make("p", {}, make("b", {}, "Severe errors: "), `${counted(onlyA, "image")} only in `, named(book.models[a]), `, ${onlyB.toLocaleString("en-US")} only in `,
    named(book.models[b]), ". ", ...told, ` (exact McNemar test, p ${pair.p < 0.001 ? "< 0.001" : `= ${Number(pair.p.toFixed(3))}`}`,
    pairs.pairs.length > 1 ? `, one of ${pairs.pairs.length.toLocaleString("en-US")} pairs that could be looked at).` : ").");
}

function typeTable(a, b, pair, wrong) {
  const all = [0, ...wrong];
  const rows = wrong.map((type) => {
    const inA = sum(pair.count, [type], all), inB = sum(pair.count, all, [type]);
    const fixed = pair.count(type, 0), added = pair.count(0, type), net = inB - inA;
    const stays = pair.count(type, type);
    return make("tr", {}, make("th", { scope: "row" }, typeName(book.types[type])),
      ...[inA, inB].map((n) => make("td", { class: "n" }, n.toLocaleString("en-US"))),
      make("td", { class: `n ${type !== FAILURE || net === 0 ? "" : net < 0 ? "better" : "worse"}` }, `${net > 0 ? "+" : net < 0 ? "−" : "±"}${Math.abs(net).toLocaleString("en-US")}`),
      ...[fixed, added, stays, inA - fixed - stays, inB - added - stays].map((n) => make("td", { class: "n" }, n.toLocaleString("en-US"))));
  });
  const heads = [named(book.models[a]), named(book.models[b]), "change", "fixed", "introduced", "in both", "was this type, now another", "was another type, now this"];
  return make("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Errors fixed and introduced by type" }, make("table", {},
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "error type"), ...heads.map((text) => make("th", { scope: "col", class: "n" }, text)))),
    make("tbody", {}, ...rows)));
}

function watchComparison() {
  if (!byId("comparison")) return;
  byId("compare-a").addEventListener("change", showComparison);
  byId("compare-b").addEventListener("change", showComparison);
  byId("compare-swap").addEventListener("click", () => {
    const a = value("compare-a");
    byId("compare-a").value = value("compare-b");
    byId("compare-b").value = a;
    showComparison();
  });
  showComparison();
}
