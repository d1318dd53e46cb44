"""Proofs: the caller and the server prove to each other that they have the cluster's key.

Before any message, the caller sends a proof in the metadata of the call. It consists of the time, a
random name of the caller's process, the number of the call within that process, the incarnation of
the called server, and an authentication code of these data and the method. From these data and the
key, the caller and the server derive a key for this call. With this derived key, each side
authenticates its messages, including the messages of a stream. Each message is followed by its
code: HMAC-SHA-256, truncated to 16 bytes, over the direction, the number of the message, and all of
its bytes. So nobody without the key can change, omit or repeat a message, return it to its sender,
or present it as the answer to another call. Messages are not encrypted with the key. Use TLS to
encrypt messages.
"""

from __future__ import annotations

import hmac
import os
import time
from itertools import count
from typing import Any

from gpugraph.base.errors import ResourceExhaustedError, UnauthenticatedError, UnavailableError
from gpugraph.base.fork_safe_locks import new_lock

WRONG_KEY = (
    "The caller's key is not that of the server: set the same GPUGRAPH_CLUSTER_KEY for all "
    "processes of the cluster"
)
GREETING = "GetStatus"
"""The method that returns a server's incarnation. The proof for this method need not contain the
incarnation.
"""

SERVICE = "gpugraph.cluster.Cluster"
NO_INCARNATION = 0
_VALID_S = 300
_MAX_CALLERS = 1 << 16
_WINDOW = 1 << 15
"""A call is rejected as a repetition if its number is below the caller's highest number by at least
this much.
"""
_CODE_BYTES = 16
_SHA = "sha256"


class MessageProofs:
    """An object that authenticates the messages that this process sends in one call or stream, and
    checks the messages that it receives.

    Args:
      key: the key of this call. If the key is empty, messages are not authenticated.
      is_server: whether this process answers the call.
    """

    def __init__(self, key: bytes, is_server: bool = False) -> None:
        self._has_key, self._num_sent, self._num_came = bool(key), 0, 0
        if key:
            codes = [
                hmac.new(hmac.digest(key, side, _SHA), digestmod=_SHA)
                for side in (b"caller", b"server")
            ]
            self._sending, self._receiving = reversed(codes) if is_server else codes

    def attach(self, *parts: Any) -> bytes:
        """Return the next message to send: the arguments, joined, and then the message's
        authentication code.
        """
        if not self._has_key:
            return b"".join(parts)
        self._num_sent += 1
        return b"".join((*parts, _code(self._sending, self._num_sent, parts)))

    def detach(self, content: bytes) -> memoryview | bytes:
        """Return the next received message without its code. Raises UnauthenticatedError if the
        code is wrong.
        """
        if not self._has_key:
            return content
        self._num_came += 1
        view = memoryview(content)
        message, code = view[:-_CODE_BYTES], view[-_CODE_BYTES:]
        if not hmac.compare_digest(code, _code(self._receiving, self._num_came, (message,))):
            raise UnauthenticatedError.of_no_node(
                "A message does not prove that its sender has the key of this cluster"
            )
        return message


def _code(start: hmac.HMAC, number: int, parts: Any) -> bytes:
    code = start.copy()
    code.update(number.to_bytes(8, "little"))
    for part in parts:
        code.update(part)
    return code.digest()[:_CODE_BYTES]


class _OwnCalls:
    """The name of this process as a caller, and the counter that numbers its calls."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Choose a new name. A forked child must call this method, because otherwise it would
        repeat its parent's call numbers.
        """
        self.name, self.numbers = os.urandom(12).hex(), count(1)


_OWN_CALLS = _OwnCalls()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_OWN_CALLS.renew)


def open_call(key: bytes, method: str, incarnation: int) -> tuple[str, MessageProofs]:
    """Return the proof to send with a new call, and the object that authenticates the call's
    messages. If `key` is empty, the proof is empty.

    Args:
      incarnation: the incarnation of the called server, or `NO_INCARNATION` for `GREETING`.
    """
    if not key:
        return "", MessageProofs(key)
    caller, number = _OWN_CALLS.name, next(_OWN_CALLS.numbers)
    head = f"{int(time.time())}.{caller}.{number}.{incarnation}"
    own_key, digest = _derived(key, method, head)
    return f"{head}.{digest}", MessageProofs(own_key)


