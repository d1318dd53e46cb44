"""Nodes and their kernels while they are bound, and the cells of tensors whose size is known only
during a run.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

from gpugraph.base.dtypes import OBJECTS, DType
from gpugraph.base.errors import InternalError
from gpugraph.compile.unit.compile_unit import Home, TensorId
from gpugraph.compile.unit.jit_settings import Jit
from gpugraph.devices import (
    Block,
    Device,
    KeptTensors,
    NewHandle,
    Resources,
    ScratchPool,
    VariableState,
)
from gpugraph.devices.native import prepare_source
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.kernel import CompiledFile, Kernel, reference

Shapes = Sequence[tuple[int, ...]]

Place = tuple[TensorId, Home]
"""The key of a tensor, and its home."""


class Cell:
    """A tensor of the plan that is allocated during a run and freed after its last use."""

    __slots__ = ("block", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.block: Block | None = None

    @property
    def array(self) -> Any:
        """The tensor's array. Raises InternalError if the tensor is not allocated."""
        if self.block is None:
            raise InternalError.of_no_node(f"The tensor '{self.name}' holds no value")
        return self.block.array

    def fill(self, block: Block) -> None:
        """Use `block` as the tensor's memory, and release the previous block."""
        self.release()
        self.block = block

    def release(self) -> None:
        """Free the tensor."""
        block, self.block = self.block, None
        if block is not None:
            block.release()


@dataclass
class BoundNode:
    """A node with its kernel, its tensors, and the device that runs the kernel.

    Args:
      refusals: the object that receives reports of bad input from the plan's kernels on `runner`,
        or None if kernels raise errors themselves.
      host: the inputs whose values the kernel reads on the host.
      is_late: whether the kernel reads the values of these inputs in each run.
      array_slots: the inputs that the kernel receives as arrays.
    """

    node: Node
    kernel: Kernel
    runner: Any
    refusals: Any
    variables: dict[int, VariableState]
    inputs: Sequence[Place]
    outputs: Sequence[Place]
    host: frozenset[int]
    is_late: bool = field(init=False)
    array_slots: Sequence[int] = field(init=False)

    def __post_init__(self) -> None:
        self.is_late = reference(self.kernel).late
        slots = range(len(self.inputs))
        if self.is_late or not self.host:
            self.array_slots = slots
        else:
            self.array_slots = [slot for slot in slots if slot not in self.host]


class KernelMemory(NamedTuple):
    """The memory that kernels obtain. There is a list for each time at which memory is released.

    Args:
      owned: memory that is released with the plan or, if the step is bound in each run, after the
        step.
      kept: memory that is released when the run ends.
      pools: the blocks that steps share, by device. Several plans may time-share these blocks.
    """

    owned: list[Any]
    kept: list[Any]
    pools: dict[str, ScratchPool]

    def pooled(self, device: Device, num_bytes: int, but: Collection[Block], user: str) -> Block:
        """Return a block that several steps share and that is not among the blocks `but`. Add the
        lease of the block to `owned`.
        """
        pool = self.pools.setdefault(device.name, ScratchPool(device))
        lease = pool.lease(num_bytes, but, user)
        self.owned.append(lease)
        return lease.block


