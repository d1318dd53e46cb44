"""Access control of servers through the loopback interface, a shared key, or TLS.

A server that is reachable from other machines needs GPUGRAPH_CLUSTER_KEY, a secret that all
processes of the cluster share, or GPUGRAPH_CLUSTER_TLS, a folder of certificates. With a key,
client and server authenticate each message (`calls/proofs.py`). The key keeps out strangers and
protects messages from changes, but does not encrypt messages. TLS encrypts messages, and client and
server each present a certificate.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
import sys
from pathlib import Path
from typing import Any, NamedTuple

from gpugraph.base.errors import FailedPreconditionError, invalid_argument
from gpugraph.cluster.grpc_package import grpc
from gpugraph.config.environment import setting

_OPEN = (
    "A server at {address} can be called from other machines, and its callers run graphs in "
    "this process. Set GPUGRAPH_CLUSTER_KEY (a secret that all processes of the cluster have) or "
    "GPUGRAPH_CLUSTER_TLS (a folder with ca.pem, cert.pem, key.pem), or give the task an address "
    "on localhost"
)
_TLS_FILES = ("ca.pem", "cert.pem", "key.pem")
_MIN_KEY = 16
_MAX_PORTS_TRIED = 100


class Credentials(NamedTuple):
    """The credentials that this process presents to other processes and requires of them: a key,
    TLS, or neither.

    Args:
      tls: the contents of `ca.pem`, `cert.pem` and `key.pem`.
    """

    key: bytes = b""
    tls: tuple[bytes, bytes, bytes] | None = None

    @property
    def is_open(self) -> bool:
        """Whether neither a key nor TLS is set: any process that reaches the server may call it."""
        return not self.key and self.tls is None


def access_of_environment() -> Credentials:
    """Return the access that GPUGRAPH_CLUSTER_KEY and GPUGRAPH_CLUSTER_TLS define.

    The value of GPUGRAPH_CLUSTER_KEY may be `@` and the path of a file that contains the key.
    Raises InvalidArgumentError if the key has less than 16 bytes or a file can't be read.
    """
    text, folder = setting("GPUGRAPH_CLUSTER_KEY"), setting("GPUGRAPH_CLUSTER_TLS")
    try:
        key = Path(text[1:]).read_bytes().strip() if text.startswith("@") else text.encode()
        files = [Path(folder, name).read_bytes() for name in _TLS_FILES] if folder else None
    except OSError as error:
        raise invalid_argument(
            "GPUGRAPH_CLUSTER_KEY is a secret or @FILE, GPUGRAPH_CLUSTER_TLS a folder with "
            f"{', '.join(_TLS_FILES)}: {error}"
        ) from error
    if key and len(key) < _MIN_KEY:
        raise invalid_argument(
            f"GPUGRAPH_CLUSTER_KEY has {len(key)} bytes; it needs {_MIN_KEY} or more, as of "
            "`openssl rand -hex 32`"
        )
    return Credentials(key, None if files is None else (files[0], files[1], files[2]))


def is_loopback(host: str) -> bool:
    """Return whether `host` is localhost or a loopback address, which other machines can't
    reach.
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def check_listening(address: str, access: Credentials) -> None:
    """Raise FailedPreconditionError if other machines can reach the address and `access` is
    open.
    """
    host = address.rpartition(":")[0]
    if access.is_open and not is_loopback(host):
        raise FailedPreconditionError.of_no_node(_OPEN.format(address=address))


def open_channel(address: str, access: Credentials, options: Any) -> Any:
    """Return a gRPC channel to the server at `address`, encrypted if `access` has TLS files."""
    if access.tls is None:
        return grpc().insecure_channel(address, options)
    ca, certificate, key = access.tls
    credentials = grpc().ssl_channel_credentials(ca, key, certificate)
    return grpc().secure_channel(address, credentials, options)


def _free_port(host: str, port: int) -> int:
    """Return `port` if it is free at all addresses of the host, else 0. If `port` is 0, return any
    port that is free.

    If a host name has several addresses, gRPC accepts a port that it can bind at only one of them.
    Two servers could then have the same port, one at localhost's IPv4 address and one at its IPv6
    address. A client of localhost might reach either server.
    """
    number = port
    hosts = ("127.0.0.1", "::1") if host == "localhost" else (host.strip("[]") or None,)
    places = [
        place for name in hosts for place in socket.getaddrinfo(name, 0, type=socket.SOCK_STREAM)
    ]
    for family, kind, protocol, _, place in places:
        try:
            with socket.socket(family, kind, protocol) as listener:
                if sys.platform != "win32":  # on Windows it permits used ports
                    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind((place[0], number, *place[2:]))
                number = number or int(listener.getsockname()[1])
        except OSError as error:  # other errors: ::1 without IPv6, for example
            if error.errno == errno.EADDRINUSE:
                return 0
    return number


def add_port(server: Any, address: str, access: Credentials) -> int:
    """Make a gRPC server listen at `host:port`, at all addresses of the host, and return the port.

    If the port in `address` is 0, any free port is used. Raises RuntimeError if the address is
    malformed or the port is in use.
    """
    host, _, port = address.rpartition(":")
    try:
        tries = 1 if int(port) else _MAX_PORTS_TRIED
        number = next(filter(None, (_free_port(host, int(port)) for _ in range(tries))), 0)
    except (ValueError, OverflowError, OSError) as error:
        raise RuntimeError(f"{address} is not an address to listen at: {error}") from error
    if not number:
        raise RuntimeError(f"another listener has the port of {address}")
    address = f"{host}:{number}"
    if access.tls is None:
        return int(server.add_insecure_port(address))
    ca, certificate, key = access.tls
    credentials = grpc().ssl_server_credentials([(key, certificate)], ca, True)
    return int(server.add_secure_port(address, credentials))
