"""The page in a real browser: quiet, filtering right, opening rows, usable by keys, readable in the dark."""

import json
import re
import time

import pytest
from PIL import Image

from imagenet_errors.readers.predictions import ReadRules
from imagenet_errors.report.page.page import ReportRequest, write_report
from report_world import HOSTILE_MODEL, HOSTILE_NAMES, emulate, violations

pytestmark = pytest.mark.usefixtures("browser")


@pytest.fixture(scope="module")
def wrong(demo_run):
    """The errors of all three models, a row each."""
    import pandas as pd

    models = [f"efficientnet_lite{size}" for size in range(3)]
    rows = pd.concat(demo_run.verdicts(model).assign(model=model) for model in models)
    return rows[rows.error_type != "correct"]


def distinct(rows):
    return len(rows.drop_duplicates(["file_name", "prediction"]))


def test_it_loads_without_a_word_on_the_console_or_a_request(visit, demo_page):
    visit.open(demo_page)
    assert visit.driver.get_log("browser") == []
    assert [url for url in visit.requests if not url.startswith(("data:", "about:"))] == [demo_page.as_uri()]


def test_at_first_the_explorer_holds_the_errors_of_the_model_in_front(visit, demo_page, wrong):
    visit.open(demo_page)
    front = visit.js("document.getElementById('focus').selectedOptions[0].text")
    assert visit.count == len(wrong[wrong.model == front])
    assert visit.js("document.getElementById('of-only').textContent").startswith(f"of {front} only")


def test_its_chip_widens_the_explorer_to_all_models(visit, demo_page, wrong):
    visit.open(demo_page)
    visit.js("document.getElementById('of-only').click()")
    assert visit.count == distinct(wrong)
    assert "by=any" in visit.js("location.hash")


def test_the_explorer_follows_the_model_in_front(visit, demo_page, wrong):
    visit.open(demo_page)
    visit.bring(2)
    name = visit.js("document.getElementById('focus').selectedOptions[0].text")
    assert visit.count == len(wrong[wrong.model == name])
    assert visit.js("location.hash") == f"#model={name}"


def test_type_chips_count_and_filter(visit, demo_page, wrong):
    visit.open(demo_page, "#by=any")
    for name, rows in wrong.groupby("error_type", observed=True):
        chip = f"document.querySelector('[data-type={name}]')"
        assert visit.js(f"{chip}.querySelector('.tally').textContent") == str(distinct(rows))
    visit.js("document.querySelector('[data-type=fine_grained]').click()")
    assert visit.count == distinct(wrong[wrong.error_type == "fine_grained"])


def test_filters_agree_with_the_verdicts(visit, demo_page, wrong):
    visit.open(demo_page)
    lite2 = wrong[wrong.model == "efficientnet_lite2"]
    place = visit.js(
        "[...document.querySelectorAll('#model-is option')].find((o) => o.text === 'efficientnet_lite2').value"
    )
    visit.choose(model_is=place)
    assert visit.count == distinct(lite2)
    visit.choose(sure_from=60)
    assert visit.count == (lite2.confidence.round(3) >= 0.6).sum()
    label = int(lite2[lite2.confidence >= 0.6].target.iloc[0])
    visit.choose(label_is=label)
    assert visit.count == ((lite2.confidence.round(3) >= 0.6) & (lite2.target == label)).sum()


def test_errors_of_one_model_but_not_of_another(visit, demo_page, wrong):
    visit.open(demo_page)
    names = visit.js("[...document.querySelectorAll('#model-is option')].map((o) => o.text)")
    visit.choose(model_is=names.index("efficientnet_lite0") - 1)
    visit.choose(model_not=names.index("efficientnet_lite1") - 1)
    made = {model: set(zip(rows.file_name, rows.prediction, strict=True)) for model, rows in wrong.groupby("model")}
    assert visit.count == len(made["efficientnet_lite0"] - made["efficientnet_lite1"])


def test_groups_and_superclasses_filter(visit, demo_page, wrong):
    from imagenet_errors.evidence.superclasses import load_superclasses
    from imagenet_errors.labels import imagenet_1k

    visit.open(demo_page, "#by=any")
    inside = imagenet_1k().in_group("organism")
    visit.choose(group_is=0)
    assert visit.count == distinct(wrong[[bool(inside[list(kept)].any()) for kept in wrong.accepted]])
    superclasses = load_superclasses()
    row = next(row for row, members in enumerate(superclasses.members) if wrong.target.isin(members.tolist()).any())
    visit.choose(group_is="", superclass_is=row)
    assert visit.count == distinct(wrong[wrong.target.isin(superclasses.members[row].tolist())])


