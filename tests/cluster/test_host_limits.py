"""Hosts whose connections prove nothing may open few more, and the kernel drops the others."""

from __future__ import annotations

import socket
import sys

import pytest

from gpugraph.cluster.calls import doorkeeper
from gpugraph.cluster.calls.connection_filter import MAX_HOSTS, drop_requests, host_key
from gpugraph.cluster.calls.doorkeeper import MAX_LOOKS, Doorkeeper
from gpugraph.cluster.calls.host_limits import FALL_PER_S, MANY, TOO_MANY, HostLimits

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux has socket filters")
STRANGER, OTHER = "127.0.0.2", "127.0.0.1"


class Clock:
    seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def after(count: int, clock: Clock, host: str = STRANGER) -> HostLimits:
    limits = HostLimits(clock)
    for _ in range(count):
        limits.note_unproven(host)
    return limits


@pytest.mark.parametrize(
    ("count", "shares"),
    [
        (MANY, {}),
        (MANY + 1, {STRANGER: 0.75}),
        (TOO_MANY, {STRANGER: 0.75}),
        (TOO_MANY + 1, {STRANGER: 1.0}),
        (10_000, {STRANGER: 1.0}),
    ],
)
def test_the_share_follows_the_count(count: int, shares: dict[str, float]) -> None:
    assert after(count, Clock()).shares() == shares


def test_a_host_with_proven_connections_is_never_shut_out() -> None:
    clock = Clock()
    limits = after(10_000, clock)
    limits.note_proven(STRANGER)
    assert limits.shares() == {STRANGER: 0.75}
    clock.seconds += 61
    for _ in range(10_000):
        limits.note_unproven(STRANGER)
    assert limits.shares() == {STRANGER: 1.0}


def test_limits_end_with_time() -> None:
    clock = Clock()
    limits = after(10_000, clock)
    seconds = 0
    while limits.shares():
        clock.seconds += 1
        seconds += 1
    assert seconds == (100 - MANY) / FALL_PER_S + 0.5
    limits.note_unproven(STRANGER)
    assert limits.shares() == {}


def test_counts_of_many_hosts_are_bounded() -> None:
    limits = HostLimits(Clock())
    for number in range(10_000):
        limits.note_unproven(f"10.0.{number >> 8}.{number & 255}")
    assert len(limits._counts) == 4096


@pytest.mark.parametrize(
    ("host", "key"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
    ],
)
def test_a_network_of_ipv6_is_one_host(host: str, key: str) -> None:
    assert host_key(host) == key


def connects(source: str, port: int, target: str = "127.0.0.1") -> bool:
    with socket.socket(socket.AF_INET6 if ":" in target else socket.AF_INET) as caller:
        caller.settimeout(0.3)
        caller.bind((source, 0))
        try:
            caller.connect((target, port))
        except TimeoutError:
            return False
        return True


def listening(address: str = "") -> socket.socket:
    if socket.has_dualstack_ipv6():
        return socket.create_server((address, 0), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server((address, 0))


@on_linux
@pytest.mark.parametrize("num_others", [0, MAX_HOSTS])
def test_requests_of_a_host_are_dropped_and_no_others(num_others: int) -> None:
    others = {f"10.0.{number >> 8}.{number & 255}": 1.0 for number in range(num_others)}
    with listening() as listener:
        port = listener.getsockname()[1]
        assert connects(STRANGER, port)
        drop_requests(listener, {**others, STRANGER: 1.0, "2001:db8::": 1.0})
        assert not connects(STRANGER, port)
        assert connects(OTHER, port)
        drop_requests(listener, {STRANGER: 0.0})
        assert connects(STRANGER, port)


@on_linux
@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no IPv6 here")
def test_requests_by_ipv6_are_dropped() -> None:
    with listening() as listener:
        port = listener.getsockname()[1]
        drop_requests(listener, {"2001:db8::": 1.0, "::": 1.0})
        assert not connects("::1", port, "::1")
        assert connects(OTHER, port)
        drop_requests(listener, {"2001:db8::": 1.0})
        assert connects("::1", port, "::1")


@on_linux
def test_a_share_of_requests_is_dropped() -> None:
    with listening() as listener:
        port = listener.getsockname()[1]
        drop_requests(listener, {STRANGER: 0.5})
        num_connected = sum(connects(STRANGER, port) for _ in range(30))
        assert 2 < num_connected < 28


@on_linux
def test_established_connections_stay() -> None:
    with listening() as listener:
        port = listener.getsockname()[1]
        drop_requests(listener, {"10.0.0.1": 1.0})  # accepted sockets inherit the filter
        with socket.create_connection(("127.0.0.1", port), source_address=(STRANGER, 0)) as caller:
            accepted = listener.accept()[0]
            drop_requests(listener, {STRANGER: 1.0})
            drop_requests(accepted, {STRANGER: 1.0})
            caller.sendall(b"still here")
            accepted.settimeout(5)
            assert accepted.recv(16) == b"still here"
            accepted.close()


def end_unproven_connections(listener: socket.socket) -> None:
    """Open and close so many connections of a stranger that its host is limited."""
    port = listener.getsockname()[1]
    door = Doorkeeper(port)
    callers = []
    for _ in range(TOO_MANY + 20):
        callers.append(socket.create_connection(("127.0.0.1", port), source_address=(STRANGER, 0)))
        callers.append(listener.accept()[0])
    for _ in range(MAX_LOOKS):
        door.look()
    for caller in callers:
        caller.close()
    door.look()


@on_linux
def test_a_host_that_proves_nothing_is_kept_out(caplog: pytest.LogCaptureFixture) -> None:
    with listening() as listener:
        port = listener.getsockname()[1]
        end_unproven_connections(listener)
        assert not connects(STRANGER, port)
        assert connects(OTHER, port)
        assert f"Many connections of {STRANGER}" in caplog.text


@on_linux
def test_a_kernel_without_filters_is_reported(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no filters here")

    monkeypatch.setattr(doorkeeper, "drop_requests", refuse)
    with listening() as listener:
        end_unproven_connections(listener)
        assert "The kernel does not drop their requests: no filters here" in caplog.text
        assert connects(STRANGER, listener.getsockname()[1])
