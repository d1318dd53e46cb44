"""Proofs of both sides of a call that they have the cluster's key.

The caller shows in the metadata of a call, before any message: the time, a number that is used
once, the incarnation of the server that it calls, and a code of these and the method. From the same
and the key both sides derive a key for this call. By that each proves its messages, those of a
stream as well: behind a message stands its code, HMAC-SHA-256 cut to 16 bytes, over the direction,
the number of the message, and all of its bytes. So nothing can be changed, left out, repeated, sent
back, or taken for the answer to another call. The key hides nothing; TLS does.
"""

from __future__ import annotations

import hmac
import os
import time
from collections import OrderedDict
from typing import Any

from gpugraph.base.errors import UnauthenticatedError, UnavailableError
from gpugraph.base.fork_safe_locks import new_lock

WRONG_KEY = (
    "The caller's key is not that of the server: set the same GPUGRAPH_CLUSTER_KEY for all "
    "processes of the cluster"
)
GREETING = "GetStatus"
"""The method by which a caller learns the incarnation of a server, so that it needs none."""

SERVICE = "gpugraph.cluster.Cluster"
NO_INCARNATION = 0
_VALID_S = 300
_MOST_NONCES = 1 << 17
_CODE_BYTES = 16
_SHA = "sha256"


class MessageProofs:
    """Proves the messages of one call or stream, and checks those of the other side.

    key: of this call; empty where nothing is proven. is_server: which side this is.
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
        """The next message that is sent, of these parts, with its code."""
        if not self._has_key:
            return b"".join(parts)
        self._num_sent += 1
        return b"".join((*parts, _code(self._sending, self._num_sent, parts)))

    def detach(self, content: bytes) -> memoryview | bytes:
        """The next message that came, without its code; UnauthenticatedError for a wrong one."""
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


def open_call(key: bytes, method: str, incarnation: int) -> tuple[str, MessageProofs]:
    """What a caller shows, empty without a key, and what proves the messages of the call."""
    if not key:
        return "", MessageProofs(key)
    head = f"{int(time.time())}.{os.urandom(12).hex()}.{incarnation}"
    own_key, digest = _derived(key, method, head)
    return f"{head}.{digest}", MessageProofs(own_key)


def service_of(key: bytes) -> str:
    """The name of the service as callers with the key ask for it.

    gRPC has a queue for each method that it knows by name, and one for all others. So the calls of
    who does not know the names do not stand in the way of those who do.
    """
    name = hmac.digest(key, b"gpugraph service", _SHA).hex()[:32] if key else ""
    return f"{SERVICE}.{name}" if name else SERVICE


def _derived(key: bytes, method: str, head: str) -> tuple[bytes, str]:
    """The key of a call, and the code that shows that the caller has it."""
    own_key = hmac.digest(key, f"gpugraph|{method}|{head}".encode(), _SHA)
    return own_key, hmac.digest(own_key, b"opening", _SHA).hex()


class CallerProofs:
    """Checks what callers of one server show, and that nobody shows the same twice.

    incarnation: a number of this server, drawn when it is made: what is shown to one server does
    not hold at another, nor at one that is started later.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.incarnation = int.from_bytes(os.urandom(7), "little") + 1
        self._nonces: OrderedDict[str, int] = OrderedDict()
        self._oldest = 0
        self._lock = new_lock()

    def check(self, shown: str, method: str) -> MessageProofs:
        """What proves the messages of a call whose caller shows this.

        UnauthenticatedError for a proof that is wrong, old or repeated, or not asked for;
        UnavailableError for one that was meant for another incarnation of the server.
        """
        if not self._key and not shown:
            return MessageProofs(b"")
        head, _, digest = shown.rpartition(".")
        own_key, expected = _derived(self._key, method, head)
        if not self._key or not hmac.compare_digest(digest.encode(), expected.encode()):
            raise UnauthenticatedError.of_no_node(WRONG_KEY)
        seconds, nonce, incarnation = head.split(".")
        if method != GREETING and int(incarnation) != self.incarnation:
            raise UnavailableError.of_no_node("The server has been started anew")
        self._note(int(seconds), nonce)
        return MessageProofs(own_key, is_server=True)

    def _note(self, seconds: int, nonce: str) -> None:
        now = int(time.time())
        if abs(seconds - now) > _VALID_S:
            raise UnauthenticatedError.of_no_node(
                f"The clocks of caller and server differ by more than {_VALID_S} s"
            )
        with self._lock:
            if nonce in self._nonces or seconds < self._oldest:
                raise UnauthenticatedError.of_no_node("This call was made before")
            self._nonces[nonce] = seconds
            # Of those beyond the limit all that are as old count as made before.
            while len(self._nonces) > _MOST_NONCES:
                _, forgotten = self._nonces.popitem(last=False)
                self._oldest = max(self._oldest, forgotten + 1)
            while next(iter(self._nonces.values())) < now - _VALID_S:
                self._nonces.popitem(last=False)
