"""A kernel filter that drops the connection requests of certain hosts before they reach this
process.

The filter is a program of the classic Berkeley packet filter. The filter is attached to the
listening socket. This needs no privileges (Linux, socket(7), SO_ATTACH_FILTER). Accepted sockets
inherit the filter. The filter drops only SYN packets, so it does not affect established
connections, even those of hosts whose requests are dropped. A host whose request was dropped
repeats its SYN after 1 s, 3 s and 7 s.
"""

from __future__ import annotations

import ctypes
import ipaddress
import socket
import struct
from collections.abc import Mapping

MAX_HOSTS = 256
"""The maximum number of hosts in one filter. Each takes up to 8 of at most 4,096 instructions."""

_SO_ATTACH_FILTER = 26
_LOAD_WORD, _LOAD_BYTE, _AND, _RETURN = 0x20, 0x30, 0x54, 0x06
_JUMP_IF_EQUAL, _JUMP_IF_GREATER = 0x15, 0x25
_NETWORK_HEADER, _RANDOM = 0xFFF00000, 0xFFFFF000 + 56  # negative offsets: SKF_NET_OFF, SKF_AD_OFF
_TCP_FLAGS, _SYN, _SYN_OR_ACK = 13, 0x02, 0x12
_ACCEPT, _DROP = 0xFFFFFFFF, 0

Instruction = tuple[int, int, int, int]
"""The fields of `struct sock_filter`: code, distance to jump if true, distance to jump if false,
and constant.
"""


def drop_requests(listening: socket.socket, shares: Mapping[str, float]) -> None:
    """Make a listening socket drop some of the SYN packets of some hosts.

    The new filter replaces the socket's previous filter. Only the last `MAX_HOSTS` entries of
    `shares` are used. Raises OSError if the kernel rejects the filter.

    Args:
      shares: the fraction to drop (0 to 1) for each host. A host is an IPv4 address or the first 64
        bits of an IPv6 address, as `host_key` returns it.
    """
    program = _program(dict(list(shares.items())[-MAX_HOSTS:]))
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    option = struct.pack("@HP", len(program), ctypes.addressof(buffer))
    listening.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, option)


def host_key(host: str) -> str:
    """Return an IPv4 address unchanged. For an IPv6 address, return its /64 network, which may
    belong to a single host.
    """
    address = ipaddress.ip_address(host.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None:
            return str(ipaddress.ip_address(int(address) >> 64 << 64))
        address = address.ipv4_mapped
    return str(address)


def _program(shares: Mapping[str, float]) -> list[Instruction]:
    """Return the filter's instructions. Offset 0 of a packet is the start of its TCP header."""
    hosts = [(ipaddress.ip_address(host), share) for host, share in shares.items()]
    rules_of_4: list[Instruction] = [(_LOAD_WORD, 0, 0, _NETWORK_HEADER + 12)]
    rules_of_6: list[Instruction] = []
    for address, share in hosts:
        if address.version == 4:
            drop = _drop(share)
            rules_of_4 += [(_JUMP_IF_EQUAL, 0, len(drop), int(address)), *drop]
        else:
            drop = _drop(share)
            high, low = int(address) >> 96, int(address) >> 64 & 0xFFFFFFFF
            rules_of_6 += [
                (_LOAD_WORD, 0, 0, _NETWORK_HEADER + 8),
                (_JUMP_IF_EQUAL, 0, len(drop) + 2, high),
                (_LOAD_WORD, 0, 0, _NETWORK_HEADER + 12),
                (_JUMP_IF_EQUAL, 0, len(drop), low),
                *drop,
            ]
    accept = (_RETURN, 0, 0, _ACCEPT)
    return [
        (_LOAD_BYTE, 0, 0, _TCP_FLAGS),
        (_AND, 0, 0, _SYN_OR_ACK),
        (_JUMP_IF_EQUAL, 1, 0, _SYN),
        accept,
        (_LOAD_BYTE, 0, 0, _NETWORK_HEADER),
        (_AND, 0, 0, 0xF0),
        (_JUMP_IF_EQUAL, 0, 1, 0x60),
        (0x05, 0, 0, len(rules_of_4) + 1),  # jump over the rules of IPv4
        *rules_of_4,
        accept,
        *rules_of_6,
        accept,
    ]


def _drop(share: float) -> list[Instruction]:
    """Return instructions that drop the packet with probability `share` and accept it otherwise."""
    return [
        (_LOAD_WORD, 0, 0, _RANDOM),
        (_JUMP_IF_GREATER, 1, 0, min(int(share * 2**32), 2**32 - 1)),
        (_RETURN, 0, 0, _DROP),
        (_RETURN, 0, 0, _ACCEPT),
    ]
