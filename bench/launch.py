"""Tandem beside torchrun + DistributedDataParallel: time to the first step, and steps a second.

Both train the same perceptron on the digits with global batch 64 and AdamW, one thread a rank, on 1 and 2 CPU
ranks. Runs alternate, so that whatever else the machine does hits both; medians are compared.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime

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


class Tandem:
    """A daemon and two slots that are already there, as they are for somebody who submits a job."""

    def __init__(self, binaries, folder):
        self.binaries, self.folder = binaries, pathlib.Path(folder)
        ports = self.folder / "ports"
        self.processes = [self.start("tandemd", "--state-dir", str(self.folder / "state"), "--listen", "127.0.0.1:0",
                                     "--http", "127.0.0.1:0", "--port-file", str(ports))]
        while not ports.exists():
            time.sleep(0.01)
        self.address = dict(line.split() for line in ports.read_text().splitlines())["grpc"]
        self.processes.append(self.start("tandem-worker", "--coordinator", self.address, "--slots", "cpu:2",
                                         "--log-dir", str(self.folder / "logs")))

    def start(self, binary, *args):
        return subprocess.Popen([f"{self.binaries}/{binary}", *args], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def command(self, *args):
        return subprocess.run([f"{self.binaries}/tandem", "--coordinator", self.address, *args], check=True,
                              capture_output=True, text=True).stdout

    def measure(self, ranks):
        spec = self.folder / "spec.yaml"
        spec.write_text(SPEC.format(ranks=ranks, steps=STEPS, data=os.path.abspath(DATA)))
        begin = time.time()
        job_id = self.command("submit", str(spec), "--workers", str(ranks)).strip()
        self.command("wait", job_id)
        job = json.loads(self.command("status", job_id, "-o", "json"))
        submitted = datetime.fromisoformat(job["submittedAt"].replace("Z", "+00:00")).timestamp()
        first = submitted + float(job["timeToFirstStep"].rstrip("s"))
        ended = datetime.fromisoformat(job["endedAt"].replace("Z", "+00:00")).timestamp()
        return first - begin, (STEPS - 1) / (ended - first)

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait()


def measure_torchrun(ranks):
    environment = dict(os.environ, OMP_NUM_THREADS="1", STEPS=str(STEPS), T0=str(time.time()))
    out = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}",
                          "bench/peer/ddp_digits.py", DATA], check=True, capture_output=True, text=True, env=environment)
    first, rate = re.search(r"first step after ([\d.]+) s; (\d+) steps/s", out.stdout).groups()
    return float(first), float(rate)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binaries", required=True)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tandem = Tandem(args.binaries, folder)
        try:
            report(tandem, args.repeats)
        finally:
            tandem.stop()


def show_progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def report(tandem, repeats):
    print(f"median of {repeats} alternating runs, {STEPS} steps each\n")
    print(f"{'':8}{'first step (s)':>36}{'steps/s':>36}")
    print(f"{'ranks':8}" + f"{'tandem':>12}{'torchrun':>12}{'ratio':>12}" * 2)
    for ranks in (1, 2):
        tandem.measure(ranks)  # warms the file cache for both
        measure_torchrun(ranks)
        ours, theirs = [], []
        for i in range(repeats):
            show_progress(f"{ranks} rank(s), run {i + 1} of {repeats}")
            ours.append(tandem.measure(ranks))
            theirs.append(measure_torchrun(ranks))
        show_progress("")
        first, first_peer, rate, rate_peer = (
            statistics.median(run[i] for run in runs) for i in (0, 1) for runs in (ours, theirs))
        print(f"{ranks:<8}{first:>12.2f}{first_peer:>12.2f}{first_peer / first:>11.1f}x"
              f"{rate:>12.0f}{rate_peer:>12.0f}{rate / rate_peer:>11.2f}x", flush=True)


if __name__ == "__main__":
    main()
