"""The page is one file, says what the run says, and is safe whatever the names."""

import base64
import json
import re
import shutil
import sys
from urllib.parse import parse_qsl

import pytest

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.predictions import ReadRules
from imagenet_errors.report.page.page import (
    PUBLISHED_SCRIPTS,
    ExtraSection,
    ReportRequest,
    page_script,
    write_published,
    write_report,
)
from report_world import HOSTILE_MODEL, HOSTILE_NAMES, Page


@pytest.fixture(scope="module")
def made_page(made_run, tmp_path_factory):
    return write_report(ReportRequest(made_run.folder, tmp_path_factory.mktemp("page") / "report.html"))


@pytest.fixture(scope="module")
def page(made_page):
    return Page(made_page.path)


def test_nothing_points_outside_the_page(page):
    assert page.addresses
    assert all(re.match(r"#|data:,$", address) for address in page.addresses)


def test_every_question_in_the_page_is_asked_by_name(page):
    asked = [dict(parse_qsl(address[1:])) for address in page.addresses if "=" in address]
    assert asked
    names = set(imagenet_1k().names)
    for question in asked:
        assert question["model"] in ("good", "fair", "part")
        assert question.get("label", "tench") in names
        assert set(question.get("type", "correct").split(",")) <= set(ERROR_TYPES)


def test_only_the_pages_own_script_may_run(page, made_page):
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', made_page.path.read_text(encoding="utf-8"))
    policy = policy.replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-inline" not in policy.split("style-src-attr")[0]
    assert page.tags.count("script") == 4
    assert page.handlers == []


