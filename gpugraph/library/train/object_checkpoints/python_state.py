"""Objects of Python whose state is saved in object-based checkpoints as a string."""

from __future__ import annotations

from functools import partial
from typing import Any

from gpugraph.base.dtypes import string
from gpugraph.building.trackable.trackable import Trackable
from gpugraph.library.train.savers.saveable_objects import SaveableObject, SaveSpec
from gpugraph.ops.control.group_and_no_op import no_op
from gpugraph.ops.control.py_func import py_func

STATE = "py_state"
"""The name of the string among the values of an object."""


class PythonState(Trackable):
    """An object of Python whose state is part of object-based checkpoints.

    A subclass defines `serialize` and `deserialize`. `save` calls the first. `restore` calls the
    second itself, without a session, as soon as the object is found in the checkpoint.

    ```python
    class Position(tf.train.experimental.PythonState):
        line = 0

        def serialize(self):
            return str(self.line).encode()

        def deserialize(self, string_value):
            self.line = int(string_value)

    checkpoint = tf.train.Checkpoint(position=Position())
    ```
    """

    def serialize(self) -> str | bytes:
        """Return the state as a string. A subclass overrides this method."""
        raise NotImplementedError(f"{type(self).__name__} does not define serialize")

    def deserialize(self, string_value: bytes) -> None:
        """Set the state to the one that `serialize` returned. A subclass overrides this method."""
        raise NotImplementedError(f"{type(self).__name__} does not define deserialize")

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {STATE: partial(_StateSaveable, self)}


class _StateSaveable(SaveableObject):
    """The string of an object. Each run that saves it calls `serialize`."""

    def __init__(self, item: PythonState, name: str) -> None:
        text = py_func(item.serialize, [], string)
        text.set_shape([])
        super().__init__(item, [SaveSpec(text, "", name, dtype=string)], name)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
        """Return an operation without effect: the state is already restored."""
        return no_op()
