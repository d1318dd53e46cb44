"""StructuredFunction: a traced Python function whose arguments have the structure of a dataset's
elements.

AutoGraph converts each function, as in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.building.autograph.function_conversion import tf_convert
from gpugraph.building.functions.function_tracing import trace
from gpugraph.graph.client.autograph_status import control_status_ctx
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.functions.graph_function import GraphFunction
from gpugraph.library.data.element_structure import (
    flat_attrs,
    flat_specs,
    from_tensor_list,
    to_tensor_list,
    type_spec_from_value,
)


class StructuredFunction:
    """A traced function of elements, and the structure of its results.

    Attributes:
      function: the traced function, which is added to the default graph.
      spec: the structure of specs of the results.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        transformation: str,
        spec: Any,
        shared_spec: Any = None,
        checks: bool = True,
    ) -> None:
        """Trace a Python function.

        Args:
          function: the Python function.
          transformation: the name of the method that receives the function, for names and errors.
          spec: the structure of specs of the function's arguments.
        """
        if not callable(function):
            raise ValueError(f"Argument must be callable, but {transformation} got {function!r}.")
        self.spec: Any = shared_spec
        self._transformation = transformation
        self._input_spec = spec
        self._python = tf_convert(function, control_status_ctx())
        kind = getattr(function, "__name__", type(function).__name__)
        name = f"{transformation.removesuffix('()').replace('.', '_')}_{kind}"
        self.function: GraphFunction = trace(self._call, flat_specs(spec), name, self._flat)
        self.function.add_to(get_default_graph())

    def _call(self, *tensors: Tensor) -> Any:
        nested = from_tensor_list(self._input_spec, tensors)
        arguments = nested if type(nested) is tuple else (nested,)
        results = self._python(*arguments)
        return tuple(results) if isinstance(results, list) else results

    def _flat(self, results: Any) -> Sequence[Tensor]:
        if results is None:
            raise self._unsupported(results)
        try:
            self.spec = type_spec_from_value(results)
            return to_tensor_list(self.spec, results)
        except (TypeError, ValueError) as error:
            raise self._unsupported(results) from error

    def _unsupported(self, results: Any) -> TypeError:
        return TypeError(
            f"Unsupported return value from function passed to {self._transformation}: {results}."
        )

    @property
    def captured(self) -> list[Tensor]:
        """The tensors that the function captures. In the inputs of the dataset op, these tensors
        follow all other inputs.
        """
        return self.function.graph.captured

    @property
    def attrs(self) -> dict[str, Any]:
        """The dataset op's attrs for the dtypes and shapes of the results."""
        return flat_attrs(self.spec)

    def arguments(self, name: str = "other_arguments", attr: str = "f") -> dict[str, Any]:
        """Return the keyword arguments for an op that calls the function.

        Args:
          name: the name of the argument for captured tensors.
          attr: the name of the argument for the function.
        """
        return {name: self.captured, attr: self.function}
