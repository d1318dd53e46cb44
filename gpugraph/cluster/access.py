"""Who may call a server: the loopback interface, a shared key, TLS.

A server that others than this machine can reach needs GPUGRAPH_CLUSTER_KEY, a secret that all of
a cluster have, or GPUGRAPH_CLUSTER_TLS, a folder of certificates. With a key both sides prove each
message (`calls/proofs.py`). The key keeps strangers out, and messages as they were sent; it hides
nothing. TLS does, and both sides show a certificate.
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
    "A server at {address} can be called from other machines, and whoever calls it runs graphs in "
    "this process. Set GPUGRAPH_CLUSTER_KEY (a secret that all processes of the cluster have) or "
    "GPUGRAPH_CLUSTER_TLS (a folder with ca.pem, cert.pem, key.pem), or give the task an address "
    "on localhost"
)
_TLS_FILES = ("ca.pem", "cert.pem", "key.pem")
_LEAST_KEY = 16
_MOST_PORTS_TRIED = 100


class Access(NamedTuple):
    """What this process shows and asks for: a key, files of TLS, or nothing."""

    key: bytes = b""
    tls: tuple[bytes, bytes, bytes] | None = None

    @property
    def is_open(self) -> bool:
        """Whether everybody may call."""
        return not self.key and self.tls is None


def access_of_environment() -> Access:
    """What the environment sets. InvalidArgumentError for a short key or files that can't be read.

    A key may be given as `@` and the path of a file that holds it.
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
    if key and len(key) < _LEAST_KEY:
        raise invalid_argument(
            f"GPUGRAPH_CLUSTER_KEY has {len(key)} bytes; it needs {_LEAST_KEY} or more, as of "
            "`openssl rand -hex 32`"
        )
    return Access(key, None if files is None else (files[0], files[1], files[2]))


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the host of that name."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def check_listening(address: str, access: Access) -> None:
    """FailedPreconditionError where others reach the address and everybody might call."""
    host = address.rpartition(":")[0]
    if access.is_open and not is_loopback(host):
        raise FailedPreconditionError.of_no_node(_OPEN.format(address=address))


def open_channel(address: str, access: Access, options: Any) -> Any:
    """A channel to a server."""
    if access.tls is None:
        return grpc().insecure_channel(address, options)
    ca, certificate, key = access.tls
    credentials = grpc().ssl_channel_credentials(ca, key, certificate)
    return grpc().secure_channel(address, credentials, options)


def _free_port(host: str, port: int) -> int:
    """The port if no listener has it at any address of the host, else 0; 0 stands for a free one.

    gRPC is content with one address of a name, and takes both loopback addresses for localhost. So
    of two servers one might have localhost's port of IPv4 and the other that of IPv6, and who calls
    localhost would reach either.
    """
    number = port
    hosts = ("127.0.0.1", "::1") if host == "localhost" else (host.strip("[]") or None,)
    places = [
        place for name in hosts for place in socket.getaddrinfo(name, 0, type=socket.SOCK_STREAM)
    ]
    for family, kind, protocol, _, place in places:
        try:
            with socket.socket(family, kind, protocol) as listener:
                if sys.platform != "win32":  # elsewhere the option waits for no closed connection
                    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind((place[0], number, *place[2:]))
                number = number or int(listener.getsockname()[1])
        except OSError as error:  # others: such as an address of IPv6 where there is no IPv6
            if error.errno == errno.EADDRINUSE:
                return 0
    return number


def add_port(server: Any, address: str, access: Access) -> int:
    """Lets a server listen at all addresses of a host; the number of its port, or 0."""
    host, _, port = address.rpartition(":")
    try:
        tries = 1 if int(port) else _MOST_PORTS_TRIED
        number = next(filter(None, (_free_port(host, int(port)) for _ in range(tries))), 0)
    except (ValueError, OverflowError, OSError) as error:
        raise RuntimeError(f"{address} is no address to listen at: {error}") from error
    if not number:
        raise RuntimeError(f"another listener has the port of {address}")
    address = f"{host}:{number}"
    if access.tls is None:
        return int(server.add_insecure_port(address))
    ca, certificate, key = access.tls
    credentials = grpc().ssl_server_credentials([(key, certificate)], ca, True)
    return int(server.add_secure_port(address, credentials))
