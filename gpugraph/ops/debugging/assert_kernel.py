"""Assert, which raises an error if a condition is false. The error shows the values of some
tensors.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base.bfloat16 import BFLOAT16
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import shape_text
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import no_outputs


def summarize(array: Any, max_elements: int) -> str:
    """Format up to `max_elements` elements as TensorFlow does, such as `[[1 2][3...]...]`.

    If `max_elements` is negative, format all elements.
    """
    values = np.asarray(array)
    limit = values.size if max_elements < 0 else min(max_elements, values.size)
    elements = deque(element_text(value) for value in values.reshape(-1)[:limit])
    rest = "..." if values.size > limit else ""
    return f"[{_text(values.shape, elements)}{rest}]"


def _text(shape: tuple[int, ...], elements: deque[str], inner: bool = False) -> str:
    """Format the elements of an array of shape `shape`, with brackets around inner rows. The
    iterator `elements` may end before the last element.

    If `elements` ends within an inner row, the text of this row ends with "...".
    """
    if len(shape) > 1:
        rows = []
        for _ in range(shape[0]):
            if elements:
                rows.append(f"[{_text(shape[1:], elements, True)}]")
        return "".join(rows)
    count = shape[0] if shape else 1
    row = [elements.popleft() for _ in range(min(count, len(elements)))]
    return " ".join(row) + ("..." if inner and len(row) < count else "")


_ESCAPES = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", ord('"'): '\\"', ord("'"): "\\'"}
_ESCAPES[ord("\\")] = "\\\\"


def element_text(value: Any, errors: str = "backslashreplace") -> str:
    """Format one element as TensorFlow does. Bools become 0 and 1, and strings have escape
    sequences.

    Args:
      errors: the `errors` argument of `bytes.decode`, which determines how strings that are not
        UTF-8 are decoded.
    """
    if isinstance(value, bytes):
        return value.decode("utf-8", errors).translate(_ESCAPES)
    if isinstance(value, np.bool_):
        return str(int(value))
    if isinstance(value, np.floating):
        return _number(value)
    if BFLOAT16 is not None and isinstance(value, BFLOAT16):
        return _number(np.float32(value))
    return str(value)


def _number(value: Any) -> str:
    """Format a float with 6 digits if these digits parse to the same value, otherwise with 9
    digits.

    For a float64, the numbers of digits are 15 and 17.
    """
    double = isinstance(value, np.float64)
    few, many = (15, 17) if double else (6, 9)
    number = float(value)
    text = f"{number:.{few}g}"
    wide = np.float64 if double else np.float32
    return text if number != number or wide(text) == wide(number) else f"{number:.{many}g}"


def _check(context: KernelContext, condition: Any, *data: Any) -> Callable[[], Any]:
    if condition.shape != ():
        raise invalid_argument(f"In[0] should be a scalar: {shape_text(condition.shape)}")
    max_elements = context.attrs["summarize"]

    def check() -> None:
        if not condition[()]:
            values = " ".join(summarize(array, max_elements) for array in data)
            raise invalid_argument(f"assertion failed: {values}")

    return check


op(
    "Assert",
    inputs="condition: bool, data: T",
    attrs={"T": Attr("list(type)", required=True, minimum=1), "summarize": Attr("int", 3)},
    infer=no_outputs,
    memory=OpMemory(host_inputs=(0, 1)),
    cpu=Call(make=_check, late=True),
    gpu=Call(make=_check, late=True),
    grad=NO_GRADIENT,
    stateful=True,
    doc=(
        "Raises InvalidArgumentError if the scalar `condition` is false. The message contains the "
        "values of `data`."
    ),
)
