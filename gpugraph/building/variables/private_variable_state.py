"""Private attributes of TensorFlow's variables that other libraries read."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import as_dtype
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


class PrivateVariableState:
    """Private attributes of a variable that other libraries read. This package itself does not read
    them.
    """

    _in_graph_mode = True
    _graph: Any
    _initializer: Any

    @property
    def _graph_key(self) -> str:
        """The unique key of the variable's graph, `Graph._graph_key`."""
        key: str = self._graph._graph_key
        return key

    @property
    def _unique_id(self) -> str:
        """The key by which optimizers store the variable's slots. The key is the name of the
        variable's op.
        """
        name: str = self._shared_name  # type: ignore[attr-defined]
        return name

    @property
    def _initializer_op(self) -> Any:
        """The operation that initializes the variable. Programs may assign another operation."""
        return self._initializer

    @_initializer_op.setter
    def _initializer_op(self, initializer: Any) -> None:
        self._initializer = initializer

    def _dense_var_to_tensor(
        self, dtype: Any = None, name: str | None = None, as_ref: bool = False
    ) -> Any:
        """Return the value as a tensor. If `dtype` is not the variable's dtype, return
        NotImplemented.
        """
        own_dtype = self.dtype.base_dtype  # type: ignore[attr-defined]
        if dtype is not None and not as_dtype(dtype).is_compatible_with(own_dtype):
            return NotImplemented
        return convert_to_tensor(self, dtype, name, as_ref=as_ref)