def test_search_finds_names_of_images_and_classes(visit, demo_page, wrong):
    visit.open(demo_page, "#by=any")
    name = wrong.file_name.iloc[0]
    visit.choose(q=name.lower())
    assert visit.count == distinct(wrong[wrong.file_name == name])
    visit.choose(q="no such thing at all")
    assert visit.js("document.getElementById('count').textContent") == "No error matches."


def test_pages_hold_fifty_rows_and_turn(visit, demo_page, wrong):
    visit.open(demo_page, "#by=any")
    first = visit.js("document.querySelector('#rows .file').textContent")
    assert visit.js("document.querySelectorAll('#rows > li').length") == 50
    visit.js("document.getElementById('next').click()")
    assert visit.js("document.querySelector('#rows .file').textContent") != first
    assert visit.js("document.getElementById('page-of').textContent") == f"51–100 of {distinct(wrong)}"


def test_sorting_by_name_is_by_name(visit, demo_page):
    visit.open(demo_page)
    visit.choose(sort="name")
    names = visit.js("[...document.querySelectorAll('#rows .file')].map((file) => file.textContent)")
    assert names == sorted(names)


def test_a_row_opens_to_its_decision_path(visit, demo_page, program, demo_run):
    visit.open(demo_page)
    name = visit.js("document.querySelector('#rows .file').textContent")
    visit.js("document.querySelector('#rows summary').click()")
    visit.until("document.querySelector('#rows .path')")
    said = visit.js("[...document.querySelectorAll('#rows .path .says')].map((one) => one.textContent)")
    walks = json.loads(program("why", demo_run.folder, name, "--json").out)
    assert any({answer["says"] for answer in walk["answers"]} <= set(said) for walk in walks)
    assert visit.js("document.querySelectorAll('#rows .decides').length") == 1


def test_neighbours_and_proposals_are_shown_as_text(visit, made_run, tmp_path):
    page = write_report(ReportRequest(made_run.folder, tmp_path / "r.html")).path
    visit.open(page, "#by=any&type=fine_grained_oov")
    visit.js("document.querySelector('#rows summary').click()")
    visit.until("document.querySelector('#rows .proposals')")
    said = visit.js("document.querySelector('#rows .detail').textContent")
    assert "3 of the 10 nearest training images" in said
    assert "Nearest training images: electric ray (kin), stingray." in said
    assert "outside the classes" in said
    assert visit.js("document.querySelector('.proposals bdi').textContent") == "</script><b>dog"


def test_keys_alone_are_enough(visit, demo_page):
    from selenium.webdriver import Keys

    visit.open(demo_page)
    visit.press("/")
    assert visit.js("document.activeElement.id") == "q"
    visit.press("retriever", Keys.TAB)
    time.sleep(0.3)
    visit.driver.execute_script("document.activeElement.blur()")
    visit.press("j", "j", "k", Keys.ENTER)
    visit.until("document.querySelector('#rows li:first-child details').open")
    assert visit.js("document.activeElement === document.querySelector('#rows summary')")


def test_every_control_has_a_name_for_a_screen_reader(visit, demo_page):
    visit.open(demo_page)
    visit.driver.execute_cdp_cmd("Accessibility.enable", {})
    nodes = visit.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = {"button", "link", "textbox", "searchbox", "combobox", "checkbox", "spinbutton", "image", "region", "table"}
    named = [node for node in nodes if node.get("role", {}).get("value") in roles - {"table"} and not node["ignored"]]
    assert len(named) > 100
    assert [node["role"]["value"] for node in named if not node.get("name", {}).get("value")] == []


def test_a_links_address_asks_its_question(visit, demo_page, wrong):
    visit.open(demo_page)
    visit.driver.execute_script("document.querySelector('.card a').click()")
    visit.until("document.querySelector('[data-type=model_failure]').ariaPressed === 'true'")
    assert visit.js("document.getElementById('label-is').value") != ""
    assert 1 <= visit.count < distinct(wrong)


