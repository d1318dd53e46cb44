"""Ends connections to a server whose other side does not prove soon that it may call.

gRPC ends no connection that is silent, sends half a call, or sends ten thousand that are refused:
each holds a file of this process, and its share of threads and memory. So a thread looks at the
sockets that the server's port has accepted, as the system lists them (Linux). One that has shown no
proof in a second is shut, at once where it has shown several that are wrong; where many are new,
the oldest of them as well. One that has proven itself stays as long as it likes.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

_FILES = Path("/proc/self/fd")
_LOOK_S, _BETWEEN_S = 0.2, 0.05
MOST_LOOKS = 4
"""So often a connection is seen without proof. Counted are looks and not seconds, as what the other
side has shown may wait to be read where this process has much else to do."""

MOST_LOOKS_OF_TLS = 12
"""The same where both sides have to show certificates before, which takes several messages."""

_MOST_NEW = 512
_MOST_REFUSED = 8

Address = str
"""Host and port of the other side of a connection."""


class Doorkeeper:
    """Looks after the connections that were accepted at one port.

    most_looks: so often one is seen before it has proven itself.
    """

    def __init__(self, port: int, most_looks: int = MOST_LOOKS) -> None:
        self._port, self._most_looks = port, most_looks
        self._proven: set[Address] = set()
        self._num_refused: dict[Address, int] = {}
        self._settled: dict[str, Address | None] = {}  # by socket; None: not of this port
        self._num_looks: dict[str, int] = {}  # of sockets without proof, the oldest first
        self._wake = threading.Event()
        self._is_stopped = False

    def start(self) -> None:
        """Looks at connections from now on; nothing where the system does not list them."""
        if _FILES.is_dir():
            threading.Thread(target=self._watch, name="gpugraph-door", daemon=True).start()

    def stop(self) -> None:
        """Looks no more."""
        self._is_stopped = True
        self._wake.set()

    def admit(self, connection: str) -> None:
        """Notes that who is behind a connection, by gRPC's name, may call."""
        self._proven.add(_address(connection))

    def refuse(self, connection: str) -> None:
        """Notes that a call was refused."""
        address = _address(connection)
        count = self._num_refused[address] = self._num_refused.get(address, 0) + 1
        if count >= _MOST_REFUSED:
            self._wake.set()

    def _watch(self) -> None:
        while not self._is_stopped:
            self._wake.wait(_LOOK_S)
            self._wake.clear()
            self.look()
            time.sleep(_BETWEEN_S)

    def look(self) -> None:
        """Looks at all sockets of this process once."""
        noted = {*self._proven, *self._num_refused}  # what is noted meanwhile may be newer
        sockets = _sockets()
        self._settled = {name: self._settled[name] for name in sockets if name in self._settled}
        new: dict[str, Address] = {}
        for name in sockets:
            if name not in self._settled:
                address = self._caller(sockets, name)
                if address is None or address in self._proven:
                    self._settled[name] = address
                else:
                    new[name] = address
        counts = {name: count for name, count in self._num_looks.items() if name in new}
        self._num_looks = {name: counts.get(name, 0) + 1 for name in (*counts, *new)}
        for name in self._unwelcome(new):
            self._caller(sockets, name, is_shut=True)
        gone = noted.difference(new.values(), self._settled.values())
        self._proven -= gone
        for address in gone:
            self._num_refused.pop(address, None)

    def _unwelcome(self, new: dict[str, Address]) -> list[str]:
        """The sockets to be shut."""
        num_over = len(new) - _MOST_NEW
        return [
            name
            for index, (name, count) in enumerate(self._num_looks.items())
            if index < num_over
            or count >= self._most_looks
            or self._num_refused.get(new[name], 0) >= _MOST_REFUSED
        ]

    def _caller(self, sockets: dict[str, int], name: str, is_shut: bool = False) -> Address | None:
        """The other side of a socket that this port has accepted; None for any other.

        The number may be that of another socket by now; the copy stays the one that it is.
        """
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(sockets[name])) as copy:
            is_inet = copy.family in (socket.AF_INET, socket.AF_INET6)
            is_same = f"socket:[{os.fstat(copy.fileno()).st_ino}]" == name
            if is_same and is_inet and copy.getsockname()[1] == self._port:
                host, port = copy.getpeername()[:2]
                if is_shut:
                    copy.shutdown(socket.SHUT_RDWR)
                return f"{host.removeprefix('::ffff:')}:{port}"
        return None


def _sockets() -> dict[str, int]:
    """The sockets of this process, by the system's name of each, with the number of a file."""
    return {name: number for name, number in _files() if name.startswith("socket:")}


def _files() -> Iterator[tuple[str, int]]:
    for number in os.listdir(_FILES):
        with contextlib.suppress(OSError):  # it has been closed meanwhile
            yield os.readlink(_FILES / number), int(number)


def _address(connection: str) -> Address:
    """The address that gRPC's name of a connection holds: `ipv6:%5B::1%5D:123`."""
    return re.sub(r"%\w+|[\[\]]", "", unquote(connection.partition(":")[2]))
