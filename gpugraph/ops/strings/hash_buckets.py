"""Strings put in buckets by their hashes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import KernelContext
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.strings.hash_algorithms import farm_fingerprint, murmur, sip_hash
from gpugraph.ops.strings.string_ops import HOST, each_string


def _infer(context: InferContext) -> Sequence[TensorShape]:
    count = context.attrs["num_buckets"]
    if count < 1:
        raise ValueError(f"Attr 'num_buckets' passed {count} less than minimum 1.")
    return [context.shapes[0]]


def _by(function: Callable[[bytes], int]) -> Callable[[KernelContext], Callable[[bytes], int]]:
    def of(context: KernelContext) -> Callable[[bytes], int]:
        count = context.attrs["num_buckets"]
        return lambda text: function(text) % count

    return of


def _by_key(context: KernelContext) -> Callable[[bytes], int]:
    key, count = context.attrs["key"], context.attrs["num_buckets"]
    if len(key) != 2:
        raise invalid_argument("Key must have 2 elements")
    return lambda text: sip_hash(text, (key[0], key[1])) % count


_BUCKETS = Attr("int", required=True)
_COMMON: dict[str, Any] = {
    "outputs": "output: int64",
    "infer": _infer,
    "gpu": HOST,
    "grad": NO_GRADIENT,
}
op(
    "StringToHashBucket",
    inputs="string_tensor: string",
    attrs={"num_buckets": _BUCKETS},
    cpu=each_string(_by(murmur)),
    **_COMMON,
    doc="The hash of each string (MurmurHash64A) modulo `num_buckets`.",
)
op(
    "StringToHashBucketFast",
    inputs="input: string",
    attrs={"num_buckets": _BUCKETS},
    cpu=each_string(_by(farm_fingerprint)),
    **_COMMON,
    doc="The fingerprint of each string (FarmHash's) modulo `num_buckets`.",
)
op(
    "StringToHashBucketStrong",
    inputs="input: string",
    attrs={"num_buckets": _BUCKETS, "key": Attr("list(int)", required=True)},
    cpu=each_string(_by_key),
    **_COMMON,
    doc="The hash of each string under a key of two ints (SipHash-2-4) modulo `num_buckets`.",
)


def string_to_hash_bucket(
    string_tensor: Any = None, num_buckets: Any = None, name: str | None = None, input: Any = None
) -> Tensor:
    """A bucket in [0, num_buckets) for each string, int64, by a hash that may be guessed.

    `input` is another name of `string_tensor`. ValueError for less than one bucket.
    """
    given = string_tensor if input is None else input
    return raw_ops.StringToHashBucket(given, num_buckets=num_buckets, name=name)


def string_to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """A bucket in [0, num_buckets) for each string, int64, by FarmHash's fingerprint.

    ValueError for less than one bucket.
    """
    return raw_ops.StringToHashBucketFast(input, num_buckets=num_buckets, name=name)


def string_to_hash_bucket_strong(
    input: Any, num_buckets: int, key: Any, name: str | None = None
) -> Tensor:
    """A bucket in [0, num_buckets) for each string, int64, by a hash under `key`, two ints.

    Without the key nobody can choose strings of one bucket. ValueError for less than one bucket;
    InvalidArgumentError, in a run, for another number of ints.
    """
    return raw_ops.StringToHashBucketStrong(
        input, num_buckets=num_buckets, key=list(key), name=name
    )
