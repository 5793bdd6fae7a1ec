"""A name is fetched when it is first needed, checked, kept, and said; a copy from anywhere will do."""

import re
import signal
import sys
import time
from pathlib import Path

import pytest

from download_world import COMMIT, JUDGED, OFFICIAL, STATISTICS, TABLE
from imagenet_errors.downloads import (
    CACHE_VARIABLE,
    MIRROR_VARIABLE,
    OFFLINE_VARIABLE,
    Connection,
    at_hand,
    fetch,
    fetch_all,
    listing,
    resolve,
    sized,
    target_of,
)
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import read_annotations
from patience import PATIENCE_SECONDS

FIRST = f"first/owner/repo/{COMMIT}"
LABELS = f"{FIRST}/labels/multilabel.csv"


class TestFirstUse:
    def test_a_name_is_fetched_once_and_kept_with_its_commit(self, world):
        (path,) = resolve("labels", "--annotations", world.network)
        assert path == world.place("labels/multilabel.csv")
        assert path.read_bytes() == TABLE
        assert resolve("labels", "--annotations", world.network) == (path,)
        assert world.server.n_requests == {LABELS: 1}
        assert world.kept == [f"owner/repo/{COMMIT}/labels/multilabel.csv"]

    def test_size_and_licence_are_said_before(self, world):
        world.server.answer = lambda request, body: request.send(body if world.said else b"nothing was said")
        fetch("labels", network=world.network)
        (said,) = world.said
        assert said.startswith("Fetching labels: What labels is (multilabel.csv, 0 kB; licence: own) from http://127.0")

    def test_without_another_ear_it_is_said_on_stderr(self, world, capsys):
        fetch("labels")
        told = capsys.readouterr()
        assert told.err.startswith("Fetching labels: ")
        assert told.out == ""

    def test_a_folder_is_one_path(self, world):
        (folder,) = resolve("stats", "--published-statistics", world.network)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
            Path(path).name: content for path, content in STATISTICS.items()
        }
        assert "2 files" in world.said[0]

    def test_only_what_lacks_in_a_folder_is_fetched(self, world):
        (folder,) = fetch("stats", network=world.network)
        (folder / "all.csv").unlink()
        fetch("stats", network=world.network)
        assert world.server.n_requests == {f"{FIRST}/stats/all.csv": 2, f"{FIRST}/stats/other.csv": 1}

    def test_parts_are_fetched_each(self, world):
        paths = resolve("panel", "--non-prototypical", world.network)
        assert [path.read_bytes() for path in paths] == list(JUDGED.values())
        assert resolve("judged-a", "--human", world.network) == paths[:1]
        assert set(world.server.n_requests.values()) == {1}

    def test_what_went_bad_in_the_cache_is_fetched_again(self, world):
        (path,) = fetch("labels", network=world.network)
        path.write_bytes(TABLE[:-1])
        assert fetch("labels", network=world.network)[0].read_bytes() == TABLE
        assert world.server.n_requests == {LABELS: 2}

    def test_what_is_at_hand_is_used_without_writing_to_the_cache(self, world):
        fetch("labels", network=world.network)
        before = {path: path.stat().st_mtime_ns for path in world.cache.rglob("*")}
        fetch("labels", network=world.network)
        assert {path: path.stat().st_mtime_ns for path in world.cache.rglob("*")} == before


