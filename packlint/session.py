"""One run, from inputs and settings to a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packlint import __version__, readers
from packlint.baseline import read_baseline
from packlint.config import RunConfig, parse_config
from packlint.conventions import Conventions, conventions_of, reader_settings
from packlint.engine.conclude import conclude
from packlint.engine.plan import Plan, plan_shards
from packlint.engine.scan import ShardPlan, Survey
from packlint.engine.tally import ShardResult, take_summary, tally_fault
from packlint.errors import UnreadableError, UsageError
from packlint.executors import local
from packlint.finding import Finding, Severity
from packlint.manifest.declarations import NO_MANIFESTS, Declarations
from packlint.manifest.table import tokenizer_version
from packlint.readers.shard import BLOCK_TOKENS, Fault, Shard
from packlint.references import Reference, open_reference
from packlint.report import Report, hold_against
from packlint.rule_choice import choose_rules
from packlint.summaries.composition import Composition
from packlint.summaries.drift.tables import with_texts
from packlint.summaries.tables import TableObserver, TableRows

if TYPE_CHECKING:
    from packlint.expectations import TablesWanted

__all__ = ["check", "check_paths", "check_shards", "plan_paths"]


def check(
    data: object,
    *,
    config: RunConfig | Mapping[str, Any] | None = None,
    reference: object = None,
    baseline: str | Path | None = None,
    jobs: int = 1,
    **settings: Any,
) -> Report:
    """Lint packed data: a path, a glob, a URL, a list of them, or data in memory.

    Args:
        data: paths, or a `datasets.Dataset`, Arrow table, dict of arrays, list of rows, or an iterable of
            batches such as a DataLoader. Of an iterator, every item is consumed.
        config: what packlint.toml holds; `settings` win over it.
        reference: the unpacked samples that the packs were made from: paths, or data in memory.
        baseline: file of findings that are known and do not fail; none is looked for.
        jobs: threads.
        **settings: keys of packlint.toml, for instance `trainer="trl"`, `profile="sft"`,
            `spec={"eos_ids": [2]}`, `tokenizer="tokenizer.json"`.

    Raises:
        ConfigError: the baseline cannot be read or is none.
        NoInputError: paths that match nothing.
        UsageError: settings that make no sense.
    """
    if isinstance(config, RunConfig):
        base = config
        if settings:
            raise UsageError("give settings either in a RunConfig or by name, not both")
    else:
        told = {key: str(value) if isinstance(value, Path) else value for key, value in settings.items()}
        base = parse_config({**(config or {}), **told}, "settings")
    known = None if baseline is None else read_baseline(Path(baseline))
    samples: Sequence[Shard] | None = None
    if (named := _as_paths(reference)) is not None:
        base = replace(base, reference=named)
    elif reference is not None:
        samples = list(readers.open_memory(reference, "reference", reader_settings(base)))
    if (paths := _as_paths(data)) is not None:
        report = check_paths(paths, base, jobs=jobs, reference=samples)
    else:
        shards = list(readers.open_memory(data, "memory", reader_settings(base)))
        report = check_shards(shards, {}, base, jobs=jobs, reference=samples)
    return report if known is None else hold_against(report, known, Severity(base.fail_on))


def _as_paths(data: object) -> tuple[str, ...] | None:
    """Return paths, or none for data in memory."""
    items = [data] if isinstance(data, str | Path) else data
    if isinstance(items, list | tuple) and items and all(isinstance(item, str | Path) for item in items):
        return tuple(str(item) for item in items)
    return None


def check_paths(
    paths: Sequence[str],
    config: RunConfig,
    *,
    jobs: int = 1,
    block_tokens: int = BLOCK_TOKENS,
    on_plan: Callable[[Plan], None] | None = None,
    on_progress: Callable[[ShardResult], None] | None = None,
    reference: Sequence[Shard] | None = None,
    tables: TablesWanted | None = None,
    on_composition: Callable[[Composition], None] | None = None,
) -> Report:
    """Lint files.

    Args:
        paths: files, folders, globs and URLs.
        config: what the user declared.
        jobs: threads.
        block_tokens: tokens per batch; the report does not depend on it.
        on_plan: called once the shards are known.
        on_progress: called after each part of a shard.
        reference: the unpacked samples, if they are open already.
        tables: what is to be made of the tables of packs and samples.
        on_composition: called with what the packs are made of.

    Raises:
        NoInputError: a path or glob matches nothing.
        UsageError: settings that make no sense.
    """
    from packlint.manifest.lookup import load_manifests  # readers of files import pyarrow

    manifests = load_manifests(paths, config.manifest)
    shards, broken = readers.open_shards(paths, reader_settings(config, manifests.common_spec))
    version = tokenizer_version(config.tokenizer) if config.tokenizer and manifests.by_candidate else ""
    return check_shards(
        shards,
        {name: str(error) for name, error in broken},
        config,
        declarations=manifests.declare([shard.name for shard in shards], version),
        jobs=jobs,
        block_tokens=block_tokens,
        on_plan=on_plan,
        on_progress=on_progress,
        reference=reference,
        tables=tables,
        on_composition=on_composition,
    )


def check_shards(
    shards: Sequence[Shard],
    unreadable: Mapping[str, str],
    config: RunConfig,
    *,
    jobs: int = 1,
    block_tokens: int = BLOCK_TOKENS,
    on_plan: Callable[[Plan], None] | None = None,
    on_progress: Callable[[ShardResult], None] | None = None,
    declarations: Declarations | None = None,
    reference: Sequence[Shard] | None = None,
    tables: TablesWanted | None = None,
    on_composition: Callable[[Composition], None] | None = None,
) -> Report:
    """Lint shards that are open already; see `check_paths`.

    `declarations` is what stands beside them; none for data in memory.
    """
    if tables is not None:
        config = replace(config, by=tables.by(config.by))
    told = conventions_of(config)
    plan = _plan(shards, config, told, declarations)
    rules = choose_rules(config, plan.policy)
    if tables is not None:
        tables.begin()
    against = open_reference(
        config,
        reference,
        plan.shards,
        settings=reader_settings(config),
        declared=told.spec,
        jobs=jobs,
        block_tokens=block_tokens,
        is_kept=on_composition is not None,
    )
    if on_plan is not None:
        on_plan(plan)
    results = local.run(
        plan.shards,
        rules.active,
        jobs=jobs,
        block_tokens=block_tokens,
        survey=_survey(against, tables),
        on_progress=on_progress,
    )
    failed, errors = ((), ()) if tables is None else _finish_tables(tables, plan, results)
    settled = against.settle(plan.shards, results)
    if on_composition is not None and settled.evidence.packed is not None:
        on_composition(settled.evidence.packed)
    _report_empty(results)
    _report_shards(results, "SHD001", unreadable)
    _report_shards(results, "SHD006", {} if declarations is None else declarations.missing)
    report = conclude(
        version=__version__,
        plan=plan,
        rules=rules,
        results=results,
        unreadable=unreadable,
        evidence=settled.evidence,
        drift=settled.drift,
        more=failed,
        errors=errors,
        has_suite=tables is not None and tables.suite is not None,
    )
    return report if told.tokenizer is None else _with_texts(report, told.tokenizer)


def _plan(
    shards: Sequence[Shard], config: RunConfig, told: Conventions, declarations: Declarations | None
) -> Plan:
    beside = declarations or NO_MANIFESTS
    plan = plan_shards(shards, config, told.spec, told.chat, beside.specs)
    saying = tuple(_saying(shard_plan, told.no_chat) for shard_plan in plan.shards)
    return replace(plan, shards=saying, manifests=None if declarations is None else beside.manifests)


def _survey(against: Reference, tables: TablesWanted | None) -> Survey:
    survey = against.survey()
    if tables is None:
        return survey
    return replace(survey, observers=(*survey.observers, TableObserver()))


def _finish_tables(
    tables: TablesWanted, plan: Plan, results: Mapping[str, ShardResult]
) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Return what failed of the suite, and why it could not be judged: the rest of the report stands."""
    names = [shard_plan.shard.name for shard_plan in plan.shards]
    try:
        return tables.finish(take_summary(results.values(), TableObserver.key, TableRows()), names), ()
    except UsageError as error:
        return (), (f"EXP001: {error}",)


