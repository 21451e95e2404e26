"""Tandem beside torchrun + DistributedDataParallel: time to the first step, and steps a second.

Both train the same perceptron on the digits with global batch 64 and AdamW, one thread a rank, on 1 and 2 CPU
ranks. Runs alternate, so that whatever else the machine does hits both; medians are compared.
"""

import os
import re
import statistics
import subprocess
import sys
import time

from tandem import run, show_progress

STEPS = 400
DATA = "examples/data/digits.csv"

SPEC = """
name: launch
logical_ranks: {ranks}
global_batch_size: 64
steps: {steps}
seed: 42
data: {{csv: {{path: {data}, classes: 10, scale: 0.0625}}}}
model: {{mlp: {{hidden: [64, 64]}}}}
optimizer: {{adamw: {{lr: 0.001}}}}
"""


def measure(tandem, ranks):
    return tandem.train(SPEC.format(ranks=ranks, steps=STEPS, data=os.path.abspath(DATA)), ranks)


def measure_torchrun(ranks):
    environment = dict(os.environ, OMP_NUM_THREADS="1", STEPS=str(STEPS), T0=str(time.time()))
    out = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}",
                          "bench/peer/ddp_digits.py", DATA], check=True, capture_output=True, text=True, env=environment)
    first, rate = re.search(r"first step after ([\d.]+) s; (\d+) steps/s", out.stdout).groups()
    return float(first), float(rate)


def report(tandem, repeats):
    print(f"median of {repeats} alternating runs, {STEPS} steps each\n")
    print(f"{'':8}{'first step (s)':>36}{'steps/s':>36}")
    print(f"{'ranks':8}" + f"{'tandem':>12}{'torchrun':>12}{'ratio':>12}" * 2)
    for ranks in (1, 2):
        measure(tandem, ranks)  # warms the file cache for both
        measure_torchrun(ranks)
        ours, theirs = [], []
        for i in range(repeats):
            show_progress(f"{ranks} rank(s), run {i + 1} of {repeats}")
            ours.append(measure(tandem, ranks))
            theirs.append(measure_torchrun(ranks))
        show_progress("")
        first, first_peer, rate, rate_peer = (
            statistics.median(run[i] for run in runs) for i in (0, 1) for runs in (ours, theirs))
        print(f"{ranks:<8}{first:>12.2f}{first_peer:>12.2f}{first_peer / first:>11.1f}x"
              f"{rate:>12.0f}{rate_peer:>12.0f}{rate / rate_peer:>11.2f}x", flush=True)


if __name__ == "__main__":
    run(report, repeats=5)
