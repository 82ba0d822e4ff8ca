"""Objects behind URLs, through fsspec: the only module that knows it.

    s3://bucket/key   gs://bucket/key   hf://datasets/user/name/file   https://host/file   memory://file

Only ranges are fetched. Whatever a backend raises becomes one line without passwords or signatures:
`MissingError` where the object is not there (or not for us to see), else `UnreadableError`. A backend whose
package is missing is a `UsageError` that says what to install.

Backends are set to give up in time; other settings are fsspec's own: `FSSPEC_S3_ANON=true` for public
buckets, `AWS_ENDPOINT_URL` for another server, files in `~/.config/fsspec`.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from packlint.errors import PacklintError, UnreadableError, UsageError

__all__ = ["MissingError", "describe", "forget", "is_remote", "list_folder", "matches", "read_range", "shown"]

_URL = re.compile(r"([A-Za-z][\w+.-]*::)*[A-Za-z][A-Za-z0-9+.-]+://")
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs", "hf": "hf", "http": "http", "https": "http"}
_WEB = ("http", "https")
_ABSENT_STATUS = frozenset({401, 403, 405})
_ATTEMPTS = 3
_FIRST_PAUSE_SECONDS = 0.2
_MAX_REASON = 200

_T = TypeVar("_T")


class MissingError(UnreadableError):
    """Report an object that is not there, or that we may not see."""


def is_remote(location: str) -> bool:
    """Tell whether a location is a URL rather than a local path."""
    return _URL.match(location) is not None


def shown(location: str) -> str:
    """Return a URL as it may be shown: without user, password, and the query, which may hold a signature."""
    scheme, _, rest = location.partition("://")
    if scheme.lower() in _WEB:
        rest = re.split(r"[?#]", rest, maxsplit=1)[0]
    return f"{scheme}://{re.sub(r'^[^/@]*@', '', rest)}"


def describe(location: str) -> Mapping[str, Any]:
    """Return what the backend knows of an object: `size`, `type`, and marks of its version.

    Raises:
        MissingError: it is not there.
        UnreadableError: it cannot be reached.
    """
    found: Mapping[str, Any] = _ask(location, lambda store, path: store.info(path))
    return found


def read_range(location: str, start: int, stop: int) -> bytes:
    """Return the bytes `start` to `stop` of an object, which must be there.

    Raises:
        UnreadableError: it cannot be reached, or the answer is not what was asked for.
    """

    def fetch(store: Any, path: str) -> bytes:
        # Backends without ranges of their own open a file, whose cache would read far ahead.
        options = {} if store.async_impl else {"cache_type": "none"}
        content: bytes = store.cat_file(path, start=start, end=stop, **options)
        return content

    content = _ask(location, fetch)
    if len(content) != stop - start:
        raise UnreadableError(f"bytes {start} to {stop} were asked for, {len(content)} bytes came")
    return content


def list_folder(location: str) -> list[tuple[str, bool]]:
    """Return the names in a folder, sorted, and whether each is a folder itself.

    Raises:
        MissingError: it is not there.
        UnreadableError: it cannot be reached.
    """

    def names(store: Any, path: str) -> set[tuple[str, bool]]:
        own = path.rstrip("/")
        entries = [(entry["name"].rstrip("/"), entry["type"]) for entry in store.ls(path, detail=True)]
        # An empty object that stands for the folder itself is listed by some stores.
        return {(name.rsplit("/", 1)[-1], kind == "directory") for name, kind in entries if name != own}

    return sorted(_ask(location, names))


def matches(pattern: str) -> list[tuple[str, bool]]:
    """Return the URLs that a glob matches, sorted, and whether each is a folder; hidden ones are left out.

    Raises:
        UnreadableError: the store cannot be reached.
    """
    scheme = pattern.partition("://")[0]

    def urls(store: Any, path: str) -> list[tuple[str, bool]]:
        found = store.glob(path, detail=True)
        return [(name, entry["type"] == "directory") for name, entry in found.items()]

    try:
        found = _ask(pattern, urls)
    except MissingError:
        return []
    named = [(name if is_remote(name) else f"{scheme}://{name.lstrip('/')}", kind) for name, kind in found]
    return sorted((url, is_folder) for url, is_folder in named if not _is_hidden(url, pattern))


def forget(location: str) -> None:
    """Drop what the backend remembers of listings, which may have changed since an earlier run.

    Raises:
        UsageError: the backend is not installed.
        UnreadableError: the backend refuses.
    """
    _ask(location, lambda store, path: store.invalidate_cache())


def _is_hidden(url: str, pattern: str) -> bool:
    n_fixed = next((i for i, part in enumerate(pattern.split("/")) if re.search(r"[*?[]", part)), 0)
    return "/." not in pattern and any(part.startswith(".") for part in url.split("/")[n_fixed:])


def _ask(location: str, question: Callable[[Any, str], _T]) -> _T:
    """Ask the backend; those of stores ask again by themselves, for the web we do."""
    is_web = location.partition("://")[0].lower() in _WEB
    pause = _FIRST_PAUSE_SECONDS
    for _ in range(_ATTEMPTS - 1 if is_web else 0):
        try:
            with _one_line(location):
                return question(*_backend(location))
        except MissingError:
            raise
        except UnreadableError:
            time.sleep(pause)
            pause *= 4
    with _one_line(location):
        return question(*_backend(location))
    raise AssertionError("unreachable: the block returns or raises")


def _backend(location: str) -> tuple[Any, str]:
    """Return the backend and the path by which it knows the object."""
    try:
        import fsspec
    except ImportError:
        raise UsageError("remote inputs need a package: pip install 'packlint[remote]'") from None
    if "::" in location:
        raise UsageError(f"{shown(location)}: chained URLs are not read, give that of the file itself")
    _silence()
    scheme = location.partition("://")[0].lower()
    try:
        found: tuple[Any, str] = fsspec.core.url_to_fs(location, **_limits(scheme, fsspec.config.conf))
    except ImportError as error:
        extra = _EXTRAS.get(scheme)
        how = f"pip install 'packlint[{extra}]'" if extra else _first_line(error)
        raise UsageError(f"{scheme}:// inputs need a package: {how}") from None
    except ValueError as error:
        if "Protocol not known" in str(error):
            raise UsageError(f"{scheme}:// is no kind of URL that fsspec knows") from None
        raise
    return found


@cache
def _silence() -> None:
    """Keep backends from writing tracebacks to the terminal where the user has set no logging up."""
    for name in ("fsspec", "gcsfs", "huggingface_hub", "s3fs"):
        logging.getLogger(name).addHandler(logging.NullHandler())


def _limits(scheme: str, configured: Mapping[str, Any]) -> dict[str, Any]:
    """Return limits on time and attempts, where the user's own fsspec configuration sets none."""
    if scheme in ("s3", "s3a") and "config_kwargs" not in configured.get("s3", {}):
        retries = {"max_attempts": 3, "mode": "standard"}
        return {"config_kwargs": {"retries": retries, "connect_timeout": 5, "read_timeout": 60}}
    return {}


