"""Configuration → the rules of a run: which are active, which are off and why, with their options."""

from __future__ import annotations

from typing import Any

from packlint.config import Ignore, RunConfig
from packlint.engine.conclude import RuleSet
from packlint.errors import ConfigError
from packlint.finding import Severity
from packlint.model.spec import Policy
from packlint.registry import find_rule, load_rules, rule_modules, select_codes

__all__ = ["choose_rules"]


def choose_rules(config: RunConfig, policy: Policy) -> RuleSet:
    """Return the rules that the configuration selects and the profile leaves on.

    Raises:
        ConfigError: an unknown code, option or severity.
    """
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
