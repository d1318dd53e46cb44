"""tf.contrib.learn: estimators of model functions and canned ones, monitors, experiments."""

import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.contrib import learn
from tensorflow.contrib.learn.python.learn.estimators import model_fn as model_fn_lib, run_config
from tensorflow.contrib.learn.python.learn import learn_runner
from tensorflow.contrib.learn.python.learn import metric_spec
from tensorflow.contrib.learn.python.learn.metric_spec import MetricSpec
from tensorflow.contrib.learn.python.learn.datasets import base

tf.logging.set_verbosity(tf.logging.WARN)
D = tempfile.mkdtemp()
r = np.random.RandomState(0)
with open(D + "/t.csv", "w") as f:
    f.write("60,4,a,b,c\n")
    for i in range(60):
        x = r.rand(4)
        f.write(",".join("%.2f" % v for v in x) + ",%d\n" % (int(x[0] * 3)))
ds = tf.contrib.learn.datasets.base.load_csv_with_header(
    filename=D + "/t.csv", target_dtype=np.int64, features_dtype=np.float32
)
print(ds.data.shape, ds.target[:4])
vp = learn.preprocessing.VocabularyProcessor(4)
X = np.array(list(vp.fit_transform(["a b c", "b d"])))
print(X, len(vp.vocabulary_))
vp.save(D + "/v")
vp2 = learn.preprocessing.VocabularyProcessor.restore(D + "/v")
feature_columns = [tf.contrib.layers.real_valued_column("", dimension=4)]


def my_model(features, target, mode, params):
    h = tf.contrib.layers.stack(
        features, tf.contrib.layers.fully_connected, [6, 5, 4], activation_fn=tf.tanh
    )
    prediction = tf.contrib.layers.fully_connected(h, 3, activation_fn=None)
    loss = train_op = None
    if mode != learn.ModeKeys.INFER:
        loss = tf.losses.softmax_cross_entropy(tf.one_hot(target, 3, 1, 0), prediction)
    if mode == learn.ModeKeys.TRAIN:
        train_op = tf.contrib.layers.optimize_loss(
            loss,
            tf.contrib.framework.get_global_step(),
            optimizer="Adagrad",
            learning_rate=params["lr"],
        )
    return model_fn_lib.ModelFnOps(
        mode=mode,
        predictions={"class": tf.argmax(prediction, 1), "prob": tf.nn.softmax(prediction)},
        loss=loss,
        train_op=train_op,
    )


est = learn.Estimator(model_fn=my_model, params={"lr": 0.1}, model_dir=D + "/m")
est.fit(x=ds.data, y=ds.target, steps=30, batch_size=20)
print(
    list(est.predict(ds.data, as_iterable=True))[:2],
    est.evaluate(
        ds.data,
        ds.target,
        metrics={
            "acc": MetricSpec(tf.contrib.metrics.streaming_accuracy, prediction_key="class"),
            ("acc2", "class"): tf.contrib.metrics.streaming_accuracy,
        },
    ),
)
vm = tf.contrib.learn.monitors.ValidationMonitor(
    ds.data,
    ds.target,
    every_n_steps=20,
    early_stopping_metric="loss",
    early_stopping_metric_minimize=True,
    early_stopping_rounds=200,
    metrics={
        "accuracy2": MetricSpec(
            metric_fn=tf.contrib.metrics.streaming_accuracy,
            prediction_key=learn.PredictionKey.CLASSES,
        )
    },
)
c = tf.contrib.learn.DNNClassifier(
    feature_columns=feature_columns,
    hidden_units=[10, 5],
    n_classes=3,
    model_dir=D + "/d",
    optimizer=tf.train.AdamOptimizer(0.02),
    config=tf.contrib.learn.RunConfig(save_checkpoints_steps=20, save_checkpoints_secs=None),
    gradient_clip_norm=5.0,
)
c.fit(x=ds.data, y=ds.target, steps=60, monitors=[vm])


def get():
    return tf.constant(ds.data), tf.constant(ds.target)


print(
    c.evaluate(input_fn=get, steps=1)["accuracy"],
    vm.best_value,
    list(c.predict(ds.data[:3])),
    list(c.predict_proba(input_fn=lambda: tf.constant(ds.data[:2]))),
    c.predict(ds.data[:3], as_iterable=False),
)
w = learn.LinearClassifier(
    feature_columns=[
        tf.contrib.layers.sparse_column_with_hash_bucket("s", 20),
        tf.contrib.layers.crossed_column(
            [
                tf.contrib.layers.sparse_column_with_hash_bucket("s", 20),
                tf.contrib.layers.bucketized_column(
                    tf.contrib.layers.real_valued_column("a"), boundaries=[0.3, 0.6]
                ),
            ],
            hash_bucket_size=int(1e3),
        ),
        tf.contrib.layers.real_valued_column("a"),
    ],
    model_dir=D + "/w",
)


def win():
    return {
        "s": tf.SparseTensor(
            indices=[[i, 0] for i in range(60)],
            values=["k%d" % (i % 3) for i in range(60)],
            dense_shape=[60, 1],
        ),
        "a": tf.constant(ds.data[:, 0]),
    }, tf.constant((ds.target > 0).astype(np.int32))


w.fit(input_fn=win, steps=20)
print(w.evaluate(input_fn=win, steps=1)["accuracy"])
m = learn.DNNLinearCombinedClassifier(
    model_dir=D + "/wd",
    linear_feature_columns=[tf.contrib.layers.sparse_column_with_keys("s", ["k0", "k1", "k2"])],
    dnn_feature_columns=[
        tf.contrib.layers.embedding_column(
            tf.contrib.layers.sparse_column_with_hash_bucket("s", 20), dimension=3
        ),
        tf.contrib.layers.real_valued_column("a"),
    ],
    dnn_hidden_units=[5],
)
m.fit(input_fn=win, steps=10)
reg = learn.SKCompat(
    learn.LinearRegressor(
        feature_columns=learn.infer_real_valued_columns_from_input(ds.data), model_dir=D + "/r"
    )
)
reg.fit(ds.data, ds.data.sum(1), steps=50)
print(
    reg.score(ds.data, ds.data.sum(1)),
    reg.predict(ds.data)["scores"].shape
    if isinstance(reg.predict(ds.data), dict)
    else reg.predict(ds.data).shape,
)


def exp(run_config, hparams):
    e = learn.Estimator(model_fn=my_model, params={"lr": hparams.lr}, config=run_config)
    return learn.Experiment(
        e,
        train_input_fn=get,
        eval_input_fn=get,
        train_steps=10,
        eval_steps=1,
        min_eval_frequency=5,
        eval_metrics={"a": MetricSpec(tf.contrib.metrics.streaming_accuracy, "class")},
    )


print(
    learn_runner.run(
        exp,
        run_config=run_config.RunConfig(model_dir=D + "/x"),
        hparams=tf.contrib.training.HParams(lr=0.1),
        schedule="train_and_evaluate",
    )
)
