"""What packs are compared with, from settings to the report: samples from anywhere, or a saved summary."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from packlint import check
from packlint.config import parse_config
from packlint.errors import UnreadableError, UsageError
from packlint.report import Report
from packlint.session import check_paths
from packlint.summaries.composition import Composition
from packlint.summaries.composition_file import write_composition

EOS = 2
SPEC: dict[str, Any] = {"eos_ids": [EOS]}


def samples_of(n: int, seed: int = 0) -> tuple[list[list[int]], list[str]]:
    rng = random.Random(seed)
    rows = [[rng.randrange(5, 500) for _ in range(rng.randrange(20, 60))] for _ in range(n)]
    return rows, ["code" if i % 3 else "web" for i in range(n)]


def packed(rows: list[list[int]], per_pack: int = 4) -> dict[str, Any]:
    closed = [[*row, EOS] for row in rows]
    groups = [closed[i : i + per_pack] for i in range(0, len(closed), per_pack)]
    return {
        "input_ids": [[i for row in group for i in row] for group in groups],
        "seq_lens": [[len(row) for row in group] for group in groups],
    }


def codes(report: Report) -> set[str]:
    return {finding.code for finding in report.findings}


def statuses(report: Report) -> dict[str, str]:
    return {entry.code: entry.status.value for entry in report.rules}


def reasons(report: Report) -> dict[str, tuple[str, ...]]:
    return {entry.code: entry.reasons for entry in report.rules}


def test_all_is_there_and_the_books_balance() -> None:
    rows, domains = samples_of(60)

    report = check(packed(rows), reference={"input_ids": rows, "domain": domains}, by=["domain"], spec=SPEC)

    assert not {code for code in codes(report) if code[:3] in ("SMP", "DRF", "ORD", "TOK")}
    assert statuses(report)["SMP001"] == "clean"
    books = report.drift["conservation"]
    assert books["special_tokens_added"] == 60
    assert books["packed_tokens"] == books["reference_tokens"] + 60
    assert report.drift["columns"]["domain"]["packed"]["known_fraction"] == 1


def test_lost_samples_are_named_with_their_domain() -> None:
    rows, domains = samples_of(60)
    kept = [row for row, domain in zip(rows, domains, strict=True) if domain == "code"]

    report = check(packed(kept), reference={"input_ids": rows, "domain": domains}, by=["domain"], spec=SPEC)

    messages = {finding.code: finding.message for finding in report.findings}
    assert messages["SMP001"].startswith("20 of 60 samples are in no pack")
    assert "domain: web 20" in messages["SMP001"]
    assert "web" in messages["DRF004"]
    lost = report.drift["lost_samples"]
    assert {entry["domain"] for entry in lost} == {"web"}
    assert [entry["n_tokens"] for entry in lost] == sorted((len(rows[e["row"]]) for e in lost), reverse=True)


def test_without_a_reference_nothing_is_said_of_samples() -> None:
    report = check(packed(samples_of(8)[0]), spec=SPEC)

    assert report.drift == {}
    for code in ("SMP001", "SMP008", "DRF001", "TOK003"):
        assert statuses(report)[code] == "not_checked"
        assert "--reference" in reasons(report)[code][0]


def test_paths_memory_and_threads_give_the_same(tmp_path: Path) -> None:
    rows, domains = samples_of(80)
    shards = [packed(rows[:40]), packed([row[:30] for row in rows[40:]])]
    for number, columns in enumerate(shards):
        pq.write_table(pa.table(columns), tmp_path / f"shard-{number}.parquet", row_group_size=3)
    source = pa.table({"input_ids": rows, "domain": domains})
    pq.write_table(source, tmp_path / "source.parquet", row_group_size=7)
    paths = [str(tmp_path / f"shard-{number}.parquet") for number in (0, 1)]
    config = parse_config({"by": "domain", "spec": SPEC, "reference": str(tmp_path / "source.parquet")}, "t")

    one = check_paths(paths, config)
    other = check_paths(paths[::-1], config, jobs=2, block_tokens=100)
    memory = check(paths, reference=source, by=["domain"], spec=SPEC)

    assert one.to_json() == other.to_json()
    assert {f.code: f.message for f in one.findings} == {f.code: f.message for f in memory.findings}


def test_configuration_file_names_the_reference_beside_itself(tmp_path: Path) -> None:
    from packlint.config import find_config

    (tmp_path / "packlint.toml").write_text('reference = ["tokenized", "s3://bucket/x"]\nby = "domain"\n')

    config = find_config(tmp_path)

    assert config.reference == (str(tmp_path / "tokenized"), "s3://bucket/x")
    assert config.by == ("domain",)


def test_a_damaged_reference_is_an_error_not_a_finding(tmp_path: Path) -> None:
    """Half a reference would make samples seem lost."""
    (tmp_path / "source.parquet").write_bytes(b"PAR1 but no table PAR1")

    with pytest.raises(UnreadableError, match=r"source\.parquet"):
        check(packed(samples_of(8)[0]), reference=str(tmp_path / "source.parquet"), spec=SPEC)


def test_a_column_that_nobody_has_is_an_error() -> None:
    rows, _ = samples_of(8)

    with pytest.raises(UsageError, match="--by langauge"):
        check(packed(rows), reference={"input_ids": rows}, by=["langauge"], spec=SPEC)


def test_a_saved_summary_is_a_reference_without_samples(tmp_path: Path) -> None:
    rows, _ = samples_of(400)
    kept: list[Composition] = []
    pq.write_table(pa.table(packed(rows)), tmp_path / "old.parquet")
    pq.write_table(pa.table(packed([row[:25] for row in rows])), tmp_path / "new.parquet")
    plain = parse_config({"spec": SPEC}, "t")
    check_paths([str(tmp_path / "old.parquet")], plain, on_composition=kept.append)
    write_composition(kept[0], tmp_path / "old.json")
    config = parse_config({"spec": SPEC, "reference": [str(tmp_path / "old.json")]}, "t")

    same = check_paths([str(tmp_path / "old.parquet")], config)
    shorter = check_paths([str(tmp_path / "new.parquet")], config)

    assert not {code for code in codes(same) if code.startswith("DRF")}
    assert "DRF002" in codes(shorter)
    assert "summary of an earlier build" in reasons(same)["SMP001"][0]
    assert same.drift["conservation"] is None
    assert same.drift["reference"]["name"] == "old.json"
    json.dumps(same.drift, allow_nan=False)


def test_a_summary_stands_alone(tmp_path: Path) -> None:
    write_composition(Composition(), tmp_path / "old.json")
    rows, _ = samples_of(4)

    with pytest.raises(UsageError, match="reference by itself"):
        check(packed(rows), reference=[str(tmp_path / "old.json"), str(tmp_path / "b")], spec=SPEC)


def test_a_rule_that_raises_on_a_reference_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    from packlint_rules.samples.smp001_lost_sample import LostSample

    def fail(*_: Any) -> Any:
        raise RuntimeError("a bug")

    monkeypatch.setattr(LostSample, "judge", fail)
    rows, _ = samples_of(20)

    report = check(packed(rows[:12]), reference={"input_ids": rows}, spec=SPEC)

    assert report.exit_code == 2
    assert report.internal_errors == ("SMP001 raised RuntimeError while judging: a bug",)
    assert "conservation" in report.drift


def test_a_reference_of_messages_shows_what_no_template_writes(tmp_path: Path) -> None:
    """Packs whose chats were joined by hand: `assistant:` where the template has its own header."""
    pytest.importorskip("tokenizers")
    from packlint.conventions import reader_settings
    from packlint.readers.reference import open_reference
    from packlint.readers.shard import Role

    folder = Path(__file__).parent / "samples" / "_tokenizer"
    talks = [
        [
            {"role": "user", "content": f"what is {i} plus {i} when the packs are long"},
            {"role": "assistant", "content": f"it is {i + i} of course and the sample ends here"},
        ]
        for i in range(12)
    ]
    source = tmp_path / "chats.jsonl"
    source.write_text("".join(json.dumps({"messages": talk}) + "\n" for talk in talks))
    config = parse_config({"tokenizer": str(folder), "profile": "sft", "reference": [str(source)]}, "t")
    [shard], _ = open_reference([str(source)], reader_settings(config), str(folder))
    roles = frozenset({Role.INPUT_IDS})
    [raw] = [raw for part in shard.parts() for raw in shard.rows(part, roles, 1 << 20)]
    ids = raw.columns[Role.INPUT_IDS]
    rows = [ids.values[a:b].tolist() for a, b in zip(ids.offsets[:-1], ids.offsets[1:], strict=True)]
    other = rows[0][3]
    wrong = [[other if n < 3 and at == 8 else i for at, i in enumerate(row)] for n, row in enumerate(rows)]
    for name, kept in (("right", rows), ("wrong", wrong)):
        table = pa.table({"input_ids": kept, "seq_lens": [[len(row)] for row in kept]})
        pq.write_table(table, tmp_path / f"{name}.parquet")

    right = check_paths([str(tmp_path / "right.parquet")], config)
    foreign = check_paths([str(tmp_path / "wrong.parquet")], config)

    assert statuses(right)["SMP001"] == "clean"
    said = [
        [f.message for f in report.findings if f.code == "SPC010" and "conversations" in f.message]
        for report in (right, foreign)
    ]
    assert said == [
        [],
        ["3 of 12 conversations are not as the chat template writes them: 3 tokens differ"],
    ]


@pytest.mark.parametrize(("ids_are_right", "known"), [(True, 8), (False, 7)])
def test_sample_ids_lead_an_altered_segment_to_its_metadata(ids_are_right: bool, known: int) -> None:
    """Only where the ids of the other segments are those of their samples: `id` may mean anything."""
    rows, domains = samples_of(8)
    packs = packed([[9, *row[1:]] if number == 5 else row for number, row in enumerate(rows)])
    ids = [[100 + i for i in range(a, a + 4)] for a in (0, 4)]
    packs["sample_ids"] = ids if ids_are_right else ids[::-1]
    reference = {"input_ids": rows, "domain": domains, "id": [100 + i for i in range(8)]}

    found = domains_of(packs, reference)

    assert sum(value is not None for value in found) == known


def domains_of(packs: dict[str, Any], reference: dict[str, Any]) -> list[str | None]:
    """Return the domain of each segment as rules see it."""
    from packlint.conventions import reader_settings
    from packlint.engine.plan import plan_shards
    from packlint.executors import local
    from packlint.matching import compare, plan_samples
    from packlint.readers import open_memory

    config = parse_config({"spec": SPEC}, "t")
    settings = reader_settings(config)
    plan = plan_shards(list(open_memory(packs, "packs", settings)), config, config.spec)
    samples = plan_samples(list(open_memory(reference, "reference", settings)), config.spec)
    survey = compare(samples, plan.shards, by=("domain",)).survey()
    seen: list[str | None] = []

    class Watch:
        key = "watch"

        def zero(self) -> int:
            return 0

        def observe(self, summary: int, batch: Any) -> int:
            column = batch.metadata["domain"]
            seen.extend(column.names[code] if code >= 0 else None for code in column.codes.tolist())
            return summary

    local.run(plan.shards, (), survey=replace(survey, observers=(Watch(),)))
    return seen
