"""The addresses at which is served."""

from __future__ import annotations

import socket

import pytest

from rota.api.sockets import tcp_socket, url_of


@pytest.mark.parametrize(("asked", "begin"), [("[::1]:0", "http://[::1]:"), ("localhost:0", "http://127.0.0.1:")])
def test_addresses_are_urls(asked: str, begin: str) -> None:
    """An IPv6 address stands in brackets: RFC 3986, section 3.2.2."""
    if "::1" in asked:
        with socket.socket(socket.AF_INET6) as probe:
            try:
                probe.bind(("::1", 0))
            except OSError:
                pytest.skip("this machine has no IPv6")
    with tcp_socket(asked, "--tcp") as made:
        assert url_of(made) == f"{begin}{made.getsockname()[1]}"
