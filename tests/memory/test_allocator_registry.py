"""Factories by name and priority."""

from collections.abc import Iterator

import pytest

from gpugraph.base.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
)
from gpugraph.memory import AllocatorRegistry, BFCAllocator, FakeSubAllocator, HostSubAllocator


def factory(name: str) -> BFCAllocator:
    return BFCAllocator(FakeSubAllocator(), 1 << 20, name)


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(AllocatorRegistry, "_entries", [])
    yield


@pytest.mark.usefixtures("empty")
def test_the_highest_priority_wins_and_its_allocator_is_kept() -> None:
    AllocatorRegistry.register("low", 50, lambda: factory("low"))
    AllocatorRegistry.register("high", 200, lambda: factory("high"))
    AllocatorRegistry.register("also high", 200, lambda: factory("also high"))
    assert AllocatorRegistry.get_allocator().name == "high"
    assert AllocatorRegistry.get_allocator() is AllocatorRegistry.get_allocator()


@pytest.mark.usefixtures("empty")
def test_new_allocators_are_new_and_settle_nothing() -> None:
    AllocatorRegistry.register("low", 50, lambda: factory("low"))
    assert AllocatorRegistry.new_allocator() is not AllocatorRegistry.new_allocator()
    AllocatorRegistry.register("high", 51, lambda: factory("high"))
    assert AllocatorRegistry.new_allocator().name == "high"
    assert AllocatorRegistry.new_allocator() is not AllocatorRegistry.get_allocator()


@pytest.mark.usefixtures("empty")
def test_a_duplicate_names_the_place_of_the_first() -> None:
    AllocatorRegistry.register("mine", 1, lambda: factory("mine"))
    AllocatorRegistry.register("mine", 2, lambda: factory("mine"))
    with pytest.raises(
        AlreadyExistsError, match=r"name=mine priority=1 .*test_allocator_registry\.py:\d+$"
    ):
        AllocatorRegistry.register("mine", 1, lambda: factory("mine"))


@pytest.mark.usefixtures("empty")
def test_bad_registrations() -> None:
    with pytest.raises(InvalidArgumentError, match="name"):
        AllocatorRegistry.register("", 1, lambda: factory("x"))
    with pytest.raises(InvalidArgumentError, match="negative"):
        AllocatorRegistry.register("x", -1, lambda: factory("x"))


@pytest.mark.usefixtures("empty")
def test_without_factories_there_is_no_allocator() -> None:
    with pytest.raises(NotFoundError, match="No registered CPU AllocatorFactory"):
        AllocatorRegistry.get_allocator()
    with pytest.raises(NotFoundError, match="No registered CPU AllocatorFactory"):
        AllocatorRegistry.new_allocator()
    with pytest.raises(NotFoundError, match="name=x priority=1"):
        AllocatorRegistry.unregister("x", 1)


@pytest.mark.usefixtures("empty")
def test_once_an_allocator_is_given_no_factory_may_come() -> None:
    AllocatorRegistry.register("first", 1, lambda: factory("first"))
    allocator = AllocatorRegistry.get_allocator()
    with pytest.raises(FailedPreconditionError, match="after call to GetAllocator"):
        AllocatorRegistry.register("late", 2, lambda: factory("late"))
    AllocatorRegistry.unregister("first", 1)
    AllocatorRegistry.register("first", 1, lambda: factory("first"))
    assert AllocatorRegistry.get_allocator() is not allocator


def test_the_default_is_bfc_over_host_memory() -> None:
    default = AllocatorRegistry.new_allocator()
    assert isinstance(default, BFCAllocator)
    assert isinstance(default.sub_allocator, HostSubAllocator)
    assert default.name == "cpu"
    address = default.allocate_raw(1000)
    assert address is not None
    base, buffer = default.host_region(address)
    memoryview(buffer)[address - base : address - base + 1000] = b"x" * 1000
    assert len(buffer) == 1 << 20
    assert default.memory_limit > 1 << 20
