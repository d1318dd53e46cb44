"""The native kernel that applies a special function to each element (host_special_elements.h)."""

from __future__ import annotations

from math import prod

from gpugraph.kernel import RowSource, Signature


def special_elements(function: str, nanoseconds: int) -> RowSource:
    """Return the native kernel of a function in host_special.h of one to three inputs.

    An input has the output's shape, or only the last axes of this shape. In the second case, the
    input is repeated along the output's first axes. If an element is outside the range of the
    kernel's expansions, NumPy computes the result instead.

    Args:
      nanoseconds: the approximate time per element.
    """

    def parameters(signature: Signature) -> list[int]:
        shape = tuple(signature.output_shapes[0])
        for given in signature.input_shapes:
            last = tuple(given[next((i for i, n in enumerate(given) if n != 1), len(given)) :])
            if last != shape[len(shape) - len(last) :]:
                raise NotImplementedError("inputs of several shapes are broadcast")
        sizes = [prod(given) for given in signature.input_shapes]
        return [prod(shape), len(sizes), nanoseconds, *sizes]

    macros = {"GG_SPECIAL_FUNCTION": function}
    return RowSource(
        "host_special_elements.h", "gg_special", parameters, macros=lambda _: macros, is_exact=False
    )
