"""Reports made by hand, for the reporters."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from packlint.baseline import Baseline, make_baseline
from packlint.finding import Confidence, Finding, Location, Severity
from packlint.model.spec import Known, Origin
from packlint.report import InputReport, ProfileReport, Report, RuleReport, RuleStatus, hold_against

__all__ = [
    "HOSTILE",
    "MARKUP",
    "clean_report",
    "hostile_report",
    "known_report",
    "large_report",
    "mixed_report",
]

HOSTILE = "a\x1b[31mred\x1b[0m [bold]b[/] \u202egnp.exe\u2066 \n\t\x07\x9b2J \ud800 ü"
"""ANSI escapes, rich markup, bidi controls, line ends, a bell, a C1 control and half a surrogate pair."""
MARKUP = (
    "![x](http://a.test) [b](http://a.test) <script>alert(1)</script> <!-- | \\| `` ` ]]> &amp; *b* _i_ # "
    "$x$ @team www.a.test http://a.test ::error::x %0A ##[add-mask]x {0}"
)
"""What Markdown, HTML, XML, SARIF messages and workflow commands would take for their own."""


def _rule(code: str, name: str, severity: str, status: str, reason: str = "", n: int = 0) -> RuleReport:
    return RuleReport(
        code=code,
        name=name,
        severity=Severity(severity),
        status=RuleStatus(status),
        reasons=(reason,) if reason else (),
        n_hits=n,
        n_packs=n,
        n_segments=n,
        n_tokens=4 * n,
    )


def _input(path: str, form: str = "parquet", trainer: str = "trl") -> InputReport:
    return InputReport(
        path=path,
        format=form,
        trainer=trainer,
        trainer_source="format" if trainer else "",
        evidence=("columns input_ids, labels, seq_lengths: TRL, bfd packing",) if trainer else (),
        n_packs=100,
        n_segments=700,
        n_tokens=409_600,
        n_padding=4_096,
        n_targets=200_000,
        n_bytes=123_456,
    )


def _finding(shard: str, n: int, severity: Severity = Severity.ERROR) -> Finding:
    place = Location(
        shard=shard,
        pack=17,
        segment=3,
        start=120,
        stop=124,
        amount=n,
        context_start=114,
        context=(5, 6, 7, 8, 9, 10, 0, 0, 0, 0, 11, 12),
    )
    return Finding(
        code="TGT001",
        name="loss-on-padding",
        severity=severity,
        confidence=Confidence.LIKELY,
        shard=shard,
        message=f"the loss asks for {n:,} padding tokens of 4,096 (24.4 %); allowed: 0",
        n_hits=n,
        n_packs=n,
        n_segments=n,
        n_tokens=4 * n,
        measured={"padding_targets": 4 * n, "share": 0.244},
        locations=(place,),
    )


def mixed_report() -> Report:
    """Return a report with everything in it: errors, warnings, notes, unread, unchecked, off, unreadable."""
    shards = [f"packed/train-{i:05d}-of-00007.parquet" for i in range(6)]
    findings = [_finding(shard, 9 - i) for i, shard in enumerate(shards)]
    findings.append(
        Finding(
            code="SHD001",
            name="unreadable-shard",
            severity=Severity.ERROR,
            confidence=Confidence.CERTAIN,
            shard="packed/broken.parquet",
            message="the file is cut off after 1,024 of 4,096 bytes",
            n_hits=1,
            locations=(Location(shard="packed/broken.parquet", pack=-1, note="the file is cut off"),),
        )
    )
    findings.append(
        Finding(
            code="FIL001",
            name="padding-waste",
            severity=Severity.WARNING,
            confidence=Confidence.CERTAIN,
            shard="",
            message="12.5 % of all slots are padding; allowed waste: 5 %",
            n_hits=1,
        )
    )
    findings.sort(key=lambda f: (f.severity.rank, f.code, f.shard))
    rules = (
        _rule(
            "BND001", "conflicting-boundaries", "error", "clean", "not checked in 100 of 700 rows: no record"
        ),
        _rule("FIL001", "padding-waste", "warning", "found", n=1),
        _rule("ISO004", "non-causal-attention", "error", "not_checked", "dense_mask: none is stored"),
        _rule("ISO005", "blind-token", "error", "not_checked", "dense_mask: none is stored"),
        _rule("SHD001", "unreadable-shard", "error", "found", n=1),
        _rule("SPC006", "pad-is-end-token", "warning", "off", "ignored: the model was trained so"),
        _rule("TGT001", "loss-on-padding", "error", "found", n=39),
        _rule("TOK002", "wrapped-ids", "error", "not_checked", "vocab_size: unknown; give [spec] vocab_size"),
    )
    return Report(
        version="0.1.0",
        exit_code=1,
        profile=ProfileReport(name="sft", source="inferred", why="the loss asks for 5 of 9 tokens seen"),
        spec={
            "max_seq_len": Known(4096, Origin.CONFIG),
            "eos_ids": Known((2,), Origin.DETECTED, "98 of 100 segments end so"),
        },
        inputs=(*map(_input, shards), _input("packed/broken.parquet", "unreadable", "")),
        rules=rules,
        findings=tuple(findings),
        measures={
            "n_packs": 600,
            "n_segments": 4200,
            "n_tokens": 2_457_600,
            "n_padding": 307_200,
            "n_targets": 1_200_000,
            "padding_fraction": 0.125,
            "samples_per_pack": 7.0,
            "target_fraction": 0.558,
            "mean_context_tokens": 292.5,
            "tokens_per_sample": 512.0,
        },
    )


def clean_report() -> Report:
    """Return a report without findings."""
    return Report(
        version="0.1.0",
        exit_code=0,
        profile=ProfileReport(name="pretrain", source="config", why="packlint.toml"),
        inputs=(_input("a.parquet"),),
        rules=(
            _rule("TGT001", "loss-on-padding", "error", "clean"),
            _rule("TOK002", "wrapped-ids", "error", "not_checked", "vocab_size: unknown"),
        ),
        measures={"n_packs": 100, "n_tokens": 409_600},
    )


def hostile_report(text: str = HOSTILE) -> Report:
    """Return a report in which every string that comes from the data tries to take over its reader."""
    place = Location(shard=text, pack=0, start=0, stop=1, context=(1, 2), note=text)
    finding = Finding(
        code="TGT001",
        name="loss-on-padding",
        severity=Severity.ERROR,
        confidence=Confidence.CERTAIN,
        shard=text,
        message=text,
        n_hits=1,
        locations=(place,),
    )
    entry = InputReport(path=text, format="parquet", trainer="trl", trainer_source="format", evidence=(text,))
    return Report(
        version="0.1.0",
        exit_code=2,
        profile=ProfileReport(name="sft", source="inferred", why=text),
        spec={"token_dtype": Known(text, Origin.FORMAT, text)},
        inputs=(entry,),
        rules=(_rule("TOK002", "wrapped-ids", "error", "not_checked", text),),
        findings=(finding,),
        internal_errors=(text,),
    )


def known_report() -> Report:
    """Return the mixed report held against a baseline: known, risen, gone, fallen and not looked at."""
    report = mixed_report()
    entries = {key: dict(counts) for key, counts in make_baseline(report.findings).entries.items()}
    shards = [f"packed/train-{i:05d}-of-00007.parquet" for i in range(6)]
    entries["TGT001", shards[0]]["n_hits"] -= 1
    entries["TGT001", shards[1]]["n_tokens"] += 1
    del entries["TGT001", shards[2]]
    some = {"n_hits": 3, "n_packs": 3, "n_segments": 3, "n_tokens": 3}
    entries["SHD002", shards[3]] = entries["BND001", shards[3]] = some
    report = replace(report, rules=(*report.rules, _rule("SHD002", "ragged-columns", "error", "clean")))
    baseline = Baseline(source=".packlint-baseline.json", entries=entries)
    return hold_against(report, baseline, Severity.ERROR)


@cache
def large_report(n_rules: int, n_shards: int, n_known: int = 0) -> Report:
    """Return a report in which each of some rules finds something in each of some shards."""
    codes = [f"TGT{i:03d}" for i in range(n_rules)]
    shards = [f"packed/part-{i // 1000}/train-{i:08d}.parquet" for i in range(n_shards)]
    findings = [
        replace(_finding(shard, 1 + i % 7), code=code, name=f"fault-{code.lower()}")
        for code in codes
        for i, shard in enumerate(shards)
    ]
    report = Report(
        version="0.1.0",
        exit_code=1,
        profile=ProfileReport(name="sft", source="config", why="packlint.toml"),
        inputs=tuple(map(_input, shards)),
        rules=tuple(_rule(code, f"fault-{code.lower()}", "error", "found", n=1) for code in codes),
        findings=tuple(findings),
    )
    if not n_known:
        return report
    known = Baseline(source="b.json", entries=make_baseline(findings[:n_known]).entries)
    return hold_against(report, known, Severity.ERROR)
