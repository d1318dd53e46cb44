"""RewriterConfig: the graph rewrites to apply, under TensorFlow's names."""

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
    """Options for training several replicas of a graph in parallel. The options have no effect in
    gpugraph.
    """

    enable, num_replicas = boolean(), integer()


class ScopedAllocatorOptions(Message):
    """Options of `RewriterConfig.scoped_allocator_optimization`.

    Fields:
      enable_op: the op types whose ops are merged. If `enable_op` is empty, only CollectiveReduce
        ops are merged.
    """

    enable_op = list_of(to_str)


class VerifierConfig(Message):
    """Options for checking graphs between rewrites. The fields have no effect in gpugraph."""

    DEFAULT, ON, OFF = 0, 1, 2
    Toggle = EnumType("Toggle", DEFAULT=DEFAULT, ON=ON, OFF=OFF)

    verification_timeout_in_ms = integer()
    structure_verifier = choice(Toggle)


class CustomGraphOptimizer(Message):
    """A rewrite that a program has registered. The rewrite has no effect in gpugraph."""

    _protobuf_name = "RewriterConfig.CustomGraphOptimizer"

    name = text()
    parameter_map = map_of(lambda where, value: value)


class RewriterConfig(Message):
    """The graph rewrites to apply, with a field for each rewrite.

    Each of the first six fields is ON, OFF, AGGRESSIVE (which has the effect of ON in gpugraph), or
    DEFAULT, which leaves the choice to OptimizerOptions. Fields that are not listed are
    TensorFlow's and have no effect in gpugraph. If one of these fields is set, `Session.explain`
    reports it.

    Fields:
      constant_folding: replace values that follow from constants and known shapes by constants.
      arithmetic_optimization: remove ops that cancel each other, or that change nothing.
      common_subgraph_elimination: merge ops that compute the same value.
      dependency_optimization: do not run ops that have no effect and are only control inputs.
      remapping: fuse a convolution, the addition of a bias and an activation. On GPUs, also fuse a
        matrix product with the ops that follow it, and the ops of attention.
      loop_optimization: in a loop, recompute values for the gradient instead of storing them on
        stacks.
      disable_meta_optimizer: apply none of the rewrites above.
      memory_optimization: with HEURISTICS or RECOMPUTATION_HEURISTICS, gradients recompute cheap
        ops of the forward pass, whose values are then not stored. With HEURISTICS or
        SWAPPING_HEURISTICS, tensors of GPUs are moved to the host between an early and a late use,
        if computation hides the copies. With MANUAL or any of the values above, inputs that ops
        list in their attr `_swap_to_host` are also moved, and ops with the attr `_recompute_hint`
        are recomputed.
      memory_optimizer_target_node_name_scope: the name scope of gradients. If the name is empty,
        the scope is `gradients/`.
      scoped_allocator_optimization: if ON, CollectiveReduce ops of one group over several processes
        are merged into one (`docs/cluster.md`).
      scoped_allocator_opts: the op types that `scoped_allocator_optimization` merges.
      recomputation_limit_mb: a field that TensorFlow does not have. Values are recomputed only if
        the arenas of a run would otherwise need more MiB than this. If recomputing cheap ops is not
        enough, all ops between checkpoints are recomputed.
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
    layout_optimizer = _toggle()
    shape_optimization = _unused_toggles()[0]
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
