"""What the promise costs: time per step by number of logical ranks on one worker, and the tree beside a plain
all-reduce on two. Runs of one comparison alternate; medians are compared.
"""

import argparse
import os
import statistics
import tempfile

from tandem import Tandem, show_progress

DIGITS = "examples/data/digits.csv"
SHAKESPEARE = "examples/data/tinyshakespeare.txt"

COMMON = """
name: equivalence
logical_ranks: {logical_ranks}
global_batch_size: {batch}
steps: {steps}
seed: 42
reduction: {reduction}
"""

# name: (specification, batch, steps)
MODELS = {
    "perceptron, 17 k parameters": ("""
data: {{csv: {{path: {digits}, classes: 10, scale: 0.0625}}}}
model: {{mlp: {{hidden: [128, 64], dropout: 0.2}}}}
optimizer: {{adamw: {{lr: 0.001}}}}
""", 64, 300),
    "perceptron, 1.1 M parameters": ("""
data: {{csv: {{path: {digits}, classes: 10, scale: 0.0625}}}}
model: {{mlp: {{hidden: [1024, 1024]}}}}
optimizer: {{adamw: {{lr: 0.001}}}}
""", 256, 40),
    "GPT, 2 layers of 64": ("""
data: {{text: {{path: {shakespeare}, window: 64}}}}
model: {{gpt: {{layers: 2, heads: 4, width: 64, dropout: 0.1}}}}
optimizer: {{adamw: {{lr: 0.001}}}}
""", 32, 30),
}


def milliseconds_per_step(tandem, model, workers, logical_ranks, reduction):
    spec, batch, steps = MODELS[model]
    text = (COMMON + spec).format(logical_ranks=logical_ranks, batch=batch, steps=steps, reduction=reduction,
                                  digits=os.path.abspath(DIGITS), shakespeare=os.path.abspath(SHAKESPEARE))
    return 1000 / tandem.train(text, workers)[1]


def compare(tandem, title, columns, repeats):
    """`columns`: heading -> arguments of milliseconds_per_step after the model. Ratios are to the first."""
    print(f"\n{title}\n")
    print("| model | " + " | ".join(columns) + " |")
    print("| --- " * (len(columns) + 1) + "|")
    for model in MODELS:
        times = {heading: [] for heading in columns}
        for run in range(repeats):
            for heading, arguments in columns.items():
                show_progress(f"{model}, {heading}, run {run + 1} of {repeats}")
                times[heading].append(milliseconds_per_step(tandem, model, *arguments))
        show_progress("")
        medians = [statistics.median(times[heading]) for heading in columns]
        cells = [f"{median:.2f} ms ({median / medians[0]:.2f}x)" for median in medians]
        print(f"| {model} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binaries", required=True)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tandem = Tandem(args.binaries, folder)
        try:
            compare(tandem, "One worker: time per step by logical ranks",
                    {f"L = {count}": (1, count, "tree") for count in (1, 2, 4, 8)}, args.repeats)
            compare(tandem, "Two workers, L = 4: time per step by reduction",
                    {"all-reduce": (2, 4, "allreduce"), "tree": (2, 4, "tree")}, args.repeats)
        finally:
            tandem.stop()


if __name__ == "__main__":
    main()
