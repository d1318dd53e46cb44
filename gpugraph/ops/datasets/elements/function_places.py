"""The numbering of the places in a dataset where the same function is called. A place is a stage
that calls the function. Each place has its own random streams.
"""

from __future__ import annotations

from typing import Any

from gpugraph.ops.datasets.elements.stage import Function, Stage


def number_places(stage: Stage, numbers: dict[Any, int] | None = None) -> None:
    """Number the stages of a dataset that call the same function, if the function has random
    streams.

    Args:
      stage: the dataset, a copy that `Stage.apart` returned.
      numbers: the number of the next place for each function.
    """
    numbers = {} if numbers is None else numbers
    for value in vars(stage).values():
        if isinstance(value, Function) and value.call.function.graph.has_seeds:
            function = value.call.function
            value.place = numbers.get(function, 0)
            numbers[function] = value.place + 1
    for source in stage.inputs():
        number_places(source, numbers)
