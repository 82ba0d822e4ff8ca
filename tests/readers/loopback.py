"""Servers on loopback for the tests of remote inputs: plain HTTP with ranges, and Amazon S3's protocol."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import urlopen

import pytest

__all__ = ["WebServer", "s3_server"]


class WebServer:
    """Serve a few files over HTTP, and count the bytes that leave.

    Args:
        files: content by path.
    """

    def __init__(self, files: dict[str, bytes]) -> None:
        self.n_sent = 0
        self.requests: list[str] = []
        self.gives_ranges = True
        self.status_of_others = 404
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler(files))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address, without a slash at the end."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def stop(self) -> None:
        """Refuse all further connections."""
        self._server.shutdown()
        self._server.server_close()

    def _handler(self, files: dict[str, bytes]) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self._answer(with_body=False)

            def do_GET(self) -> None:
                self._answer(with_body=True)

            def _answer(self, *, with_body: bool) -> None:
                server.requests.append(f"{self.command} {self.path}")
                content = files.get(self.path.partition("?")[0])
                if content is None:
                    self.send_error(server.status_of_others)
                    return
                wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
                is_range = wanted is not None and server.gives_ranges
                body = content[int(wanted[1]) : int(wanted[2]) + 1] if is_range and wanted else content
                self.send_response(206 if is_range else 200)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Accept-Ranges", "bytes")
                self.end_headers()
                if with_body:
                    server.n_sent += len(body)
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


@contextmanager
def s3_server() -> Iterator[None]:
    """Run moto's S3 server and make it the one that s3fs talks to."""
    from moto.server import ThreadedMotoServer
    from s3fs import S3FileSystem

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with urlopen(f"http://{host}:{port}/moto-api/reset", data=b""):
        pass  # what an earlier server of this process held is held still
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "testing")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        for name in [name for name in os.environ if name.startswith("FSSPEC_")]:
            patch.delenv(name)
        S3FileSystem.clear_instance_cache()
        try:
            yield
        finally:
            server.stop()
            S3FileSystem.clear_instance_cache()
