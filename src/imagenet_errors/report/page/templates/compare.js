// Two models side by side, and how alike all of them err; everything is counted beforehand, by comparison.py.

const pairs = book.pairs.pairs;
const moves = columnOf(book.pairs.moves);
const nTypes = book.types.length;
const FEW_MODELS = 14;
const pairAt = new Map(pairs.map(([a, b], at) => [a * 65536 + b, at]));

// The pair (a, b) of models with moves[type in a][type in b], turned round if it was counted as (b, a).
function pairOf(a, b) {
  const turned = a > b, at = pairAt.get(Math.min(a, b) * 65536 + Math.max(a, b));
  const count = (from, to) => moves[at * nTypes * nTypes + (turned ? to * nTypes + from : from * nTypes + to)];
  const [, , nSame, p, kappa] = pairs[at];
  return { count, nSame, p, kappa };
}

function sum(count, froms, tos) {
  return froms.reduce((total, from) => total + tos.reduce((row, to) => row + count(from, to), 0), 0);
}

function showComparison() {
  const a = Number(value("compare-a")), b = Number(value("compare-b")), box = byId("comparison");
  if (a === b) return box.replaceChildren(make("p", { class: "fine" }, "Choose two different models."));
  const pair = pairOf(a, b);
  const both = sum(pair.count, ERRORS, ERRORS), fixed = sum(pair.count, ERRORS, [CORRECT]), added = sum(pair.count, [CORRECT], ERRORS);
  const right = pair.count(CORRECT, CORRECT);
  return box.replaceChildren(
    make("p", { class: "lead" }, "Of ", counted(right + both + fixed + added, "image"), " that both were evaluated on, ", named(book.models[b]),
      ` fixes ${counted(fixed, "error")} of `, named(book.models[a]), ` and introduces ${whole(added)}; ${whole(both)} are wrong in both, ${whole(pair.nSame)} of them with the same wrong class.`,
      pair.kappa === null ? "" : ` Error consistency (kappa): ${pair.kappa.toFixed(2)}.`),
    threeParts(a, b, fixed, both, added), severeTest(a, b, pair), typeTable(a, b, pair));
}

function threeParts(a, b, fixed, both, added) {
  const part = (kind, count) => make("span", { class: `part ${kind}`, style: `flex-grow:${count}` }, make("b", { class: `d${String(count).length}` }, whole(count)));
  const key = (kind, ...text) => make("li", {}, make("i", { class: `swatch part ${kind}`, "aria-hidden": "true" }), ...text);
  return make("div", {},
    make("div", { class: "bar", role: "img", "aria-label": `${fixed} errors only in the first, ${both} in both, ${added} only in the second` },
      part("only-a", fixed), part("both", both), part("only-b", added)),
    make("ul", { class: "captions" },
      key("only-a", link({ by: book.models[a], not: book.models[b] }, "errors that only ", named(book.models[a]), " makes")), key("both", "wrong in both"),
      key("only-b", link({ by: book.models[b], not: book.models[a] }, "errors that only ", named(book.models[b]), " makes"))));
}

function link(question, ...text) {
  return make("a", { href: `#${addressOf({ model: question.by, ...question, by: "" })}` }, ...text);
}

function severeTest(a, b, pair) {
  if (book.severe.length > 1) {
    return make("p", { class: "caveat" }, "Model failures of the two are not compared: evidence was missing, and ",
      ...book.severe.flatMap((name, place) => [place ? ", " : "", make("span", { class: "code" }, name)]), " are known exactly only together.");
  }
  const others = [CORRECT, ...ERRORS.filter((type) => type !== FAILURE)];
  const onlyA = sum(pair.count, [FAILURE], others), onlyB = sum(pair.count, others, [FAILURE]);
  const better = onlyA > onlyB ? b : a;
  const claim = pair.p < 0.05 ? [named(book.models[better]), " makes fewer severe errors, and chance alone would rarely give such a difference"]
    : ["A difference of this size may well be chance"];
  return make("p", {}, make("b", {}, "Severe errors: "), `${counted(onlyA, "image")} only in `, named(book.models[a]), `, ${whole(onlyB)} only in `,
    named(book.models[b]), ". ", ...claim, ` (exact McNemar test, p ${pair.p < 0.001 ? "< 0.001" : `= ${Number(pair.p.toFixed(3))}`}`,
    pairs.length > 1 ? `, one of ${whole(pairs.length)} pairs that could be looked at).` : ").");
}

function typeTable(a, b, pair) {
  const isOpen = (type) => book.severe.length > 1 && book.severe.includes(book.types[type]);
  const open = ERRORS.filter(isOpen);
  const rows = ERRORS.map((type) => {
    const head = make("th", { scope: "row" }, typeName(book.types[type]));
    return book.not_run.includes(book.types[type]) ? make("tr", {}, head, make("td", { colSpan: 8, class: "fine" }, "not run"))
      : make("tr", {}, head, ...typeCells(pair, [type], isOpen(type)));
  });
  if (open.length) rows.push(make("tr", {}, make("th", { scope: "row" }, "the types known only together"), ...typeCells(pair, open, false)));
  const heads = [named(book.models[a]), named(book.models[b]), "change", "fixed", "introduced", "in both", "moved to another type", "moved from another type"];
  return make("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Errors fixed and introduced by type" }, make("table", {},
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "error type"), ...heads.map((text) => make("th", { scope: "col", class: "n" }, text)))),
    make("tbody", {}, ...rows)));
}

