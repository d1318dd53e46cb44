"""Ops that hash strings to numbers of buckets, and rows of a tensor to fingerprints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.dtypes import ALL
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import same_shape
from gpugraph.ops.strings.hash_algorithms import farm_fingerprint, murmur, sip_hash
from gpugraph.ops.strings.native_hashes import HASHES_FILE, ManyHashes, is_sound, row_hashes
from gpugraph.ops.strings.native_texts import hashed
from gpugraph.ops.strings.string_ops import host_op


def _by(function: Callable[[bytes], int], name: str) -> Callable[[KernelContext], ManyHashes]:
    return lambda context: ManyHashes(context, name, function, context.attrs["num_buckets"])


def _by_key(context: KernelContext) -> ManyHashes:
    key, count = context.attrs["key"], context.attrs["num_buckets"]
    if len(key) != 2:
        raise invalid_argument("Key must have 2 elements")
    one = partial(sip_hash, key=(key[0], key[1]))
    return ManyHashes(context, "gg_sip_hash", one, count, key)


def _bind(
    hashes: Callable[[KernelContext], ManyHashes], context: KernelContext, strings: Any, out: Any
) -> Callable[[], Any]:
    return partial(hashes(context), strings, out)


_KEY = {"key": Attr("list(int)", required=True)}
_BUCKETS: tuple[tuple[str, str, Any, str, dict[str, Any], str], ...] = (
    (
        "",
        "string_tensor",
        _by(murmur, "gg_murmur_hash"),
        "gg_text_murmur",
        {},
        "hash of each string (MurmurHash64A)",
    ),
    (
        "Fast",
        "input",
        _by(farm_fingerprint, "gg_farm_hash"),
        "gg_text_farm",
        {},
        "fingerprint of each string (FarmHash's)",
    ),
    (
        "Strong",
        "input",
        _by_key,
        "gg_text_sip",
        _KEY,
        "hash of each string under a key of two ints (SipHash-2-4)",
    ),
)
for _suffix, _input, _function, _native, _attrs, _what in _BUCKETS:
    host_op(
        f"StringToHashBucket{_suffix}",
        Call(make=partial(_bind, _function)),
        f"The {_what} modulo `num_buckets`.",
        f"{_input}: string",
        "output: int64",
        same_shape(0),
        native=hashed(_native),
        num_buckets=Attr("int", required=True, minimum=1),
        **_attrs,
    )


def string_to_hash_bucket(
    string_tensor: Any = None, num_buckets: Any = None, name: str | None = None, input: Any = None
) -> Tensor:
    """Return a bucket in [0, num_buckets), int64, for each string, by MurmurHash64A.

    The hash is the same in every process. `input` is another name of `string_tensor`. Raises
    ValueError if `num_buckets` is below 1.
    """
    strings = string_tensor if input is None else input
    return raw_ops.StringToHashBucket(strings, num_buckets=num_buckets, name=name)


def string_to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """Return a bucket in [0, num_buckets), int64, for each string, by FarmHash's fingerprint.

    Raises ValueError if `num_buckets` is below 1.
    """
    return raw_ops.StringToHashBucketFast(input, num_buckets=num_buckets, name=name)


def string_to_hash_bucket_strong(
    input: Any, num_buckets: int, key: Any, name: str | None = None
) -> Tensor:
    """Return a bucket in [0, num_buckets), int64, for each string, by SipHash-2-4 under `key`, two
    ints.

    Only someone who knows the key can construct many strings that share a bucket. Raises ValueError
    if `num_buckets` is below 1. A run raises InvalidArgumentError unless the key has two ints.
    """
    return raw_ops.StringToHashBucketStrong(
        input, num_buckets=num_buckets, key=list(key), name=name
    )


# -- fingerprints


def _infer_fingerprint(context: InferContext) -> Sequence[TensorShape]:
    rows = context.shapes[0].with_rank_at_least(1)
    return [TensorShape.of((None if rows.sizes is None else rows.sizes[0], 8))]


def _bind_fingerprint(context: KernelContext, data: Any, out: Any) -> Callable[[], Any]:
    method = context.value(1).reshape(())[()]
    if method != b"farmhash64":
        raise invalid_argument(f"Unsupported fingerprint algorithm: {method!r}")

    def content(row: Any) -> bytes:
        if row.dtype != object:
            return bytes(np.ascontiguousarray(row).tobytes())
        if data.ndim == 1:
            return bytes(row.reshape(())[()])
        return b"".join(_eight_bytes(bytes(text)) for text in row.reshape(-1))

    compiled = context.compiled(HASHES_FILE, "bytes")

    def run() -> None:
        file = compiled(0.0) if data.nbytes >= _LARGE and data.dtype != object else None
        if file is not None and is_sound(file, "gg_farm_hash"):
            bytes_of_rows = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
            out[...] = row_hashes(file, bytes_of_rows, len(data)).view(np.uint8).reshape(-1, 8)
            return
        for index in range(len(data)):
            row = np.asarray(data[index], data.dtype)
            out[index] = np.frombuffer(_eight_bytes(content(row)), np.uint8)

    return run


_LARGE = 4096
"""The number of bytes from which on rows are hashed by native code."""


def _eight_bytes(data: bytes) -> bytes:
    """Return the 8 bytes of the data's FarmHash fingerprint, lowest byte first."""
    return farm_fingerprint(data).to_bytes(8, "little")


_fingerprint = op(
    "Fingerprint",
    inputs="data: T, method: string",
    outputs="fingerprint: uint8",
    attrs={"T": ALL},
    infer=_infer_fingerprint,
    memory=OpMemory(host_inputs=[1]),
    cpu=Call(make=_bind_fingerprint),
    gpu=HostOnly("hashes are computed on the host"),
    grad=NO_GRADIENT,
    doc=(
        "The 8 bytes of the 64-bit hash of each row. Raises InvalidArgumentError if the method is "
        "unknown."
    ),
)


def fingerprint(data: Any, method: Any = "farmhash64", name: str | None = None) -> Tensor:
    """Return a fingerprint of each row of `data`: uint8 [rows, 8], lowest byte first.

    The fingerprint is the FarmHash fingerprint of the row's bytes. If a row has several strings, it
    is the fingerprint of their fingerprints. Raises ValueError if `data` is a scalar. A run raises
    InvalidArgumentError if the method is not "farmhash64".
    """
    return _fingerprint(data, method, name=name)
