"""The losses of the programs in data_trainings/, by TensorFlow and by `gpugraph run`.

    python ci/against_tensorflow/trainings_on_data.py --tensorflow PYTHON [--only NAME]
        [--bert FOLDER] [--record]

Each program reads its input by tf.data in the manner of 2017 to 2019, and runs unchanged on both
sides, in a separate process. A line gives the largest relative difference of the losses. The
script fails where one is above 1e-5. --bert names the sources of the package bert-tensorflow with
the packages that it imports; without them, the program on BERT is left out. --record keeps
TensorFlow's losses for tests/examples/test_data_trainings.py.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from programs import largest_difference, losses
from sides import ROOT, python_of_tensorflow

FOLDER = Path(__file__).resolve().with_name("data_trainings")
RECORD = ROOT / "tests" / "examples" / "data_training_losses.json"
LIMIT = 1e-5
OF_BERT = "bert_classifier"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tensorflow", metavar="PYTHON", help="a Python that has TensorFlow")
    parser.add_argument("--only", metavar="NAME", help="the one program of this name")
    parser.add_argument("--bert", metavar="FOLDER", default="", help="sources of bert-tensorflow")
    parser.add_argument("--record", action="store_true", help="keep TensorFlow's losses")
    options = parser.parse_args()
    tensorflow = python_of_tensorflow(options.tensorflow)
    names = [options.only] if options.only else sorted(p.stem for p in FOLDER.glob("*.py"))
    record, worst = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}, 0.0
    for name in names:
        if name == OF_BERT and not options.bert:
            print(f"{name:24} left out: --bert FOLDER names its sources")
            continue
        command = [tensorflow, str(FOLDER.with_name("version_1.py")), f"{name}.py"]
        record[name] = losses(command, FOLDER, options.bert)
        command = [sys.executable, "-m", "gpugraph", "run", f"{name}.py"]
        actual = losses(command, FOLDER, options.bert)
        difference = largest_difference(record[name], actual)
        worst = max(worst, difference)
        print(f"{name:24} {len(actual):3} losses, largest difference {difference:.1e}", flush=True)
    if options.record:
        RECORD.write_text(json.dumps(record, indent=0, sort_keys=True) + os.linesep, "utf-8")
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
