"""The tables that ship with the package hold what is published, fit each other, and can be built again."""

import csv
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError

ROOT = Path(__file__).parents[2]
TABLES = ROOT / "data"
SCRIPTS = {
    "wordnet_nouns.parquet": "build_wordnet.py",
    "imagenet1k_classes.csv": "build_classes.py",
    "imagenet_val.parquet": "build_val_labels.py",
    "class_axes.csv": "build_class_axes.py",
    "class_names.csv": "build_class_names.py",
    "overlaps.csv": "build_overlaps.py",
}
LABELS = imagenet_1k()


def rows(name):
    with (TABLES / name).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def run_script(name, *arguments):
    command = [sys.executable, ROOT / "scripts" / name, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


@pytest.fixture(scope="module")
def val():
    return pq.ParquetFile(TABLES / "imagenet_val.parquet").read()


class TestScripts:
    def test_every_table_has_a_script(self):
        tables = {path.name for path in TABLES.iterdir() if path.suffix in (".csv", ".parquet")}
        assert tables == set(SCRIPTS)
        assert all((ROOT / "scripts" / script).is_file() for script in SCRIPTS.values())

    def test_the_page_names_every_table_with_its_script_and_rows(self):
        page = (TABLES / "README.md").read_text(encoding="utf-8")
        for table, script in SCRIPTS.items():
            path = TABLES / table
            n_rows = pq.ParquetFile(path).metadata.num_rows if path.suffix == ".parquet" else len(rows(table))
            line = next(line for line in page.splitlines() if line.startswith(f"| `{table}` | {n_rows:,} |"))
            assert script in line

    def test_every_licence_that_the_page_names_is_there(self):
        named = set(re.findall(r"\((licences/[^)]+)\)", (TABLES / "README.md").read_text(encoding="utf-8")))
        assert named == {f"licences/{path.name}" for path in (TABLES / "licences").iterdir()}

    @pytest.mark.parametrize("script", SCRIPTS.values())
    def test_a_script_explains_itself(self, script):
        ended = run_script(script, "--help")
        assert ended.returncode == 0
        assert "--out" in ended.stdout

    @pytest.mark.parametrize(("table", "script"), SCRIPTS.items(), ids=SCRIPTS)
    def test_a_script_gives_the_shipped_bytes_again(self, table, script, tmp_path):
        archives = os.environ.get("IMAGENET_ERRORS_ARCHIVES_DIR")
        if not archives and script != "build_overlaps.py":
            pytest.skip("IMAGENET_ERRORS_ARCHIVES_DIR names no folder with the pinned package archives")
        source = [] if script == "build_overlaps.py" else ["--from", archives]
        assert run_script(script, "--out", tmp_path / table, *source).returncode == 0
        assert (tmp_path / table).read_bytes() == (TABLES / table).read_bytes()

    def test_a_folder_without_the_archive_is_refused_with_the_command_that_gets_it(self, tmp_path):
        ended = run_script("build_classes.py", "--from", tmp_path, "--out", tmp_path / "classes.csv")
        assert ended.returncode == 2
        assert f"{tmp_path}: no timm-1.0.31-py3-none-any.whl. Put it there: pip download" in ended.stderr
        assert list(tmp_path.iterdir()) == []

    def test_an_archive_with_another_hash_is_refused(self, tmp_path):
        (tmp_path / "timm-1.0.31-py3-none-any.whl").write_bytes(b"<html>")
        ended = run_script("build_classes.py", "--from", tmp_path, "--out", tmp_path / "classes.csv")
        assert ended.returncode == 2
        assert "SHA-256 is" in ended.stderr


class TestWordnetVersion:
    @pytest.fixture
    def check_version(self, monkeypatch):
        monkeypatch.syspath_prepend(ROOT / "scripts")
        from build_wordnet import check_version

        return check_version

    def test_a_database_with_the_classes_at_their_offsets_is_accepted(self, check_version, tmp_path):
        (tmp_path / "data.noun").write_bytes(b"head\n00000005 05 n 01 tench\n")
        assert check_version(tmp_path / "data.noun", ["n00000005"]) is None

    @pytest.mark.parametrize("wnid", ["n00000004", "n00000006", "n00009999"])
    def test_a_database_with_other_offsets_is_refused(self, check_version, tmp_path, wnid):
        (tmp_path / "data.noun").write_bytes(b"head\n00000005 05 n 01 tench\n")
        with pytest.raises(InputError, match=rf"1 wnid of 1 not at their offset \(first: {wnid}\).*3\.1"):
            check_version(tmp_path / "data.noun", [wnid])


class TestClasses:
    def test_there_are_a_thousand_in_the_order_of_their_wnids(self):
        assert [int(row["index"]) for row in rows("imagenet1k_classes.csv")] == list(range(1000))
        assert list(LABELS.wnids) == sorted(set(LABELS.wnids))

    def test_names_are_unique_whatever_the_case(self):
        assert len({name.lower() for name in LABELS.names}) == 1000

    @pytest.mark.parametrize(
        ("index", "name"),
        [
            (0, "tench"),
            (134, "crane (wading bird)"),
            (517, "crane (lifting device)"),
            (264, "Cardigan Welsh corgi"),
            (474, "cardigan"),
            (639, "maillot (tank suit)"),
        ],
    )
    def test_a_name_is_the_first_lemma_made_clear_where_shared(self, index, name):
        assert LABELS.names[index] == name

    def test_only_crane_is_described_twice(self):
        repeated = [text for text, n in Counter(LABELS.descriptions).items() if n > 1]
        assert repeated == ["crane"]

    def test_492_descriptions_have_several_lemmas(self):
        assert sum("," in text for text in LABELS.descriptions) == 492

    def test_groups_have_their_published_sizes(self):
        assert Counter(LABELS.groups) == {"organism": 410, "artifact": 522, "other": 68}


class TestValidationLabels:
    def test_images_are_numbered_from_one(self, val):
        assert val["image"].to_pylist() == list(range(1, 50_001))

    def test_every_class_has_fifty_images(self, val):
        assert Counter(val["label"].to_pylist()) == dict.fromkeys(range(1000), 50)

    def test_real_gives_3163_images_no_label(self, val):
        assert val["real"].to_pylist().count([]) == 3_163

    def test_real_holds_the_original_label_of_90_percent_of_the_others(self, val):
        pairs = zip(val["label"].to_pylist(), val["real"].to_pylist(), strict=True)
        assert sum(label in real for label, real in pairs) == 42_164

    @pytest.mark.parametrize(("image", "real"), [(1, []), (2, [970, 795]), (3, [230, 231])])
    def test_the_first_list_of_real_is_that_of_image_one(self, val, image, real):
        assert val["real"][image - 1].as_py() == real

    def test_real_labels_are_class_indices_each_once(self, val):
        lists = val["real"].to_pylist()
        assert {index for real in lists for index in real} <= set(range(1000))
        assert all(len(set(real)) == len(real) for real in lists)


class TestClassAxes:
    @pytest.mark.parametrize(
        ("axis", "width", "n_lacking"),
        [
            ("1001", 1001, 0),
            ("10450", 10_450, 9),
            ("11221", 11_221, 9),
            ("11821", 11_821, 7),
            ("21841", 21_841, 1),
            ("21842", 21_842, 0),
            ("21843", 21_843, 1),
            ("devkit", 1_000, 0),
            ("imagenet-a", 200, 800),
            ("imagenet-r", 200, 800),
        ],
    )
    def test_an_axis_lacks_as_many_classes_as_is_known(self, axis, width, n_lacking):
        own = [row for row in rows("class_axes.csv") if row["axis"] == axis]
        assert {int(row["width"]) for row in own} == {width}
        assert len({row["index"] for row in own}) == len({row["position"] for row in own}) == 1000 - n_lacking
        assert all(0 <= int(row["position"]) < width for row in own)

    def test_every_index_is_that_of_its_wnid(self):
        assert all(LABELS.index_of_wnid[row["wnid"]] == int(row["index"]) for row in rows("class_axes.csv"))

    def test_the_teddy_is_what_the_22k_heads_lack(self):
        found = {row["index"] for row in rows("class_axes.csv") if row["axis"] == "21841"}
        assert set(map(str, range(1000))) - found == {"850"}

    @pytest.mark.parametrize(("axis", "shift"), [("1001", 1), ("21842", 0)])
    def test_some_heads_have_the_thousand_in_a_row(self, axis, shift):
        own = [row for row in rows("class_axes.csv") if row["axis"] == axis]
        assert [int(row["position"]) - int(row["index"]) for row in own] == [shift] * 1000

    def test_the_development_kits_order_starts_as_published(self):
        own = sorted(
            (row for row in rows("class_axes.csv") if row["axis"] == "devkit"), key=lambda row: int(row["position"])
        )
        first = [LABELS.names[int(row["index"])] for row in own[:5]]
        assert first == ["kit fox", "English setter", "Siberian husky", "Australian terrier", "English springer"]

    def test_it_gives_the_kits_ground_truth(self, val):
        """The first lines of ILSVRC2012_validation_ground_truth.txt."""
        kit = {row["index"]: int(row["position"]) + 1 for row in rows("class_axes.csv") if row["axis"] == "devkit"}
        found = [kit[str(label)] for label in val["label"].to_pylist()[:10]]
        assert found == [490, 361, 171, 822, 297, 482, 13, 704, 599, 164]

    def test_imagenet_a_and_r_share_86_classes(self):
        of_axis = {
            axis: {row["index"] for row in rows("class_axes.csv") if row["axis"] == axis}
            for axis in ("imagenet-a", "imagenet-r")
        }
        assert len(of_axis["imagenet-a"] & of_axis["imagenet-r"]) == 86


class TestClassNames:
    @pytest.mark.parametrize(
        ("vocabulary", "repeated"),
        [
            pytest.param("torchvision", {}, id="torchvision repeats none"),
            pytest.param("open_clip", {"missile": ["657", "744"], "sunglasses": ["836", "837"]}, id="open_clip two"),
        ],
    )
    def test_repeated_names_are_known(self, vocabulary, repeated):
        own = [row for row in rows("class_names.csv") if row["vocabulary"] == vocabulary]
        assert [int(row["index"]) for row in own] == list(range(1000))
        twice = [name for name, n in Counter(row["name"] for row in own).items() if n > 1]
        assert {name: [row["index"] for row in own if row["name"] == name] for name in twice} == repeated

    def test_torchvision_names_are_lemmas_but_for_two(self):
        own = {int(row["index"]): row["name"] for row in rows("class_names.csv") if row["vocabulary"] == "torchvision"}
        others = {index for index, name in own.items() if name not in LABELS.descriptions[index].split(", ")}
        assert others == {134, 639}


class TestOverlaps:
    def test_names_are_those_of_the_classes(self):
        for row in rows("overlaps.csv"):
            assert LABELS.names[int(row["label"])] == row["label_name"]
            assert LABELS.names[int(row["also_accepted"])] == row["also_name"]

    def test_the_pairs_are_the_published_ones(self):
        one_way = {(250, 248), (249, 248), (385, 101), (386, 101), (504, 968), (482, 848), (435, 876)}
        both_ways = {(836, 837), (638, 639), (657, 744), (620, 681), (664, 782)}
        weasels = {(a, b) for a in range(356, 360) for b in range(356, 360) if a != b}
        pairs = [(int(row["label"]), int(row["also_accepted"])) for row in rows("overlaps.csv")]
        assert sorted(pairs) == sorted(one_way | both_ways | {(b, a) for a, b in both_ways} | weasels)

    def test_every_pair_has_a_reason_that_fits_in_a_sentence(self):
        for row in rows("overlaps.csv"):
            assert 10 < len(row["reason"]) < 100
            assert not row["reason"].endswith(".")


class TestSources:
    TABLE = tomllib.loads((TABLES / "sources.toml").read_text(encoding="utf-8"))
    SOURCES = TABLE["sources"]

    @pytest.mark.parametrize("name", SOURCES)
    def test_a_source_says_what_it_is_and_whose(self, name):
        source = self.SOURCES[name]
        assert all(source[field] for field in ("title", "licence", "paper"))
        assert all(option.startswith("--") for option in source["options"])

    @pytest.mark.parametrize("name", SOURCES)
    def test_a_source_that_can_be_downloaded_is_fixed_by_commit_and_can_be_checked(self, name):
        source = self.SOURCES[name]
        assert bool(source.get("repository")) == bool(re.fullmatch("[0-9a-f]{40}", source.get("commit", "")))
        for file in source.get("files", []) + source.get("other_layouts", []):
            known = re.fullmatch("[0-9a-f]{64}", file.get("sha256", "")) and file["bytes"] > 0
            assert known or not (source.get("repository") or file.get("url"))

    @pytest.mark.parametrize("name", SOURCES)
    def test_a_source_is_files_or_parts_that_exist(self, name):
        source = self.SOURCES[name]
        assert bool(source.get("files")) != bool(source.get("parts"))
        assert all(self.SOURCES[part]["files"] for part in source.get("parts", []))

    def test_no_two_files_are_the_same_and_a_folder_lies_in_one_place(self):
        hashes = [file["sha256"] for one in self.SOURCES.values() for file in one.get("files", []) if "sha256" in file]
        assert len(hashes) == len(set(hashes))
        folders = [one for one in self.SOURCES.values() if one.get("is_folder")]
        assert all(len({file["path"].rpartition("/")[0] for file in one["files"]}) == 1 for one in folders)

    def test_every_address_is_encrypted(self):
        layouts = [file for one in self.SOURCES.values() for file in one.get("other_layouts", [])]
        assert all(address.startswith("https://") for address in self.TABLE["mirrors"])
        assert all(file["url"].startswith("https://") for file in layouts)
