"""The rows of benchmarks/models.py in small sizes: they build, and agree with each other."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import gpugraph as tf

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))
models, peers = map(importlib.import_module, ("models", "peers"))
ROWS = models.rows(models.TINY)


def results(row):
    with tf.Graph().as_default():
        return peers.results_of(ROWS[row]["gpugraph"]())


@pytest.mark.exhaustive
@pytest.mark.parametrize("row", ROWS)
def test_a_row_gives_finite_numbers(row):
    assert all(np.isfinite(array).all() for array in results(row))


def test_weights_are_the_same_as_constants_and_as_variables():
    frozen, variables = results("ResNet-50, 1 image, frozen"), results("ResNet-50, 1 image")
    assert peers.difference(frozen, variables) < 1e-5


def test_sampling_gives_each_token_once():
    tokens, again, _ = results("GPT-2 small, 32 tokens")
    assert tokens.shape == (models.TINY.gpt2.tokens + 1,)
    assert tokens.tolist() == again.tolist()
