"""Callables that copy a tensor from one storage to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gpugraph.compile.steps.kernel_context import Cell, Place
from gpugraph.compile.steps.plan_arrays import Arrays, is_cell
from gpugraph.compile.unit.compile_unit import Home, TensorId
from gpugraph.devices import Device
from gpugraph.plan import Run


class Move(NamedTuple):
    """The arguments of a copy by `move`, except the arrays."""

    device: Device
    source: Place
    target: Place
    take: bool


def target_of(source: Home, target: Home) -> Home:
    """Return the target of a copy. A loop variable outside of the arena gets the shape of the
    source, because its size may differ between iterations.
    """
    return target._replace(shape=source.shape) if target.storage.kind == "aside" else target


def move(arrays: Arrays, device: Device, source: Place, target: Place, take: bool = False) -> Run:
    """Return a callable that copies a tensor to another storage on the same device.

    Args:
      take: whether the target may take over the memory of the source, because the source is not
        used afterwards.
    """
    run = _move(arrays, device, source, target, take)
    arrays.moves[run] = Move(device, source, target, take)
    return run


def _move(arrays: Arrays, device: Device, source: Place, target: Place, take: bool) -> Run:
    (_, home), (_, target_home) = source, target
    if take and is_cell(home.storage) and target_home.storage.kind == "cell":
        return _taking(arrays.cell(home.storage), arrays.cell(target_home.storage))
    if "cell" in (home.storage.kind, target_home.storage.kind):
        return copying(arrays, device, device, arrays.source(*source), target_home)
    result = arrays.array(target_home)
    if target_home.storage.kind == "object":
        return _referring(arrays.array(home), result)
    run = device.copy_from(device, arrays.array(home), result)
    if arrays.is_plain(home) and arrays.is_plain(target_home):
        arrays.copies[run] = (arrays.array(home), result)
    return run


def copying(
    arrays: Arrays, source: Device, target: Device, read: Callable[[], Any], home: Home
) -> Run:
    """Return a callable that copies an array from one device to another. `read` returns the array,
    which may have any size.
    """
    if home.storage.kind != "cell":
        result = arrays.array(home)
        return lambda: target.copy_from(source, read(), result)()
    cell = arrays.cell(home.storage)

    def fill() -> None:
        array = read()
        block = target.allocate(tuple(array.shape), home.dtype, cell.name)
        target.copy_from(source, array, block.array)()
        cell.fill(block)

    return fill


@dataclass(frozen=True, slots=True, eq=False)
class Releasing:
    """A callable that calls `run` and then releases the cells."""

    run: Run
    cells: Sequence[Cell]

    def __call__(self) -> None:
        self.run()
        self.release()

    def release(self) -> None:
        """Release the cells."""
        for cell in self.cells:
            cell.release()


def releasing(run: Run, cells: Sequence[Cell]) -> Run:
    """Return a callable that calls `run` and then releases the cells."""
    return Releasing(run, cells) if cells else run


@dataclass(frozen=True, slots=True, eq=False)
class InOrder:
    """A callable that calls two other callables, one after the other."""

    first: Run
    second: Run

    def __call__(self) -> None:
        self.first()
        self.second()


@dataclass(frozen=True, slots=True, eq=False)
class WriteIndex:
    """A callable that writes the index of the Merge input that has a value.

    Args:
      key: the tensor that `array` holds.
    """

    key: TensorId
    array: Any
    value: int

    def __call__(self) -> None:
        self.array[()] = self.value


def do_nothing() -> None:
    """Do nothing. This is the step for a tensor that is already in its target storage."""


def _taking(source: Cell, target: Cell) -> Run:
    def take() -> None:
        source.array  # noqa: B018 - an error if there is none
        block, source.block = source.block, None
        assert block is not None
        target.fill(block)

    return take


def _referring(handle: Any, result: Any) -> Run:
    def refer() -> None:
        result[()] = handle[()]

    return refer
