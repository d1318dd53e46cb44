"""Estimators with hooks, HParams and exports."""

import tensorflow as tf, numpy as np, tempfile, os, functools
from tensorflow.contrib.training import HParams
from tensorflow.python.training import session_run_hook, basic_session_run_hooks
from tensorflow.contrib.learn.python.learn import learn_runner

hp = HParams(lr=0.01, layers=[16, 8], drop=0.1, act="relu")
hp.parse("lr=0.05,layers=[12,6]")
hp.add_hparam("x", 1)


class Timer(session_run_hook.SessionRunHook):
    def begin(self):
        self._gs = tf.train.get_or_create_global_step()
        self.n = 0

    def after_create_session(self, session, coord):
        session.run(self._gs)

    def before_run(self, ctx):
        return session_run_hook.SessionRunArgs({"gs": self._gs}, options=None)

    def after_run(self, ctx, values):
        self.n = values.results["gs"]
        ctx.request_stop() if self.n >= 60 else None

    def end(self, session):
        print("ended at", self.n)


class IteratorInitializerHook(tf.train.SessionRunHook):
    def __init__(self):
        self.f = None

    def after_create_session(self, session, coord):
        self.f(session)


def get_inputs(X, y, train):
    hook = IteratorInitializerHook()

    def inputs():
        with tf.name_scope("data"):
            a = tf.placeholder(X.dtype, X.shape)
            b = tf.placeholder(y.dtype, y.shape)
            ds = tf.data.Dataset.from_tensor_slices((a, b))
            ds = ds.repeat(None).shuffle(buffer_size=100) if train else ds
            it = ds.batch(16).make_initializable_iterator()
            hook.f = lambda sess: sess.run(it.initializer, feed_dict={a: X, b: y})
            n = it.get_next()
            return n

    return inputs, hook


def model_fn(features, labels, mode, params, config):
    net = features
    for i, u in enumerate(params.layers):
        net = tf.contrib.layers.fully_connected(
            net, u, activation_fn=getattr(tf.nn, params.act), scope="l%d" % i
        )
    net = tf.layers.dropout(net, params.drop, training=mode == tf.estimator.ModeKeys.TRAIN)
    logits = tf.layers.dense(net, 3)
    preds = {"c": tf.argmax(logits, 1), "p": tf.nn.softmax(logits, name="softmax_tensor")}
    if mode == tf.contrib.learn.ModeKeys.INFER:
        return tf.estimator.EstimatorSpec(
            mode,
            predictions=preds,
            export_outputs={
                "serving_default": tf.estimator.export.PredictOutput({"scores": preds["p"]})
            },
        )
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    train = tf.contrib.layers.optimize_loss(loss, tf.train.get_global_step(), params.lr, "Adam")
    return tf.estimator.EstimatorSpec(
        mode,
        preds,
        loss,
        train,
        {
            "acc": tf.metrics.accuracy(labels, preds["c"]),
            "mpca": tf.metrics.mean_per_class_accuracy(labels, preds["c"], 3),
            "rec": tf.contrib.metrics.streaming_recall_at_k(logits, labels, 2),
        },
        training_hooks=[
            tf.train.SummarySaverHook(
                save_steps=10, output_dir=config.model_dir, summary_op=tf.summary.scalar("L", loss)
            ),
            tf.train.CheckpointSaverListener
            and tf.train.StepCounterHook(10, output_dir=config.model_dir),
        ],
        evaluation_hooks=[tf.train.FeedFnHook(lambda: {})],
        scaffold=tf.train.Scaffold(saver=tf.train.Saver(sharded=True, max_to_keep=2)),
    )


rng = np.random.RandomState(0)
y = rng.randint(0, 3, 200)
X = (rng.randn(200, 5) + y[:, None]).astype("f")
tin, thook = get_inputs(X, y, True)
ein, ehook = get_inputs(X, y, False)
d = tempfile.mkdtemp()
est = tf.estimator.Estimator(
    model_fn,
    d,
    config=tf.estimator.RunConfig(
        tf_random_seed=3,
        save_summary_steps=10,
        save_checkpoints_secs=None,
        save_checkpoints_steps=25,
        log_step_count_steps=10,
    ),
    params=hp,
)
tf.estimator.train_and_evaluate(
    est,
    tf.estimator.TrainSpec(tin, max_steps=60, hooks=[thook, Timer()]),
    tf.estimator.EvalSpec(
        ein,
        steps=None,
        hooks=[ehook],
        throttle_secs=0,
        exporters=tf.estimator.LatestExporter(
            "e",
            tf.estimator.export.build_raw_serving_input_receiver_fn(
                {"x": tf.placeholder(tf.float32, [None, 5])}
            ),
        )
        if False
        else None,
    ),
)
print({k: float(v) for k, v in est.evaluate(ein, hooks=[ehook]).items()})
print(
    next(est.predict(tf.estimator.inputs.numpy_input_fn(X, shuffle=False, num_epochs=1)))["c"],
    hp.to_json() != "",
    tf.contrib.framework.list_variables(d)[0],
    tf.train.load_variable(d, "l0/biases").shape,
    sorted(os.listdir(d))[0],
    len(
        list(
            tf.train.summary_iterator(
                [os.path.join(d, f) for f in os.listdir(d) if "tfevents" in f][0]
            )
        )
    ),
)
exp = est.export_savedmodel(
    d + "/exp",
    lambda: tf.estimator.export.TensorServingInputReceiver(
        tf.placeholder(tf.float32, [None, 5], "inp"),
        {"x": tf.get_default_graph().get_tensor_by_name("inp:0")},
    ),
    assets_extra={"h.json": os.path.join(d, "checkpoint")},
    strip_default_attrs=True,
)
with tf.Session(graph=tf.Graph()) as s:
    m = tf.saved_model.loader.load(s, [tf.saved_model.tag_constants.SERVING], exp)
    sd = m.signature_def[tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY]
    print(sd.method_name, s.run(sd.outputs["scores"].name, {sd.inputs["x"].name: X[:2]}).shape)