def test_the_question_is_kept_in_the_address(visit, demo_page):
    visit.open(demo_page)
    visit.choose(q="dog", sort="name")
    address, count = visit.js("location.hash"), visit.count
    assert visit.open(demo_page, address).count == count
    assert visit.js("document.getElementById('sort').value") == "name"


def test_clearing_brings_every_error_of_the_model_back(visit, demo_page):
    n_all = visit.open(demo_page).count
    visit.open(demo_page, "#by=any&type=fine_grained&q=dog")
    visit.js("document.getElementById('reset').click()")
    visit.until(f"document.getElementById('count').textContent.startsWith('{n_all} ')")


def test_another_model_comes_to_the_front_and_back(visit, demo_page):
    visit.open(demo_page)
    before = visit.js("document.getElementById('claim').textContent")
    for place in (2, 0):
        visit.bring(place)
        name = visit.js("document.getElementById('focus').selectedOptions[0].text")
        assert visit.js("document.getElementById('claim').textContent").startswith(f"{name} makes")
    assert visit.js("document.getElementById('claim').textContent") == before


def test_the_comparison_counts_what_both_and_one_get_wrong(visit, demo_page, wrong):
    visit.open(demo_page)
    a, b = visit.js("['compare-a', 'compare-b'].map((id) => document.getElementById(id).selectedOptions[0].text)")
    of_a, of_b = (set(wrong[wrong.model == model].file_name) for model in (a, b))
    parts = visit.js("[...document.querySelectorAll('#comparison .bar .part')].map((part) => Number(part.textContent))")
    assert parts == [len(of_a - of_b), len(of_a & of_b), len(of_b - of_a)]
    visit.js("document.getElementById('compare-swap').click()")
    turned = visit.js(
        "[...document.querySelectorAll('#comparison .bar .part')].map((part) => Number(part.textContent))"
    )
    assert turned == parts[::-1]


def test_a_columns_heading_sorts_the_models(visit, demo_page):
    visit.open(demo_page)
    visit.js("document.querySelectorAll('.models th button')[3].click()")
    errors = visit.js(
        "[...document.querySelectorAll('.models tbody tr')].map((row) => Number(row.children[3].dataset.sort))"
    )
    assert errors == sorted(errors, reverse=True)
    assert visit.js("document.querySelectorAll('.models th')[3].ariaSort") == "descending"


def test_models_are_searched_and_taken_along(visit, demo_page):
    visit.open(demo_page)
    visit.choose(models_q="lite1")
    assert visit.js("document.querySelectorAll('.models tbody tr').length") == 1
    assert visit.js("document.getElementById('models-count').textContent") == "1 of 3 models"
    visit.driver.execute_script(
        "window.saved = []; const make = URL.createObjectURL;"
        "URL.createObjectURL = (blob) => { blob.text().then((text) => window.saved.push(text)); return make(blob); };"
        "HTMLAnchorElement.prototype.click = () => {}; document.getElementById('models-csv').click();"
        "document.getElementById('export').click();"
    )
    visit.until("window.saved.length === 2")
    models, errors = sorted(visit.js("window.saved"), key=len)
    assert len(models.splitlines()) == 4
    assert models.splitlines()[0].startswith("model,top-1,MLA,errors,class_overlap")
    assert len(errors.splitlines()) == 1 + visit.count


