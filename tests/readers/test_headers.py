"""What a column's header says about it."""

import pytest

from imagenet_errors.readers.headers import (
    Meaning,
    confidence_strength,
    is_in_percent,
    meaning_of,
    name_strength,
)

CASES = {
    Meaning.NAME: "filename file_name fileName image img_path path sample_files File",
    Meaning.WEAK_NAME: "id name key __key__ image_id imageId",
    Meaning.PREDICTION: "pred prediction predicted y_pred yhat top1 top_1 top_prediction predicted_class "
    "pred_name predLabel argmax y_hat",
    Meaning.RANKS: "top5 top_5 topk",
    Meaning.CLASS: "index label class class_id class_index wnid synset label_name class_name image_label",
    Meaning.CONFIDENCE: "prob probability predicted_probability score conf logit top1_prob probs",
    Meaning.TRUTH: "target true y_true gt ground_truth true_label target_index y label_true is_correct",
    Meaning.IGNORED: "model failure_category top1_err rank img_size",
    Meaning.UNKNOWN: "foo __index_level_0__ n01440764 17 cowboy_hat",
}


@pytest.mark.parametrize(
    ("header", "meaning"), [(header, meaning) for meaning, text in CASES.items() for header in text.split()]
)
def test_a_header_means(header, meaning):
    assert meaning_of(header) is meaning


def test_a_header_without_words_says_nothing():
    assert {meaning_of(""), meaning_of("Unnamed: 0")} == {Meaning.UNKNOWN}


def test_a_file_name_is_a_better_name_than_an_image_and_that_than_an_id():
    assert name_strength("filename") > name_strength("image") > name_strength("id") > name_strength("foo")


def test_a_probability_comes_before_a_score_and_that_before_a_logit():
    assert confidence_strength("prob") > confidence_strength("score") > confidence_strength("logit")


@pytest.mark.parametrize(
    ("header", "promised"), [("prob (%)", True), ("confidence_percent", True), ("confidence", False)]
)
def test_the_sign_or_the_word_promises_percent(header, promised):
    assert is_in_percent(header) == promised
