"""The position of a part of a partitioned variable in the whole variable. A checkpoint records the
position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from typing import Any

from gpugraph.formats import messages_pb2
from gpugraph.graph.client.scoped_names import is_in_scope, prepend_name_scope, strip_name_scope


@dataclass(frozen=True)
class SaveSliceInfo:
    """The position of a part of the variable `full_name`. The shape of the part is `var_shape`, and
    its offset is `var_offset`.

    Args:
      save_slice_info_def: a SaveSliceInfoDef message that replaces all other arguments. The scope
        `import_scope` is added to its name as a prefix.
    """

    full_name: str | None = None
    full_shape: Sequence[int] | None = None
    var_offset: Sequence[int] | None = None
    var_shape: Sequence[int] | None = None
    save_slice_info_def: InitVar[Any] = None
    import_scope: InitVar[str | None] = None

    def __post_init__(self, save_slice_info_def: Any, import_scope: str | None) -> None:
        message = save_slice_info_def
        if message is None:
            return
        name = prepend_name_scope(message.full_name, import_scope)
        object.__setattr__(self, "full_name", name)
        for field in ("full_shape", "var_offset", "var_shape"):
            object.__setattr__(self, field, list(getattr(message, field)))

    @property
    def spec(self) -> str:
        """The shape of the whole variable, followed by `offset,size` for each dimension: `"4 2
        0,2:0,2"`.
        """
        shape = " ".join(str(size) for size in self.full_shape or ())
        bounds = zip(self.var_offset or (), self.var_shape or ())
        return f"{shape} " + ":".join(f"{offset},{size}" for offset, size in bounds)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return a SaveSliceInfoDef, or None if the variable is outside of the scope."""
        name = self.full_name or ""
        if not is_in_scope(name, export_scope):
            return None
        return messages_pb2.SaveSliceInfoDef(
            full_name=strip_name_scope(name, export_scope),
            full_shape=self.full_shape,
            var_offset=self.var_offset,
            var_shape=self.var_shape,
        )
