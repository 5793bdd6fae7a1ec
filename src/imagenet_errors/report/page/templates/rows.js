// One error: its row, and what opens beneath it.

const MOST_MAKERS = 30;

function rowOf(place) {
  const image = cases.image[place];
  const details = make("details", {},
    make("summary", {}, isBare ? null : pictureOf(image), verdictOf(place), sideOf(place)));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(detailOf(place));
    if (details.open) view.open = place;
    else if (view.open === place) view.open = null;
    if (details.isConnected) keep(false);
  });
  const row = make("li", { class: isBare ? "row bare" : "row" }, details);
  row.dataset.place = place;
  return row;
}

function pictureOf(image) {
  const source = images.thumbnails[image] ?? images.links[image];
  if (!source) return make("span", { class: "thumb none" }, "no picture");
  return whenBroken(make("img", { class: "thumb", loading: "lazy", decoding: "async", alt: "", src: source }));
}

// A link to a picture leads nowhere once the folder has moved: say so instead of showing a torn page.
function whenBroken(picture) {
  picture.addEventListener("error", () => picture.replaceWith(make("span", { class: "thumb none" }, "not found")));
  return picture;
}

function verdictOf(place) {
  return make("span", {},
    make("span", { class: "verdict" }, make("b", {}, named(book.classes[cases.prediction[place]])),
      make("span", { class: "instead" }, " instead of "), named(book.classes[labelOf(place)])),
    make("span", { class: "because" }, newsOf(place)),
    make("span", { class: "file code" }, named(images.names[cases.image[place]])));
}

// What the title does not say: the evidence that explains the error; for a failure, how far off it is, and what most
// other models say.
function newsOf(place) {
  if (cases.type[place] !== FAILURE) return explanationOf(place);
  const news = [kinship(place), superclassesApart(place), otherAnswer(place)].filter(Boolean);
  return news.length ? `${news.join(" · ")}` : explanationOf(place);
}

function kinship(place) {
  const distance = distanceOf(place), kind = cases.kinds[cases.shared[place]];
  if (distance < 0) return "";
  return kind ? `both a kind of ${kind}, WordNet distance ${distance}` : `nothing in common, WordNet distance ${distance}`;
}

function superclassesApart(place) {
  const [from, to] = [labelOf(place), cases.prediction[place]].map((index) => superclassNames(index)[0]);
  return from && to ? `${from} → ${to}` : "";
}

function otherAnswer(place) {
  const image = cases.image[place];
  let best = -1;
  for (let other = caseStart[image]; other < caseStart[image + 1]; other++) {
    if (other !== place && (best < 0 || nMakersOf(other) > nMakersOf(best))) best = other;
  }
  return best < 0 ? "" : `${counted(nMakersOf(best), "model")} ${nMakersOf(best) === 1 ? "says" : "say"} ${book.classes[cases.prediction[best]]}`;
}

function sideOf(place) {
  const [sure, whose] = confidenceOf(place, maker()), stays = staysOf(place, maker());
  const many = book.models.length > 1;
  return make("span", { class: "side" }, typeName(book.types[cases.type[place]]),
    sure < 0 ? null : make("span", {}, ...(many ? [named(book.models[whose]), ` ${percent(sure, 0)} sure`] : [`${percent(sure, 0)} sure`])),
    many ? make("span", {}, `${sure < 0 ? "" : " · "}made by ${nMakersOf(place)} of ${counted(book.models.length, "model")}`) : null,
    stays < 0 ? null : make("span", { class: "stays", title: "of its flips, crops and colour changes keep this answer" }, `${percent(stays, 0)} of reframings keep it`));
}

function detailOf(place) {
  const image = cases.image[place];
  const box = make("div", { class: "detail-text" }, factsOf(place), make("h3", {}, "Why it was judged so"),
    make("p", { class: "fine" }, "Unpacking …"));
  const waiting = box.lastElementChild;
  decisionPaths().then((paths) => waiting.replaceWith(...walkOf(place, paths))).then(() => explainedOf(place)).then((shown) => box.append(...shown));
  if (isBare) return make("div", { class: "detail bare" }, box);
  return make("div", { class: "detail" }, largePicture(image), box);
}

function largePicture(image) {
  const small = images.thumbnails[image], link = images.links[image];
  if (!small && !link) return make("span", { class: "fine" }, "There is no picture of it in the folder given.");
  const picture = whenBroken(make("img", { src: link ?? small, alt: `The image ${images.names[image]}` }));
  // The large file may have moved away; the small copy is always here.
  if (small) picture.addEventListener("error", () => { picture.src = small; }, { once: true });
  return link ? make("a", { href: link, title: "Open the picture" }, picture) : picture;
}

function factsOf(place) {
  const image = cases.image[place], label = images.label[image];
  const facts = [
    ["Accepted labels", [...acceptedOf(image)].map((index) => book.classes[index]).join(", ")],
    ["Superclasses of the label", superclassNames(label).join(", ") || "none but the class itself"],
    ["Superclasses of the prediction", superclassNames(cases.prediction[place]).join(", ") || "none but the class itself"],
    ["By WordNet", kinship(place) || "distance not known"],
    ["Groups of the image", book.groups.filter((_, group) => (images.groups[image] >> group) & 1).join(", ")],
  ];
  if (book.models.length > 1 || cases.confidence !== null) facts.push(["Made by", makersOf(place)]);
  facts.push(["In a terminal", make("span", { class: "code" }, `imagenet-errors why ${quoted(book.run)} ${quoted(images.names[image])}`)]);
  facts.push(["Link", linkTo(place)]);
  return make("dl", { class: "facts" }, ...facts.flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, text)]));
}

