"""Programs of boosted trees on random inputs, which gpugraph and TensorFlow 1.15 both run.

Each is a function of the library, and returns its answers as lists. The file is also run by Python
3.7, for which there is TensorFlow 1.15 (`ci/against_tensorflow/boosted_trees.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

EXAMPLES, BUCKETS, SPLITS = 31, 5, 7


def plain(value: Any) -> Any:
    """Return arrays as lists, with floats to 9 digits, and bytes as hexadecimal digits."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        return float(f"{value:.9g}")
    return plain(value.tolist()) if hasattr(value, "tolist") else value


def penalties(random: Any, tf: Any) -> Any:
    """Return l1, l2, tree complexity and the minimum weight of a node: zeros, or random."""
    values = random.rand(4).astype(np.float32) * random.randint(0, 2)
    names = ("l1", "l2", "tree_complexity", "min_node_weight")
    return {name: tf.constant(value) for name, value in zip(names, values)}


def statistics(random: Any, logits: int = 1, hessians: int = 1) -> Any:
    """Return random node ids, gradients and hessians of examples."""
    nodes = random.randint(0, SPLITS, EXAMPLES).astype(np.int32)
    gradients = random.randn(EXAMPLES, logits).astype(np.float32)
    factors = random.rand(EXAMPLES, hessians).astype(np.float32)
    return nodes, gradients, factors


def definite(random: Any, logits: int) -> Any:
    """Return a positive definite matrix for each example, as a row."""
    roots = random.randn(EXAMPLES, logits, logits)
    matrices = np.matmul(roots, roots.transpose(0, 2, 1)) + np.eye(logits)
    return matrices.reshape(EXAMPLES, -1).astype(np.float32)


def gains_of_features(tf: Any) -> Any:
    """Sum statistics, and find the best split of each feature, for several penalties."""
    random, ops, fetches = np.random.RandomState(0), tf.raw_ops, []
    for _ in range(6):
        nodes, gradients, hessians = statistics(random)
        features = [random.randint(0, BUCKETS, EXAMPLES).astype(np.int32) for _ in range(3)]
        summary = ops.BoostedTreesMakeStatsSummary(
            node_ids=nodes, gradients=gradients, hessians=hessians,
            bucketized_features_list=features, max_splits=SPLITS, num_buckets=BUCKETS,
        )  # fmt: skip
        gains = ops.BoostedTreesCalculateBestGainsPerFeature(
            node_id_range=[1, 5], stats_summary_list=tf.unstack(summary, num=3),
            max_splits=SPLITS, **penalties(random, tf),
        )  # fmt: skip
        fetches += [summary, *[tensor for tensors in gains for tensor in tensors]]
    with tf.Session() as session:
        return plain(session.run(fetches))


def splits_of_dimensions(tf: Any) -> Any:
    """Find the best split among the dimensions of a feature, for one and for several logits."""
    random, ops, fetches = np.random.RandomState(14), tf.raw_ops, []
    for kind in ("inequality", "equality"):
        for logits, is_full in ((1, False), (1, False), (1, False), (2, False), (3, True)):
            nodes, gradients, hessians = statistics(random, logits, logits)
            if is_full:
                hessians = definite(random, logits)
            lowest = random.randint(-1, 1)
            feature = random.randint(lowest, BUCKETS, (EXAMPLES, 3)).astype(np.int32)
            summary = ops.BoostedTreesAggregateStats(
                node_ids=nodes, gradients=gradients, hessians=hessians, feature=feature,
                max_splits=SPLITS, num_buckets=BUCKETS,
            )  # fmt: skip
            split = ops.BoostedTreesCalculateBestFeatureSplit(
                node_id_range=[0, SPLITS], stats_summary=summary, logits_dimension=logits,
                split_type=kind, **penalties(random, tf),
            )  # fmt: skip
            fetches += [summary, *split]
    with tf.Session() as session:
        return plain(session.run(fetches))