CONTRASTS = """(() => {
  const channels = (text) => text.match(/[\\d.]+/g).map(Number);
  const linear = (part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const element of document.querySelectorAll("main *, header *, footer *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility() || element.closest("svg, option, :disabled, [aria-hidden]")) continue;
    const tones = [luminance(channels(getComputedStyle(element).color)), luminance(ground(element))].sort();
    const ratio = (Math.max(...tones) + 0.05) / (Math.min(...tones) + 0.05);
    if (ratio < 4.5) poor.push([element.className, element.textContent.slice(0, 30), ratio.toFixed(2)]);
  }
  return poor;
})()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_is_readable(visit, demo_page, scheme):
    emulate(visit.driver, width=1440, height=900, scheme=scheme)
    visit.open(demo_page)
    visit.js("document.querySelector('#rows summary').click()")
    visit.until("document.querySelector('#rows .path')")
    lightness = visit.js("getComputedStyle(document.body).backgroundColor")
    assert (lightness == "rgb(21, 23, 27)") == (scheme == "dark")
    assert visit.js(CONTRASTS) == []


def test_the_theme_can_be_chosen_and_is_remembered(visit, demo_page):
    visit.open(demo_page)
    seen = []
    for _ in range(3):
        visit.js("document.getElementById('theme').click()")
        seen.append(visit.js("getComputedStyle(document.body).backgroundColor"))
        visit.open(demo_page)
        assert visit.js("getComputedStyle(document.body).backgroundColor") == seen[-1]
    assert seen == ["rgb(251, 250, 247)", "rgb(21, 23, 27)", "rgb(251, 250, 247)"]


def test_a_number_is_shown_in_full_or_not_at_all(visit, demo_page):
    """At any width: hidden by its segment's pixels, never cut."""
    for width in (390, 1440):
        emulate(visit.driver, width=width, height=900)
        visit.open(demo_page)
        for bar in ("100%", "90px"):
            visit.driver.execute_script(
                "document.querySelectorAll('#errors .bar').forEach((bar) => { bar.style.width = arguments[0]; });", bar
            )
            parts = visit.js(
                "[...document.querySelectorAll('#errors .part b')].map((one) => [getComputedStyle(one).visibility,"
                " one.getBoundingClientRect().width, one.parentElement.getBoundingClientRect().width])"
            )
            assert all(wide <= room + 0.5 for visibility, wide, room in parts if visibility == "visible")
            assert not [1 for visibility, wide, room in parts if visibility == "hidden" and wide + 12 < room]
            assert any(visibility == "hidden" for visibility, *_ in parts) or bar == "100%"


def test_a_comparison_says_which_counts_are_bounds(visit, made_run, tmp_path):
    visit.open(write_report(ReportRequest(made_run.folder, tmp_path / "r.html")).path)
    cells = visit.js(
        "Object.fromEntries([...document.querySelectorAll('#comparison tbody tr')].map((row) =>"
        " [row.cells[0].textContent, row.cells[1].textContent]))"
    )
    assert re.fullmatch(r"≥ \d+", cells["fine_grained_oov"])  # more have no evidence
    assert re.fullmatch(r"≤ \d+", cells["model_failure"])
    assert re.fullmatch(r"\d+", cells["fine_grained"])


@pytest.fixture
def new_tab(browser):
    """A tab with a history of its own: Chromium keeps 50 steps, and loses others once these are full."""
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    yield
    browser.close()
    browser.switch_to.window(first)


def test_back_and_forward_restore_each_step_and_the_title_follows(new_tab, visit, demo_page):
    visit.open(demo_page)
    first = (visit.count, visit.js("document.title"))
    visit.js("document.querySelector('[data-type=fine_grained]').click()")
    second = (visit.count, visit.js("document.title"))
    visit.bring(1)
    third = (visit.count, visit.js("document.title"))
    assert len({first[1], second[1], third[1]}) == 3
    back, forward = visit.driver.back, visit.driver.forward  # they wait for the browser, as a person does
    for step, expected in ((back, second), (back, first), (forward, second), (forward, third)):
        step()
        visit.until(f"document.title === {json.dumps(expected[1])}")
        assert visit.count == expected[0]


def test_an_error_has_an_address_that_opens_it(visit, demo_page, wrong):
    row = wrong[wrong.model == "efficientnet_lite2"].iloc[-1]
    from imagenet_errors.labels import imagenet_1k

    case = f"{row.file_name}/{imagenet_1k().names[row.prediction]}"
    visit.open(demo_page, f"#model=efficientnet_lite2&case={case}")
    visit.until("document.querySelector('#rows details[open] .path')")
    assert visit.js("document.querySelector('#rows details[open] .file').textContent") == row.file_name
    assert row.file_name in visit.js("document.title")
    link = visit.js("document.querySelector('#rows details[open] .copy').getAttribute('href')")
    visit.open(demo_page, link)
    visit.until("document.querySelector('#rows details[open] .path')")
    assert visit.js("document.querySelector('#rows details[open] .file').textContent") == row.file_name