class KernelBinding:
    """The `KernelContext` of one step's kernel."""

    def __init__(
        self,
        bound: BoundNode,
        input_shapes: Shapes,
        output_shapes: Shapes,
        values: Mapping[int, Any],
        memory: KernelMemory,
        resources: Resources,
        jit: Jit,
    ) -> None:
        node = bound.node
        self.name = node.name
        self.attrs = node.attrs
        self.input_types: Sequence[DType] = node.input_types
        self.output_types: Sequence[DType] = node.output_types
        self.input_shapes = input_shapes
        self.output_shapes = output_shapes
        self.on_host = bound.host if bound.is_late else frozenset()
        self._values = values
        self._variables = bound.variables
        self._device: Device = bound.runner
        self._memory = memory
        self._resources = resources
        self._jit = jit
        self._scratch_blocks: list[Block] = []
        self._passing: dict[int, Block] = {}

    def value(self, index: int) -> Any:
        """Return the value of host input `index`. Raises InternalError if that input is not a host
        input.
        """
        if index not in self._values:
            raise InternalError.of_no_node(
                f"The kernel of '{self.name}' reads input {index} as a host input, which it is not"
            )
        return self._values[index]

    def scratch(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """Return an array on the device that is valid while the step runs.

        On a GPU, no other step uses the array, because launches of several steps may be joined.
        """
        if self._device.has_kernels or dtype.base_dtype in OBJECTS or not prod(shape):
            return self.lasting(shape, dtype)
        passing = [block for slot, block in self._passing.items() if slot >= 0]
        array, block = self._pooled(shape, dtype, [*self._scratch_blocks, *passing])
        self._scratch_blocks.append(block)
        return array

    def lasting(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """Return an array on the device that lives as long as the plan. In a step that is bound in
        each run, the array lives until the step ends.
        """
        block = self.allocate(shape, dtype)
        self.own(block)
        return block.array

    def passing(self, slot: int, shape: tuple[int, ...], dtype: DType) -> Any:
        """Return the temporary array with number `slot` on the device. The array is valid while the
        step runs.

        Native code uses negative numbers. It runs instead of the NumPy kernel, so its arrays may
        share memory with the scratch arrays of that kernel.
        """
        passing = self._passing.items()
        others = [b for other, b in passing if other != slot and (other < 0) >= (slot < 0)]
        array, block = self._pooled(
            shape, dtype, [*others, *self._scratch_blocks] if slot >= 0 else others
        )
        self._passing[slot] = block
        return array

    def _pooled(
        self, shape: tuple[int, ...], dtype: DType, but: Collection[Block]
    ) -> tuple[Any, Block]:
        """Return an array in a block that several steps share and that is not among the blocks
        `but`.
        """
        num_bytes = max(prod(shape), 1) * dtype.itemsize
        block = self._memory.pooled(self._device, num_bytes, but, self.name)
        return self._device.view(block.address, shape, dtype), block

    def owning(self, owned: list[Any]) -> KernelBinding:
        """Return a copy of the context that obtains separate memory and records it in `owned`."""
        binding = copy.copy(self)
        binding._memory = self._memory._replace(owned=owned, pools={})
        binding._scratch_blocks, binding._passing = [], {}
        return binding

    def allocate(self, shape: tuple[int, ...], dtype: DType) -> Block:
        """Return a block of the device's memory. The caller must release the block."""
        return self._device.allocate(shape, dtype, self.name)

    def new_handle(self, block: Block) -> NewHandle:
        """Return a session handle of a block. If a run returns the handle, the session keeps the
        block.
        """
        return self._resources.kept.new_handle(self.name, block, self._device.name)

    @property
    def kept_tensors(self) -> KeptTensors:
        """The tensors that the session keeps between runs."""
        return self._resources.kept

    def own(self, container: Any) -> None:
        """Arrange for `container.release()` to be called when the plan is released."""
        self._memory.owned.append(container)

    def keep(self, container: Any) -> None:
        """Arrange for `container.release()` to be called when the run ends."""
        self._memory.kept.append(container)

    def state(self, make: Callable[[], Any]) -> Any:
        """Return the state that the session keeps for this node. If the state does not exist yet,
        `make` creates it.
        """
        return self._resources.state(self.name, make)

    def shared(self, container: str, name: str, make: Callable[[], Any]) -> Any:
        """Return the object that the session keeps under a container and a name, for use by all
        nodes. If the object does not exist yet, `make` creates it.
        """
        return self._resources.shared_object(container, name, make)

    def function(self, function: Any) -> Any:
        """Return a new callable that runs a function of the graph. The session compiles this
        function.
        """
        return self._resources.functions.bound(function)

    def compiled(self, file: str, dtype: str = "float32") -> Callable[[float], CompiledFile | None]:
        """Return a function that waits for a C file of `kernels/` to be compiled.

        The argument of the returned function is the maximum wait in seconds. The returned function
        returns the compiled file, or None if the file is not compiled within that time or native
        code is disabled.
        """
        if not self._jit.is_on:
            return lambda seconds: None
        prepared = prepare_source(file, dtype)
        if self._jit.waits:
            return lambda seconds: prepared.get(wait=True)
        return prepared.get_within

    def variable(self, index: int) -> VariableState:
        """Return the variable to which the reference input `index` refers."""
        return self._variables[index]
