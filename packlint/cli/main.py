"""The group of commands: imports nothing but click until a command is chosen."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import rich_click as click

from packlint import __version__
from packlint.errors import NoInputError, PacklintError

__all__ = ["cli", "main"]

EXIT_USAGE, EXIT_NO_INPUT, EXIT_INTERRUPTED = 2, 3, 130

COMMANDS: dict[str, str] = {
    "check": "Check packed shards and report what is wrong.",
    "drift": "Compare packs with the samples they were made from, or with an earlier build.",
    "baseline": "Write down today's findings, so that only new ones fail.",
    "show": "Draw one pack: segments, targets, padding, and what is wrong with it.",
    "rules": "List all rules.",
    "explain": "Explain a rule: what it checks, why it matters, how to fix.",
    "formats": "List the formats that can be read.",
    "trainers": "List how each trainer reads a shard.",
    "manifest": "Write down what shards are: measured, and what you say of them.",
    "expectations": "Write a suite of Great Expectations that this data passes.",
    "demo": "Write a small faulty data set, check it, and say what to do next.",
}
"""One line on each command; its module in this package has the same name and a command `command`."""


class LazyGroup(click.RichGroup):
    """Import a command's module only to run it or to show its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a stand-in that knows the name and the one line."""
        if cmd_name not in COMMANDS:
            return None
        return click.RichCommand(name=cmd_name, help=COMMANDS[cmd_name])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the real command."""
        name, stand_in, rest = super().resolve_command(ctx, args)
        if name is None or stand_in is None:
            return name, stand_in, rest
        command: click.Command = import_module(f"packlint.cli.{name}").command
        return name, command, rest


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="packlint", message="%(prog)s %(version)s")
def cli() -> None:
    """Lint packed LLM training data, before a GPU hour is spent.

    Start with `packlint check PATH`, or `packlint demo` without data of your own.
    """


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    try:
        code = cli.main(None if args is None else list(args), prog_name="packlint", standalone_mode=False)
    except click.ClickException as error:
        return _usage_error(error)
    except NoInputError as error:
        return _fail(str(error), EXIT_NO_INPUT)
    except PacklintError as error:
        return _fail(str(error), EXIT_USAGE)
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted", EXIT_INTERRUPTED)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else EXIT_USAGE
    except Exception as error:  # a bug of ours must not look like exit code 1, findings
        traceback.print_exc()
        return _fail(f"internal error: {type(error).__name__}: {error}", EXIT_USAGE)
    return code if isinstance(code, int) else 0


def _usage_error(error: click.ClickException) -> int:
    context: Any = getattr(error, "ctx", None)
    hint = f" (see `{context.command_path} --help`)" if context else ""
    return _fail(error.format_message().rstrip(".") + hint, EXIT_USAGE)


def _fail(message: str, code: int) -> int:
    from packlint.reporters.untrusted import visible

    print(f"packlint: error: {visible(message)}", file=sys.stderr)
    return code
