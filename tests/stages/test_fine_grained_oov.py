"""Fine-grained OOV explains a mistake when the evidence for this image and prediction says so."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from imagenet_errors.stages.fine_grained_oov import FineGrainedOov
from imagenet_errors.tables import cases_of
from toy import BEAGLE, CLASS_NAMES, MUG, SOFA, annotations, one_case, oov

STAGE = FineGrainedOov(oov((0, MUG, True, "stein"), (0, BEAGLE, False, "beagle"), (3, SOFA, True, "futon")))


@pytest.mark.parametrize(
    ("prediction", "explained", "lacks_evidence"),
    [
        pytest.param(MUG, True, False, id="the evidence says out of vocabulary"),
        pytest.param(BEAGLE, False, False, id="the evidence says in vocabulary"),
        pytest.param(SOFA, False, True, id="the evidence is another image's"),
    ],
)
def test_explains(prediction, explained, lacks_evidence):
    finding = STAGE(one_case({SOFA}, prediction))
    assert finding.explains.tolist() == [explained]
    assert finding.lacks_evidence.tolist() == [lacks_evidence]


@pytest.mark.parametrize(
    ("prediction", "sentence"),
    [
        pytest.param(
            MUG,
            "The image shows something like mug that is none of the classes: the best proposal is “stein”.",
            id="yes",
        ),
        pytest.param(
            BEAGLE,
            "Nothing like beagle but outside the classes is found: the best proposal is “beagle”.",
            id="no",
        ),
        pytest.param(SOFA, "No evidence for this image and prediction.", id="unknown"),
    ],
)
def test_says(prediction, sentence):
    case = one_case({SOFA}, prediction)
    assert STAGE.says(case, STAGE(case), CLASS_NAMES).to_pylist() == [sentence]


def test_an_empty_table_explains_nothing():
    assert FineGrainedOov(oov())(one_case({SOFA}, MUG)).lacks_evidence.tolist() == [True]


def test_shows_the_evidence_of_the_first_case_and_nothing_where_it_has_none():
    cases = cases_of(annotations((SOFA, {SOFA})), np.array([0, 0, 0]), np.array([BEAGLE, MUG, SOFA], dtype=np.int16))
    table = STAGE.oov.table
    place = table.column_names.index("neighbour_support")
    counted = table.set_column(place, table.field(place), pa.array([3, 5, 9], type=table.field(place).type))
    stage = FineGrainedOov(replace(STAGE.oov, table=counted))
    (line,) = stage.shows(stage(cases), CLASS_NAMES)
    assert line == "kin of the prediction among the 10 nearest: 3 (1 is enough)"
    assert "10 nearest: 5 " in stage.shows(stage(one_case({SOFA}, MUG)), CLASS_NAMES)[0]
    assert stage.shows(stage(one_case({SOFA}, SOFA)), CLASS_NAMES) == ()
