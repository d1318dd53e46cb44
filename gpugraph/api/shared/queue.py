"""`tf.queue`: the classes of queues."""

from gpugraph.ops.queues.queue_classes import (
    FIFOQueue as FIFOQueue, PaddingFIFOQueue as PaddingFIFOQueue, PriorityQueue as PriorityQueue,
    QueueBase as QueueBase, RandomShuffleQueue as RandomShuffleQueue,
)
