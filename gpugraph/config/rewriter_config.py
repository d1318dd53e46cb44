"""RewriterConfig: which rewrites of the graph are done, by TensorFlow's names for them."""

from __future__ import annotations

from gpugraph.base.proto_messages import (
    EnumType,
    Field,
    Message,
    boolean,
    choice,
    integer,
    list_of,
    map_of,
    message,
    messages_of,
    text,
    to_str,
    without_effect,
)

_TOGGLE = EnumType("Toggle", DEFAULT=0, ON=1, OFF=2, AGGRESSIVE=3)


def _toggle() -> Field[int]:
    return choice(_TOGGLE)


def _unused_toggles() -> tuple[Field[int], Field[int], Field[int]]:
    return without_effect(_toggle()), without_effect(_toggle()), without_effect(_toggle())


class AutoParallelOptions(Message):
    """Copies of a graph that would train beside each other."""

    enable, num_replicas = boolean(), integer()


class ScopedAllocatorOptions(Message):
    """Fields: enable_op, the op types that are done at once; CollectiveReduce if there are none."""

    enable_op = list_of(to_str)


class VerifierConfig(Message):
    """How graphs would be checked between rewrites."""

    DEFAULT, ON, OFF = 0, 1, 2
    Toggle = EnumType("Toggle", DEFAULT=DEFAULT, ON=ON, OFF=OFF)

    verification_timeout_in_ms = integer()
    structure_verifier = choice(Toggle)


class CustomGraphOptimizer(Message):
    """A rewrite that a program has registered."""

    _protobuf_name = "RewriterConfig.CustomGraphOptimizer"

    name = text()
    parameter_map = map_of(lambda where, value: value)


class RewriterConfig(Message):
    """Which rewrites of the graph are done, one by one.

    Fields:
      constant_folding: what follows from constants and known shapes becomes constant.
      arithmetic_optimization: ops that cancel each other, or change nothing, are left out.
      common_subgraph_elimination: ops that compute the same are done once.
      dependency_optimization: ops that are only waited for, and change nothing, are not run.
      remapping: a convolution, the addition of a bias and an activation are one op; so are, on
        GPUs, a matrix product and what follows it, and attention.
      loop_optimization: a loop does not keep what its gradient can compute of what else it keeps.
      disable_meta_optimizer: none of these.
      memory_optimization: with HEURISTICS or RECOMPUTATION_HEURISTICS gradients compute cheap parts
        of the forward pass again, so that these are not stored until then. With HEURISTICS or
        SWAPPING_HEURISTICS tensors of GPUs are on the host between an early and a late use, where
        copies are hidden. With MANUAL, and with these, so are inputs that ops name in their attr
        `_swap_to_host`, and ops with the attr `_recompute_hint` are computed again.
      memory_optimizer_target_node_name_scope: the scope of gradients; `gradients/` if empty.
      scoped_allocator_optimization: where it is ON, CollectiveReduce ops of one group over several
        processes are done at once (`docs/cluster.md`); scoped_allocator_opts names the op types.
      recomputation_limit_mb: not TensorFlow's. Recompute only if a step needs more MiB for its
        arenas, and then, where cheap parts do not do, all between checkpoints.
    Each of the first six is ON, OFF, AGGRESSIVE (here the same as ON), or DEFAULT: as
    OptimizerOptions says. The other fields are TensorFlow's too, and have no effect here:
    `Session.explain` says so where one is set.
    """

    DEFAULT, ON, OFF, AGGRESSIVE = _TOGGLE.values()
    Toggle = _TOGGLE

    DEFAULT_NUM_ITERS, ONE, TWO = range(3)
    NumIterationsType = EnumType(
        "NumIterationsType", DEFAULT_NUM_ITERS=DEFAULT_NUM_ITERS, ONE=ONE, TWO=TWO
    )

    DEFAULT_MEM_OPT, NO_MEM_OPT, MANUAL, HEURISTICS = range(4)
    SWAPPING_HEURISTICS, RECOMPUTATION_HEURISTICS, SCHEDULING_HEURISTICS = range(4, 7)
    MemOptType = EnumType(
        "MemOptType",
        DEFAULT_MEM_OPT=DEFAULT_MEM_OPT,
        NO_MEM_OPT=NO_MEM_OPT,
        MANUAL=MANUAL,
        HEURISTICS=HEURISTICS,
        SWAPPING_HEURISTICS=SWAPPING_HEURISTICS,
        RECOMPUTATION_HEURISTICS=RECOMPUTATION_HEURISTICS,
        SCHEDULING_HEURISTICS=SCHEDULING_HEURISTICS,
    )

    CustomGraphOptimizer = CustomGraphOptimizer

    constant_folding = _toggle()
    arithmetic_optimization = _toggle()
    common_subgraph_elimination = _toggle()
    dependency_optimization = _toggle()
    remapping = _toggle()
    disable_meta_optimizer = boolean()
    layout_optimizer, shape_optimization = _unused_toggles()[:2]
    loop_optimization = _toggle()
    function_optimization, debug_stripper = _unused_toggles()[:2]
    scoped_allocator_optimization = _toggle()
    pin_to_host_optimization, implementation_selector, auto_mixed_precision = _unused_toggles()
    disable_model_pruning = without_effect(boolean())
    meta_optimizer_iterations = without_effect(choice(NumIterationsType))
    min_graph_nodes = without_effect(integer())
    memory_optimization = choice(MemOptType)
    memory_optimizer_target_node_name_scope = text()
    recomputation_limit_mb = integer()
    meta_optimizer_timeout_ms = without_effect(integer())
    auto_parallel = without_effect(message(AutoParallelOptions))
    fail_on_optimizer_errors = without_effect(boolean())
    scoped_allocator_opts = message(ScopedAllocatorOptions)
    optimizers = without_effect(list_of(to_str))
    custom_optimizers = without_effect(messages_of(CustomGraphOptimizer))
    inter_optimizer_verifier_config = without_effect(message(VerifierConfig))
    post_optimization_verifier_config = without_effect(message(VerifierConfig))