class TestResolve:
    def test_a_path_is_a_path(self, world, tmp_path):
        assert resolve(tmp_path / "table.csv", "--annotations") == (tmp_path / "table.csv",)
        assert resolve(str(tmp_path / "table.csv"), "--annotations") == (tmp_path / "table.csv",)

    def test_a_file_of_the_same_name_is_meant_by_its_path(self, world, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("labels").write_bytes(b"own")
        assert resolve("./labels", "--annotations") == (Path("labels"),)
        assert resolve(Path("labels"), "--annotations") == (Path("labels"),)
        assert world.server.n_requests == {}

    def test_neither_a_path_nor_a_name_is_refused_with_the_names(self, world):
        with pytest.raises(InputError, match=r"judgde-a: no such file\. .*name one of: judged-a, judged-b, panel\."):
            resolve("judgde-a", "--human")

    def test_a_name_of_another_option_is_refused(self, world):
        with pytest.raises(InputError, match=r"--human: labels is not for this option\. It takes judged-a, judged-b,"):
            resolve("labels", "--human")
        assert world.server.n_requests == {}

    def test_an_unknown_source_is_refused_with_the_known_ones(self, world):
        with pytest.raises(InputError, match=r"data: no source 'label'.*Known are: labels, judged-a, "):
            fetch("label")


class TestFailures:
    @pytest.mark.parametrize("status", [403, 404, 500])
    def test_a_server_that_refuses_is_quoted_with_the_way_out(self, world, status):
        world.server.answer = lambda request, _: request.send(b"<html>sign in</html>", status=status)
        with pytest.raises(InputError) as refused:
            fetch("labels", network=world.network)
        said = str(refused.value)
        assert said.startswith(
            f"labels: multilabel.csv could not be downloaded: {world.server.url}/{LABELS}: {status} "
        )
        assert "imagenet-errors data fetch labels --from FILE|DIR" in said
        assert f"{len(TABLE)} bytes, sha256 " in said
        assert str(world.place("labels/multilabel.csv")) in said
        assert world.kept == []

    def test_the_next_address_is_tried(self, world):
        del world.server.files[LABELS]
        world.server.files["second/owner/repo@labels/multilabel.csv"] = TABLE
        assert fetch("labels", network=world.network)[0].read_bytes() == TABLE

    def test_another_layout_of_the_same_content_is_the_last_resort(self, world):
        del world.server.files[LABELS]
        world.server.files["bucket/official.json"] = OFFICIAL
        (path,) = fetch("labels", network=world.network)
        assert path.read_bytes() == OFFICIAL
        assert at_hand("labels") == target_of("labels") == (path,)
        assert "official.json" in world.said[-1]

    def test_no_network_is_told_in_a_line_and_each_host_asked_once(self, world):
        world.know(world.toml.read_text().replace(world.server.url, "http://127.0.0.1:9"))
        started = time.monotonic()
        with pytest.raises(InputError) as refused:
            fetch("labels", network=world.network)
        assert time.monotonic() - started < 5
        said = str(refused.value)
        assert said.count("Connection refused") == 1
        assert "HTTPConnection" not in said
        assert "--from FILE|DIR" in said

    def test_a_source_without_an_address_says_so(self, world):
        with pytest.raises(InputError, match=r"local: evidence.csv has no public address\. .*its hash is not known"):
            fetch("local", network=world.network)

    @pytest.mark.parametrize(
        "place", ["file", pytest.param("/proc", marks=pytest.mark.skipif(sys.platform != "linux", reason="no /proc"))]
    )
    def test_a_cache_that_cannot_be_written_is_told_before_anything_is_asked_for(
        self, world, place, tmp_path, monkeypatch
    ):
        (tmp_path / "file").write_bytes(b"")
        monkeypatch.setenv(CACHE_VARIABLE, str((tmp_path / place) / "cache"))
        with pytest.raises(InputError, match=f"cannot be written: .*{CACHE_VARIABLE}"):
            fetch("labels", network=world.network)
        assert world.server.n_requests == {}


class TestOffline:
    @pytest.mark.parametrize("value", ["1", "true", "yes"])
    def test_nothing_is_asked_for(self, world, monkeypatch, value):
        monkeypatch.setenv(OFFLINE_VARIABLE, value)
        monkeypatch.setenv(MIRROR_VARIABLE, world.server.url)
        with pytest.raises(
            InputError, match=r"is not in the cache, and nothing is downloaded \(--offline.*--from FILE"
        ):
            fetch("labels")
        assert world.server.n_requests == {}

    @pytest.mark.parametrize("value", ["", "0", "false", "No"])
    def test_a_variable_that_says_no_means_no(self, world, monkeypatch, value):
        monkeypatch.setenv(OFFLINE_VARIABLE, value)
        assert not Connection().is_offline

    def test_what_is_at_hand_is_used(self, world):
        got = fetch("labels", network=world.network)
        assert resolve("labels", "--annotations", Connection(is_offline=True)) == got

    def test_a_mirror_on_disk_is_no_network(self, world, monkeypatch, tmp_path):
        monkeypatch.setenv(MIRROR_VARIABLE, str(tmp_path))
        assert fetch("labels", network=Connection(is_offline=True))[0].read_bytes() == TABLE


class TestMirror:
    @pytest.mark.parametrize(
        "path", [f"owner/repo/{COMMIT}/labels/multilabel.csv", "labels/multilabel.csv", "multilabel.csv"]
    )
    def test_it_goes_first_with_whole_paths_or_file_names(self, world, monkeypatch, path):
        world.server.files = {f"lab/{path}": TABLE, LABELS: TABLE}
        monkeypatch.setenv(MIRROR_VARIABLE, f"{world.server.url}/lab/")
        fetch("labels", network=world.network)
        assert world.server.n_requests[f"lab/{path}"] == 1
        assert world.server.n_requests[LABELS] == 0

    def test_where_it_lacks_or_differs_the_public_address_is_next(self, world, monkeypatch):
        world.server.files["lab/multilabel.csv"] = b"<html>" * 100
        monkeypatch.setenv(MIRROR_VARIABLE, f"{world.server.url}/lab")
        assert fetch("labels", network=world.network)[0].read_bytes() == TABLE
        assert world.server.n_requests[LABELS] == 1

    @pytest.mark.parametrize("write", [str, "file://{}".format])
    def test_it_may_be_a_folder_under_any_names(self, world, monkeypatch, tmp_path, write):
        (tmp_path / "lab" / "deep").mkdir(parents=True)
        (tmp_path / "lab" / "deep" / "stats_all.csv").write_bytes(STATISTICS["stats/all.csv"])
        (tmp_path / "lab" / "b.csv").write_bytes(STATISTICS["stats/other.csv"])
        monkeypatch.setenv(MIRROR_VARIABLE, write(tmp_path / "lab"))
        fetch("stats", network=world.network)
        assert world.server.n_requests == {}

    def test_a_mirror_that_is_not_there_is_told(self, world, monkeypatch, tmp_path):
        monkeypatch.setenv(MIRROR_VARIABLE, str(tmp_path / "none"))
        with pytest.raises(InputError, match=rf"{MIRROR_VARIABLE}: .*none is no folder"):
            fetch("labels", network=world.network)

    def test_one_cache_is_anothers_mirror(self, world, monkeypatch, tmp_path):
        list(fetch_all(network=world.network))
        monkeypatch.setenv(MIRROR_VARIABLE, str(world.cache))
        monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "other"))
        got = dict(fetch_all(network=Connection(is_offline=True)))
        assert not [name for name, paths in got.items() if isinstance(paths, InputError)]