def plan_paths(paths: Sequence[str], config: RunConfig) -> Plan:
    """Return how the shards of some files are read, whatever is declared beside them.

    Raises:
        NoInputError: a path or glob matches nothing.
        UnreadableError: a file is damaged.
        UsageError: settings that make no sense.
    """
    shards, broken = readers.open_shards(paths, reader_settings(config))
    for name, error in broken:
        raise UnreadableError(f"{name}: {error}")
    told = conventions_of(config)
    return plan_shards(shards, config, told.spec, told.chat)


def _saying(plan: ShardPlan, no_chat: str) -> ShardPlan:
    context = replace(plan.reading.context, no_chat=no_chat)
    return replace(plan, reading=replace(plan.reading, context=context))


def _with_texts(report: Report, tokenizer: Any) -> Report:
    """Return the report with the text around each place, and of the tokens that drifted."""
    places = {place for finding in report.findings for place in finding.locations}
    texts = {place: tokenizer.decode(place.context) for place in places if place.context}
    return replace(report, texts=texts, drift=with_texts(report.drift, tokenizer.decode))


def _report_empty(results: Mapping[str, ShardResult]) -> None:
    for name, result in results.items():
        if result.counts["n_packs"] == 0 and not any(t.n_hits for t in result.tallies.values()):
            _add_fault(result, name, "SHD003", "the shard holds no packs")


def _report_shards(results: dict[str, ShardResult], code: str, reasons: Mapping[str, str]) -> None:
    for name, reason in reasons.items():
        _add_fault(results.setdefault(name, ShardResult()), name, code, reason)


def _add_fault(result: ShardResult, name: str, code: str, message: str) -> None:
    result.tally(code).add(tally_fault(name, Fault(code=code, message=message)))
