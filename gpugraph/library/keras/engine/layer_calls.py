"""LayerCall: the state of a layer's call, with its mask and training flag, which nested calls
inherit.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterable
from typing import Any

from gpugraph.base.errors import OperatorNotAllowedInGraphError
from gpugraph.base.nest import flatten, map_structure
from gpugraph.library.keras.engine.layer_nodes import mask_of
from gpugraph.library.keras.engine.layer_paths import call_text, layer_text


class _Calls(threading.local):
    """The layers' calls that are in progress in a thread, from the outermost to the innermost."""

    def __init__(self) -> None:
        self.stack: list[LayerCall] = []


_CALLS = _Calls()


def innermost_call() -> LayerCall | None:
    """Return the innermost layer call that is in progress in this thread, or None."""
    return _CALLS.stack[-1] if _CALLS.stack else None


def next_call_text(layer: Any, inputs: Iterable[Any]) -> str:
    """Describe, for an error message, a layer's call that is in progress or about to begin.

    The text contains the layer's name and class, its inputs and the enclosing layers.
    """
    around = [call.layer for call in _CALLS.stack if call.layer is not layer]
    return call_text(layer, len(layer.inbound_nodes), inputs, around)


_CONTROL_FLOW = """\
You are attempting to use Python control flow in a layer that was not declared to be dynamic: the \
`call` of {layer} loops over a tensor, or branches on one. AutoGraph converts such code only if \
tf.function decorates `call`. Otherwise use tf.cond, tf.where, tf.while_loop, tf.map_fn or \
tf.unstack.
Encountered error:
\"\"\"
{error}
\"\"\""""


class LayerCall:
    """The arguments of one call of a layer. A LayerCall is also a context manager that is active
    during the call.

    Attributes:
      keywords: the keyword arguments for the layer's `call`: the arguments that were passed, except
        a `training` that `call` does not accept, and `mask` and `training` if `call` has these
        parameters and they were not passed.
      recorded: all arguments that were passed, by name, so that the call can be repeated on other
        inputs.
      mask: the argument `mask`, or else the masks of the inputs.
      training: the argument `training`, or else its value in the enclosing layer's call, or None.
    """

    def __init__(
        self, layer: Any, inputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        names = _call_parameters(layer)
        passed = {**dict(zip(names[1:], args)), **kwargs}
        self.layer, self.tensors = layer, flatten(inputs)
        self.recorded = passed
        self.keywords = dict(kwargs)
        self.mask = passed["mask"] if "mask" in passed else _masks_of(inputs)
        if "mask" in names and "mask" not in passed and self.mask is not None:
            self.keywords["mask"] = self.mask
        outer = innermost_call()
        self.training = passed.get("training")
        if self.training is None and outer is not None and outer.training is not None:
            self.training = outer.training
            if "training" in names[len(args) + 1 :]:
                self.keywords["training"] = self.training
        if "training" not in names and not _takes_keywords(layer):
            self.keywords.pop("training", None)

    def __enter__(self) -> None:
        _CALLS.stack.append(self)

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        """End the call. If an error ends the call and a Keras layer created an input, add a note to
        the error.

        The note describes the innermost call. If a Python loop or branch over tensors caused the
        error, raise TypeError instead.
        """
        if isinstance(error, Exception) and "; path: " not in f"{error}{_notes_of(error)}":
            tensors = [tensor for call in _CALLS.stack for tensor in call.tensors]
            if any(hasattr(tensor, "_keras_history") for tensor in tensors):
                _add_note(error, f"in{next_call_text(self.layer, self.tensors)}")
        _CALLS.stack.pop()
        if error is not None and _is_of_control_flow(error):
            text = _CONTROL_FLOW.format(layer=layer_text(self.layer), error=error)
            raise TypeError(text) from error


def _is_of_control_flow(error: BaseException) -> bool:
    """Return whether the error arose because Python's `if`, `while`, `for` or `range` received a
    tensor.
    """
    is_of_range = "'Tensor' object cannot be interpreted as an integer" in str(error)
    first_words = "You are attempting"
    return isinstance(error, OperatorNotAllowedInGraphError) or (
        type(error) is TypeError and is_of_range and not str(error).startswith(first_words)
    )


def _notes_of(error: Any) -> list[str]:
    return getattr(error, "__notes__", [])


def _add_note(error: Any, note: str) -> None:
    if hasattr(error, "add_note"):  # `add_note` exists from Python 3.11 on
        error.add_note(note)


def _call_parameters(layer: Any) -> list[str]:
    """Return the names of the parameters of a layer's `call`. The inputs come first."""
    return [
        parameter.name
        for parameter in inspect.signature(layer.call).parameters.values()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]


def _takes_keywords(layer: Any) -> bool:
    """Return whether a layer's `call` accepts keyword arguments of any name."""
    parameters = inspect.signature(layer.call).parameters.values()
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


def _masks_of(inputs: Any) -> Any:
    """Return the masks of inputs, in the structure of the inputs. If no input has a mask, return
    None.
    """
    masks = map_structure(mask_of, inputs)
    return masks if _any_mask(masks) else None


def _any_mask(mask: Any) -> bool:
    return any(part is not None for part in flatten(mask))