@contextmanager
def _one_line(location: str) -> Iterator[None]:
    try:
        yield
    except PacklintError:
        raise
    except Exception as error:  # every backend has exceptions of its own
        raise _refusal(error, location) from None


def _refusal(error: Exception, location: str) -> UnreadableError:
    cause = error.__cause__
    if isinstance(error, FileNotFoundError) and isinstance(cause, Exception):
        # fsspec's web backend says "not found" whatever went wrong
        error = cause if _is_of_the_network(cause) or hasattr(cause, "status") else error
    kind, status = type(error).__name__, getattr(error, "status", None)
    if isinstance(error, FileNotFoundError) or status in (404, 410):
        is_bucket = "bucket" in str(error).lower() or "/" not in location.partition("://")[2].rstrip("/")
        return MissingError(f"there is no such {'bucket' if is_bucket else 'object'}")
    if "Credential" in kind:
        scheme = location.partition("://")[0]
        return UnreadableError(f"no credentials for {scheme}:// were found ({kind})")
    if isinstance(error, PermissionError) or status in _ABSENT_STATUS:
        return MissingError("there is no permission to read it")
    if _is_of_the_network(error):
        return UnreadableError(f"it cannot be reached ({kind})")
    return UnreadableError(f"it cannot be read: {_first_line(error)}")


def _is_of_the_network(error: Exception) -> bool:
    """Tell a failure to reach a server from its answer."""
    if isinstance(error, FileNotFoundError | PermissionError) or hasattr(error, "status"):
        return False
    name = type(error).__name__
    return isinstance(error, ConnectionError | TimeoutError) or bool(
        re.search("Connect|Timeout|Closed", name)
    )


def _first_line(error: Exception) -> str:
    """Return what a backend says, without what may be secret in a URL."""
    line = (str(error).splitlines() or [""])[0] or type(error).__name__
    line = re.sub(r"\?[^\s'\"]*", "", re.sub(r"//[^/@\s]+@", "//", line))
    return line[:_MAX_REASON].rstrip(".")