function linkTo(place) {
  const state = { model: book.models.length > 1 ? book.models[front.model] : "", case: caseName(place) };
  const link = make("a", { href: `#${addressOf(state)}`, class: "copy" }, "copy the address of this error");
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const done = (text) => { link.textContent = text; setTimeout(() => { link.textContent = "copy the address of this error"; }, 2000); };
    const copying = navigator.clipboard?.writeText(link.href) ?? Promise.reject(new Error("no clipboard"));
    copying.then(() => done("copied"), () => done("it is in the address bar"));
  });
  return link;
}

function quoted(text) {
  return /^[\w./@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function makersOf(place) {
  const start = cases.makerStart[place], end = cases.makerStart[place + 1];
  const shown = [];
  for (let at = start; at < Math.min(end, start + MOST_MAKERS); at++) {
    const sure = cases.confidence === null || cases.confidence[at] === UNKNOWN ? "" : ` (${percent(cases.confidence[at] / 1000)})`;
    shown.push(shown.length ? ", " : "", named(book.models[cases.makers[at]]), sure);
  }
  if (end - start > MOST_MAKERS) shown.push(` and ${end - start - MOST_MAKERS} more`);
  return make("span", {}, ...shown);
}

function walkOf(place, paths) {
  if (paths === null || !bitAt(paths.holds, place)) return [make("p", {}, explanationOf(place))];
  const label = book.classes[labelOf(place)], prediction = book.classes[cases.prediction[place]];
  const decided = book.types[cases.type[place]];
  const steps = [
    stepOf("correct", "no", `The label is ${label}, the prediction ${prediction}.`, false),
    ...paths.order.map((name) => {
      const step = paths.steps.find((one) => one.stage === name);
      if (!step || paths.notRun[name]) return stepOf(name, "off", `Not run: ${paths.notRun[name]}.`, false);
      const kind = bitAt(step.explains, place) ? "yes" : bitAt(step.unknown, place) ? "unknown" : "no";
      return stepOf(name, kind, step.texts[step.of[place]], name === decided);
    }),
  ];
  if (cases.type[place] === FAILURE) steps.push(stepOf(decided, "yes", explanationOf(place), true));
  return [make("ol", { class: "path" }, ...steps), ...proposalsOf(place, paths)];
}

const ANSWERS = {
  yes: ["✓", "explains it"], no: ["○", "does not explain it"], unknown: ["?", "could not tell"], off: ["—", "not run"],
};
function stepOf(stage, kind, says, decides) {
  const [mark, spoken] = ANSWERS[kind];
  return make("li", { class: decides ? `${kind} decides` : kind },
    make("span", { "aria-hidden": "true" }, mark),
    make("span", { class: "code" }, stage, make("span", { class: "hidden" }, ` ${spoken}${decides ? ", and decides" : ""}: `)),
    make("span", { class: "says" }, says));
}

function proposalsOf(place, paths) {
  const at = paths.proposalOf === null ? 0 : paths.proposalOf[place];
  if (!at) return [];
  const evidence = paths.proposals[at - 1], parts = [];
  if (evidence.support !== null) parts.push(`${evidence.support} of the 10 nearest training images belong to a superclass of the prediction`);
  if (evidence.count !== null) parts.push(`${counted(evidence.count, "label")} proposed around the prediction`);
  if (evidence.encoder !== null) parts.push(`encoder ${evidence.encoder}`);
  return [make("h3", {}, "Outside the vocabulary?"),
    parts.length ? make("p", { class: "fine" }, `${parts.join("; ")}.`) : null,
    evidence.neighbours.length ? make("p", {}, "Nearest training images: ", ...evidence.neighbours.flatMap(neighbourOf), ".") : null,
    make("ul", { class: "proposals" }, ...evidence.best.map(proposalOf))].filter((part) => part !== null);
}

function neighbourOf([index, isKin], place) {
  return [place ? ", " : "", isKin ? make("b", {}, named(book.classes[index]), " (kin)") : named(book.classes[index])];
}

function proposalOf([name, synset, score, index]) {
  const filled = make("i");
  filled.style.width = `${100 * (score ?? 0)}%`;
  return make("li", { title: synset ?? "" }, named(name ?? ""),
    make("span", { class: "meter", "aria-hidden": "true" }, filled), score === null ? "" : percent(score),
    make("span", { class: "instead" }, index < 0 ? "outside the classes" : `class ${book.classes[index]}`));
}

function stepBetweenRows(by) {
  const all = [...document.querySelectorAll("#rows summary")];
  const now = all.indexOf(document.activeElement?.closest?.("details")?.querySelector("summary"));
  const next = all[Math.min(Math.max(now + by, 0), all.length - 1)];
  next?.focus();
}
