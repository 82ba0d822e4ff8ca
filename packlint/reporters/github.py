"""GitHub Actions: annotations as workflow commands, and the job summary.

Limits (docs.github.com): 10 annotations of a level are kept per step; a step's summary of more than 1024 KiB
is dropped as a whole. Escapes: `%`, CR and LF in a message, and `:` and `,` in a property (actions/toolkit,
packages/core/src/command.ts).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from packlint.finding import Finding
from packlint.report import Report
from packlint.reporters.grouping import by_rule, file_of
from packlint.reporters.markdown import render_within
from packlint.reporters.presentation import Advice, Presentation
from packlint.reporters.signs import count
from packlint.reporters.untrusted import clipped, visible

__all__ = ["MAX_SUMMARY_BYTES", "render", "shielded", "summary"]

MAX_ANNOTATIONS = 10
MAX_SUMMARY_BYTES = 1024 * 1024
_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}
_MAX_MESSAGE = 1_000
_MAX_SHARDS = 10


def render(report: Report, presentation: Presentation) -> str:
    """Return one annotation per rule with new findings, the gravest first; the last one counts the rest."""
    lines = [_command("error", "packlint itself failed", "", [line]) for line in report.internal_errors[:1]]
    groups = by_rule(report.new_findings)
    room = MAX_ANNOTATIONS - len(lines)
    kept = groups if len(groups) <= room else groups[: room - 1]
    lines += [_annotation(findings, report, presentation) for findings in kept]
    if rest := groups[len(kept) :]:
        codes = ", ".join(findings[0].code for findings in rest)
        level = _LEVELS[rest[0][0].severity]
        lines.append(_command(level, f"packlint: {count(len(rest), 'more rule')}", "", [codes]))
    return "".join(f"{line}\n" for line in lines)


def summary(report: Report, presentation: Presentation, n_bytes: int = MAX_SUMMARY_BYTES) -> str:
    """Return the job summary in Markdown, within a number of bytes."""
    return render_within(report, presentation, n_bytes)


def shielded(text: str) -> str:
    """Return text for the log in which no line is taken for a workflow command.

    The token that ends the pause is a digest of the text: no text can hold it.
    """
    token = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()
    return f"::stop-commands::{token}\n{text}::{token}::\n"


def _annotation(findings: Sequence[Finding], report: Report, presentation: Presentation) -> str:
    worst = max(findings, key=lambda f: (-f.severity.rank, f.n_hits))
    advice = presentation.advice.get(worst.code, Advice())
    lines = [clipped(worst.message, _MAX_MESSAGE)]
    shards = [visible(finding.shard) for finding in findings if finding.shard]
    if len(shards) > 1:
        more = f" and {len(shards) - _MAX_SHARDS:,} more" if len(shards) > _MAX_SHARDS else ""
        lines.append(f"{len(shards):,} shards: {', '.join(shards[:_MAX_SHARDS])}{more}")
    lines += [f"Fix: {visible(advice.fix)}"] if advice.fix else []
    lines.append(f"packlint explain {worst.code}")
    title = f"{worst.code} {visible(worst.name)}"
    shard = worst.shard or next((place.shard for place in worst.locations), "")
    return _command(_LEVELS[worst.severity], title, file_of(shard, report), lines)


def _command(level: str, title: str, file: str, lines: Sequence[str]) -> str:
    at = f",file={_property(visible(file))}" if file else ""
    message = _data("\n".join(map(visible, lines)))
    return f"::{level} title={_property(title)}{at}::{message}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