def test_an_error_that_the_question_hides_is_shown_all_the_same(visit, demo_page, wrong):
    name = visit.open(demo_page).js("document.querySelector('#rows .file').textContent")
    visit.js("document.querySelector('#rows summary').click()")
    visit.until("location.hash.includes('case=')")
    case = visit.js("new URLSearchParams(location.hash.slice(1)).get('case')")
    visit.open(demo_page, f"#q=nothing+like+it&case={case}")
    visit.until("document.querySelector('#rows details[open] .path')")
    assert visit.js("document.querySelector('#rows details[open] .file').textContent") == name


def test_confidence_says_whose_it_is(visit, demo_page):
    for address in ("", "#by=any"):
        visit.open(demo_page, address)
        sides = visit.js("[...document.querySelectorAll('#rows .side')].map((side) => side.textContent)")
        assert all(re.search(r"efficientnet_lite\d \d+% sure", side) for side in sides)


def test_the_second_line_of_a_failure_tells_news(visit, demo_page):
    visit.open(demo_page, "#type=model_failure")
    lines = visit.js("[...document.querySelectorAll('#rows .because')].map((line) => line.textContent)")
    assert all("WordNet distance" in line for line in lines)
    assert not [line for line in lines if line.startswith("Nothing explains")]


def test_errors_are_sorted_and_filtered_by_wordnet_distance(visit, demo_page):
    visit.open(demo_page, "#sort=far&far=9")
    distances = visit.js(
        "[...document.querySelectorAll('#rows .because')].map((line) => line.textContent.match(/distance (\\d+)/)?.[1])"
    )
    known = [int(distance) for distance in distances if distance]
    assert known == sorted(known, reverse=True)
    assert min(known) >= 9


def test_the_grid_shows_the_same_errors_and_opens_by_keys(visit, demo_page):
    from selenium.webdriver import Keys

    visit.open(demo_page)
    names = visit.js("[...document.querySelectorAll('#rows .file')].map((file) => file.textContent)")
    visit.choose(view="grid")
    assert visit.js("[...document.querySelectorAll('#rows .file')].map((file) => file.textContent)") == names
    tops = visit.js(
        "[...document.querySelectorAll('#rows > li')].slice(0, 3).map((row) => row.getBoundingClientRect().top)"
    )
    assert len(set(tops)) == 1
    visit.driver.execute_script("document.activeElement.blur()")
    visit.press("j", "j", "k", Keys.ENTER)
    visit.until("document.querySelector('#rows li:first-child details').open")
    assert "view=grid" in visit.js("location.hash")


def test_a_cell_of_the_confusion_matrix_leads_to_its_errors(visit, demo_page):
    visit.open(demo_page, "#by=any")
    visit.js("document.querySelector('#matrix summary').click()")
    visit.until("document.querySelector('#matrix-table a')")
    count = int(visit.js("document.querySelector('#matrix-table a').textContent").replace(",", ""))
    visit.js("document.querySelector('#matrix-table a').click()")
    visit.until("/(into|prediction)=/.test(location.hash)")
    visit.until(f"document.getElementById('count').textContent.startsWith('{count} ')")


def test_a_lead_of_fix_first_opens_as_many_errors_as_it_says(visit, demo_page):
    visit.open(demo_page)
    leads = visit.js(
        "[...document.querySelectorAll('.leads li')].map((one) => [one.querySelector('a').getAttribute('href'),"
        " one.querySelector('.worth').textContent])"
    )
    assert leads
    for address, worth in leads:
        assert visit.open(demo_page, address).count == int(worth.split()[0].replace(",", ""))


def test_error_consistency_has_a_cell_for_every_pair(visit, demo_page):
    visit.open(demo_page)
    cells = visit.js("[...document.querySelectorAll('#consistency .matrix tbody td')].map((cell) => cell.textContent)")
    assert len([cell for cell in cells if re.fullmatch(r"-?[01]\.\d\d", cell)]) == 6


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_axe_finds_nothing_wrong(visit, demo_page, axe, scheme, width, height):
    emulate(visit.driver, width=width, height=height, scheme=scheme)
    visit.open(demo_page)
    visit.js("document.querySelector('#matrix summary').click()")
    visit.js("document.querySelector('#rows summary').click()")
    visit.until("document.querySelector('#rows .path') && document.querySelector('#matrix-table a')")
    assert violations(visit, axe) == []