def splits_of_sparse_features(tf: Any) -> Any:
    """Sum statistics of a sparse feature, and find its best splits."""
    random, ops, fetches = np.random.RandomState(2), tf.raw_ops, []
    for _ in range(4):
        nodes, gradients, hessians = statistics(random)
        indices = np.argwhere(random.rand(EXAMPLES, 3) < 0.4).astype(np.int32)
        values = random.randint(0, BUCKETS, len(indices)).astype(np.int32)
        summary = ops.BoostedTreesSparseAggregateStats(
            node_ids=nodes, gradients=gradients, hessians=hessians, feature_indices=indices,
            feature_values=values, feature_shape=[EXAMPLES, 3], max_splits=SPLITS,
            num_buckets=BUCKETS,
        )  # fmt: skip
        split = ops.BoostedTreesSparseCalculateBestFeatureSplit(
            node_id_range=[0, SPLITS], stats_summary_indices=summary[0],
            stats_summary_values=summary[1], stats_summary_shape=summary[2],
            logits_dimension=1, **penalties(random, tf),
        )  # fmt: skip
        fetches += [*summary, *split]
    with tf.Session() as session:
        return plain(session.run(fetches))


def ensemble(tf: Any, name: str) -> Any:
    """Return the handle of a new ensemble, and the operation that creates it."""
    handle = tf.raw_ops.BoostedTreesEnsembleResourceHandleOp(container="", shared_name=name)
    create = tf.raw_ops.BoostedTreesCreateEnsemble(
        tree_ensemble_handle=handle, stamp_token=3, tree_ensemble_serialized=""
    )
    return handle, create


class _Training:
    """A training whose gradients are those of squared errors: one step grows one layer."""

    def __init__(self, tf: Any, name: str, random: Any, features: Any, update: Any) -> None:
        ops, self.random = tf.raw_ops, random
        self.handle, self.create = ensemble(tf, name)
        self.cached = [
            tf.placeholder(tf.int32, [EXAMPLES]), tf.placeholder(tf.int32, [EXAMPLES]),
        ]  # fmt: skip
        self.predicted = ops.BoostedTreesTrainingPredict(
            tree_ensemble_handle=self.handle, cached_tree_ids=self.cached[0],
            cached_node_ids=self.cached[1], bucketized_features=features, logits_dimension=1,
        )  # fmt: skip
        self.logits = tf.placeholder(tf.float32, [EXAMPLES, 1])
        self.labels = random.randn(EXAMPLES, 1).astype(np.float32)
        states = ops.BoostedTreesGetEnsembleStates(tree_ensemble_handle=self.handle)
        self.nodes = tf.placeholder(tf.int32, [EXAMPLES])
        self.update = update(self, tf, features, states[4])
        whole = ops.BoostedTreesPredict(
            tree_ensemble_handle=self.handle, bucketized_features=features, logits_dimension=1
        )
        serialized = ops.BoostedTreesSerializeEnsemble(tree_ensemble_handle=self.handle)
        self.state = [*states, *serialized, whole]

    def run(self, session: Any, steps: int) -> Any:
        """Return the answers of all steps."""
        session.run(self.create)
        trees, nodes = np.zeros(EXAMPLES, np.int32), np.full(EXAMPLES, -1, np.int32)
        logits, answers = np.zeros((EXAMPLES, 1), np.float32), []
        for _ in range(steps):
            feeds = {self.cached[0]: trees, self.cached[1]: nodes}
            change, trees, nodes = session.run(self.predicted, feeds)
            logits = logits + change
            session.run(self.update, {self.logits: logits, self.nodes: nodes})
            answers.append([change, trees, nodes, *session.run(self.state)])
        return plain(answers)


def growing(depth: int, rate: float, pruning: int, complexity: float, features: Any) -> Any:
    """Return a function that adds the op which grows a layer."""

    def update(training: Any, tf: Any, _: Any, nodes_range: Any) -> Any:
        ops, count = tf.raw_ops, len(features)
        summary = ops.BoostedTreesMakeStatsSummary(
            node_ids=training.nodes, gradients=training.logits - training.labels,
            hessians=tf.ones([EXAMPLES, 1]), bucketized_features_list=features,
            max_splits=SPLITS, num_buckets=BUCKETS,
        )  # fmt: skip
        nodes, gains, thresholds, left, right = ops.BoostedTreesCalculateBestGainsPerFeature(
            node_id_range=nodes_range, stats_summary_list=tf.unstack(summary, num=count),
            max_splits=SPLITS, l1=0.1, l2=0.5, tree_complexity=complexity, min_node_weight=0.5,
        )  # fmt: skip
        return ops.BoostedTreesUpdateEnsemble(
            tree_ensemble_handle=training.handle, feature_ids=[4, 2, 0][:count], node_ids=nodes,
            gains=gains, thresholds=thresholds, left_node_contribs=left,
            right_node_contribs=right, max_depth=depth, learning_rate=rate, pruning_mode=pruning,
        )  # fmt: skip

    return update


