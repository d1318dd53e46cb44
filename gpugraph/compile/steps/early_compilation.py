"""Early compilation: while the first plan of a graph runs, the C files that later plans need are
compiled.

The first run of a program usually runs its initializers, and the compiler is idle meanwhile. Some
files that later plans need are already known: convolutions, poolings and large matrix products call
functions of C files in `kernels/`, which do not depend on a plan.
"""

from __future__ import annotations

from math import prod
from weakref import WeakKeyDictionary

from gpugraph.base.dtypes import float32, float64
from gpugraph.compile.analysis.native_cost import WORTHWHILE_BYTES
from gpugraph.compile.unit.compile_unit import Target
from gpugraph.compile.unit.jit_settings import jit
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.native import TILED_PRODUCTS, pays_by_tiles, prepare_source
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.kernel import CSource, MatrixProducts
from gpugraph.ops.framework.op_declaration import DECLARATIONS

_SEEN: WeakKeyDictionary[Graph, int] = WeakKeyDictionary()
"""The number of ops of each graph that have been examined."""


_LARGE_PRODUCT = 1 << 24
"""The minimum number of multiplications of a large matrix product: these take 0.3 ms."""

_ROWS = 32
"""The assumed number of rows of a batch of unknown size."""


def compile_early(target: Target, graph: Graph) -> None:
    """Start to compile the C files that the graph's ops with large results need. Files that the
    current plan needs come first.
    """
    settings = jit(target.config)
    on_host = all(device.device_type == "CPU" for device in target.devices)
    if not settings.is_on or settings.waits or not on_host:
        return
    first = _SEEN.get(graph, 0)
    if graph.version == first:
        return
    operations = graph.get_operations()[first:]
    _SEEN[graph] = first + len(operations)
    types = set(filter(_has_file, {op._op_def.name for op in operations}))
    of_types = [op for op in operations if op._op_def.name in types] if types else ()
    files = dict.fromkeys(filter(None, map(_file_of, of_types)))
    if files:
        with compiler().together():
            for file, dtype in files:
                prepare_source(file, dtype)


def _has_file(op_type: str) -> bool:
    """Return whether ops of this type may call a function of a C file."""
    decl = DECLARATIONS.get(op_type)
    return decl is not None and isinstance(decl.native, (CSource, MatrixProducts))


def _file_of(op: Operation) -> tuple[str, str] | None:
    """Return the C file with an op's function, and the name of the dtype for which the file must be
    compiled. Return None if the op's result is small.
    """
    native = DECLARATIONS[op.type].native
    if not isinstance(native, CSource):
        return _products_file(op)
    result = op.outputs[0]
    dtype = result.dtype.base_dtype
    sizes = result.shape.as_list() if result.shape.rank is not None else [0]
    num_bytes = prod(1 if size is None else size for size in sizes) * dtype.size
    if dtype not in (float32, float64) or num_bytes < WORTHWHILE_BYTES:
        return None
    return native.file, dtype.name


def _products_file(op: Operation) -> tuple[str, str] | None:
    """Return the C file of tiled matrix products, and the dtype for which the file must be
    compiled. Return None if the product is small or its size is unknown.
    """
    a, result = op.inputs[0], op.outputs[0]
    if a.shape.rank is None or result.shape.rank is None:
        return None
    is_turned = op.attrs.get("transpose_a") or op.attrs.get("adj_x")
    *ahead, columns = result.shape.as_list()
    depth = a.shape.as_list()[-2 if is_turned else -1]
    rows = prod(_ROWS if size is None else size for size in ahead)
    dtype = result.dtype.base_dtype
    if dtype not in (float32, float64) or columns is None or depth is None:
        return None
    is_large = rows * columns * depth >= _LARGE_PRODUCT and pays_by_tiles(rows, columns, depth)
    return (TILED_PRODUCTS, dtype.name) if is_large else None
