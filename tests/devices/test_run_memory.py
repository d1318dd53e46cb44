"""Memory that runs time-share: blocks for arenas, and scratch, which steps share."""

import gc

import numpy as np

import gpugraph as tf
from gpugraph.base.dtypes import uint8
from gpugraph.compile.steps import kernel_context
from gpugraph.devices import ArenaBlock, Block, Lease, RunMemory, ScratchPool
from tests.compile.stages import make_target

MIB = 1 << 20


def in_use(device):
    """Return the requested bytes: BFC allocates more."""
    return sum(num_bytes for num_bytes, _ in device.owners.values())


def test_arenas_that_fit_are_in_one_block():
    (device,) = make_target().devices
    memory = RunMemory("a test's")
    first = memory.lease(device, 5 * MIB, "a run of x")
    others = [memory.lease(device, size, "a run of y") for size in (100, 5 * MIB)]
    assert {lease.block for lease in others} == {first.block}
    assert in_use(device) == 5 * MIB
    assert list(device.owners.values()) == [(5 * MIB, "a run of x and 1 other plan, alternately")]
    first.release()
    assert list(device.owners.values()) == [(5 * MIB, "a run of y")]
    for lease in others:
        lease.release()
    assert in_use(device) == 0 and not device.owners


def test_a_larger_arena_takes_the_place_of_smaller_ones():
    (device,) = make_target().devices
    leases: list[Lease] = []

    def give_up(block: ArenaBlock) -> None:
        for lease in [lease for lease in leases if lease.block is block]:
            leases.remove(lease)
            lease.release()

    memory = RunMemory("a test's", give_up)
    for mebibytes in range(2, 12):
        leases.append(memory.lease(device, mebibytes * MIB, f"a run of {mebibytes}"))
        assert in_use(device) == mebibytes * MIB
    leases.append(memory.lease(device, 1000, "a run of 1000 bytes"))
    assert in_use(device) == 11 * MIB


def test_a_little_beside_the_largest_block_stays():
    (device,) = make_target().devices
    memory = RunMemory("a test's", lambda block: 1 / 0)
    sizes = [100, 1000, 10_000, 100_000, MIB, 16 * MIB]
    leases = [memory.lease(device, size, "a run") for size in sizes]
    assert len({lease.block for lease in leases}) == len(sizes)


def test_a_block_that_a_run_keeps_is_no_place_for_further_arenas():
    (device,) = make_target().devices
    given_up: list[ArenaBlock] = []
    memory = RunMemory("a test's", given_up.append)
    small = memory.lease(device, 2 * MIB, "a run that goes on")
    large = memory.lease(device, 8 * MIB, "a run of more")
    assert given_up == [small.block] and in_use(device) == 10 * MIB
    large.release()
    again = memory.lease(device, MIB, "a run of less")
    assert again.block is not small.block
    small.release()
    again.release()
    given_up.clear()
    gc.collect()
    assert in_use(device) == 0


def test_a_block_of_which_little_is_needed_any_more_is_given_up():
    (device,) = make_target().devices
    given_up: list[ArenaBlock] = []
    memory = RunMemory("a test's", given_up.append)
    large, small = (memory.lease(device, size, "a run") for size in (8 * MIB, 3 * MIB))
    memory.trim()
    assert not given_up
    large.release()
    memory.trim()
    assert given_up == [small.block]


def test_without_room_there_is_no_lease():
    device = make_target(gpus=[4]).devices[1]
    memory = RunMemory("a test's")
    assert memory.lease(device, 5 * MIB, "a run") is None
    assert memory.lease(device, 4 * MIB, "a run").block.num_bytes == 4 * MIB


def test_a_step_has_blocks_of_its_own_and_steps_share_them():
    (device,) = make_target().devices
    pool = ScratchPool(device)
    first = pool.lease(1000, (), "a").block
    second = pool.lease(1000, [first], "a").block
    assert first is not second
    assert pool.lease(500, (), "b").block in (first, second)
    assert pool.lease(1000, [second], "b").block is first
    leases = [pool.lease(100_000, (), "c")]
    large = leases[0].block
    assert large not in (first, second)
    leases += [pool.lease(600, [first, second], "d") for _ in range(2)]
    assert {lease.block for lease in leases} == {large}
    device.view(large.address, (100_000,), uint8)[...] = 1
    assert device.view(large.address, (100_000,), uint8).all()
    for lease in leases:
        assert large.address is not None
        lease.release()
    assert large.address is None
    assert pool.lease(600, [first, second], "d").block is not large


def test_a_block_that_its_last_user_is_leaving_is_joined_by_nobody(monkeypatch):
    """A run that ends gives memory back while another thread compiles."""
    (device,) = make_target().devices
    memory, pool = RunMemory("a test's"), ScratchPool(device)
    arena, scratch = memory.lease(device, 1000, "a run"), pool.lease(1000, (), "a")
    late: list[Lease] = []
    release = Block.release

    def compiled_meanwhile(block):
        monkeypatch.undo()
        late.append(memory.lease(device, 1000, "another run"))
        late.append(pool.lease(1000, (), "b"))
        release(block)

    for lease in (arena, scratch):
        monkeypatch.setattr(Block, "release", compiled_meanwhile)
        lease.release()
        assert all(other.block.address is not None for other in late)
        device.view(late[-1].block.address, (1000,), uint8)[...] = 1


def loss_of_many_convolutions():
    x = tf.placeholder(tf.float32, [2, 32, 32, 8])
    y = x
    for number in range(8):
        kernel = tf.constant(np.random.RandomState(number).normal(0, 0.1, (3, 3, 8, 8)))
        y = tf.nn.relu(tf.nn.conv2d(y, tf.cast(kernel, "float32"), [1, 1, 1, 1], "SAME"))
    return x, [tf.reduce_sum(y), *tf.gradients(tf.reduce_sum(y), x)]


def memory_and_results():
    x, fetches = loss_of_many_convolutions()
    values = np.random.RandomState(0).normal(size=x.shape.as_list())
    with tf.Session() as session:
        arenas = session.explain(fetches, {x: values}).arena_bytes
        results = [session.run(fetches, {x: values}) for _ in range(3)]
        (stats,) = session.memory_stats().values()
        return stats.bytes_in_use - sum(arenas.values()), results


def test_a_plan_holds_what_the_largest_step_needs(monkeypatch):
    shared, results = memory_and_results()
    monkeypatch.setattr(
        kernel_context.KernelBinding, "scratch", kernel_context.KernelBinding.lasting
    )
    apart, expected = memory_and_results()
    assert apart > 4 * shared > 0
    for run, wanted in zip(results, expected):
        assert [a.tobytes() for a in run] == [b.tobytes() for b in wanted]
