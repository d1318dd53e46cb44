"""Moves: from the place of one tensor to that of another on the same device, when called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.compile.steps.kernel_context import Cell
from gpugraph.compile.steps.plan_arrays import Arrays
from gpugraph.compile.unit.compile_unit import Home, TensorId
from gpugraph.devices import Device

Place = tuple[TensorId, Home]


def move(
    arrays: Arrays, device: Device, source: Place, target: Place, take: bool = False
) -> Callable[[], Any]:
    """What copies a tensor. With `take`, nobody needs the source afterwards."""
    _, home = source
    _, own = target
    read = arrays.source(*source)
    if own.storage.kind == "cell":
        cell = arrays.cell(own.storage)
        if home.storage.kind == "cell" and home.storage.node is None and take:
            return _taking(arrays.cell(home.storage), cell)
        return _filling(device, read, cell, own)
    result = arrays.array(own)
    if home.storage.kind == "cell":
        return _writing(device, read, result)
    if own.storage.kind == "object":
        return _referring(arrays.array(home), result)
    return device.copy_from(device, arrays.array(home), result)


def _taking(source: Cell, target: Cell) -> Callable[[], Any]:
    def take() -> None:
        source.array  # noqa: B018 - an error if there is none
        block, source.block = source.block, None
        assert block is not None
        target.fill(block)

    return take


def _filling(device: Device, read: Callable[[], Any], cell: Cell, own: Home) -> Callable[[], Any]:
    def fill() -> None:
        array = read()
        block = device.allocate(tuple(array.shape), own.dtype, cell.name)
        device.copy_from(device, array, block.array)()
        cell.fill(block)

    return fill


def _writing(device: Device, read: Callable[[], Any], result: Any) -> Callable[[], Any]:
    def write() -> None:
        device.copy_from(device, read(), result)()

    return write


def _referring(handle: Any, result: Any) -> Callable[[], Any]:
    def refer() -> None:
        result[()] = handle[()]

    return refer
