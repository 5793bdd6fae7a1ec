// One error: its row, and what opens beneath it.

const MOST_MAKERS = 30;

function rowOf(place) {
  const image = cases.image[place];
  const details = make("details", {},
    make("summary", {}, isBare ? null : pictureOf(image), verdictOf(place), sideOf(place)));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(detailOf(place));
  });
  return make("li", { class: isBare ? "row bare" : "row" }, details);
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
    make("span", { class: "because" }, explanationOf(place)),
    make("span", { class: "file code" }, named(images.names[cases.image[place]])));
}

function sideOf(place) {
  const sure = confidenceOf(place, chosen("model-is"));
  return make("span", { class: "side" }, typeName(book.types[cases.type[place]]),
    sure < 0 ? null : make("span", {}, `${percent(sure, 0)} sure`),
    book.models.length > 1 ? make("span", {}, `${sure < 0 ? "" : " · "}${nMakersOf(place)} of ${counted(book.models.length, "model")}`) : null);
}

function detailOf(place) {
  const image = cases.image[place];
  const box = make("div", { class: "detail-text" }, factsOf(place), make("h4", {}, "Why it was judged so"),
    make("p", { class: "fine" }, "Unpacking …"));
  decisionPaths().then((paths) => box.lastElementChild.replaceWith(...walkOf(place, paths)),
    () => box.lastElementChild.replaceWith(make("p", {}, explanationOf(place)),
      make("p", { class: "fine" }, "This browser cannot unpack the decision paths.")));
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
    ["Groups of the image", book.groups.filter((_, group) => (images.groups[image] >> group) & 1).join(", ")],
  ];
  if (book.models.length > 1 || cases.confidence !== null) facts.push(["Made by", makersOf(place)]);
  facts.push(["In a terminal", make("span", { class: "code" }, `imagenet-errors why ${quoted(book.run)} ${quoted(images.names[image])}`)]);
  return make("dl", { class: "facts" }, ...facts.flatMap(([term, told]) => [make("dt", {}, term), make("dd", {}, told)]));
}

function quoted(text) {
  return /^[\w./@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function makersOf(place) {
  const start = cases.makerStart[place], end = cases.makerStart[place + 1];
  const told = [];
  for (let at = start; at < Math.min(end, start + MOST_MAKERS); at++) {
    const sure = cases.confidence === null || cases.confidence[at] === UNKNOWN ? "" : ` (${percent(cases.confidence[at] / 1000)})`;
    told.push(told.length ? ", " : "", named(book.models[cases.makers[at]]), sure);
  }
  if (end - start > MOST_MAKERS) told.push(` and ${end - start - MOST_MAKERS} more`);
  return make("span", {}, ...told);
}

function walkOf(place, paths) {
  if (paths === null || !bitAt(paths.holds, place)) return [make("p", {}, explanationOf(place))];
  const label = book.classes[labelOf(place)], prediction = book.classes[cases.prediction[place]];
  const decided = book.types[cases.type[place]];
  const steps = [
    stepOf("correct", false, `The label is ${label}, the prediction ${prediction}.`, false),
    ...paths.order.map((name) => {
      const step = paths.steps.find((one) => one.stage === name);
      return step ? stepOf(name, Boolean(bitAt(step.explains, place)), step.texts[step.of[place]], name === decided)
        : stepOf(name, null, `Not run: ${paths.notRun[name]}.`, false);
    }),
  ];
  if (cases.type[place] === FAILURE) steps.push(stepOf(decided, true, explanationOf(place), true));
  return [make("ol", { class: "path" }, ...steps), ...proposalsOf(place, paths)];
}

function stepOf(stage, explains, says, decides) {
  const [mark, spoken, kind] = explains === null ? ["—", "not run", "off"] : explains ? ["✓", "explains it", "yes"] : ["○", "does not explain it", "no"];
  return make("li", { class: decides ? `${kind} decides` : kind },
    make("span", { "aria-hidden": "true" }, mark),
    make("span", { class: "code" }, stage, make("span", { class: "hidden" }, ` ${spoken}${decides ? ", and decides" : ""}: `)),
    make("span", { class: "says" }, says));
}

function proposalsOf(place, paths) {
  const at = paths.proposalOf === null ? 0 : paths.proposalOf[place];
  if (!at) return [];
  const told = paths.proposals[at - 1], parts = [];
  if (told.support !== null) parts.push(`${told.support} of the 10 nearest training images belong to a superclass of the prediction`);
  if (told.count !== null) parts.push(`${counted(told.count, "label")} proposed around the prediction`);
  if (told.encoder !== null) parts.push(`encoder ${told.encoder}`);
  return [make("h4", {}, "Outside the vocabulary?"),
    parts.length ? make("p", { class: "fine" }, `${parts.join("; ")}.`) : null,
    told.neighbours.length ? make("p", {}, "Nearest training images: ", ...told.neighbours.flatMap(neighbourOf), ".") : null,
    make("ul", { class: "proposals" }, ...told.best.map(proposalOf))].filter((part) => part !== null);
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
