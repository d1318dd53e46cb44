"""`tf.image.is_jpeg`, which recognizes JPEG files. The module `jpeg_ops` decodes and encodes
them.
"""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope

_FIRST_BYTES = b"\xff\xd8\xff"


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Return a bool scalar that states whether the file contents in a string scalar begin with the
    signature of a JPEG file.
    """
    with op_scope(name, "is_jpeg", contents):
        start = raw_ops.Substr(contents, 0, len(_FIRST_BYTES))
        return raw_ops.Equal(start, _FIRST_BYTES, name=name)
