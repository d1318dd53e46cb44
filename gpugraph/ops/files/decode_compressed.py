"""DecodeCompressed, which decompresses zlib and gzip strings."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

from gpugraph.base.errors import DataLossError, invalid_argument
from gpugraph.formats.inflation import most_inflated
from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel import KernelContext
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.strings.string_ops import string_op

_WINDOW_BITS = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS | 16}


def _decoding(context: KernelContext) -> Callable[[bytes], bytes]:
    compression = context.attrs["compression_type"]
    if not compression:
        return lambda text: text
    if compression not in _WINDOW_BITS:
        raise invalid_argument(
            f"Only ZLIB, GZIP or NONE are supported compressions, not '{compression}'; NONE is the "
            "empty text"
        )

    def decode(text: bytes) -> bytes:
        parts, rest, room = [], text, most_inflated(len(text))
        while rest:
            stream = zlib.decompressobj(_WINDOW_BITS[compression])
            try:
                parts.append(stream.decompress(rest, room + 1))
            except zlib.error as error:
                if parts:
                    break  # the remaining bytes are not another stream
                raise DataLossError.of_no_node(f"inflate() failed: {error}") from None
            room -= len(parts[-1])
            if room < 0:
                sizes = f"{len(text)} bytes expand to over {most_inflated(len(text))}"
                raise DataLossError.of_no_node(f"inflate() failed: {sizes}")
            rest = stream.unused_data
        return b"".join(parts)

    return decode


_decode_compressed = string_op(
    "DecodeCompressed",
    _decoding,
    "Each string, decompressed by the method compression_type.",
    inputs="bytes: string",
    compression_type=Attr("string", ""),
)


def decode_compressed(bytes: Any, compression_type: str = "", name: str | None = None) -> Tensor:
    """Decompress each string. The result has the same shape as `bytes`.

    A run raises InvalidArgumentError if `compression_type` is unknown. It raises DataLossError if a
    string is not compressed in this format, or if a result is larger than both 64 MiB and 100 times
    the size of the compressed string.

    Args:
      compression_type: "ZLIB", "GZIP", or "" for strings that are not compressed. A string may hold
        several compressed streams in succession. If a stream is truncated, the available part is
        decompressed.
    """
    return _decode_compressed(bytes, compression_type=compression_type, name=name)
