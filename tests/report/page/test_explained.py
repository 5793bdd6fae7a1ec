"""A run's explanations on the page: the section, opened errors, filters; in a real browser."""

import shutil

import pytest

pytest.importorskip("PIL", reason="needs the extra report: Pillow is not installed")


from explained_world import explain_by_hand, located, write
from imagenet_errors.explain.locate import Locate
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.report.page.page import ReportRequest, write_report
from report_world import MadeRun, Page, violations

MODEL = "efficientnet_lite0"


@pytest.fixture(scope="module")
def explained(demo_run, tmp_path_factory):
    """The demo with explanations of one model: the run, the failures and the spurious correlations explained."""
    folder = tmp_path_factory.mktemp("explained") / "run"
    shutil.copytree(demo_run.folder, folder)
    run = MadeRun(folder, folder)
    return run, *explain_by_hand(folder, run.verdicts(MODEL), MODEL)


@pytest.fixture(scope="module")
def page(explained):
    return write_report(ReportRequest(explained[0].folder)).path


def case(row):
    return f"{row.file_name}/{imagenet_1k().names[row.prediction]}"


def opened(visit, page, row, model=MODEL):
    visit.open(page, f"#model={model}&case={case(row)}")
    visit.until("document.querySelector('#rows details[open] .explained')")
    return visit.js("document.querySelector('#rows details[open] .explained').textContent")


def test_a_run_without_explanations_has_no_section(demo_page):
    page = Page(demo_page)
    assert "#explanations" not in page.addresses
    assert page.tags.count("script") == 4


def test_the_section_says_first_whether_pictures_are_evidence(page):
    text = Page(page).plain
    at = text.index("Where the severe mistakes come from")
    first = text.index("turns 15 of 17 errors into an accepted answer and 5 into a decoy as near", at)
    assert "No more than decoys: spurious_correlation (5 against 5, p = 1)" in text[first:]
    assert first < text.index("To accepted, to a decoy", at)


def test_verdicts_have_shares_with_intervals_by_error_type(visit, page):
    visit.open(page)
    cells = visit.js("[...document.querySelector('#explanations tbody tr').cells].map((cell) => cell.innerText.trim())")
    assert cells == ["model_failure", "12", "10", "0", "10 83% (55%–95%)", "0", "0", "2 17% (5%–45%)"]
    assert "other gives the same wrong answer to 10 of the 10 located errors; the same mask" in Page(page).plain


def test_agreement_stands_beside_its_ceiling(page):
    assert "lime 0.25 across models (ceiling 0.25)" in Page(page).plain


def test_explanations_of_answers_that_the_run_no_longer_gives_are_left_out(explained, tmp_path):
    run, failures, _ = explained
    shutil.copytree(run.folder, tmp_path / "run")
    rows = [located(row, n_flip=2, n_decoy=None, verdict="located") for row in failures.itertuples()]
    rows[0]["prediction"] += 1
    rows[1]["error_type"] = "fine_grained"
    write(tmp_path / "run", MODEL, Locate, rows)
    written = write_report(ReportRequest(tmp_path / "run"))
    assert f"2 explanations (locate, {MODEL}) of answers that the run now gives or judges" in written.notes[-1]
    assert "turns 10 of 10 errors" in Page(written.path).plain


def test_explanations_of_models_that_are_not_shown_are_not_either(explained, tmp_path):
    request = ReportRequest(explained[0].folder, tmp_path / "r.html", models=("efficientnet_lite1",))
    assert "#explanations" not in Page(write_report(request).path).addresses


def test_a_broken_table_is_named(explained, tmp_path):
    shutil.copytree(explained[0].folder, tmp_path / "run")
    (tmp_path / "run/explanations/locate" / f"{MODEL}.parquet").write_bytes(b"no table")
    with pytest.raises(InputError, match=r"lite0.parquet: cannot be read"):
        write_report(ReportRequest(tmp_path / "run"))


