"""`tensorflow.python.eager.monitoring`, with counters and gauges. Only this process can read their
values.
"""

from __future__ import annotations

from typing import Any


class _Cell:
    """The value for one combination of labels."""

    def __init__(self) -> None:
        self._value: Any = 0

    def set(self, value: Any) -> None:
        """Set the value."""
        self._value = value

    def increase_by(self, value: int) -> None:
        """Add a number to the value."""
        self._value += value

    add = increase_by

    def value(self) -> Any:
        """Return the value."""
        return self._value


class Counter:
    """A metric that has a value for each combination of labels."""

    def __init__(self, name: str, description: str, *labels: str) -> None:
        self.name, self.description, self.labels = name, description, labels
        self._cells: dict[tuple[Any, ...], _Cell] = {}

    def get_cell(self, *labels: Any) -> _Cell:
        """Return the cell for these labels."""
        return self._cells.setdefault(labels, _Cell())


IntGauge = StringGauge = BoolGauge = Counter
