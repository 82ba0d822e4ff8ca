"""What can go wrong outside the data; bad data is a finding, never an exception.

PacklintError
├── UsageError          the command or call asks for something impossible (exit 2)
│   ├── ConfigError     packlint.toml or [tool.packlint] is wrong
│   └── NoRulesError    no rule package is installed
├── NoInputError        a path or glob matched nothing (exit 3)
├── UnreadableError     a shard cannot be read; becomes SHD001 and the run goes on
└── RuleError           a rule raised: our fault or a plugin's (exit 2)
"""

from __future__ import annotations

__all__ = [
    "ConfigError",
    "NoInputError",
    "NoRulesError",
    "PacklintError",
    "RuleError",
    "UnreadableError",
    "UsageError",
]


class PacklintError(Exception):
    """Say what is wrong, where, and what to do, in one line."""


class UsageError(PacklintError):
    """Report a command or call that cannot be carried out."""


class ConfigError(UsageError):
    """Report a configuration file that does not say what packlint understands."""


class NoRulesError(UsageError):
    """Report that no installed package offers rules at the entry point `packlint.rules`."""


class NoInputError(PacklintError):
    """Report inputs that matched no shard; an empty glob is never green."""


class UnreadableError(PacklintError):
    """Report a shard that cannot be decoded; the engine turns it into the finding SHD001."""


class RuleError(PacklintError):
    """Name the rule that raised and the shard it was looking at."""
