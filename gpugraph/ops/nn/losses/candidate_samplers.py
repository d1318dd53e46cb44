"""Candidate sampling, in which a few drawn classes represent all classes that are not the true
classes of an example.

Each sampler returns (candidates [num_sampled], expected_true [batch, num_true], expected
[num_sampled]). The candidates are the drawn classes. `expected_true` and `expected` contain the
expected number of times that each true class, and each candidate, is among the candidates.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.base.shapes import TensorShape
from gpugraph.base.whole_files import open_to_read, system_errors
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.nn.losses.candidate_distributions import (
    CandidateDistribution,
    Learned,
    LogUniform,
    RandomWords,
    UniformClasses,
    Weighted,
    draw,
)
from gpugraph.ops.nn.windows.window_geometry import text
from gpugraph.ops.random.seeds_and_streams import SEED_ATTRS, Stream, seeds_of

_RESERVED = 512
"""The number of Philox blocks (four words each) that a run reserves for each candidate, used or
not.
"""

_COUNTS = {
    "num_true": Attr("int", required=True, minimum=1),
    "num_sampled": Attr("int", required=True, minimum=1),
    "unique": Attr("bool", required=True),
}
_OUTPUTS = (
    "sampled_candidates: int64, true_expected_count: float32, sampled_expected_count: float32"
)
_RANGE = {"range_max": Attr("int", required=True, minimum=1)}


def _infer(context: InferContext) -> Sequence[TensorShape]:
    attrs = context.attrs
    batch, columns = of_rank(context.shapes[0], 2, "true_classes")
    if columns is not None and columns != attrs["num_true"]:
        raise ValueError(
            f"true_classes must have num_true columns, expected: {columns} was: {attrs['num_true']}"
        )
    sampled = TensorShape.of((attrs["num_sampled"],))
    return [sampled, TensorShape.of((batch, attrs["num_true"])), sampled]


class _State(NamedTuple):
    """The state of a sampler in one session, which persists from run to run."""

    law: CandidateDistribution
    stream: Stream
    lock: threading.Lock


def _sampler(
    name: str, law: Callable[[Any], CandidateDistribution], extra: dict[str, Any], doc: str
) -> OpFunction:
    """Declare a sampler op. `law` creates its distribution from the attrs, which include
    `extra`.
    """

    def bind(
        context: KernelContext, true: Any, candidates: Any, expected_true: Any, expected: Any
    ) -> Callable[[], Any]:
        attrs = context.attrs
        count, unique = attrs["num_sampled"], attrs["unique"]

        def fresh() -> _State:
            return _State(law(attrs), Stream(attrs["seed"], attrs["seed2"]), new_lock())

        state: _State = context.state(fresh)

        def run() -> None:
            words = RandomWords(state.stream.reserve(_RESERVED * count))
            drawn = draw(state.law, state.lock, words, count, unique, true)
            candidates[...] = drawn.candidates
            expected_true[...] = drawn.expected_true
            expected[...] = drawn.expected

        return run

    return op(
        name,
        inputs="true_classes: int64",
        outputs=_OUTPUTS,
        attrs={**_COUNTS, **extra, **SEED_ATTRS},
        infer=_infer,
        **numpy_kernels(Call(make=bind)),
        grad=NO_GRADIENT,
        stateful=True,
        doc=doc,
    )


_uniform = _sampler(
    "UniformCandidateSampler",
    lambda attrs: UniformClasses(attrs["range_max"]),
    _RANGE,
    "Classes below range_max, all equally likely.",
)

_log_uniform = _sampler(
    "LogUniformCandidateSampler",
    lambda attrs: LogUniform(attrs["range_max"]),
    _RANGE,
    "Classes below range_max, i with probability log((i + 2) / (i + 1)) / log(range_max + 1).",
)

_learned_unigram = _sampler(
    "LearnedUnigramCandidateSampler",
    lambda attrs: Learned(attrs["range_max"]),
    _RANGE,
    "Classes below range_max, in proportion to how often they were true in the session so far.",
)


def _weights(attrs: Any) -> Weighted:
    """Return the distribution over this shard's classes.

    The weight of a reserved class is 0. The weights of all other classes come from the file or from
    `unigrams`, raised to the power of `distortion`.
    """
    reserved, shards, shard = (attrs[key] for key in ("num_reserved_ids", "num_shards", "shard"))
    file = text(attrs["vocab_file"])
    weights = _in_file(file) if file else [float(weight) for weight in attrs["unigrams"]]
    first = len(range(shard, reserved, shards))
    of_shard = [weight for number, weight in enumerate(weights, first) if number % shards == shard]
    distorted = np.array(of_shard, np.float32) ** np.float32(attrs["distortion"])
    return Weighted(attrs["range_max"], np.concatenate([np.zeros(first, np.float32), distorted]))


def _in_file(name: str) -> list[float]:
    """Return, for each line of the vocabulary file, the number after its last comma.

    Raises NotFoundError if there is no such file.
    """
    with system_errors(name), open_to_read(name) as file:
        lines = file.read().decode().splitlines()
    weights = []
    for line in lines:
        try:
            weights.append(float(line.rsplit(",", 1)[-1]))
        except ValueError as error:
            raise invalid_argument(f"Wrong vocabulary format at line: {line}") from error
    return weights


_fixed_unigram = _sampler(
    "FixedUnigramCandidateSampler",
    _weights,
    {
        **_RANGE,
        "vocab_file": Attr("string", ""),
        "distortion": Attr("float", 1.0),
        "num_reserved_ids": Attr("int", 0),
        "num_shards": Attr("int", 1, minimum=1),
        "shard": Attr("int", 0, minimum=0),
        "unigrams": Attr("list(float)", []),
    },
    "Classes by weights to the power of `distortion`, from a file or `unigrams`.",
)


# -- all classes


def _bind_all(
    context: KernelContext, true: Any, candidates: Any, expected_true: Any, expected: Any
) -> Callable[[], Any]:
    count = context.attrs["num_sampled"]

    def run() -> None:
        if true.size and not (true.min() >= 0 and true.max() < count):
            raise invalid_argument(f"`true_candidate` out of range [0, {count})")
        candidates[...] = np.arange(count)
        expected_true.fill(1)
        expected.fill(1)

    return run


_all = op(
    "AllCandidateSampler",
    inputs="true_classes: int64",
    outputs=_OUTPUTS,
    attrs={**_COUNTS, **SEED_ATTRS},
    infer=_infer,
    **numpy_kernels(Call(make=_bind_all)),
    grad=NO_GRADIENT,
    stateful=True,
    doc="All classes below num_sampled, each with an expected count of 1.",
)


# -- candidates that are true


def _infer_hits(context: InferContext) -> Sequence[TensorShape]:
    columns = of_rank(context.shapes[0], 2, "true_classes")[1]
    of_rank(context.shapes[1], 1, "sampled_candidates")
    if columns is not None and columns != context.attrs["num_true"]:
        raise ValueError(
            f"true_classes must have {context.attrs['num_true']} columns, but has {columns}"
        )
    return [TensorShape.of((None,))] * 3


def _bind_hits(_: KernelContext, true: Any, candidates: Any) -> Callable[[], Any]:
    def run() -> list[Any]:
        order = np.argsort(candidates, kind="stable")
        ordered = candidates[order]
        last = np.searchsorted(ordered, true, side="right") - 1
        is_hit = last >= 0
        is_hit[is_hit] = ordered[last[is_hit]] == true[is_hit]
        rows = np.nonzero(is_hit)[0].astype(np.int32)
        lowest = np.full(len(rows), -np.finfo(np.float32).max, np.float32)
        return [rows, order[last[is_hit]].astype(np.int64), lowest]

    return run


_hits = op(
    "ComputeAccidentalHits",
    inputs="true_classes: int64, sampled_candidates: int64",
    outputs="indices: int32, ids: int64, weights: float32",
    attrs={"num_true": Attr("int", required=True), **SEED_ATTRS},
    infer=_infer_hits,
    **numpy_kernels(Call(make=_bind_hits, dynamic=True)),
    grad=NO_GRADIENT,
    doc=(
        "The true classes that were drawn as candidates: the row of each, the position of the "
        "equal candidate, and -FLT_MAX."
    ),
)


# -- public functions


def _public_sampler(name: str, function: OpFunction, doc: str) -> Callable[..., Any]:
    """Return the public function `name` of a sampler whose only parameter is `range_max`."""

    def sampler(
        true_classes: Any,
        num_true: int,
        num_sampled: int,
        unique: bool,
        range_max: int,
        seed: int | None = None,
        name: str | None = None,
    ) -> Any:
        return function(
            true_classes, num_true=num_true, num_sampled=num_sampled, unique=unique,
            range_max=range_max, **seeds_of(seed), name=name,
        )  # fmt: skip

    sampler.__name__ = sampler.__qualname__ = name
    sampler.__doc__ = doc
    return sampler


uniform_candidate_sampler = _public_sampler(
    "uniform_candidate_sampler",
    _uniform,
    """Draw candidates below `range_max` uniformly.

    true_classes: int64 [batch, num_true]. unique: whether all candidates are different.
    Returns (candidates int64 [num_sampled], expected_true float32 [batch, num_true], expected
    float32 [num_sampled]). Equal seeds give TensorFlow's candidates.

    A run raises InvalidArgumentError for true classes out of range, and for more unique
    candidates than there are classes.
    """,
)
log_uniform_candidate_sampler = _public_sampler(
    "log_uniform_candidate_sampler",
    _log_uniform,
    """Draw like `uniform_candidate_sampler`, but class i with probability log((i + 2) / (i + 1)) /
    log(range_max + 1): for classes in descending order of frequency.
    """,
)
learned_unigram_candidate_sampler = _public_sampler(
    "learned_unigram_candidate_sampler",
    _learned_unigram,
    """Draw like `uniform_candidate_sampler`, but by how often each class was true in the runs
    of this session so far, plus one.
    """,
)


def fixed_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draw candidates in the same way as `uniform_candidate_sampler`, but with probabilities that
    are proportional to weights.

    The weights are `unigrams`, or the number after the last comma of each line of `vocab_file`.
    They are raised to the power of `distortion`. The first `num_reserved_ids` classes are never
    drawn, and the weights belong to the following classes. Class i belongs to shard i modulo
    `num_shards`. Only the classes of the shard `shard` are used. A run raises InvalidArgumentError
    unless there are `range_max` weights.
    """
    return _fixed_unigram(
        true_classes, num_true=num_true, num_sampled=num_sampled, unique=unique,
        range_max=range_max, vocab_file=vocab_file, distortion=distortion,
        num_reserved_ids=num_reserved_ids, num_shards=num_shards, shard=shard,
        unigrams=list(unigrams), **seeds_of(seed), name=name,
    )  # fmt: skip


def all_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Return all classes below `num_sampled` in order, each with an expected count of 1.

    For the arguments and results, see `uniform_candidate_sampler`.
    """
    return _all(
        true_classes, num_true=num_true, num_sampled=num_sampled, unique=unique,
        **seeds_of(seed), name=name,
    )  # fmt: skip


def compute_accidental_hits(
    true_classes: Any,
    sampled_candidates: Any,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Return (indices int32, ids int64, weights float32) of the true classes that were drawn as
    candidates.

    There is one entry for each class in `true_classes` [batch, num_true] that is also in
    `sampled_candidates`. An entry consists of the row of the class, the position of the candidate,
    and -FLT_MAX, which the caller adds to the candidate's logit.
    """
    return _hits(true_classes, sampled_candidates, num_true=num_true, **seeds_of(seed), name=name)
