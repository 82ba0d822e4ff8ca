"""Remote inputs: few bytes are fetched, and what goes wrong is told in one clear line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import packlint
from packlint.cli.main import main
from packlint.config import parse_config
from packlint.errors import NoInputError, UnreadableError, UsageError
from packlint.readers.discover import discover, open_shards
from packlint.readers.shard import Settings
from packlint.readers.sidecars import datasets_files, index_of
from packlint.readers.source import Source
from packlint.session import check_shards
from tests.readers.loopback import WebServer, s3_server

PACKED = Path(__file__).parents[1] / "samples" / "trl_bfd" / "packed.parquet"


@pytest.fixture(scope="module", autouse=True)
def _store() -> Iterator[None]:
    with s3_server():
        fsspec.filesystem("s3").mkdir("toys")
        yield


class TestBytes:
    """How much is fetched, measured by a server that counts."""

    @staticmethod
    def fat(n_rows: int = 4000, n_tokens: int = 16) -> pa.Table:
        chance = np.random.default_rng(0)
        return pa.table(
            {
                "text": [chance.bytes(2000).hex() for _ in range(n_rows)],
                "input_ids": pa.array(
                    chance.integers(0, 400, (n_rows, n_tokens), np.int32).tolist(), pa.list_(pa.int32())
                ),
                "more": [chance.bytes(500) for _ in range(n_rows)],
            }
        )

    @pytest.mark.parametrize("n_group_rows", [4000, 500])
    def test_parquet_columns_that_nobody_needs_stay_where_they_are(
        self, tmp_path: Path, n_group_rows: int
    ) -> None:
        path = tmp_path / "fat.parquet"
        pq.write_table(
            self.fat(), path, row_group_size=n_group_rows, compression="none", use_dictionary=False
        )
        server = WebServer({"/fat.parquet": path.read_bytes()})
        report = packlint.check(f"{server.url}/fat.parquet?sig=SECRET")
        server.stop()

        assert report == packlint.check(path)
        assert "SECRET" not in report.to_json()
        size = path.stat().st_size
        assert size > 17_000_000
        assert server.n_sent < size / 10

    def test_arrow_file_columns_that_nobody_needs_stay_where_they_are(self, tmp_path: Path) -> None:
        path = tmp_path / "fat.arrow"
        with pa.ipc.new_file(str(path), self.fat().schema) as writer:
            writer.write_table(self.fat(), max_chunksize=1000)
        server = WebServer({"/fat.arrow": path.read_bytes()})
        report = packlint.check(f"{server.url}/fat.arrow")
        server.stop()

        assert report == packlint.check(path)
        assert server.n_sent < 2_000_000

    def test_a_stream_is_fetched_once(self, tmp_path: Path) -> None:
        path = tmp_path / "plain.arrow"
        table = self.fat().select(["input_ids"])
        with pa.ipc.new_stream(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=100)
        rows = "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()
        for name, content in (("plain.arrow", path.read_bytes()), ("plain.jsonl", rows)):
            server = WebServer({f"/{name}": content})
            packlint.check(f"{server.url}/{name}")
            server.stop()
            assert len(content) < server.n_sent < len(content) + 400_000


class TestTrouble:
    """One clear line, exit code 3 where no input could be had, and never a traceback."""

    @pytest.mark.parametrize(
        ("url", "says"),
        [
            ("s3://toys/no/such.parquet", "there is no such object"),
            ("s3://toys/no/such/", "there is no such object"),
            ("s3://toys/no*", "no file here"),
            ("s3://no-such-bucket/a.parquet", "there is no such bucket"),
            ("s3://no-such-bucket", "there is no such bucket"),
            ("s3://no-such-bucket/*.parquet", "no "),
            ("memory://no/such", "there is no such object"),
        ],
    )
    def test_nothing_there(self, url: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["check", url]) == 3
        lines = capsys.readouterr().err.splitlines()

        assert len(lines) == 1
        assert lines[0].startswith(f"packlint: error: {url}: {says}")

    def test_a_server_that_does_not_answer(self, capsys: pytest.CaptureFixture[str]) -> None:
        server = WebServer({})
        server.stop()
        assert main(["check", f"{server.url}/a.parquet?sig=SECRET"]) == 3
        error = capsys.readouterr().err

        assert (
            error == f"packlint: error: {server.url}/a.parquet: it cannot be reached (ClientConnectorError)\n"
        )

    def test_an_s3_server_that_does_not_answer(self, capsys: pytest.CaptureFixture[str]) -> None:
        from s3fs import S3FileSystem

        server = WebServer({})
        server.stop()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL", server.url)
            S3FileSystem.clear_instance_cache()
            code = main(["check", "s3://toys/samples"])
        S3FileSystem.clear_instance_cache()

        assert code == 3
        assert "s3://toys/samples: it cannot be reached" in capsys.readouterr().err

    def test_a_server_that_goes_away_leaves_a_finding(self) -> None:
        files = {f"/{name}.parquet": PACKED.read_bytes() for name in "ab"}
        server = WebServer(files)
        local, _ = open_shards([str(PACKED)], Settings())
        shards, errors = open_shards([f"{server.url}/a.parquet"], Settings())
        server.stop()
        report = check_shards([*local, *shards], {}, parse_config({}, "test"))

        assert errors == []
        [finding] = [f for f in report.findings if f.code == "SHD001"]
        assert finding.shard == "a.parquet"
        assert "it cannot be reached" in finding.message
        assert report.internal_errors == ()

    def test_a_sidecar_that_nobody_can_ask_for_is_not_taken_for_absent(self) -> None:
        server = WebServer({})
        server.stop()

        with pytest.raises(UnreadableError, match="cannot be reached"):
            Source(f"{server.url}/a.idx").exists()
        with pytest.raises(UnreadableError, match="cannot be reached"):
            datasets_files(Source(server.url))
        with pytest.raises(UnreadableError, match="cannot be reached"):
            index_of(Source(f"{server.url}/a.bin"))

    def test_a_server_without_ranges(self) -> None:
        content = PACKED.read_bytes()
        server = WebServer({"/a.parquet": content})
        server.gives_ranges = False
        report = packlint.check(f"{server.url}/a.parquet")
        server.stop()

        [finding] = report.findings
        assert finding.code == "SHD001"
        assert f"{len(content)} bytes came" in finding.message

    @pytest.mark.parametrize(
        ("status", "says"),
        [
            (404, "there is no such object"),
            (403, "there is no permission to read it"),
            (401, "there is no permission to read it"),
            (500, "it cannot be read: 500"),
        ],
    )
    def test_what_a_web_server_answers(self, status: int, says: str) -> None:
        server = WebServer({"/a.idx": b"junk"})
        server.status_of_others = status
        with pytest.raises(NoInputError) as raised:
            discover([f"{server.url}/no.parquet?sig=SECRET"])
        is_known_absent = status < 500
        if is_known_absent:
            assert not Source(f"{server.url}/b.idx").exists()
        else:
            with pytest.raises(UnreadableError):
                Source(f"{server.url}/b.idx").exists()
        server.stop()

        assert str(raised.value).startswith(f"{server.url}/no.parquet: {says}")
        assert "SECRET" not in str(raised.value)

    def test_sources_shown_have_no_secrets(self) -> None:
        assert Source("https://user:pw@h/k/a.parquet?sig=x#y").shown == "https://h/k/a.parquet"
        assert Source("s3://key:secret@b/a?.parquet").shown == "s3://b/a?.parquet"

    @pytest.mark.parametrize(
        ("url", "missing", "extra"),
        [("s3://b/a", "s3fs", "s3"), ("gs://b/a", "gcsfs", "gcs"), ("s3://b/a", "fsspec", "remote")],
    )
    def test_a_missing_package(
        self, url: str, missing: str, extra: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        code = (
            f"import sys; sys.modules[{missing!r}] = None; from packlint.cli.main import main;"
            f"sys.exit(main(['check', {url!r}]))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

        assert done.returncode == 2
        assert done.stderr.endswith(f"pip install 'packlint[{extra}]'\n")
        assert done.stderr.count("\n") == 1

    @pytest.mark.parametrize("url", ["nonsense://a/b", "simplecache::s3://toys/a", "zip://a::s3://toys/b"])
    def test_urls_of_no_use(self, url: str) -> None:
        with pytest.raises(UsageError):
            discover([url])
