"""What the study of explanations has so far: the finished rounds, else what is done of those begun."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import imagenet_errors as ie
from explained_world import stability
from timm_world import needs_timm

needs_timm()
import report_explain  # noqa: E402
from imagenet_errors.explain.stability import Stability  # noqa: E402


@pytest.fixture
def work(val_images, tmp_path):
    """A run with errors to explain, in the folder that the study works in."""
    annotations = val_images.annotations(tmp_path / "annotations.csv")
    ie.evaluate({"one": (val_images.names, val_images.top1)}, annotations, out=tmp_path / "work")
    return tmp_path / "work"


def answered(work, n):
    """Return so many rows as a shard holds them: nothing that only the chain can say."""
    errors = ie.load_run(work).errors("one").to_pandas().head(n)
    unsaid = {"answer_types": None, "share_right": None, "share_other_type": None, "verdict": ""}
    return [stability(row, n_stays=5) | unsaid for row in errors.itertuples()]


def write(rows, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=Stability.schema), path)


def test_of_a_method_without_a_finished_round_what_is_done_counts_and_is_judged(work):
    write(answered(work, 3), work / "rounds" / "0" / "stability" / "one.parts" / "00000.parquet")
    found = report_explain.explanations(work)
    assert list(found) == ["stability"]
    assert [row["share_right"] for row in found["stability"].rows] == [pytest.approx(12 / 17)] * 3
    assert found["stability"].first_line.startswith("0 of 3 errors stay")


def test_beside_a_finished_round_one_begun_does_not_count(work):
    write(answered(work, 3), work / "rounds" / "1" / "stability" / "one.parts" / "00000.parquet")
    done = [row | {"verdict": "stable"} for row in answered(work, 2)]
    write(done, work / "rounds" / "0" / "stability" / "one.parquet")
    assert report_explain.explanations(work)["stability"].first_line.startswith("2 of 2 errors stay")
