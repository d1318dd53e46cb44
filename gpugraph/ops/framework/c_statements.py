"""The conversion of decompositions (ops as elementwise expressions) to C statements over scalars.

A kernel whose loop computes the op includes these statements as macros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.kernel import Builder, Decomposition, Elementwise, Reduction, Signature


class _Statements(Builder):
    """A builder whose values are scalars in C. The value with index i is a pair (C expression,
    dtype).
    """

    def __init__(self) -> None:
        self.values: list[tuple[str, DType]] = []
        self.lines: list[str] = []

    def named(self, expression: str, dtype: DType) -> int:
        """Append the value of a C expression, and return the value's index."""
        self.values.append((expression, dtype))
        return len(self.values) - 1

    def constant(self, value: Any, dtype: DType) -> int:
        literal = str(int(value)) if dtype.is_integer else repr(float(value))
        return self.named(f"((T){literal})", dtype)

    def index(self, size: int, dtype: DType) -> int:
        raise NotImplementedError("single elements have no positions")

    def apply(
        self,
        kernel: Elementwise | str,
        inputs: Sequence[int],
        dtype: DType,
        type: DType | None = None,
        fails: tuple[str, str] = ("", ""),
    ) -> int:
        text = kernel.expression if isinstance(kernel, Elementwise) else kernel
        if fails[0]:
            raise NotImplementedError(f"{text} may fail")
        name = f"t{len(self.values)}"
        operands = [f"const auto {x} = {self.values[i][0]};" for x, i in zip("xyz", inputs)]
        rounded = f"{name} = ELEMENT_LOAD(ELEMENT_STORE((T)({text})));"
        self.lines.append(f"T {name}; {{ {' '.join(operands)} {rounded} }}")
        return self.named(name, dtype)

    def reduce(self, kernel: Reduction, value: int, axes: Sequence[int] | None = None) -> int:
        raise NotImplementedError("single elements are not reduced")

    def expand(self, value: int, shape: Sequence[int]) -> int:
        return value

    def shape(self, value: int) -> tuple[int, ...]:
        return ()

    def dtype(self, value: int) -> DType:
        return self.values[value][1]


def statements(
    decomposition: Decomposition,
    signature: Signature,
    inputs: Sequence[tuple[str, DType]],
    outputs: Sequence[str],
) -> str:
    """Return C statements, on one line, that assign the outputs of a decomposition to `outputs`.

    Raises NotImplementedError if the decomposition has reductions or indices.

    Args:
      inputs: the C expression and dtype of each input.
      outputs: the names of the C variables. In the kernel, T is the type in which it computes, and
        the macros ELEMENT_STORE and ELEMENT_LOAD round to the dtype in memory.
    """
    builder = _Statements()
    values = decomposition.build(builder, signature, [builder.named(*value) for value in inputs])
    assignments = [
        f"{name} = {builder.values[i][0]};" for name, i in zip(outputs, values, strict=True)
    ]
    return " ".join([*builder.lines, *assignments])