class TestLocalCopy:
    def test_a_right_copy_of_any_name_is_taken_without_the_network(self, world, tmp_path):
        (tmp_path / "download (1)").write_bytes(TABLE)
        assert fetch("labels", copy_from=tmp_path / "download (1)")[0].read_bytes() == TABLE
        assert world.server.n_requests == {}

    def test_a_copy_put_into_the_cache_by_hand_is_taken(self, world):
        path = world.place("labels/multilabel.csv")
        path.parent.mkdir(parents=True)
        path.write_bytes(TABLE)
        assert fetch("labels", network=world.network) == (path,)
        assert world.server.n_requests == {}

    def test_the_file_in_the_cache_is_its_own_copy(self, world):
        (path,) = fetch("labels", network=world.network)
        assert fetch("labels", copy_from=path) == (path,)

    @pytest.mark.parametrize(
        ("content", "place"),
        [
            pytest.param(OFFICIAL, "bucket/official.json", id="the official file"),
            pytest.param(
                OFFICIAL.replace(b'"imagenet_m": []', b'"other": 1'), "same-content/labels/", id="its labels only"
            ),
        ],
    )
    def test_another_layout_of_the_same_content_is_taken(self, world, tmp_path, content, place):
        (tmp_path / "mine.json").write_bytes(content)
        (path,) = fetch("labels", copy_from=tmp_path / "mine.json")
        assert path.read_bytes() == content
        assert place in path.as_posix()
        assert fetch("labels", network=world.network) == (path,)
        assert world.server.n_requests == {}

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            pytest.param(b"n01744401", b"n01440764", id="another label"),
            pytest.param(b'{"ILSVRC2012_val_00000002.JPEG": "blurred"}', b"{}", id="no problematic image"),
            pytest.param(b"}}", b'}, "n02119789/x.JPEG": {}}', id="an image more"),
            pytest.param(b"{", b"", id="not readable"),
        ],
    )
    def test_other_labels_are_not_the_same_content(self, world, tmp_path, before, after):
        other = OFFICIAL.replace(before, after, 1)
        assert other != OFFICIAL
        (tmp_path / "mine.json").write_bytes(other)
        with pytest.raises(
            InputError, match=r"mine.json: not the file that is meant: [0-9,]+ bytes instead of "
        ) as told:
            fetch("labels", copy_from=tmp_path / "mine.json")
        is_readable = before != b"{"
        assert (f"--annotations {tmp_path / 'mine.json'}" in str(told.value)) == is_readable
        assert world.kept == []

    def test_what_went_bad_of_the_same_content_is_not_used(self, world, tmp_path):
        (tmp_path / "mine.json").write_bytes(OFFICIAL + b"\n")
        (path,) = fetch("labels", copy_from=tmp_path / "mine.json")
        path.write_bytes(OFFICIAL + b"\n\n")
        assert at_hand("labels") == ()

    def test_a_wrong_copy_is_refused_and_left_alone(self, world, tmp_path):
        (tmp_path / "mine.json").write_bytes(b"<html>")
        with pytest.raises(InputError, match=r"mine.json: not the file .*6 bytes instead of .*web page.*b'<html>'"):
            fetch("labels", copy_from=tmp_path / "mine.json")
        assert (tmp_path / "mine.json").read_bytes() == b"<html>"
        assert world.kept == []

    @pytest.mark.parametrize("name", ["labels", "stats", "panel"])
    def test_a_copy_that_is_not_there_is_refused(self, world, tmp_path, name):
        with pytest.raises(InputError, match=r"none: no such file or folder"):
            fetch(name, copy_from=tmp_path / "none")

    def test_a_folder_is_searched_by_content(self, world, tmp_path):
        for place, content in zip(("x/one", "two"), STATISTICS.values(), strict=True):
            (tmp_path / "mine" / place).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "mine" / place).write_bytes(content)
        (folder,) = fetch("stats", copy_from=tmp_path / "mine")
        assert sorted(path.read_bytes() for path in folder.iterdir()) == sorted(STATISTICS.values())

    def test_a_folder_that_lacks_some_says_which(self, world, tmp_path):
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "all.csv").write_bytes(STATISTICS["stats/all.csv"])
        with pytest.raises(InputError, match=r"mine: 1 file of stats not in it \(first: other.csv, 10 bytes, .*all 2"):
            fetch("stats", copy_from=tmp_path / "mine")
        assert world.kept == []

    def test_one_file_of_a_folder_is_not_the_folder(self, world, tmp_path):
        (tmp_path / "all.csv").write_bytes(STATISTICS["stats/all.csv"])
        with pytest.raises(InputError, match=r"all.csv: not all of stats \(first: other.csv.*Name a folder"):
            fetch("stats", copy_from=tmp_path / "all.csv")

    def test_what_has_no_known_hash_is_taken_as_it_is_but_no_web_page(self, world, tmp_path):
        (tmp_path / "evidence").write_bytes(b"file_name,prediction,is_oov\n")
        assert fetch("local", copy_from=tmp_path / "evidence")[0].name == "evidence.csv"
        (tmp_path / "evidence").write_bytes(b"<html>")
        with pytest.raises(InputError, match="web page"):
            fetch("local", copy_from=tmp_path / "evidence")

    def test_a_cache_that_cannot_be_written_is_told_with_its_variable(self, world, tmp_path):
        world.cache.write_text("a file where the folder should be")
        with pytest.raises(InputError, match=f"cannot be written.*{CACHE_VARIABLE}"):
            fetch("labels", copy_from=tmp_path / "table.csv")


