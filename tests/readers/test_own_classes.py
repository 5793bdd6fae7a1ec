"""Classes of one's own, in the files in which people keep them: tench, goldfish and lynx, some with their wnids."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from imagenet_errors.problems import InputError
from imagenet_errors.readers.own_classes import read_classes

NAMES = ("tench", "goldfish", "lynx, catamount")
WNIDS = ("n01440764", "n01443537", "n02127052")
BOTH = list(zip(WNIDS, NAMES, strict=True))
ROWS = [{"index": i, "name": name, "wnid": wnid} for i, (wnid, name) in enumerate(BOTH)]
BY_INDEX = dict(enumerate(NAMES))
PLAIN = {
    "JSON by index": BY_INDEX,
    "JSON by index, in another order": {2: NAMES[2], 0: NAMES[0], 1: NAMES[1]},
    "a JSON list": NAMES,
    "class_to_idx": {name: index for index, name in BY_INDEX.items()},
    "a Hugging Face configuration": {"model_type": "vit", "id2label": BY_INDEX, "label2id": {"tench": 0}},
    "JSON below names": {"nc": 3, "names": NAMES},
    "Python's dict": repr(BY_INDEX),
    "a name a line": "\n".join(NAMES),
    "a name a line, as Windows writes it": "\ufeff" + "\r\n".join(NAMES) + "\r\n",
    "a header": "\n".join(("class_name", *NAMES)),
    "numbered lines": "\n".join(f"{index}: {name}" for index, name in BY_INDEX.items()),
    "CSV": "index,name\n" + "".join(f'{index},"{name}"\n' for index, name in BY_INDEX.items()),
    "CSV in another order": 'Index;Name\n2;lynx, catamount\n0;"tench"\n1;goldfish\n',
    "TSV": "id\tlabel\n" + "".join(f"{index}\t{name}\n" for index, name in BY_INDEX.items()),
    "single quotes": "index,name\n" + "".join(f"{index},'{name}'\n" for index, name in BY_INDEX.items()),
}
WITH_WNIDS = {
    "JSON by wnid": dict(BOTH),
    "Keras": dict(enumerate(BOTH)),
    "synset.txt": "".join(f"{wnid} {name}\n" for wnid, name in BOTH),
    "records": ROWS,
    "JSON lines": "".join(f"{json.dumps(row)}\n" for row in ROWS),
    "CSV without an index": "wnid,name\n" + "".join(f'{wnid},"{name}"\n' for wnid, name in BOTH),
}


def classes_of(tmp_path, content):
    path = tmp_path / "classes.txt"
    path.write_bytes((content if isinstance(content, str) else json.dumps(content)).encode())
    return read_classes(path)


@pytest.mark.parametrize("content", PLAIN.values(), ids=PLAIN)
def test_names_are_read(tmp_path, content):
    assert classes_of(tmp_path, content).names == NAMES


@pytest.mark.parametrize("content", WITH_WNIDS.values(), ids=WITH_WNIDS)
def test_wnids_and_names_are_read(tmp_path, content):
    found = classes_of(tmp_path, content)
    assert (found.wnids, found.names) == (WNIDS, NAMES)


def test_parquet_and_its_groups_are_read(tmp_path):
    table = pa.Table.from_pylist([{**row, "group": "fish" if row["index"] < 2 else "cat"} for row in ROWS])
    pq.write_table(table, tmp_path / "classes.parquet")
    assert read_classes(tmp_path / "classes.parquet").groups == ("fish", "fish", "cat")


@pytest.mark.parametrize(
    ("content", "names"),
    [
        pytest.param("\n".join(WNIDS), WNIDS, id="a class that only has a wnid is called by it"),
        pytest.param("digit 0\ndigit 1\ndigit 2\n", ("digit 0", "digit 1", "digit 2"), id="numbers in the names"),
        pytest.param("0\n1\n2\n", ("0", "1", "2"), id="numbers for names"),
        pytest.param("class clown\ncat\n", ("class clown", "cat"), id="a first class that only begins like a header"),
        pytest.param("text\nimage\n", ("text", "image"), id="a first class that may stand in a header"),
    ],
)
def test_names_are_taken_as_they_are(tmp_path, content, names):
    assert classes_of(tmp_path, content).names == names


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param("index,name\n0,a\n2,b\n", "no class 1 among its 2.*Number the classes 0, 1, 2", id="a gap"),
        pytest.param("index,name\n0,a\n0,b\n", "no class 1 among its 2", id="an index twice"),
        pytest.param({"1": "a", "2": "b"}, "no class 0 among its 2", id="counted from 1"),
        pytest.param("1 a\n2 b\n", "no class 0 among its 2", id="lines counted from 1"),
        pytest.param("index,name\n0,a\n1,a\n", "name 'a' stands more than once", id="a name twice"),
        pytest.param(["a", ""], "a class without a name", id="nameless"),
        pytest.param("index,name\n0,a\n1,\n", r"1 empty cell in column name \(first: row 2\)", id="an empty cell"),
        pytest.param("index,wnid\n0,n01440764\n", "no column name; it has 'index', 'wnid'", id="no names"),
        pytest.param("wnid,name\nn02127052,a\nn01440764,b\n", "2 wnids without an index that do not", id="two orders"),
        pytest.param({"n02127052": "a", "n01440764": "b"}, "2 wnids without an index that do not", id="the same, JSON"),
        pytest.param({"a": {"b": 1}}, "no list of classes, nor classes by index .first: a.*a name a line", id="nested"),
        pytest.param([], "no list of classes", id="an empty list"),
        pytest.param("<html>", "this is a web page", id="a web page"),
    ],
)
def test_what_leaves_a_class_in_doubt_is_refused(tmp_path, content, said):
    with pytest.raises(InputError, match=said):
        classes_of(tmp_path, content)


@pytest.mark.parametrize("text", ["path: x\nnames:\n  0: tench\n  1: goldfish\n", "- tench\n- goldfish\n"])
def test_yaml_is_refused_with_a_conversion_that_works(tmp_path, monkeypatch, text):
    pytest.importorskip("yaml")
    with pytest.raises(InputError, match="this is YAML, which is not read") as refused:
        classes_of(tmp_path, text)
    monkeypatch.chdir(tmp_path)
    exec("\n".join(line.strip() for line in refused.value.fix.splitlines()[1:]))
    assert read_classes(tmp_path / "classes.json").names == ("tench", "goldfish")
