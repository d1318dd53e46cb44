"""Replicas of a cluster with SyncReplicasOptimizer."""

import tensorflow as tf, numpy as np, threading, socket, tempfile


def port():
    s = socket.socket()
    s.bind(("", 0))
    p = s.getsockname()[1]
    s.close()
    return p


cluster = tf.train.ClusterSpec(
    {"ps": ["localhost:%d" % port()], "worker": ["localhost:%d" % port(), "localhost:%d" % port()]}
)
ps = tf.train.Server(cluster, "ps", 0)
workers = [tf.train.Server(cluster, "worker", i) for i in range(2)]
d = tempfile.mkdtemp()
rng = np.random.RandomState(0)
X = rng.randn(64, 6).astype("f")
Y = (X[:, 0] > 0).astype(np.int64)
losses = {}


def work(i):
    with tf.Graph().as_default():
        is_chief = i == 0
        with tf.device(
            tf.train.replica_device_setter(
                worker_device="/job:worker/task:%d" % i,
                cluster=cluster,
                ps_strategy=tf.contrib.training.GreedyLoadBalancingStrategy(
                    1, tf.contrib.training.byte_size_load_fn
                ),
            )
        ):
            gs = tf.Variable(0, name="global_step", trainable=False)
            x = tf.placeholder(tf.float32, [None, 6])
            y = tf.placeholder(tf.int64, [None])
            w = tf.Variable(tf.truncated_normal([6, 2], stddev=0.1, seed=1), name="w")
            b = tf.Variable(tf.zeros([2]))
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(
                    labels=y, logits=tf.nn.xw_plus_b(x, w, b)
                )
            )
            opt = tf.train.SyncReplicasOptimizer(
                tf.train.AdamOptimizer(0.1),
                replicas_to_aggregate=2,
                total_num_replicas=2,
                name="sync",
            )
            train = opt.minimize(loss, global_step=gs)
            hook = opt.make_session_run_hook(is_chief, num_tokens=0)
        with tf.train.MonitoredTrainingSession(
            master=workers[i].target,
            is_chief=is_chief,
            checkpoint_dir=d if is_chief else None,
            hooks=[hook, tf.train.StopAtStepHook(last_step=15)],
            config=tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % i]),
            stop_grace_period_secs=5,
        ) as sess:
            while not sess.should_stop():
                losses.setdefault(i, []).append(
                    sess.run([loss, train, gs], {x: X[i::2], y: Y[i::2]})[0]
                )


ts = [threading.Thread(target=work, args=(i,)) for i in range(2)]
[t.start() for t in ts]
[t.join(200) for t in ts]
print({k: (v[0], v[-1]) for k, v in losses.items()}, tf.train.latest_checkpoint(d) is not None)
