"""Arena plans: no overlap, little waste, in reasonable time."""

import random
import time

import pytest
from hypothesis import given, strategies as st

from gpugraph.base.errors import InternalError, InvalidArgumentError
from gpugraph.memory import ArenaPlan, Lifetime, check_offsets, lower_bound, plan_offsets


def make_lifetime(row: tuple[int, int, int]) -> Lifetime:
    size, first, length = row
    return Lifetime(size, first, first + length)


LIFETIMES = st.lists(
    st.tuples(st.integers(0, 5000), st.integers(-5, 30), st.integers(0, 12)).map(make_lifetime),
    max_size=60,
)


def overlaps(lifetimes: list[Lifetime], plan: ArenaPlan) -> bool:
    """Return the definition, pair by pair."""
    for i, a in enumerate(lifetimes):
        for j, b in enumerate(lifetimes[:i]):
            shared_step = a.first <= b.last and b.first <= a.last
            low = max(plan.offsets[i], plan.offsets[j])
            high = min(plan.offsets[i] + a.size, plan.offsets[j] + b.size)
            if shared_step and low < high:
                return True
    return False


@given(LIFETIMES, st.sampled_from([1, 64, 256]))
def test_plans_are_sound_and_no_smaller_than_the_bound(
    lifetimes: list[Lifetime], alignment: int
) -> None:
    plan = plan_offsets(lifetimes, alignment)
    assert not overlaps(lifetimes, plan)
    check_offsets(lifetimes, plan)
    assert all(offset % alignment == 0 for offset in plan.offsets)
    assert (
        lower_bound(lifetimes)
        <= plan.size
        <= sum(-(-s // alignment) * alignment for s, _, _ in lifetimes)
    )
    assert all(plan.offsets[i] == 0 for i, row in enumerate(lifetimes) if row.size == 0)
    assert plan == plan_offsets(lifetimes, alignment)


@given(LIFETIMES, st.randoms(use_true_random=False))
def test_the_check_agrees_with_the_definition(
    lifetimes: list[Lifetime], rng: random.Random
) -> None:
    offsets = [64 * rng.randrange(200) for _ in lifetimes]
    plan = ArenaPlan(offsets, 1 << 30)
    if overlaps(lifetimes, plan):
        with pytest.raises(InternalError, match="share bytes"):
            check_offsets(lifetimes, plan)
    else:
        check_offsets(lifetimes, plan)


@given(LIFETIMES)
def test_the_bound_is_the_busiest_step(lifetimes: list[Lifetime]) -> None:
    steps = range(-5, 43)
    live = [sum(s for s, first, last in lifetimes if first <= t <= last) for t in steps]
    assert lower_bound(lifetimes) == max(live)


def test_dead_buffers_make_room_and_touching_steps_do_not() -> None:
    chain = [Lifetime(1024, 0, 1), Lifetime(512, 1, 2), Lifetime(1024, 2, 3)]
    plan = plan_offsets(chain)
    assert plan.size == 1536
    assert plan.offsets[0] == plan.offsets[2] != plan.offsets[1]


def test_nothing_to_plan() -> None:
    assert plan_offsets([]) == ArenaPlan([], 0)
    assert plan_offsets([Lifetime(0, 0, 9)]) == ArenaPlan([0], 0)
    assert lower_bound([]) == 0


def test_a_hole_at_the_top_is_grown_over() -> None:
    lifetimes = [Lifetime(64, 0, 9), Lifetime(64, 0, 0), Lifetime(640, 1, 1)]
    assert plan_offsets(lifetimes).size == 704


@pytest.mark.parametrize("alignment", [0, -64, 48])
def test_alignments_are_powers_of_two(alignment: int) -> None:
    with pytest.raises(InvalidArgumentError, match=str(alignment)):
        plan_offsets([], alignment)


@pytest.mark.parametrize("lifetime", [Lifetime(-1, 0, 0), Lifetime(1, 2, 1)])
def test_lifetimes_make_sense(lifetime: Lifetime) -> None:
    with pytest.raises(InvalidArgumentError, match="Lifetime 1 has size"):
        plan_offsets([Lifetime(1, 0, 0), lifetime])


def test_wrong_plans_are_told_apart() -> None:
    one = [Lifetime(10, 0, 0)]
    with pytest.raises(InternalError, match="1 lifetimes but 0 offsets"):
        check_offsets(one, ArenaPlan([], 10))
    for offset in (-1, 1):
        with pytest.raises(InternalError, match=r"buffer 0 .*leaves"):
            check_offsets(one, ArenaPlan([offset], 10))


def layered(layers: int, seed: int) -> list[Lifetime]:
    """Return a training step: activations kept from forward to backward, gradients, workspaces."""
    rng = random.Random(seed)
    lifetimes = []
    for i in range(layers):
        back = 2 * layers - 1 - i
        size = 64 * rng.choice([3, 64, 100, 200, 400, 1600])
        lifetimes += [
            Lifetime(size, i, back),
            Lifetime(64 * rng.randrange(1, 500), i, i + rng.randrange(3)),
            Lifetime(size, back, back + 1),
            Lifetime(64 * rng.randrange(1, 300), back, back),
        ]
    return lifetimes


def scattered(count: int, seed: int) -> list[Lifetime]:
    rng = random.Random(seed)
    lifetimes = []
    for _ in range(count):
        first = rng.randrange(count)
        last = first + int(rng.expovariate(1 / 50))
        lifetimes.append(Lifetime(64 * rng.randrange(1, 2000), first, last))
    return lifetimes


@pytest.mark.parametrize("layers", [10, 50, 250])
def test_training_steps_of_usual_size_waste_almost_nothing(layers: int) -> None:
    for seed in range(3):
        lifetimes = layered(layers, seed)
        assert plan_offsets(lifetimes).size <= 1.01 * lower_bound(lifetimes)


@pytest.mark.parametrize(
    ("lifetimes", "ratio"),
    [(layered(5000, 1), 1.05), (scattered(1000, 1), 1.15), (scattered(20000, 1), 1.2)],
    ids=["layered 20,000", "scattered 1,000", "scattered 20,000"],
)
def test_waste_is_small(lifetimes: list[Lifetime], ratio: float) -> None:
    plan = plan_offsets(lifetimes)
    check_offsets(lifetimes, plan)
    assert plan.size <= ratio * lower_bound(lifetimes)


def test_large_plans_take_seconds_not_minutes() -> None:
    lifetimes = scattered(60_000, 2)
    start = time.monotonic()
    plan = plan_offsets(lifetimes)
    assert time.monotonic() - start < 10
    check_offsets(lifetimes, plan)
