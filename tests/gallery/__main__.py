"""`python -m tests.gallery`: compare the gallery, write it, or take its pictures."""

from __future__ import annotations

import argparse
import sys

from tests.gallery.golden import COMMAND, differences, make_all, strays, write


def main() -> int:
    """Return 0 when the gallery is as it should be, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.gallery", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the stale reports")
    parser.add_argument(
        "--pictures", action="store_true", help="take the screenshots of reports/README.md (Chromium)"
    )
    wanted = parser.parse_args()
    if wanted.pictures:
        from tests.gallery.pictures import take_pictures

        for picture in take_pictures():
            print(f"wrote reports/{picture}")
        return 0
    made = make_all()
    for folder in strays(made):
        print(f"no scenario any more: reports/{folder.name}", file=sys.stderr)
    changed = write(made) if wanted.write else differences(made)
    for path in changed:
        print(f"{'wrote' if wanted.write else 'stale:'} reports/{path}")
    if not changed:
        print("the gallery is up to date")
    elif not wanted.write:
        print(f"run {COMMAND}", file=sys.stderr)
    return int(bool(changed) and not wanted.write)


if __name__ == "__main__":
    sys.exit(main())
