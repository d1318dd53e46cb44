"""Fingerprints are the hashes that strings are put in buckets by."""

from __future__ import annotations

import numpy as np

import gpugraph as tf

from ..function_cases import refuses


def test_fingerprints_of_strings_are_those_of_their_buckets():
    words = np.array(["a", "bc", ""])
    with tf.Session() as session:
        prints, buckets = session.run(
            [tf.fingerprint(words), tf.string_to_hash_bucket_fast(words, 2**31)]
        )
    whole = prints.view("<u8")[:, 0]
    assert (whole % 2**31).tolist() == buckets.tolist()
    refuses(lambda: tf.fingerprint(words, "other"), tf.errors.InvalidArgumentError, "other")
    refuses(lambda: tf.fingerprint(3), ValueError, "at least rank 1")
