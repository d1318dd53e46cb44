"""Wide and deep estimators on CSV files, exported."""

from __future__ import absolute_import, division, print_function
import argparse, shutil, sys, tempfile, os
import tensorflow as tf, numpy as np

_COLS = ["age", "workclass", "education", "hours", "income"]
_DEF = [[0], [""], [""], [0], [""]]
FLAGS = None
d = tempfile.mkdtemp()
rng = np.random.RandomState(0)
for n in ("train", "test"):
    with open(os.path.join(d, n + ".csv"), "w") as f:
        for i in range(120):
            a = rng.randint(18, 80)
            e = rng.choice(["HS", "BS", "MS"])
            f.write(
                "%d,%s,%s,%d,%s\n"
                % (
                    a,
                    rng.choice(["Private", "Gov"]),
                    e,
                    rng.randint(10, 60),
                    ">50K" if a > 40 and e != "HS" else "<=50K",
                )
            )


def build_model_columns():
    age = tf.feature_column.numeric_column("age")
    hours = tf.feature_column.numeric_column(
        "hours", normalizer_fn=lambda x: (tf.to_float(x) - 35.0) / 15.0
    )
    edu = tf.feature_column.categorical_column_with_vocabulary_list("education", ["HS", "BS", "MS"])
    wc = tf.feature_column.categorical_column_with_hash_bucket("workclass", hash_bucket_size=10)
    buckets = tf.feature_column.bucketized_column(
        age, boundaries=[18, 25, 30, 35, 40, 45, 50, 55, 60, 65]
    )
    base = [edu, wc, buckets]
    crossed = [
        tf.feature_column.crossed_column(["education", "workclass"], hash_bucket_size=100),
        tf.feature_column.crossed_column([buckets, "education"], hash_bucket_size=100),
    ]
    deep = [
        age,
        hours,
        tf.feature_column.indicator_column(edu),
        tf.feature_column.embedding_column(wc, dimension=4),
    ] + tf.feature_column.shared_embedding_columns([edu], 3)
    return base + crossed, deep


def build_estimator(model_dir, model_type):
    wide, deep = build_model_columns()
    rc = tf.estimator.RunConfig().replace(
        session_config=tf.ConfigProto(device_count={"GPU": 0}),
        save_checkpoints_steps=20,
        keep_checkpoint_max=2,
    )
    if model_type == "wide":
        return tf.estimator.LinearClassifier(model_dir=model_dir, feature_columns=wide, config=rc)
    elif model_type == "deep":
        return tf.estimator.DNNClassifier(
            model_dir=model_dir,
            feature_columns=deep,
            hidden_units=[20, 10],
            config=rc,
            batch_norm=True,
            dropout=0.1,
        )
    return tf.estimator.DNNLinearCombinedClassifier(
        model_dir=model_dir,
        linear_feature_columns=wide,
        dnn_feature_columns=deep,
        dnn_hidden_units=[20, 10],
        config=rc,
    )


def input_fn(data_file, num_epochs, shuffle, batch_size):
    assert tf.gfile.Exists(data_file)

    def parse_csv(value):
        columns = tf.decode_csv(value, record_defaults=_DEF)
        features = dict(zip(_COLS, columns))
        labels = features.pop("income")
        return features, tf.equal(labels, ">50K")

    ds = tf.data.TextLineDataset(data_file)
    if shuffle:
        ds = ds.shuffle(buffer_size=120)
    return (
        ds.map(parse_csv, num_parallel_calls=2)
        .repeat(num_epochs)
        .batch(batch_size)
        .make_one_shot_iterator()
        .get_next()
    )


def main(unused_argv):
    for kind in ("wide", "deep", "wide_deep"):
        md = os.path.join(d, kind)
        m = build_estimator(md, kind)
        m.train(input_fn=lambda: input_fn(os.path.join(d, "train.csv"), 6, True, 20))
        r = m.evaluate(input_fn=lambda: input_fn(os.path.join(d, "test.csv"), 1, False, 20))
        print(
            kind, {k: float("%.3f" % r[k]) for k in ("accuracy", "auc", "precision", "global_step")}
        )
    spec = tf.feature_column.make_parse_example_spec(sum(build_model_columns(), []))
    p = m.export_savedmodel(
        os.path.join(d, "export"), tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    )
    pred = tf.contrib.predictor.from_saved_model(
        p.decode() if isinstance(p, bytes) else p, signature_def_key="predict"
    )
    ex = tf.train.Example(
        features=tf.train.Features(
            feature={
                "age": tf.train.Feature(float_list=tf.train.FloatList(value=[50.0])),
                "hours": tf.train.Feature(float_list=tf.train.FloatList(value=[40.0])),
                "education": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"MS"])),
                "workclass": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"Gov"])),
            }
        )
    )
    print(pred({"examples": [ex.SerializeToString()]})["probabilities"].shape)
    print(
        m.get_variable_names()[:2],
        next(m.predict(lambda: input_fn(os.path.join(d, "test.csv"), 1, False, 1)))["classes"],
    )


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.WARN)
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_dir", type=str, default="/tmp/census")
    FLAGS, unparsed = parser.parse_known_args()
    tf.app.run(main=main, argv=[sys.argv[0]] + unparsed)
