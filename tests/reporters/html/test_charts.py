"""Charts: well-formed, to scale, with their data beside them; and the drift section made of them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib.resources import files
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from markupsafe import Markup

from packlint.report import RuleStatus
from packlint.reporters.html.axes import bin_labels, folded, log_place, short, ticks
from packlint.reporters.html.charts import Chart, Series, bars, curve, histogram, stacked, strip
from packlint.reporters.html.drift import make_drift
from tests.reporters.html.drifted import DRIFT, drifted_report
from tests.reporters.html.pages import page_of
from tests.reporters.reports import mixed_report

CHART = Chart("x", "A <title>", "What is \x1b to be seen.")
REFERENCE, PACKED = Series("reference", [0.5, 0.25, 0.25]), Series("packed", [0.25, 0.75, math.nan])


def parsed(figure: Markup) -> ElementTree.Element:
    return ElementTree.fromstring(figure)


def of_class(node: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [part for part in node.iter() if part.get("class") == name]


def cells(figure: ElementTree.Element) -> list[list[str]]:
    return [["".join(cell.itertext()) for cell in row] for row in figure.iter("tr")]


def plots(figure: ElementTree.Element) -> list[ElementTree.Element]:
    return [svg for svg in figure.iter("svg") if svg.get("class") == "plot"]


@pytest.mark.parametrize(
    "figure",
    [
        bars(CHART, ["a", "b", "c"], {"samples": [REFERENCE, PACKED]}),
        stacked(CHART, ["a", "b", "c"], [REFERENCE, PACKED]),
        histogram(CHART, [1, 2, 4, 8], [REFERENCE, PACKED]),
        curve(CHART, [1, 10, 100], [REFERENCE, PACKED], is_log=True),
        strip(CHART, [REFERENCE, PACKED]),
    ],
    ids=["bars", "stacked", "histogram", "curve", "strip"],
)
def test_every_chart_has_name_description_and_data(figure: Markup) -> None:
    node = parsed(figure)

    for svg in plots(node):
        assert svg.get("role") == "img"
        assert "A <title>" in svg.get("aria-label", "")
        assert [part.tag for part in svg][:2] == ["title", "desc"]
    assert plots(node)
    assert "What is \\x1b to be seen." in "".join(node.itertext())
    assert any("50.0%" in cell or "0.5" in cell for row in cells(node) for cell in row)
    assert "\x1b" not in figure
    assert "nan" not in figure


def test_bars_are_to_one_scale_over_all_weightings() -> None:
    figure = bars(
        CHART, ["a", "b"], {"samples": [Series("r", [0.8, 0.2])], "tokens": [Series("r", [0.4, 0.6])]}
    )
    widths = [
        float(bar.get("width", "").rstrip("%"))
        for bar in of_class(parsed(figure), "b0")
        if "%" in bar.get("width", "")
    ]

    assert [w / widths[0] for w in widths] == pytest.approx([1, 0.25, 0.5, 0.75], abs=0.01)


def test_bars_show_the_largest_and_list_all() -> None:
    n = 40
    figure = parsed(bars(CHART, [f"c{i}" for i in range(n)], {"": [Series("r", [i / n for i in range(n)])]}))

    drawn = [part.text for part in figure.iter("text") if (part.text or "").startswith("c")]
    assert drawn == [f"c{i}" for i in range(n - 1, n - 13, -1)]
    assert len(cells(figure)) == n + 1
    assert "28 smaller ones are in the table" in "".join(figure.itertext())


def test_stacked_parts_fill_the_row() -> None:
    figure = parsed(stacked(CHART, ["a", "b", "c"], [REFERENCE]))
    bars_ = list(plots(figure)[0].iter("rect"))

    assert [(b.get("x"), b.get("width")) for b in bars_] == [
        ("0.00%", "50.00%"),
        ("50.00%", "25.00%"),
        ("75.00%", "25.00%"),
    ]


def test_curve_on_a_logarithmic_axis() -> None:
    figure = parsed(curve(CHART, [1, 10, 100], [Series("r", [0.0, 0.5, 1.0])], is_log=True))

    assert next(figure.iter("polyline")).get("points") == "0.0,100.00 500.0,50.00 1000.0,0.00"


def test_long_rows_are_folded() -> None:
    assert folded(list(range(10)), 5) == [0.5, 2.5, 4.5, 6.5, 8.5]
    assert folded([], 5) == []
    assert len(folded(list(range(1_000_003)), 96)) <= 96


def test_numbers_on_axes() -> None:
    assert [short(x) for x in (0, 0.125, 950, 8192, 65536, 4.1e6, math.inf, "x")] == [
        "0",
        "0.125",
        "950",
        "8,192",
        "65.5k",
        "4.1M",
        "∞",
        "x",
    ]
    assert ticks(3) == [0, 1, 2]
    assert ticks(101) == [0, 25, 50, 75, 100]
    assert bin_labels([1, 2, math.inf]) == ["1 to 2", "2 to ∞"]
    assert log_place([0, 1, 10, 100]) == pytest.approx([0, 0, 50, 100])


def test_charts_of_nothing() -> None:
    for figure in (
        bars(CHART, [], {}),
        histogram(CHART, [], []),
        curve(CHART, [], []),
        strip(CHART, []),
        stacked(CHART, [], []),
    ):
        parsed(figure)


def test_effective_context_is_a_curve_among_the_measures() -> None:
    shares = {64: 0.5, 1024: 0.0, 128: 0.25}
    measures = {f"tokens_with_context_{least}_fraction": share for least, share in shares.items()}
    report = replace(mixed_report(), measures={**mixed_report().measures, **measures})
    page = page_of(report)

    assert "own-context" in page.values("id")
    assert "64 50.0% 128 25.0% 1,024 0.0%" in page.text
    assert "tokens with context" not in page.text
    assert "own-context" not in page_of(mixed_report()).values("id")


def test_drift_section_shows_every_part() -> None:
    text = page_of(drifted_report(DRIFT)).text

    for words in (
        "tokens 41,000,000 40,771,204 -0.56%",
        "targets 9,000,000 not stored",
        "40,771,204 packed tokens = 41,000,000 reference tokens",
        "\N{MINUS SIGN} 348,196 lost tokens + 119,400 special tokens added Lost samples",
        "unpacked/part-1.parquet 11 8,999 lost",
        "and 20 more samples",
        "English prose",
        "Jensen-Shannon divergence 0.0123 chance 0.0011 0.0123 0.0123",
        "largest move of a share 9 points",
        "moved by, in tokens 212",
        "Lengths of samples, share of tokens",
        "reference 342 290",
        "Effective context",
        "mean, packed 400 tokens",
        "Part of the loss by language",
        "loss that lies elsewhere under a mean over packs 8.4%",
        "sample length alike in neighbours 0.31",
        "Mean length along the data",
        '13 "▁tok0" 1% 1.2% +0.2 points',
        '2 "</s>" eos 1 0.5',
    ):
        assert words in text, words


def test_drift_section_is_of_the_form_that_reports_have() -> None:
    schema = json.loads((files("packlint.reporters") / "schema" / "report-v1.json").read_text("utf-8"))

    jsonschema.Draft202012Validator({"$ref": "#/$defs/drift", "$defs": schema["$defs"]}).validate(DRIFT)


def test_parts_say_what_rules_found_about_them() -> None:
    report = drifted_report(DRIFT)
    rule, finding = report.rules[0], report.findings[0]
    rules = [
        replace(rule, code=code, status=RuleStatus.FOUND if code == "DRF001" else RuleStatus.CLEAN)
        for code in ("DRF001", "DRF002")
    ]
    found = [
        replace(finding, code="DRF001", name="category-drift", measured={f"{name}_js": 0.1})
        for name in ("language", "domain")
    ]
    drift = make_drift(DRIFT, replace(report, rules=tuple(rules), findings=tuple(found)))

    assert drift is not None
    marks = {part.title: [(mark.kind, mark.code) for mark in part.marks] for part in drift.parts}
    assert marks["Shares by language"] == [("error", "DRF001")]
    assert marks["Lengths of samples"] == [("clean", "")]
    assert marks["Positions in samples"] == []


def test_tokens_without_text_are_decoded() -> None:
    drift = make_drift({"tokens": {"movers": [{"id": 7, "text": ""}]}}, decode=lambda ids: f" <{ids[0]}>")

    assert drift is not None
    assert [mover.text for mover in drift.movers] == ['" <7>"']


def test_no_comparison_no_section() -> None:
    assert make_drift({}) is None
    assert "drift" not in page_of(drifted_report({})).values("id")


@pytest.mark.parametrize("key", DRIFT)
def test_any_part_may_be_missing(key: str) -> None:
    page_of(drifted_report({name: part for name, part in DRIFT.items() if name != key}))
    page_of(drifted_report({key: DRIFT[key]}))


def keys_of(value: Any) -> list[tuple[Any, ...]]:
    if not isinstance(value, dict):
        return []
    return [path for key in value for path in ((key,), *((key, *rest) for rest in keys_of(value[key])))]


def replaced(table: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    if len(path) == 1:
        return {**table, path[0]: value}
    return {**table, path[0]: replaced(table[path[0]], path[1:], value)}


def trimmed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: trimmed(part) for key, part in value.items()}
    return [trimmed(part) for part in value[:2]] if isinstance(value, list) else value


@pytest.mark.parametrize("value", [None, [], {}, "text", 7, math.nan, [None, "x", math.inf, {}], [[1], [2]]])
def test_odd_values_break_nothing(value: Any) -> None:
    small = trimmed(DRIFT)
    for path in keys_of(small):
        make_drift(replaced(small, path, value))
    page_of(drifted_report(dict.fromkeys(DRIFT, value)))
