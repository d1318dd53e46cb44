"""Callables that copy a tensor from one storage to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.compile.steps.kernel_context import Cell, Place
from gpugraph.compile.steps.plan_arrays import Arrays, is_cell
from gpugraph.compile.unit.compile_unit import Home
from gpugraph.devices import Device
from gpugraph.plan import Run


def move(arrays: Arrays, device: Device, source: Place, target: Place, take: bool = False) -> Run:
    """Return a callable that copies a tensor to another storage on a device. take: whether the
    source is not used afterwards, so that the target may take over its memory.
    """
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
    """Return a callable that copies the array returned by `read` from one device to another. The
    array may have any size.
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


def releasing(run: Run, cells: Sequence[Cell]) -> Run:
    """Return a callable that calls `run` and then releases the cells."""
    if not cells:
        return run

    def run_and_release() -> None:
        run()
        for cell in cells:
            cell.release()

    return run_and_release


def do_nothing() -> None:
    """Do nothing: the step for a tensor that is already in its target storage."""


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
