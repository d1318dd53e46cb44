"""A mixin for optimizers whose update is a single op that receives the settings as inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.building.variables import Variable
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.state.change_by_handle import change


class OneOpUpdate:
    """A mixin for optimizers whose update is a single op.

    The op `Apply<update>` updates whole variables, and `SparseApply<update>` updates rows.

    Args:
      update: the suffix of the op types.
      slots: the names of the slots, in the order of the ops' inputs.
      settings: a dict from the names of the settings' tensors to their values, in the order of the
        ops' inputs.
    """

    _use_locking: bool
    _name: str
    _slots: dict[str, dict[Variable, Variable]]
    _grad_first = False
    """Whether the gradient comes before the settings among the inputs of the ops."""

    def __init__(
        self,
        update: str,
        slots: Sequence[str],
        settings: dict[str, Any],
        use_locking: bool,
        name: str,
    ) -> None:
        super().__init__(use_locking, name)  # type: ignore[call-arg]  # of Optimizer
        self._update_name = update
        self._slot_order = slots
        self._settings = settings
        self._tensors: dict[str, Tensor] = {}

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        """Create slots that are filled with zeros. Subclasses override this for other initial
        values.
        """
        for variable in var_list:
            for slot in self._slot_order:
                self._zeros_slot(variable, slot, self._name)  # type: ignore[attr-defined]

    def _prepare(self) -> None:
        self._tensors = {
            name: convert_to_tensor(self._call_if_callable(value), name=name)  # type: ignore[attr-defined]
            for name, value in self._settings.items()
        }

    def _numbers(self, var: Variable) -> list[Any]:
        """Return the settings as tensors of the dtype of `var`, in the order of the ops' inputs."""
        return [cast(tensor, var.dtype.base_dtype) for tensor in self._tensors.values()]

    def _change(self, kind: str, var: Variable, grad: Sequence[Tensor]) -> Any:
        numbers = self._numbers(var)
        rest = [*grad, *numbers] if self._grad_first else [*numbers, *grad]
        slots = [self._own_slot(var, name)._ref() for name in self._slot_order]  # type: ignore[attr-defined]
        op_type = f"{kind}{self._update_name}"
        return change(op_type, var._ref(), *slots, *rest, use_locking=self._use_locking)

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        return self._change("Apply", var, [grad])

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        return self._change("SparseApply", var, [grad.values, grad.indices])


def at_least_zero(**settings: float) -> None:
    """Raise ValueError if a setting is below 0."""
    for name, value in settings.items():
        if value < 0.0:
            raise ValueError(f"{name} {value} needs to be positive or zero")
