"""A run is read back as it was written, models side by side."""

import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.problems import InputError
from imagenet_errors.runs.tables import NOT_EVALUATED, load_run_tables


@pytest.fixture(scope="module")
def run(made_run):
    return load_run_tables(made_run.folder)


def test_the_most_accurate_model_comes_first(made_run, run):
    summary = pd.read_parquet(made_run.folder / "summary.parquet").sort_values("mla", ascending=False)
    assert list(run.models) == summary.model.tolist()


def test_verdicts_stand_under_their_images_and_gaps_are_marked(made_run, run):
    names = run.file_names.to_pylist()
    for place, model in enumerate(run.models):
        verdicts = made_run.verdicts(model).set_index("file_name").reindex(names)
        written = verdicts.error_type.astype(object)
        expected = [NOT_EVALUATED if pd.isna(name) else ERROR_TYPES.index(name) for name in written]
        assert run.error_type[place].tolist() == expected
    assert (run.error_type[run.models.index("part")] == NOT_EVALUATED).sum() == 100


def test_labels_are_those_of_the_verdicts(made_run, run):
    verdicts = made_run.verdicts("good")
    assert run.label.tolist() == verdicts.target.tolist()
    assert [run.accepted[row].tolist() for row in range(300)] == [list(kept) for kept in verdicts.accepted]


def test_each_distinct_error_is_one_case_with_its_makers_and_sentence(made_run, run):
    names = run.file_names.to_pylist()
    expected = {}
    for model in run.models:
        wrong = made_run.verdicts(model).query("error_type != 'correct'")
        for row in wrong.itertuples():
            expected.setdefault((row.file_name, row.prediction), (row.error_type, row.explanation, {}))
            expected[row.file_name, row.prediction][2][model] = np.float32(row.confidence)
    cases = run.cases
    found = {}
    for place in range(len(cases)):
        inside = slice(cases.offsets[place], cases.offsets[place + 1])
        makers = [run.models[model] for model in cases.makers[inside]]
        key = names[cases.image[place]], cases.prediction[place]
        told = ERROR_TYPES[cases.error_type[place]], cases.explanation[place].as_py()
        found[key] = *told, dict(zip(makers, cases.confidence[inside], strict=True))
    assert found == expected


@pytest.mark.parametrize("stored", ["as they were", "otherwise", "in other row groups", "one file by another order"])
def test_verdicts_are_the_same_however_each_file_stores_them(made_run, run, tmp_path, stored):
    """What files say of the images is read once where they store it alike; nothing depends on that."""
    shutil.copytree(made_run.folder, tmp_path / "run")
    for place, path in enumerate(sorted((tmp_path / "run" / "verdicts").glob("*.parquet"))):
        table = pq.read_table(path)
        if stored == "otherwise" and place:
            pq.write_table(table, path, compression="snappy", use_dictionary=False)
        elif stored == "in other row groups" and place:
            pq.write_table(table, path, row_group_size=7)
        elif stored == "one file by another order" and place == 1:
            pq.write_table(table.take(np.random.default_rng(5).permutation(len(table))), path)
    again = load_run_tables(tmp_path / "run")
    assert again.file_names.equals(run.file_names)
    for name in ("label", "error_type", "prediction", "confidence"):
        np.testing.assert_array_equal(getattr(again, name), getattr(run, name))
    assert again.accepted.to_arrow().equals(run.accepted.to_arrow())
    assert again.cases.explanation.equals(run.cases.explanation)


def test_accepted_labels_that_differ_between_files_are_not_taken_for_shared(made_run, tmp_path):
    """The last file that has an image tells its labels, as long as files were written by one run."""
    shutil.copytree(made_run.folder, tmp_path / "run")
    last = load_run_tables(tmp_path / "run").models[-1]
    path = tmp_path / "run" / "verdicts" / f"{last}.parquet"
    table = pq.read_table(path)
    place = table.schema.get_field_index("accepted")
    other = pa.array([[7]] * len(table), type=table.schema.field(place).type)
    pq.write_table(table.set_column(place, table.schema.field(place), other), path)
    again = load_run_tables(tmp_path / "run")
    names = table["file_name"].to_pylist()
    rows = [again.file_names.to_pylist().index(name) for name in names]
    assert {tuple(again.accepted[row].tolist()) for row in rows} == {(7,)}


def test_figures_are_those_that_were_measured(made_run, run):
    written = pd.read_parquet(made_run.folder / "distribution.parquet")
    place = run.models.index("fair")
    counts = written[(written.model == "fair") & (written.group == "organism")]["count"].tolist()
    assert run.figures.counts[place, 1].tolist() == counts


def test_models_can_be_chosen_and_keep_their_order(made_run):
    assert load_run_tables(made_run.folder, models=("part", "good")).models == ("part", "good")


def test_a_model_that_is_not_there_is_named(made_run):
    with pytest.raises(InputError, match="no model 'best' in this run"):
        load_run_tables(made_run.folder, models=("best",))


def test_a_file_that_is_gone_is_named(made_run, tmp_path):
    shutil.copytree(made_run.folder, tmp_path / "run")
    (tmp_path / "run" / "verdicts" / "fair.parquet").unlink()
    with pytest.raises(InputError, match=r"fair\.parquet: cannot be read"):
        load_run_tables(tmp_path / "run")


def test_a_type_of_another_version_is_refused(made_run, tmp_path):
    shutil.copytree(made_run.folder, tmp_path / "run")
    made_run.verdicts("fair").assign(error_type="unheard_of").to_parquet(tmp_path / "run/verdicts/fair.parquet")
    with pytest.raises(InputError, match="error types that this version does not know"):
        load_run_tables(tmp_path / "run")


def cut_short(path):
    path.write_bytes(path.read_bytes()[:-20])


def overwritten(path):
    content = bytearray(path.read_bytes())
    content[4:900] = bytes(896)
    path.write_bytes(content)


def without_models(path):
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(["model"] if "group" in table.column_names else ["file_name"]), path)


@pytest.mark.parametrize("damage", [cut_short, overwritten, without_models])
@pytest.mark.parametrize("command", ["summary", "report", "compare", "export", "why"])
def test_a_damaged_run_is_refused_in_words_by_every_command(made_run, program, tmp_path, damage, command):
    shutil.copytree(made_run.folder, tmp_path / "run")
    one, other, *_ = load_run_tables(made_run.folder).models
    file_name = load_run_tables(made_run.folder).file_names[0].as_py()
    damage(tmp_path / "run" / "distribution.parquet")
    for path in (tmp_path / "run" / "verdicts").iterdir():
        damage(path)
    given = {
        "compare": [f"{tmp_path / 'run'}:{one}", f"{tmp_path / 'run'}:{other}"],
        "export": [tmp_path / "run", "--to", "csv", "--out", tmp_path / "out"],
        "why": [tmp_path / "run", file_name],
    }
    answer = program(command, *given.get(command, [tmp_path / "run"]))
    assert answer.status == 2
    assert "cannot be read" in answer.err or "no column" in answer.err
    assert "Evaluate again." in answer.err
