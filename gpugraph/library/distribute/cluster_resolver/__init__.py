"""The classes that find a program's cluster, and this process's task in the cluster."""

from gpugraph.library.distribute.cluster_resolvers import (
    ClusterResolver as ClusterResolver,
    GCEClusterResolver as GCEClusterResolver,
    KubernetesClusterResolver as KubernetesClusterResolver,
    SimpleClusterResolver as SimpleClusterResolver,
    SlurmClusterResolver as SlurmClusterResolver,
    TFConfigClusterResolver as TFConfigClusterResolver,
    TPUClusterResolver as TPUClusterResolver,
    UnionResolver as UnionResolver,
)