@pytest.mark.parametrize(("width", "height"), [(390, 844), (768, 1024), (1440, 900)])
def test_nothing_sticks_out_to_the_side(visit, demo_page, width, height):
    emulate(visit.driver, width=width, height=height)
    visit.open(demo_page)
    visit.js("document.querySelector('#rows summary').click()")
    visit.until("document.querySelector('#rows .path')")
    assert visit.js("document.documentElement.scrollWidth") <= width


def test_hostile_names_are_shown_as_text_and_run_nothing(visit, hostile_run, tmp_path):
    visit.open(write_report(ReportRequest(hostile_run.folder, tmp_path / "r.html")).path)
    shown = visit.js("[...document.querySelectorAll('#rows .file')].map((file) => file.textContent)")
    assert sorted(shown) == sorted(list(HOSTILE_NAMES.values())[:3])
    assert visit.js("document.getElementById('claim').querySelector('bdi').textContent") == HOSTILE_MODEL
    visit.js("document.querySelectorAll('#rows summary').forEach((row) => row.click())")
    visit.until("document.querySelectorAll('#rows .path').length === 3")
    assert visit.js("window.hacked") is None
    assert visit.driver.get_log("browser") == []


def test_very_long_names_do_not_widen_the_page(visit, tmp_path, val_images):
    from imagenet_errors.evaluation import evaluate
    from toy import inputs_of

    annotations = val_images.annotations(tmp_path / "annotations.csv")
    files = tuple(val_images.csv(tmp_path / f"{letter * 200}.csv") for letter in "xy")
    evaluate(files, inputs_of(str(annotations)), tmp_path / "run")
    emulate(visit.driver, width=390, height=844)
    visit.open(write_report(ReportRequest(tmp_path / "run")).path)
    assert visit.js("document.documentElement.scrollWidth") <= 390


def test_pictures_are_inside_or_linked_and_shown(visit, demo_run, tmp_path):
    names = list(demo_run.verdicts("efficientnet_lite0").query("error_type == 'model_failure'").file_name[:5])
    (tmp_path / "images").mkdir()
    for name in names:
        Image.new("RGB", (60, 40), "teal").save(tmp_path / "images" / name)
    request = ReportRequest(demo_run.folder, tmp_path / "r.html", images=tmp_path / "images", n_thumbnails=2)
    visit.open(write_report(request).path)
    visit.driver.execute_script("document.getElementById('pictured').click()")
    visit.until("document.querySelectorAll('#rows img').length > 0")
    visit.driver.execute_script("document.getElementById('rows').scrollIntoView()")
    visit.until("[...document.querySelectorAll('#rows img')].every((picture) => picture.complete)")
    sources = visit.js("[...document.querySelectorAll('#rows img')].map((picture) => picture.src.slice(0, 5))")
    assert set(sources) == {"data:", "file:"}
    assert visit.js("[...document.querySelectorAll('#rows img')].every((picture) => picture.naturalWidth > 0)")


def test_a_picture_that_has_moved_is_said_to_be_missing(visit, demo_run, tmp_path):
    name = demo_run.verdicts("efficientnet_lite0").query("error_type == 'model_failure'").file_name.iloc[0]
    (tmp_path / "images").mkdir()
    Image.new("RGB", (60, 40)).save(tmp_path / "images" / name)
    request = ReportRequest(demo_run.folder, tmp_path / "r.html", images=tmp_path / "images", n_thumbnails=0)
    page = write_report(request).path
    (tmp_path / "images" / name).unlink()
    visit.open(page, f"#by=any&q={name}")
    visit.until("document.querySelector('#rows .thumb.none')?.textContent === 'not found'")


def test_it_prints(visit, demo_page):
    visit.open(demo_page)
    printed = visit.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert len(printed["data"]) > 50_000


def test_a_page_without_errors_is_quiet(visit, val_images, tmp_path):
    from imagenet_errors.evaluation import evaluate
    from toy import inputs_of

    right = {f"at_{row}": label for row, label in enumerate(val_images.label)}
    files = tuple(val_images.csv(tmp_path / f"{name}.csv", **right) for name in ("one", "two"))
    sources = inputs_of(str(val_images.annotations(tmp_path / "annotations.csv")))
    evaluate(files, sources, tmp_path / "run", rules=ReadRules(check_order=False))
    visit.open(write_report(ReportRequest(tmp_path / "run")).path)
    assert visit.driver.get_log("browser") == []
    assert visit.js("document.getElementById('count').textContent") == "No error matches."