// The cells of one or several types; what depends on missing evidence has no change to speak of.
function typeCells(pair, types, isOpen) {
  const all = [CORRECT, ...ERRORS];
  const inA = sum(pair.count, types, all), inB = sum(pair.count, all, types), net = inB - inA;
  const fixed = sum(pair.count, types, [CORRECT]), added = sum(pair.count, [CORRECT], types), stays = sum(pair.count, types, types);
  const tone = !types.includes(FAILURE) || net === 0 || isOpen ? "" : net < 0 ? "better" : "worse";
  const sign = net > 0 ? "+" : net < 0 ? "−" : "±";
  const bound = isOpen && types.length === 1 ? book.signs[types[0]] : "";
  return [...[inA, inB].map((n) => make("td", { class: "n" }, `${bound}${whole(n)}`)),
    make("td", { class: `n ${tone}` }, isOpen ? "–" : `${sign}${whole(Math.abs(net))}`),
    ...[fixed, added, stays, inA - fixed - stays, inB - added - stays].map((n) => make("td", { class: "n" }, whole(n)))];
}

// Error consistency of all pairs: a table of shaded cells for few models, a picture and the extreme pairs for many.
function showConsistency() {
  const box = byId("consistency");
  const n = byId("compare-a")?.options.length ?? 0;
  if (!box || n < 3) return;
  const ranked = pairs.map(([a, b, , , kappa]) => [a, b, kappa]).filter(([, , kappa]) => kappa !== null).sort((x, y) => y[2] - x[2]);
  box.replaceChildren(n <= FEW_MODELS ? kappaTable(n) : kappaPicture(n), extremePairs(ranked));
}

function kappaTable(n) {
  const names = book.models.slice(0, n);
  const cell = (a, b) => {
    if (a === b) return make("td", { class: "n" });
    const { kappa } = pairOf(a, b), shade = make("td", { class: "n heat" }, kappa === null ? "–" : kappa.toFixed(2));
    shade.style.setProperty("--heat", `${Math.round(80 * Math.max(0, kappa ?? 0))}%`);
    return shade;
  };
  return make("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Error consistency of all pairs" }, make("table", { class: "matrix" },
    make("thead", {}, make("tr", {}, make("td"), ...names.map((name) => make("th", { scope: "col" }, make("span", {}, named(name)))))),
    make("tbody", {}, ...names.map((name, a) => make("tr", {}, make("th", { scope: "row" }, named(name)), ...names.map((_, b) => cell(a, b)))))));
}

function kappaPicture(n) {
  const size = Math.max(3, Math.floor(540 / n)), picture = make("canvas", { width: n * size, height: n * size, class: "kappa", role: "img" });
  picture.setAttribute("aria-label", `Error consistency of ${n} models in order of accuracy, darker for more alike; the table beneath has the most and least alike.`);
  const draw = picture.getContext("2d"), known = pairs.map(([, , , , kappa]) => kappa).filter((kappa) => kappa !== null);
  const [low, high] = known.length ? [known.reduce((x, y) => Math.min(x, y)), known.reduce((x, y) => Math.max(x, y))] : [0, 1];
  const where = make("p", { class: "fine" }, `Models run from the most accurate at the top left to the least accurate; darker cells err on the same images more, from kappa ${low.toFixed(2)} to ${high.toFixed(2)}.`);
  for (let a = 0; a < n; a++) {
    for (let b = 0; b < n; b++) {
      const kappa = a === b ? 1 : pairOf(a, b).kappa ?? 0;
      draw.fillStyle = `hsl(205 60% ${96 - 70 * Math.min(1, Math.max(0, (kappa - low) / (high - low || 1)))}%)`;
      draw.fillRect(b * size, a * size, size, size);
    }
  }
  picture.addEventListener("mousemove", (event) => {
    const scale = picture.width / picture.clientWidth / size;
    const [b, a] = [event.offsetX, event.offsetY].map((at) => Math.min(n - 1, Math.max(0, Math.floor(at * scale))));
    const kappa = a === b ? null : pairOf(a, b).kappa;
    where.replaceChildren(named(book.models[a]), " and ", named(book.models[b]), kappa === null ? "" : `: kappa ${kappa.toFixed(2)}`);
  });
  return make("div", {}, picture, where);
}

function extremePairs(ranked) {
  const row = ([a, b, kappa]) => make("tr", {}, make("td", {}, named(book.models[a])), make("td", {}, named(book.models[b])), make("td", { class: "n" }, kappa.toFixed(2)));
  const table = (title, rows) => make("table", {}, make("caption", {}, title),
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "model"), make("th", { scope: "col" }, "and"), make("th", { scope: "col", class: "n" }, "kappa"))),
    make("tbody", {}, ...rows.map(row)));
  const few = Math.min(5, Math.floor(ranked.length / 2) || ranked.length);
  return make("details", { class: "fold" }, make("summary", {}, "Most and least alike"), make("div", { class: "pair" },
    table("Most alike", ranked.slice(0, few)), table("Least alike", ranked.slice(-few).reverse())));
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
  showConsistency();
}