def test_the_script_never_makes_markup_of_text():
    assert not re.findall(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(",
        page_script() + page_script(PUBLISHED_SCRIPTS),
    )


def test_the_headline_says_the_runs_figures(page, made_run):
    verdicts = made_run.verdicts("good")
    n_errors, n_severe = (verdicts.error_type != "correct").sum(), (verdicts.error_type == "model_failure").sum()
    assert f"good makes {n_errors} errors; between" in page.plain
    assert re.search(rf"between \d+ and {n_severe} of them are severe", page.plain)


def test_every_distinct_error_is_in_the_explorer(page, made_page, made_run):
    verdicts = [made_run.verdicts(model).query("error_type != 'correct'") for model in ("good", "fair", "part")]
    distinct = {pair for rows in verdicts for pair in zip(rows.file_name, rows.prediction, strict=True)}
    assert made_page.n_cases == len(distinct)
    assert set(page.book["images"]["names"]) == {name for name, _ in distinct}


def test_no_folder_of_this_machine_is_told_but_the_runs_own(made_page, made_run):
    text = made_page.path.read_text(encoding="utf-8")
    assert "annotations.csv" in text
    assert str(made_run.annotations) not in text


def test_every_model_waits_behind_the_one_in_front(page):
    waiting = page.packed("models-packed")
    assert len(waiting) == 2
    for model, html in zip(("fair", "part"), waiting, strict=True):
        assert re.search(rf"{model}</bdi> makes \d+ errors", html)


def test_missing_evidence_is_said_and_nothing_is_compared_that_hangs_on_it(page):
    assert re.search(r"fine_grained_oov, .* and model_failure are exact only together \(\d+ errors\)", page.plain)
    assert "are severe; published models" not in page.plain


def test_stages_that_did_not_run_are_said_and_no_zero_is_shown_for_them(demo_page):
    page = Page(demo_page)
    assert "fine_grained_oov and non_prototypical did not run for want of evidence." in page.plain
    assert re.search(r"pass --oov-evidence FILE\. ?(not run ?){4}", page.plain)
    assert "at most" in page.plain


def test_what_is_held_back_is_said(made_run, tmp_path):
    written = write_report(ReportRequest(made_run.folder, tmp_path / "r.html", n_cases=10))
    assert written.n_cases == 10
    (note,) = written.notes
    assert re.match(r"The explorer holds 10 of \d+ distinct errors: the most severe", note)
    assert note in Page(written.path).plain


def test_the_cases_that_are_kept_are_the_most_severe(made_run, tmp_path):
    write_report(ReportRequest(made_run.folder, tmp_path / "r.html", n_cases=10))
    kind, severe = Page(tmp_path / "r.html").book["cases"]["type"]
    assert (kind, severe) == ("u1", base64.b64encode(bytes([ERROR_TYPES.index("model_failure")] * 10)).decode())


def test_hostile_names_are_text(hostile_run, tmp_path):
    page = Page(write_report(ReportRequest(hostile_run.folder, tmp_path / "r.html")).path)
    assert page.tags.count("script") == 4
    assert "img" not in page.tags
    assert page.handlers == []
    assert set(page.book["images"]["names"]) == set(list(HOSTILE_NAMES.values())[:3])
    assert page.book["models"] == [HOSTILE_MODEL]
    assert " ".join(HOSTILE_MODEL.split()) in page.plain


def test_published_models_are_shown_when_they_are_at_hand(made_run, shared, tmp_path):
    request = ReportRequest(made_run.folder, tmp_path / "r.html", published=shared / "published")
    text = Page(write_report(request).path).plain
    assert re.search(r"above that of \d+ of the 962 published models", text)
    assert "Compare with care: the published models were judged on 18,692 images" in text
    assert "model_failure together; published models of its accuracy have" in text


def test_without_them_it_is_said_how_to_get_them(page):
    assert "imagenet-errors data fetch published" in page.plain


def test_one_model_alone_has_no_comparison(made_run, tmp_path):
    page = Page(write_report(ReportRequest(made_run.folder, tmp_path / "r.html", models=("fair",))).path)
    assert "Compare two models" not in page.plain
    assert page.book["pairs"]["pairs"] == []


def test_the_page_is_the_same_when_written_again(made_run, made_page, tmp_path):
    again = write_report(ReportRequest(made_run.folder, tmp_path / "again.html"))
    assert again.path.read_bytes() == made_page.path.read_bytes()


def test_a_place_that_cannot_be_written_is_named(made_run, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be written"):
        write_report(ReportRequest(made_run.folder, tmp_path / "file" / "r.html"))


def test_superclasses_that_are_gone_are_said(made_run, tmp_path):
    shutil.copytree(made_run.folder, tmp_path / "run")
    manifest = json.loads((tmp_path / "run/run.json").read_text(encoding="utf-8"))
    manifest["evidence"]["superclasses"] = str(tmp_path / "gone")
    (tmp_path / "run/run.json").write_text(json.dumps(manifest), encoding="utf-8")
    page = Page(write_report(ReportRequest(tmp_path / "run")).path)
    assert "The superclasses that the run used are no longer at hand." in page.plain
    assert page.book["superclasses"] == []


def test_the_command_names_the_page(program, demo_run, tmp_path):
    answer = program("report", demo_run.folder, "--out", tmp_path / "r.html")
    assert answer.status == 0, answer.err
    assert f"Report: {tmp_path / 'r.html'} (" in answer.out


def test_the_command_puts_the_page_into_the_run_and_tells_machines(program, made_run, tmp_path):
    shutil.copytree(made_run.folder, tmp_path / "run")
    said = json.loads(program("report", tmp_path / "run", "--json", "--model", "part").out)
    assert said["path"] == str(tmp_path / "run" / "report.html")
    assert said["n_bytes"] == (tmp_path / "run" / "report.html").stat().st_size


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("RUN", "--model", "best"), "no model 'best' in this run", id="unknown model"),
        pytest.param(("RUN", "--images", "nowhere"), "nowhere: no such folder", id="no images"),
        pytest.param(("RUN", "--published-statistics", "nowhere"), "nowhere: no such folder", id="no statistics"),
        pytest.param(("nowhere",), "not a run directory", id="no run"),
        pytest.param((), "Pass RUN_DIR or --published.", id="nothing"),
        pytest.param(("RUN", "--factors", "nowhere.jsonl"), "nowhere.jsonl: no such file", id="no factors"),
    ],
)
def test_what_cannot_be_shown_is_said(program, made_run, tmp_path, arguments, message):
    named = [str(made_run.folder) if argument == "RUN" else argument for argument in arguments]
    answer = program("report", *named, "--out", tmp_path / "r.html")
    assert answer.status == 2
    assert message in answer.err
    assert not (tmp_path / "r.html").exists()


def test_a_model_without_errors_has_a_page_too(val_images, tmp_path):
    from imagenet_errors.evaluation import evaluate
    from toy import inputs_of

    right = {f"at_{row}": label for row, label in enumerate(val_images.label)}
    file = val_images.csv(tmp_path / "perfect.csv", **right)
    sources = inputs_of(str(val_images.annotations(tmp_path / "annotations.csv")))
    evaluate((file,), sources, tmp_path / "run", rules=ReadRules(check_order=False))
    page = Page(write_report(ReportRequest(tmp_path / "run")).path)
    assert "perfect makes no error on these images." in page.plain
    assert page.book["images"]["names"] == []


