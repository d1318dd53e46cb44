"""Strings are put into buckets by C as by Python, whatever their lengths and bytes are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.native import prepare_source
from gpugraph.ops.strings import native_hashes
from gpugraph.ops.strings.hash_algorithms import farm_fingerprint, murmur, sip_hash

pytestmark = pytest.mark.skipif(bool(compiler().reason), reason=compiler().reason)

KEY = [2**63 - 5, -7]
BUCKETS = 2**62 - 57

RANDOM = np.random.default_rng(4)
TEXTS = [RANDOM.bytes(size) for size in (*range(140), *RANDOM.integers(0, 1000, 60))]
"""All lengths at which an algorithm goes another way, and bytes above 127."""


def buckets(options: Any, texts: list[bytes]) -> list[Any]:
    with tf.Graph().as_default():
        strings = tf.placeholder(tf.string, [None])
        fetches = [
            tf.string_to_hash_bucket(strings, BUCKETS),
            tf.string_to_hash_bucket_fast(strings, BUCKETS),
            tf.string_to_hash_bucket_strong(strings, BUCKETS, KEY),
        ]
        graph_options = tf.GraphOptions(optimizer_options=options)
        with tf.Session(config=tf.ConfigProto(graph_options=graph_options)) as session:
            return [array.tolist() for array in session.run(fetches, {strings: texts})]


def test_c_hashes_as_python_does(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    hashes = native_hashes._hashes
    monkeypatch.setattr(
        native_hashes, "_hashes", lambda *given: calls.append(given[1]) or hashes(*given)
    )
    native = buckets(tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.ON_1), TEXTS)
    assert {"gg_murmur_hash", "gg_farm_hash", "gg_sip_hash"} <= set(calls)
    key = tuple(KEY)
    assert native == [
        [hash_of(text) % BUCKETS for text in TEXTS]
        for hash_of in (murmur, farm_fingerprint, lambda text: sip_hash(text, key))
    ]


def test_few_strings_are_hashed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(native_hashes, "_hashes")
    assert buckets(tf.OptimizerOptions(), TEXTS[:9])[1] == [
        farm_fingerprint(text) % BUCKETS for text in TEXTS[:9]
    ]


def test_code_that_hashes_otherwise_is_reported_and_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(native_hashes, "_SOUND", {})
    monkeypatch.setitem(native_hashes._ALGORITHMS, "gg_farm_hash", lambda text: 0)
    file = prepare_source(native_hashes.HASHES_FILE, "bytes").get(wait=True)
    assert file is not None
    with pytest.warns(RuntimeWarning, match="gg_farm_hash returns other hashes than Python"):
        assert not native_hashes.is_sound(file, "gg_farm_hash")
    assert native_hashes.is_sound(file, "gg_murmur_hash")