class TestAll:
    def test_everything_with_an_address_is_fetched(self, world):
        got = dict(fetch_all(network=world.network))
        assert list(got) == ["labels", "judged-a", "judged-b", "stats"]
        assert all(path.exists() for paths in got.values() for path in paths)

    def test_one_that_fails_costs_itself_only(self, world):
        del world.server.files[f"{FIRST}/judged/a.json"]
        got = dict(fetch_all(network=world.network))
        assert [name for name, paths in got.items() if isinstance(paths, InputError)] == ["judged-a"]

    def test_a_copy_of_some_is_taken_as_far_as_it_goes(self, world, tmp_path):
        got = dict(fetch_all(copy_from=tmp_path))
        assert [name for name, paths in got.items() if not isinstance(paths, InputError)] == ["labels"]
        assert world.server.n_requests == {}

    def test_the_listing_says_size_licence_commit_and_state(self, world):
        fetch("judged-a", network=world.network)
        world.place("stats").mkdir()
        (world.place("stats") / "all.csv").write_bytes(b"")
        rows = {row["name"]: row for row in listing()}
        states = {name: row["state"] for name, row in rows.items()}
        lacking = dict.fromkeys(("panel", "stats"), "incomplete or damaged")
        assert states == dict.fromkeys(rows, "not fetched") | {"judged-a": "here"} | lacking
        told = [rows["judged-a"][key] for key in ("bytes", "licence", "paper", "commit", "options")]
        assert told == [len(JUDGED["judged-a"]), "own", "none", COMMIT, ["--human"]]
        assert rows["panel"]["commit"] == COMMIT
        assert rows["panel"]["bytes"] == sum(map(len, JUDGED.values()))


