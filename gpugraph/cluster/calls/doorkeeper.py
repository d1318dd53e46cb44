"""Closes connections whose client does not soon prove that it has the cluster's key.

gRPC itself never closes a connection that is silent, sends half of a call, or sends ten thousand
calls that are rejected. Each such connection holds a file descriptor, threads and memory. Therefore
a thread periodically inspects the connections that the server's port has accepted. It finds them in
Linux's list of sockets. The thread shuts a connection without a proof after a second, and a
connection with eight wrong proofs immediately. If more than 512 connections have no proof, the
thread also shuts the oldest of these connections. A connection with a valid proof remains open
until its client closes it. If connections of one host repeatedly end without a proof, the kernel
drops connection requests of that host (`host_limits.py`).
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

from gpugraph.cluster.calls.connection_filter import drop_requests, host_key
from gpugraph.cluster.calls.host_limits import HostLimits
from gpugraph.platform import logging

_FILES = Path("/proc/self/fd")
_LOOK_S, _BETWEEN_S = 0.2, 0.05
MAX_LOOKS = 4
"""The number of inspections that a connection without a proof survives. Inspections are counted
instead of seconds, because a busy process may not have read a proof that has arrived; but then
inspections are delayed as well.
"""

MAX_LOOKS_OF_TLS = 12
"""`MAX_LOOKS` for a server with TLS, since both sides first exchange certificates in several
messages.
"""

_MAX_NEW = 512
_MAX_REFUSED = 8

Address = str
"""The host and port of the remote side of a connection."""


class Doorkeeper:
    """A monitor of the connections that one port has accepted.

    Args:
      max_looks: the number of inspections after which a connection without a proof is shut.
    """

    def __init__(self, port: int, max_looks: int = MAX_LOOKS) -> None:
        self._port, self._max_looks = port, max_looks
        self._proven: set[Address] = set()
        self._num_refused: dict[Address, int] = {}
        self._known: dict[str, Address | None] = {}  # by socket; None: of another port
        self._unproven: dict[str, Address] = {}  # by socket
        self._num_looks: dict[str, int] = {}  # of unproven sockets, the oldest first
        self._limits = HostLimits()
        self._dropped: dict[str, float] = {}
        self._wake = threading.Event()
        self._is_stopped = False

    def start(self) -> None:
        """Start the thread that inspects connections. Do nothing if the system provides no list of
        connections.
        """
        if _FILES.is_dir():
            threading.Thread(target=self._watch, name="gpugraph-door", daemon=True).start()

    def stop(self) -> None:
        """Stop inspecting connections."""
        self._is_stopped = True
        self._wake.set()

    def admit(self, connection: str) -> None:
        """Record that a caller has proven that it has the key.

        Args:
          connection: gRPC's name for the caller's connection.
        """
        address = _address(connection)
        if address not in self._proven:
            self._proven.add(address)
            self._limits.note_proven(_host(address))

    def refuse(self, connection: str) -> None:
        """Record that a call was rejected. After eight rejected calls of one connection, inspect
        the sockets immediately.
        """
        address = _address(connection)
        count = self._num_refused[address] = self._num_refused.get(address, 0) + 1
        if count >= _MAX_REFUSED:
            self._wake.set()

    def _watch(self) -> None:
        while not self._is_stopped:
            if not self._dropped:
                self._wake.wait(_LOOK_S)
            self._wake.clear()
            self.look()
            time.sleep(_BETWEEN_S)

    def look(self) -> None:
        """Inspect all sockets of the process once, shut connections that must be closed, and update
        the kernel's filter of connection requests.
        """
        noted = {*self._proven, *self._num_refused}  # later proofs may concern newer sockets
        sockets = _sockets()
        self._known = {name: self._known[name] for name in sockets if name in self._known}
        unproven: dict[str, Address] = {}
        for name in sockets:
            if name not in self._known:
                address = self._caller(sockets, name)
                if address is None or address in self._proven:
                    self._known[name] = address
                else:
                    unproven[name] = address
        self._count_those_gone(unproven)
        self._unproven = unproven
        counts = {name: count for name, count in self._num_looks.items() if name in unproven}
        self._num_looks = {name: counts.get(name, 0) + 1 for name in (*counts, *unproven)}
        for name in self._unwelcome(unproven):
            self._caller(sockets, name, is_shut=True)
        self._keep_out(sockets)
        gone = noted.difference(unproven.values(), self._known.values())
        self._proven -= gone
        for address in gone:
            self._num_refused.pop(address, None)

    def _count_those_gone(self, unproven: dict[str, Address]) -> None:
        """Count the connections that have ended without a proof since the last inspection."""
        for name, address in self._unproven.items():
            if name not in unproven and address not in self._proven:
                self._limits.note_unproven(_host(address))

    def _unwelcome(self, unproven: dict[str, Address]) -> list[str]:
        """Return the names of the sockets to shut. A socket without a proof is shut if it is too
        old, if too many of its calls were rejected, or if it is one of the oldest and there are too
        many such sockets.
        """
        num_over = len(unproven) - _MAX_NEW
        return [
            name
            for index, (name, count) in enumerate(self._num_looks.items())
            if index < num_over
            or count >= self._max_looks // (2 if _host(unproven[name]) in self._dropped else 1)
            or self._num_refused.get(unproven[name], 0) >= _MAX_REFUSED
        ]

    def _keep_out(self, sockets: dict[str, int]) -> None:
        """Make the kernel drop connection requests of the hosts that `HostLimits` currently
        limits.
        """
        shares = self._limits.shares()
        if shares == self._dropped:
            return
        for host in shares.keys() - self._dropped.keys():
            logging.warning("Many connections of %s do not prove that they have the key", host)
        self._dropped = shares
        for name in sockets:
            copy = self._copy(sockets, name)
            if copy is not None:
                with copy:
                    try:
                        if copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                            drop_requests(copy, shares)
                    except OSError as error:
                        logging.warning("The kernel does not drop their requests: %s", error)

    def _caller(self, sockets: dict[str, int], name: str, is_shut: bool = False) -> Address | None:
        """Return the remote address of a socket that this port has accepted. Return None for any
        other socket.

        Args:
          is_shut: whether to shut the connection as well.
        """
        copy = self._copy(sockets, name)
        if copy is not None:
            with copy, contextlib.suppress(OSError):
                host, port = copy.getpeername()[:2]
                if is_shut:
                    copy.shutdown(socket.SHUT_RDWR)
                return f"{host.removeprefix('::ffff:')}:{port}"
        return None

    def _copy(self, sockets: dict[str, int], name: str) -> socket.socket | None:
        """Return a duplicate of a socket of this port. Return None for any other socket.

        After the sockets were listed, the file descriptor may have been reused for another socket.
        Therefore the inode of the duplicate is compared with the socket's name. No other code can
        close the duplicate.
        """
        with contextlib.suppress(OSError):
            copy = socket.socket(fileno=os.dup(sockets[name]))
            is_inet = copy.family in (socket.AF_INET, socket.AF_INET6)
            is_same = f"socket:[{os.fstat(copy.fileno()).st_ino}]" == name
            if is_same and is_inet and copy.getsockname()[1] == self._port:
                return copy
            copy.close()
        return None


def _sockets() -> dict[str, int]:
    """Map the name `socket:[INODE]` of each socket of this process to one of its file
    descriptors.
    """
    return {name: number for name, number in _files() if name.startswith("socket:")}


def _files() -> Iterator[tuple[str, int]]:
    for number in os.listdir(_FILES):
        with contextlib.suppress(OSError):  # closed since it was listed
            yield os.readlink(_FILES / number), int(number)


def _address(connection: str) -> Address:
    """Return the host and port in gRPC's name of a connection, such as `ipv6:%5B::1%5D:123`."""
    return re.sub(r"%\w+|[\[\]]", "", unquote(connection.partition(":")[2]))


def _host(address: Address) -> str:
    return host_key(address.rpartition(":")[0])
