"""Jinja templates with limits, so that one that runs away ends in words and not in a dead machine.

    {% for … %}           each turn is counted: a template without end stops, always on the same turn
    ~, {% set %}, join    refused before it is made when the text would be huge; so are *, ** and widths

jinja's sandbox keeps a template away from Python's inside. A template comes with a tokenizer that the user
chose: the limits are for mistakes and for odd data, and are no jail for one made to attack.
"""

from __future__ import annotations

import ast
import functools
import threading
from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Any

from jinja2.runtime import Context, str_join
from jinja2.sandbox import ImmutableSandboxedEnvironment

__all__ = ["MAX_CHARS", "LimitError", "Sandbox", "check_chars"]

MAX_CHARS = 1 << 24
"""Characters of a rendered row, and of any text made on the way: about 4 Mi tokens."""
MAX_TURNS = 1 << 21
"""Turns of all loops of one rendering."""
_MAX_BITS = 1 << 12
"""Bits of a whole number that a multiplication may make."""
_JOINS = frozenset({"concat", "str_join", "markup_join"})
"""Names by which generated code joins texts."""
_NOT_OFFERED = ("random", "urlize", "wordwrap", "xmlattr")
"""Filters that no chat template uses: without limit, or another result each time."""


class LimitError(Exception):
    """Tell which limit a template ran into."""


class Sandbox(ImmutableSandboxedEnvironment):
    """Compile and run templates within limits; several threads may use it."""

    intercepted_binops = frozenset({"*", "**", "+"})

    def __init__(self, **options: Any) -> None:
        """Begin with jinja's own filters and functions, less those that are random or without limit."""
        super().__init__(**options)
        self._turns = threading.local()
        for name in _NOT_OFFERED:
            del self.filters[name]
        del self.globals["lipsum"]
        for name in ("center", "indent", "replace", "join"):
            self.filters[name] = _limited(name, self.filters[name])

    def begin(self) -> None:
        """Begin a rendering in this thread."""
        self._turns.left = MAX_TURNS

    def turn(self) -> None:
        """Count one turn of a loop; generated code calls it.

        Raises:
            LimitError: there were too many.
        """
        self._turns.left -= 1
        if self._turns.left < 0:
            raise LimitError(f"its loops turn more than {MAX_TURNS} times")

    def join(self, texts: Iterable[Any]) -> str:
        """Join texts; generated code calls it in the place of jinja's own functions.

        Raises:
            LimitError: the text would be too long.
        """
        found = list(texts)
        check_chars(sum(len(text) for text in found if isinstance(text, str)))
        return str_join(found)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a function or method of a template.

        Raises:
            LimitError: it is a method of texts, and would make one that is too long.
        """
        owner = getattr(__obj, "__self__", None)
        if isinstance(owner, str):
            _check_text_call(getattr(__obj, "__name__", ""), owner, [*args, *kwargs.values()])
        return super().call(__context, __obj, *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Carry out an operation of a template.

        Raises:
            LimitError: the result would be too large.
        """
        _check_operation(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def _compile(self, source: str, filename: str) -> CodeType:
        """Compile generated code, its loops counted and its joins limited; jinja has this hook for it."""
        tree = ast.fix_missing_locations(_Counted().visit(ast.parse(source, filename)))
        return compile(tree, filename, "exec")


class _Counted(ast.NodeTransformer):
    """Put a count into every loop, and take joins to the environment."""

    def visit_For(self, node: ast.For) -> ast.For:
        """Count a turn first of all."""
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(ast.Call(_of_environment("turn"), [], [])))
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace the functions that join."""
        is_join = node.id in _JOINS and isinstance(node.ctx, ast.Load)
        return _of_environment("join") if is_join else node


def check_chars(n_chars: int) -> None:
    """Refuse a text that is too long.

    Raises:
        LimitError: it is.
    """
    if n_chars > MAX_CHARS:
        raise LimitError(f"it makes a text of more than {MAX_CHARS} characters")


def _of_environment(name: str) -> ast.Attribute:
    return ast.Attribute(ast.Name("environment", ast.Load()), name, ast.Load())


def _limited(name: str, found: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter that does as its method of texts does, with the same limits."""

    @functools.wraps(found)
    def limited(*args: Any, **kwargs: Any) -> Any:
        texts = [*args, *kwargs.values()]
        at = next((i for i, value in enumerate(texts) if isinstance(value, (str, list))), len(texts))
        if at < len(texts):
            owner, given = texts[at], texts[at + 1 :]
            if isinstance(owner, str):
                _check_text_call(name, owner, given)
            elif name == "join":
                _check_text_call(name, next((text for text in given if isinstance(text, str)), ""), [owner])
        return found(*args, **kwargs)

    return limited


def _check_text_call(name: str, owner: str, given: Sequence[Any]) -> None:
    """Refuse widths, replacements and joins that would fill memory."""
    widths = [value for value in given if isinstance(value, int)]
    n_lines = owner.count("\n") + 1 if name == "indent" else 1
    check_chars(len(owner) + max(widths, default=0) * n_lines)
    texts = [value for value in given if isinstance(value, str)]
    if name == "replace" and len(texts) > 1:
        check_chars(len(owner) + owner.count(texts[0]) * len(texts[1]))
    if name == "join" and given and isinstance(given[0], (list, tuple)):
        check_chars(sum(len(owner) + len(text) for text in given[0] if isinstance(text, str)))


def _check_operation(operator: str, left: Any, right: Any) -> None:
    """Refuse numbers, texts and lists that would fill memory."""
    sizes = [len(value) for value in (left, right) if isinstance(value, (str, list, tuple))]
    if operator == "+":
        check_chars(sum(sizes) if len(sizes) == 2 else 0)
    elif sizes:
        check_chars(sizes[0] * next((value for value in (left, right) if isinstance(value, int)), 0))
    elif isinstance(left, int) and isinstance(right, int):
        n_bits = left.bit_length() * right if operator == "**" else left.bit_length() + right.bit_length()
        if n_bits > _MAX_BITS:
            raise LimitError(f"it makes a whole number of more than {_MAX_BITS} bits")
