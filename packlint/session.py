"""One run, from inputs and settings to a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from packlint import __version__, readers
from packlint.config import Ignore, RunConfig, parse_config
from packlint.engine.conclude import RuleSet, conclude
from packlint.engine.plan import Plan, plan_shards
from packlint.engine.tally import ShardResult, tally_fault
from packlint.errors import ConfigError, UnreadableError, UsageError
from packlint.executors import local
from packlint.finding import Location, Severity
from packlint.manifest.declarations import NO_MANIFESTS, Declarations
from packlint.manifest.table import tokenizer_version
from packlint.model.markers import ChatMarkers, end_of_turn_spec
from packlint.model.spec import DatasetSpec, Policy
from packlint.readers.shard import BLOCK_TOKENS, Fault, Settings, Shard
from packlint.registry import find_rule, load_rules, rule_modules, select_codes
from packlint.report import Report

__all__ = ["check", "check_paths", "check_shards", "plan_paths", "reader_settings"]


def check(
    data: object,
    *,
    config: RunConfig | Mapping[str, Any] | None = None,
    jobs: int = 1,
    **settings: Any,
) -> Report:
    """Lint packed data: a path, a glob, a URL, a list of them, or data in memory.

    Args:
        data: paths, or a `datasets.Dataset`, Arrow table, dict of arrays, list of rows, or an iterable of
            batches such as a DataLoader. Of an iterator, every item is consumed.
        config: what packlint.toml holds; `settings` win over it.
        jobs: threads.
        **settings: keys of packlint.toml, for instance `trainer="trl"`, `profile="sft"`,
            `spec={"eos_ids": [2]}`, `tokenizer="tokenizer.json"`.

    Raises:
        NoInputError: paths that match nothing.
        UsageError: settings that make no sense.
    """
    if isinstance(config, RunConfig):
        base = config
        if settings:
            raise UsageError("give settings either in a RunConfig or by name, not both")
    else:
        base = parse_config({**(config or {}), **settings}, "settings")
    if isinstance(data, str | Path):
        data = [data]
    if isinstance(data, list | tuple) and data and all(isinstance(item, str | Path) for item in data):
        return check_paths([str(item) for item in data], base, jobs=jobs)
    shards = list(readers.open_memory(data, "memory", reader_settings(base)))
    return check_shards(shards, {}, base, jobs=jobs)


def check_paths(
    paths: Sequence[str],
    config: RunConfig,
    *,
    jobs: int = 1,
    block_tokens: int = BLOCK_TOKENS,
    on_plan: Callable[[Plan], None] | None = None,
    on_progress: Callable[[ShardResult], None] | None = None,
) -> Report:
    """Lint files.

    Args:
        paths: files, folders, globs and URLs.
        config: what the user declared.
        jobs: threads.
        block_tokens: tokens per batch; the report does not depend on it.
        on_plan: called once the shards are known.
        on_progress: called after each part of a shard.

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
) -> Report:
    """Lint shards that are open already; see `check_paths`.

    `declarations` is what stands beside them; none for data in memory.
    """
    tokenizer = _tokenizer(config)
    chat = _chat(config, tokenizer)
    declared = _declared(config, tokenizer, chat)
    beside = declarations or NO_MANIFESTS
    plan = plan_shards(shards, config, declared, chat, beside.specs)
    plan = replace(plan, manifests=None if declarations is None else beside.manifests)
    rules = _rule_set(config, plan.policy)
    if on_plan is not None:
        on_plan(plan)
    results = local.run(
        plan.shards, rules.active, jobs=jobs, block_tokens=block_tokens, on_progress=on_progress
    )
    _report_empty(results)
    for name, reason in unreadable.items():
        _add_fault(results.setdefault(name, ShardResult()), name, "SHD001", reason)
    for name, reason in beside.missing.items():
        _add_fault(results.setdefault(name, ShardResult()), name, "SHD006", reason)
    report = conclude(version=__version__, plan=plan, rules=rules, results=results, unreadable=unreadable)
    return replace(report, texts=_decode(report, tokenizer)) if tokenizer else report


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
    tokenizer = _tokenizer(config)
    chat = _chat(config, tokenizer)
    return plan_shards(shards, config, _declared(config, tokenizer, chat), chat)


def reader_settings(config: RunConfig, manifest: DatasetSpec | None = None) -> Settings:
    """Return what readers are told of the user's declarations, and after them of a manifest's."""
    spec = config.spec.or_else(manifest or DatasetSpec())
    return Settings(
        columns=config.columns,
        max_seq_len=spec.max_seq_len.value if spec.max_seq_len else None,
        token_dtype=spec.token_dtype.value if spec.token_dtype else None,
        eos_ids=spec.eos_ids.value if spec.eos_ids else (),
        bos_id=spec.bos_id.value if spec.bos_id else None,
    )


def _declared(config: RunConfig, tokenizer: Any, chat: ChatMarkers | None) -> DatasetSpec:
    told = tokenizer.spec if tokenizer else DatasetSpec()
    return config.spec.or_else(end_of_turn_spec(chat)).or_else(told)


def _tokenizer(config: RunConfig) -> Any:
    if config.tokenizer is None:
        return None
    from packlint.chat.tokenizer import load_tokenizer  # the `tokenizers` package is an extra

    return load_tokenizer(config.tokenizer)


def _chat(config: RunConfig, tokenizer: Any) -> ChatMarkers | None:
    if tokenizer is None and not (config.chat.get("format") or config.chat.get("markers")):
        return None
    from packlint.chat.declared import find_chat

    return find_chat(config.chat, tokenizer)[0]


def _decode(report: Report, tokenizer: Any) -> dict[Location, str]:
    places = {place for finding in report.findings for place in finding.locations}
    return {place: tokenizer.decode(place.context) for place in places if place.context}


def _report_empty(results: Mapping[str, ShardResult]) -> None:
    for name, result in results.items():
        if result.counts["n_packs"] == 0 and not any(t.n_hits for t in result.tallies.values()):
            _add_fault(result, name, "SHD003", "the shard holds no packs")


def _add_fault(result: ShardResult, name: str, code: str, message: str) -> None:
    result.tally(code).add(tally_fault(name, Fault(code=code, message=message)))


def _rule_set(config: RunConfig, policy: Policy) -> RuleSet:
    selected = select_codes(config.select)
    off = {code: "not selected" for code in rule_modules() if code not in selected}
    off |= {code: f"off in the profile {policy.name}" for code in policy.off if code not in off}
    for ignore in config.ignore:
        off |= {code: _ignored(ignore) for code in select_codes([ignore.rule]) if code in selected}
    severities, options = _rule_tables(config)
    active = load_rules([code for code in selected if code not in off], options)
    return RuleSet(
        active=tuple(active),
        off={code: (find_rule(code), reason) for code, reason in off.items()},
        severities=severities,
        fail_on=Severity(config.fail_on),
    )


def _ignored(ignore: Ignore) -> str:
    return f"ignored: {ignore.reason}" if ignore.reason else "ignored, no reason given"


def _rule_tables(
    config: RunConfig,
) -> tuple[dict[str, Severity], dict[str, dict[str, Any]]]:
    severities: dict[str, Severity] = {}
    options: dict[str, dict[str, Any]] = {}
    for code, table in config.rules.items():
        find_rule(code)
        options[code] = {key: value for key, value in table.items() if key != "severity"}
        if "severity" in table:
            try:
                severities[code] = Severity(table["severity"])
            except ValueError:
                allowed = ", ".join(Severity)
                raise ConfigError(
                    f"[rules.{code}] severity = {table['severity']!r}; allowed are {allowed}"
                ) from None
    return severities, options
