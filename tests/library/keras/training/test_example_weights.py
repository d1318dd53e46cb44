"""Weights of examples as arrays, by output."""

from __future__ import annotations

import pytest

from gpugraph.library.keras.training.example_weights import weights_by_output


def test_weights_are_by_output():
    assert weights_by_output(None, ["a", "b"], "sample_weight") == [None, None]
    assert weights_by_output({"b": 1}, ["a", "b"], "sample_weight") == [None, 1]
    assert weights_by_output([1, 2], ["a", "b"], "sample_weight") == [1, 2]
    assert weights_by_output({0: 1.0}, ["a"], "class_weight") == [{0: 1.0}]
    with pytest.raises(ValueError, match="was a list of 1 elements, but the model has 2 outputs"):
        weights_by_output([1], ["a", "b"], "sample_weight")
    with pytest.raises(TypeError, match="The model has multiple outputs, so `sample_weight`"):
        weights_by_output(3, ["a", "b"], "sample_weight")