def test_pictures_that_are_no_evidence_are_on_the_page_only_when_asked_for(program, explained, tmp_path):
    run, failures, spurious = explained
    names = [f"{row.file_name}|{row.prediction}" for row in (failures.iloc[0], spurious.iloc[0])]
    shown = {}
    for asked in ((), ("--pictures-anyway",)):
        assert program("report", run.folder, "--out", tmp_path / "r.html", *asked).status == 0
        rows = Page(tmp_path / "r.html").packed("explanations-packed")
        shown[asked] = [(bool(rows[name][MODEL]["locate"]["hidden"]), "picture" in rows[name][MODEL]) for name in names]
    assert shown[()] == [(True, True), (False, False)]
    assert shown["--pictures-anyway",] == [(True, True), (True, True)]


def test_an_opened_error_shows_the_hidden_part_and_its_controls(visit, page, explained):
    _, failures, _ = explained
    text = opened(visit, page, failures.iloc[0])
    label = imagenet_1k().names[failures.iloc[0].target]
    assert f"located: With 2 cells of 64 hidden it is called {label} (correct)." in text
    assert "not reached" in text
    assert "5% turn it" in text
    assert "Over the other baseline the same mask turns it, too." in text
    assert f"behind the same mask {label}" in text
    box = "document.querySelector('#rows details[open] .hidden-part')"
    assert visit.js(f"{box}.querySelectorAll('i').length") == 2
    assert visit.js(f"{box}.querySelector('img').naturalWidth") == 64
    left, top, width = visit.js(
        f"(() => {{ const a = {box}.getBoundingClientRect(), b = {box}.querySelector('i').getBoundingClientRect();"
        " return [(b.left - a.left) / a.width, (b.top - a.top) / a.height, b.width / a.width]; })()"
    )
    assert (left, top, width) == pytest.approx((1 / 8, 1 / 8, 1 / 8), abs=0.02)  # cell 9 of 8 x 8
    assert visit.driver.get_log("browser") == []


def test_an_opened_error_shows_subsets_with_controls_and_maps_side_by_side(visit, page, explained):
    text = opened(visit, page, explained[1].iloc[0])
    assert "artefact: 12.0% of the picture in single pixels keep the answer (probability 0.910)" in text
    assert "Maps agree by rank 0.25 across models; one model agrees with itself by 0.25." in text
    assert visit.js("document.querySelectorAll('#rows details[open] canvas').length") == 3


def test_where_pictures_are_no_evidence_the_controls_stand_alone(visit, page, explained):
    text = opened(visit, page, explained[2].iloc[0])
    assert "chance: With 2 cells of 64 hidden" in text
    assert "No picture: errors of this type turn no more often to an accepted label than to a decoy." in text
    assert visit.js("document.querySelector('#rows details[open] .hidden-part')") is None


def test_errors_are_filtered_by_verdict_and_the_filter_has_an_address(visit, page, explained):
    run, _, spurious = explained
    visit.open(page, f"#model={MODEL}")
    visit.choose(locate_is="chance")
    assert visit.count == len(spurious)
    assert "located=chance" in visit.js("location.hash")
    visit.open(page, f"#model={MODEL}&located=located")
    assert visit.count == 10
    n_errors = (run.verdicts(MODEL).error_type != "correct").sum()
    visit.open(page, f"#model={MODEL}&framing=framing")
    assert visit.count == len(range(0, n_errors, 3))
    assert visit.js("document.getElementById('n-more').textContent") == "(1 in use)"


def test_stability_is_told_of_every_error_and_sorts(visit, page):
    visit.open(page, f"#model={MODEL}&sort=framing")
    sides = visit.js("[...document.querySelectorAll('#rows .side')].map((side) => side.textContent)")
    assert all("of reframings keep it" in side for side in sides)
    assert "29% of reframings keep it" in sides[0]
    visit.open(page, "#model=efficientnet_lite1")
    sides = visit.js("[...document.querySelectorAll('#rows .side')].map((side) => side.textContent)")
    assert not any("reframings" in side for side in sides)


def test_axe_finds_nothing_wrong_with_explanations(visit, page, explained, axe):
    opened(visit, page, explained[1].iloc[0])
    assert violations(visit, axe) == []