@pytest.mark.parametrize("n_models", [1, 2, 5])
def test_models_that_were_evaluated_on_no_image_have_a_page_too(n_models, tmp_path):
    from imagenet_errors.evaluation import evaluate
    from toy import inputs_of

    names = ["ILSVRC2012_val_00000001.JPEG", "ILSVRC2012_val_00000002.JPEG"]
    (tmp_path / "labels.csv").write_text(f"file_name,labels,problematic\n{names[0]},65,1\n{names[1]},970,1\n")
    files = [tmp_path / f"net{number}.csv" for number in range(n_models)]
    for file in files:
        file.write_text(f"file_name,prediction\n{names[0]},65\n{names[1]},3\n")
    evaluate(files, inputs_of(str(tmp_path / "labels.csv")), tmp_path / "run", rules=ReadRules(check_order=False))
    page = Page(write_report(ReportRequest(tmp_path / "run")).path)
    assert "net0 was evaluated on no image." in page.plain
    assert "nan" not in page.plain


@pytest.mark.parametrize(
    ("package", "arguments"),
    [
        pytest.param("jinja2", ("report", "RUN"), id="page"),
        pytest.param("PIL", ("report", "RUN", "--images", "."), id="pictures"),
        pytest.param("matplotlib", ("figures", "RUN"), id="figures"),
    ],
)
def test_a_package_that_is_not_installed_is_named_with_its_extra(program, made_run, monkeypatch, package, arguments):
    monkeypatch.setitem(sys.modules, package, None)
    answer = program(*[str(made_run.folder) if argument == "RUN" else argument for argument in arguments])
    assert answer.status == 2
    assert "is needed for this and not installed. Install it with: pip install" in answer.err
    assert '[report]".' in answer.err


def test_another_part_of_the_program_can_add_a_section(made_run, tmp_path):
    template = tmp_path / "pixels.html"
    template.write_text(
        '{% import "parts.html" as parts with context %}'
        '<section id="{{ section.name }}"><h2>{{ section.title }}</h2>{{ section.content["said"] }}'
        '{{ parts.codes(["model_failure"]) }}</section>',
        encoding="utf-8",
    )
    section = ExtraSection("pixels", "Where it looks", template, {"said": "<script>window.hacked=1</script>"})
    page = Page(write_report(ReportRequest(made_run.folder, tmp_path / "r.html", sections=(section,))).path)
    assert "#pixels" in page.addresses
    assert "Where it looks<script>window.hacked=1</script>model_failure" in page.plain
    assert page.tags.count("script") == 4


def test_factors_have_a_section_of_their_own(made_run, tmp_path, val_images):
    rows = [json.dumps({"file_name": name, "pose": row % 2}) for row, name in enumerate(val_images.names)]
    (tmp_path / "factors.jsonl").write_text("\n".join(rows), encoding="utf-8")
    request = ReportRequest(made_run.folder, tmp_path / "r.html", factors=tmp_path / "factors.jsonl")
    assert "By what is unusual about the image" in Page(write_report(request).path).plain


def test_the_published_models_alone_have_a_page(shared, tmp_path):
    page = Page(write_published(shared / "published", tmp_path / "published.html").path)
    assert "962 published models" in page.plain
    assert "−1.03 pp per MLA point below an MLA of 90%, and by −3.05 from there on" in page.plain
    assert page.tags.count("tr") == 963
    assert page.tags.count("script") == 1


def test_a_cache_that_cannot_be_written_is_no_fault(made_run, made_page, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("IMAGENET_ERRORS_CACHE", str(tmp_path / "file"))
    again = write_report(ReportRequest(made_run.folder, tmp_path / "again.html"))
    assert again.path.read_bytes() == made_page.path.read_bytes()


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_the_page_does_not_depend_on_the_number_of_workers(made_run, made_page, tmp_path, monkeypatch, jobs):
    monkeypatch.setenv("IMAGENET_ERRORS_JOBS", jobs)
    again = write_report(ReportRequest(made_run.folder, tmp_path / "again.html"))
    assert again.path.read_bytes() == made_page.path.read_bytes()
