"""Queues, and what else runs of a session hand to each other and may wait for.

Accumulators of gradients, staging areas and barriers.
"""

from gpugraph.ops.queues import (
    accumulator_classes as accumulator_classes,
    accumulator_ops as accumulator_ops,
    barrier as barrier,
    queue_classes as queue_classes,
    queue_ops as queue_ops,
    staging_classes as staging_classes,
    staging_ops as staging_ops,
)