def grown_ensembles(tf: Any) -> Any:
    """Grow ensembles by layers, with each kind of pruning, and predict by nodes kept before."""
    random, answers = np.random.RandomState(3), []
    for number, (pruning, complexity) in enumerate(((0, 0.0), (1, 0.8), (2, 0.8), (2, 1.5))):
        features = [random.randint(0, BUCKETS, EXAMPLES).astype(np.int32) for _ in range(5)]
        growth = growing(3, 0.4, pruning, complexity, [features[4], features[2], features[0]])
        training = _Training(tf, f"grown{number}", random, features, growth)
        with tf.Session() as session:
            answers.append(training.run(session, 8))
    return answers


def grown_by_dimensions(tf: Any) -> Any:
    """Grow an ensemble by splits by equality and by inequality."""
    random = np.random.RandomState(4)
    features = [random.randint(0, BUCKETS, EXAMPLES).astype(np.int32) for _ in range(2)]

    def update(training: Any, tf: Any, features: Any, nodes_range: Any) -> Any:
        ops, columns = tf.raw_ops, []
        for feature, kind in zip(features, ("inequality", "equality")):
            summary = ops.BoostedTreesAggregateStats(
                node_ids=training.nodes, gradients=training.logits - training.labels,
                hessians=tf.ones([EXAMPLES, 1]), feature=feature[:, None], max_splits=SPLITS,
                num_buckets=BUCKETS,
            )  # fmt: skip
            columns.append(
                ops.BoostedTreesCalculateBestFeatureSplit(
                    node_id_range=nodes_range,
                    stats_summary=summary,
                    logits_dimension=1,
                    split_type=kind,
                    l1=0.0,
                    l2=0.1,
                    tree_complexity=0.0,
                    min_node_weight=0.0,
                )
            )
        nodes, gains, dimensions, thresholds, left, right, kinds = zip(*columns)
        left, right = ([tf.reshape(change, [-1, 1]) for change in part] for part in (left, right))
        return ops.BoostedTreesUpdateEnsembleV2(
            tree_ensemble_handle=training.handle, feature_ids=[0, 1], dimension_ids=dimensions,
            node_ids=nodes, gains=gains, thresholds=thresholds, left_node_contribs=left,
            right_node_contribs=right, split_types=kinds, max_depth=2, learning_rate=0.3,
            pruning_mode=0,
        )  # fmt: skip

    training = _Training(tf, "dimensions", random, features, update)
    with tf.Session() as session:
        return training.run(session, 5)


def centered_bias(tf: Any) -> Any:
    """Move the bias until it stays, save the ensemble, and restore it into another one."""
    ops, answers = tf.raw_ops, []
    handle, create = ensemble(tf, "centered")
    other, create_other = ensemble(tf, "restored")
    gradients = tf.placeholder(tf.float32, [1, 1])
    centered = ops.BoostedTreesCenterBias(
        tree_ensemble_handle=handle, mean_gradients=gradients, mean_hessians=[[0.5]], l1=0.0,
        l2=0.1,
    )  # fmt: skip
    stamp, serialized = ops.BoostedTreesSerializeEnsemble(tree_ensemble_handle=handle)
    restored = ops.BoostedTreesDeserializeEnsemble(
        tree_ensemble_handle=other, stamp_token=stamp + 1, tree_ensemble_serialized=serialized
    )
    copy = ops.BoostedTreesSerializeEnsemble(tree_ensemble_handle=other)
    known = ops.IsBoostedTreesEnsembleInitialized(tree_ensemble_handle=other)
    with tf.Session() as session:
        answers.append(session.run(known))
        session.run([create, create_other])
        for value in (0.7, 0.1, 0.005, -0.0001):
            answers.append(session.run(centered, {gradients: [[value]]}))
            answers.append(session.run(serialized))
        session.run(restored)
        answers += session.run([known, *copy])
    return plain(answers)


TREES = (
    "0a4f0a171206101c18012002ca300c0d0ad7f34012051d666606400a070a051d85eb913f0a1912080801100c"
    "18032004ca300c0d6666a63f12051d3333a3400a070a051dd7a30c410a070a051d713d4abf0a280a14120808"
    "01102018012002ca30070d0ad7f34012000a070a051d0000003f0a070a051d000080be0a040a020a00120c00"
    "00803f9a99993e0000803f1a04100218011a04100118011a00"
)
"""A serialized ensemble, in hexadecimal digits."""


