"""The graphs of branches, loops and their gradients, op by op, as TensorFlow makes them."""

from __future__ import annotations

import pytest

import gpugraph as tf

from .programs import PROGRAMS
from .structures import expected, lines

TABLES = expected()


def test_each_program_has_its_table() -> None:
    assert list(TABLES) == list(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_graph_is_that_of_tensorflow(name: str) -> None:
    with tf.Graph().as_default() as graph:
        PROGRAMS[name](tf)
    assert "\n".join(lines(name, graph)) == "\n".join(TABLES[name])