def service_of(key: bytes) -> str:
    """Return the gRPC service name that callers with the key use. Nobody can derive the name
    without the key.

    gRPC has a queue for each registered method name, and one queue for all other names. So calls of
    strangers do not delay calls of callers that have the key.
    """
    name = hmac.digest(key, b"gpugraph service", _SHA).hex()[:32] if key else ""
    return f"{SERVICE}.{name}" if name else SERVICE


def _derived(key: bytes, method: str, head: str) -> tuple[bytes, str]:
    """Return the key of a call, and the code that proves that the caller has the cluster's key."""
    own_key = hmac.digest(key, f"gpugraph|{method}|{head}".encode(), _SHA)
    return own_key, hmac.digest(own_key, b"opening", _SHA).hex()


class CallerProofs:
    """An object that checks the proofs of the callers of one server, and rejects repeated proofs.

    Attributes:
      incarnation: a random number of this server object. A proof for one server is not valid for
        another server, or for a server that is started later.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.incarnation = int.from_bytes(os.urandom(7), "little") + 1
        self._callers: dict[str, _CallerWindow] = {}
        self._lock = new_lock()

    def check(self, shown: str, method: str) -> MessageProofs:
        """Check a caller's proof. Return the object that authenticates the messages of its call.

        Raises UnauthenticatedError if the proof is wrong or repeated, if its time is off by more
        than five minutes, or if this server has no key. Raises UnavailableError if the proof is for
        another incarnation of the server. Raises ResourceExhaustedError if too many processes have
        called within ten minutes.
        """
        if not self._key and not shown:
            return MessageProofs(b"")
        head, _, digest = shown.rpartition(".")
        own_key, expected = _derived(self._key, method, head)
        if not self._key or not hmac.compare_digest(digest.encode(), expected.encode()):
            raise UnauthenticatedError.of_no_node(WRONG_KEY)
        seconds, caller, number, incarnation = head.split(".")
        if method != GREETING and int(incarnation) != self.incarnation:
            raise UnavailableError.of_no_node("The server was restarted")
        self._note(int(seconds), caller, int(number))
        return MessageProofs(own_key, is_server=True)

    def _note(self, seconds: int, caller: str, number: int) -> None:
        now = int(time.time())
        if abs(seconds - now) > _VALID_S:
            raise UnauthenticatedError.of_no_node(
                f"The clocks of caller and server differ by more than {_VALID_S} s"
            )
        with self._lock:
            window = self._callers.get(caller)
            if window is None:
                self._make_room(now)
                window = self._callers[caller] = _CallerWindow()
            if not window.add(number, seconds):
                raise UnauthenticatedError.of_no_node("This call was made before")

    def _make_room(self, now: int) -> None:
        """If there are too many callers, forget the callers whose proofs have all expired."""
        if len(self._callers) < _MAX_CALLERS:
            return
        callers = self._callers.items()
        self._callers = {name: kept for name, kept in callers if kept.seconds >= now - _VALID_S}
        if len(self._callers) >= _MAX_CALLERS:
            raise ResourceExhaustedError.of_no_node(
                f"More than {_MAX_CALLERS} processes called this server within {2 * _VALID_S} s"
            )


class _CallerWindow:
    """The numbers of the calls that were received from one caller, and the latest time in its
    proofs.
    """

    __slots__ = ("_newest", "_seen", "seconds")

    def __init__(self) -> None:
        self._newest = self._seen = self.seconds = 0

    def add(self, number: int, seconds: int) -> bool:
        """Record a call. Return False if the call is a repetition, or is too old to tell whether it
        is one.
        """
        ahead = number - self._newest
        if ahead > 0:
            self._seen = 1 if ahead >= _WINDOW else (self._seen << ahead | 1) & ((1 << _WINDOW) - 1)
            self._newest = number
        elif -ahead >= _WINDOW or self._seen >> -ahead & 1:
            return False
        else:
            self._seen |= 1 << -ahead
        self.seconds = max(self.seconds, seconds)
        return True