def explained_examples(tf: Any) -> Any:
    """Return the paths of examples through an ensemble of three trees."""
    random, ops = np.random.RandomState(6), tf.raw_ops
    features = [random.randint(0, 40, EXAMPLES).astype(np.int32) for _ in range(2)]
    handle = ops.BoostedTreesEnsembleResourceHandleOp(container="", shared_name="explained")
    create = ops.BoostedTreesCreateEnsemble(
        tree_ensemble_handle=handle, stamp_token=0,
        tree_ensemble_serialized=bytes.fromhex(TREES),
    )  # fmt: skip
    arguments = {"tree_ensemble_handle": handle, "bucketized_features": features}
    paths = ops.BoostedTreesExampleDebugOutputs(**arguments, logits_dimension=1)
    logits = ops.BoostedTreesPredict(**arguments, logits_dimension=1)
    with tf.Session() as session:
        session.run(create)
        return plain(session.run([paths, logits]))


def quantiles(tf: Any) -> Any:
    """Summarize values, add the summaries to streams, and flush these to boundaries."""
    random, ops, answers = np.random.RandomState(5), tf.raw_ops, []
    for number, (epsilon, count) in enumerate(((0.01, 30), (0.1, 400), (0.2, 900), (0.01, 60))):
        handle = ops.BoostedTreesQuantileStreamResourceHandleOp(
            container="", shared_name=f"stream{number}"
        )
        create = ops.BoostedTreesCreateQuantileStreamResource(
            quantile_stream_resource_handle=handle, epsilon=epsilon, num_streams=2,
            **({"max_elements": 1000} if number else {}),
        )  # fmt: skip
        values = [tf.placeholder(tf.float32, [None]) for _ in range(2)]
        weights = tf.placeholder(tf.float32, [None])
        summaries = ops.BoostedTreesMakeQuantileSummaries(
            float_values=values, example_weights=weights, epsilon=epsilon
        )
        add = ops.BoostedTreesQuantileStreamResourceAddSummaries(
            quantile_stream_resource_handle=handle, summaries=summaries
        )
        flushes = [
            ops.BoostedTreesQuantileStreamResourceFlush(
                quantile_stream_resource_handle=handle, num_buckets=9, generate_quantiles=kind
            )
            for kind in (False, True)
        ]
        boundaries = ops.BoostedTreesQuantileStreamResourceGetBucketBoundaries(
            quantile_stream_resource_handle=handle, num_features=2
        )
        taken = ops.BoostedTreesFlushQuantileSummaries(
            quantile_stream_resource_handle=handle, num_features=2
        )
        fields = (values, weights, summaries, add, flushes, boundaries, taken)
        with tf.Session() as session:
            session.run(create)
            answers.append(_stream_answers(session, random, count, *fields))
    return answers


def _stream_answers(
    session: Any, random: Any, count: int, values: Any, weights: Any, summaries: Any, add: Any,
    flushes: Any, boundaries: Any, taken: Any,
) -> Any:  # fmt: skip
    answers = []
    for flush in [*flushes, None]:
        for _ in range(3):
            feeds = {
                values[0]: random.randn(count).astype(np.float32),
                values[1]: random.randint(0, 25, count).astype(np.float32),
                weights: np.round(random.rand(count) * 4).astype(np.float32),
            }
            answers.append(session.run(summaries, feeds) if count < 100 else None)
            session.run(add, feeds)
        if flush is not None:
            session.run(flush)
            answers.append(session.run(boundaries))
        else:
            answers.append(session.run(taken))
    return plain(answers)


def buckets(tf: Any) -> Any:
    """Find the buckets of values, on the boundaries too, and of features without boundaries."""
    found = tf.raw_ops.BoostedTreesBucketize(
        float_values=[[0.5, 1.0, 1.5, 2.0, 9.0, -1.0], np.arange(6, dtype=np.float32)],
        bucket_boundaries=[[1.0, 2.0, 3.0], np.zeros(0, np.float32)],
    )
    with tf.Session() as session:
        return plain(session.run(found))


PROGRAMS = (
    gains_of_features, splits_of_dimensions, splits_of_sparse_features, grown_ensembles,
    grown_by_dimensions, centered_bias, explained_examples, quantiles, buckets,
)  # fmt: skip