class TestProcesses:
    FETCH = "print(fetch('labels')[0].read_bytes()[:2].decode())"

    def test_two_at_once_fetch_once(self, world):
        def late(request, body):
            world.server.go_on.wait(PATIENCE_SECONDS)
            request.send(body)

        world.server.answer = late
        both = [world.start(self.FETCH) for _ in range(2)]
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not world.server.n_requests and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.5)
        world.server.go_on.set()
        answers = [one.communicate(timeout=PATIENCE_SECONDS) for one in both]
        assert [out for out, _ in answers] == ["id\n", "id\n"], answers
        assert world.server.n_requests == {LABELS: 1}
        assert sum("Fetching" in err for _, err in answers) == 1

    @pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal")
    def test_what_a_kill_leaves_is_removed_by_the_next_run(self, world):
        def stop_half_way(request, body):
            request.send(body[:100], n_promised=len(body))
            world.server.go_on.wait(PATIENCE_SECONDS)

        world.server.answer = stop_half_way
        killed = world.start(self.FETCH)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not [path for path in world.kept if path.endswith(".partial")] and time.monotonic() < deadline:
            time.sleep(0.02)
        killed.kill()
        killed.communicate()
        (left,) = world.kept
        assert left.startswith(".partial/labels/")
        world.server.answer = None
        fetch("labels", network=world.network)
        assert world.kept == [f"owner/repo/{COMMIT}/labels/multilabel.csv"]


@pytest.mark.parametrize(
    ("n_bytes", "text"), [(49_255, "49 kB"), (999_400, "999 kB"), (999_600, "1.0 MB"), (200_417_830, "200.4 MB")]
)
def test_sizes_are_told_in_round_figures(n_bytes, text):
    assert sized(n_bytes) == text


def test_both_layouts_give_the_same_annotations(world, tmp_path):
    (tmp_path / "mine.json").write_bytes(OFFICIAL)
    one, other = (read_annotations(tmp_path / name, imagenet_1k()) for name in ("table.csv", "mine.json"))
    assert one.file_names == other.file_names
    assert one.label.tolist() == other.label.tolist() == [65, 970]
    assert (
        [labels.tolist() for labels in one.accepted]
        == [labels.tolist() for labels in other.accepted]
        == [[62, 65], [795, 970]]
    )
    assert one.problematic.tolist() == other.problematic.tolist() == [False, True]


def test_without_the_variable_the_users_own_cache_is_used(monkeypatch):
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    assert re.search("imagenet-errors", str(target_of("vit3b")[0]))
