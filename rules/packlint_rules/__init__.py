"""The rules of packlint: one folder per family, one file per rule, profiles as data.

Found by the engine through the entry point `packlint.rules`, as any third party's rules are.
"""

from __future__ import annotations

from packlint_rules.catalogue import PACKAGE

__all__ = ["PACKAGE"]
