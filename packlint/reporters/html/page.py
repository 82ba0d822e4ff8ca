"""The page put together."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from packlint.model.spec import Known
from packlint.report import InputReport, Report
from packlint.reporters.html.declared import make_declared
from packlint.reporters.html.drift import make_drift
from packlint.reporters.html.groups import figure, make_groups
from packlint.reporters.html.measures import make_measures
from packlint.reporters.html.remainder import make_remainder
from packlint.reporters.presentation import Presentation
from packlint.reporters.signs import count, percent
from packlint.reporters.untrusted import visible
from packlint.reporters.verdict import counts_by_severity, plain_verdict

__all__ = ["make_page"]

_MAX_INPUTS = 200
_MAX_SHARD_NAMES = 200


def make_page(report: Report, presentation: Presentation) -> str:
    """Return the page."""
    style, script = _asset("report.css"), _asset("report.js")
    found = make_groups(report, report.new_findings, presentation)
    known = make_groups(report, report.known_findings, presentation)
    shards = dict.fromkeys(view.shard for group in [*found, *known] for view in group.findings)
    template = _environment().get_template("page.html")
    page = template.render(
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
        report=report,
        verdict=plain_verdict(report, presentation.fail_on),
        state=_state(report),
        tallies=counts_by_severity(report.new_findings),
        numbers=_numbers(report),
        found=found,
        known=known,
        rule_names=sorted({(group.code, group.name) for group in [*found, *known]}),
        shard_names=sorted(shards)[:_MAX_SHARD_NAMES],
        remainder=make_remainder(report),
        measures=make_measures(report),
        declared=make_declared(report),
        drift=make_drift(report.drift, report, presentation.spell),
        inputs=report.inputs[:_MAX_INPUTS],
        n_inputs_left=max(0, len(report.inputs) - _MAX_INPUTS),
        spec=[
            (name, _value(known), known.origin.value, known.why)
            for name, known in sorted(report.spec.items())
        ],
    )
    return page + "\n"


@cache
def _environment() -> Environment:
    """Return the environment: whatever a template writes is made visible, then escaped."""
    environment = Environment(
        loader=PackageLoader("packlint.reporters.html", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(counted=count, figure=figure, share=percent)
    environment.globals["read_as"] = _read_as
    return environment


def _shown(value: Any) -> Any:
    return value if isinstance(value, Markup) else visible(str(value))


@cache
def _asset(name: str) -> str:
    return (files("packlint.reporters.html") / "templates" / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Return the content security policy: nothing is loaded, only these two run."""
    return (
        f"default-src 'none'; style-src {_source(style)}; script-src {_source(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _source(content: str) -> str:
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _state(report: Report) -> str:
    """Return what decides the look of the verdict."""
    if report.exit_code:
        return "error"
    return "warning" if report.new_findings else "clean"


def _numbers(report: Report) -> list[tuple[str, str]]:
    """Return the numbers that matter, name and value."""
    measures = report.measures
    units = {entry.unit for entry in report.inputs if entry.format != "unreadable"}
    row = "pack" if units <= {"pack"} else "row"
    numbers = [("shards", f"{len(report.inputs):,}")]
    numbers += [(f"{row}s", f"{measures['n_packs']:,}")] if "n_packs" in measures else []
    numbers += [("tokens", f"{measures['n_tokens']:,}")] if "n_tokens" in measures else []
    for name, words, form in (
        ("padding_fraction", "padding", "{:.1%}"),
        ("samples_per_pack", f"samples per {row}", "{:,.1f}"),
        ("target_fraction", "targets", "{:.1%}"),
        ("mean_context_tokens", "own context, tokens", "{:,.0f}"),
    ):
        if name in measures:
            value = measures[name]
            numbers.append((words, percent(value) if "%" in form else form.format(value)))
    return numbers


def _read_as(entry: InputReport) -> str:
    if entry.format == "unreadable":
        return "could not be read"
    trainer = (
        f"trainer {entry.trainer}, {'as declared' if entry.trainer_source == 'config' else 'from the format'}"
    )
    return f"{entry.format} · rows are {entry.unit}s · {trainer if entry.trainer else 'no trainer known'}"


def _value(known: Known[Any]) -> str:
    value = known.value
    if value is None:
        return "differs between shards"
    return (", ".join(map(str, value)) or "none") if isinstance(value, tuple) else str(value)
