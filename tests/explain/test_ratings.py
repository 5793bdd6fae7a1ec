"""People's answers: read, and how far they agree."""

import numpy as np
import pytest

from explain_world import seeded
from imagenet_errors.explain.ratings import Ratings, noise_ceiling, read_ratings, with_images
from imagenet_errors.problems import InputError


def simulated(n_items=3000, n_raters=5, reliability=0.5, seed=1):
    """Answers whose single-rater reliability is known."""
    random = seeded(seed)
    truth = random.normal(0, np.sqrt(reliability), n_items)
    given = truth[:, None] + random.normal(0, np.sqrt(1 - reliability), (n_items, n_raters))
    return truth, Ratings(tuple(f"{place}.png" for place in range(n_items)), np.full(n_items, -1, np.int16), given)


@pytest.mark.parametrize(("reliability", "n_raters"), [(0.5, 5), (0.2, 4), (0.8, 3)])
def test_the_ceiling_is_what_the_truth_itself_reaches(reliability, n_raters):
    truth, ratings = simulated(n_raters=n_raters, reliability=reliability)
    assert noise_ceiling(ratings) == pytest.approx(np.corrcoef(truth, ratings.share)[0, 1], abs=0.03)


def test_a_single_rater_has_no_ceiling():
    with pytest.raises(InputError, match="single rater"):
        noise_ceiling(simulated(n_items=20, n_raters=1)[1])


def test_a_table_of_raters_is_read_by_image_and_label(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("file_name,rater,rating,label\na.png,1,1,5\na.png,2,0,5\na.png,1,1,6\nb.png,1,0.5,\n", "utf-8")
    ratings = read_ratings(path)
    assert (ratings.file_names, ratings.label.tolist()) == (("a.png", "a.png", "b.png"), [5, 6, -1])
    assert ratings.share.tolist() == [0.5, 1.0, 0.5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("file_name,rating\n", "no column rater", id="a column lacks"),
        pytest.param("file_name,rater,rating\na,1,good\n", "no number", id="no number"),
        pytest.param("file_name,rater,rating\n", "no rating", id="empty"),
    ],
)
def test_what_is_no_table_of_ratings_is_refused(tmp_path, text, message):
    (tmp_path / "r.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_ratings(tmp_path / "r.csv")


def test_reals_layout_is_read(tmp_path):
    answers = np.zeros((4, 2, 3))
    for rater, item, answer in [(0, 0, 2), (1, 0, 2), (3, 0, 0), (1, 1, 1), (2, 1, 0), (3, 1, 2)]:
        answers[rater, item, answer] = 1
    path = tmp_path / "raters.npz"
    np.savez(path, tensor=answers, info=np.array([["a.JPEG", "7"], ["b.JPEG", "9"]]), ids=np.arange(4))
    ratings = read_ratings(path)
    assert ratings.label.tolist() == [7, 9]
    np.testing.assert_allclose(ratings.share, [2 / 3, 1 / 3])
    np.savez(path, other=answers)
    with pytest.raises(InputError, match="raters"):
        read_ratings(path)


def test_the_published_file_is_read(shared):
    ratings = read_ratings(shared / "human" / "real" / "raters.npz")
    assert len(ratings) == 184_962
    assert ratings.given.shape[1] == 5
    kept, paths = with_images(ratings, shared / "images")
    assert len(set(kept.file_names)) == 480
    assert len(paths) == len(kept) == 2_817
    with np.load(shared / "human" / "real" / "scores.npz") as fused:
        assert np.corrcoef(ratings.share, fused["tensor"])[0, 1] > 0.85
