"""The checks of run.sh: each says in one line what it saw, and leaves its figures in a JSON file."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "bench"))

from jobs import jobs, timed  # noqa: E402
from tandem import Tandem, seconds_after_first_step  # noqa: E402

LOGICAL_RANKS = (1, 2, 4)
WARM_STEPS = 10  # that are not timed, as in peer.py

# In seconds since the beginning: when no check begins any more, and when what runs is stopped.
BEGAN, LAST_BEGIN, END = time.monotonic(), 420, 470
JOB_PATIENCE, PROGRAM_PATIENCE = 90, 120


class Failed(Exception):
    """What was seen is not what was promised."""


class Skipped(Exception):
    """What is needed to look is not here."""


def at_most(patience):
    """Of these seconds as many as are left, to give to a program that runs."""
    return max(1, min(patience, BEGAN + END - time.monotonic()))


def run_program(command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=at_most(PROGRAM_PATIENCE),
                          **options)


class Machine:
    """The programs, the devices that they find, and a Tandem that has them all."""

    def __init__(self, options, folder):
        self.binaries, self.device = options.binaries, options.device
        self.probe = json.loads(self.output("tandem-trainer", "--probe"))
        self.devices = [d for d in self.probe.get("devices", []) if d["kind"] == self.device]
        self.most_ranks = 2 if self.device == "cpu" else len(self.devices)
        if self.most_ranks == 0:
            why = [library["problem"] for library in self.probe.get("libraries", []) if library["kind"] == self.device]
            raise Failed(f"there is no {self.device} device here: "
                         f"{''.join(why) or 'the programs are built for the CPU alone'}")
        slots = "cpu:2" if self.device == "cpu" else f"{self.device}:all"
        self.tandem = Tandem(self.binaries, folder, slots)

    def environment(self):
        """As a worker sets it for a process that uses the device."""
        needed = {v["name"]: v["value"] for library in self.probe.get("libraries", []) if library["kind"] == self.device
                  for v in library.get("environment", [])}
        return os.environ | needed

    def output(self, program, *arguments, may_fail=False):
        done = run_program([f"{self.binaries}/{program}", *arguments],
                           env=self.environment() if program == "tandem-exchange-check" else None)
        if done.returncode != 0 and not may_fail:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            raise Failed(f"{program} ended with {done.returncode}: {''.join(last)}")
        return done.stdout

    def run_job(self, spec, workers=1):
        return self.tandem.run_job(spec, workers, at_most(JOB_PATIENCE))

    def receipt(self, spec, workers=1):
        """What tells two trainings apart: of every step's loss and samples, and of the parameters at the end."""
        job = self.run_job(spec, workers)
        return job["receipt"]["digest"], job["parameterDigest"]


def check_probe(machine):
    for device in machine.devices:
        print(f"   {device['model']}, {int(device['totalBytes']) >> 30} GiB, {device.get('computeCapability')}")
    return machine.probe


def check_doctor(machine):
    report = json.loads(machine.output("tandem", "doctor", "--json", may_fail=True))
    problems = [f for f in report.get("findings", []) if f.get("severity") == "SEVERITY_PROBLEM"]
    if problems:
        raise Failed(problems[0])
    return report


def check_sums(machine, under=(), only=()):
    """The kernel of the tree beside the CPU's sums, bit for bit."""
    if machine.device == "cpu":
        raise Skipped("needs a GPU; tree_sum_test does the same on the CPU")
    places = [machine.binaries / "cuda_device_test", machine.binaries.parent / "tests/cuda/cuda_device_test"]
    test = next((place for place in places if place.exists()), None)
    if test is None:
        raise Failed("cuda_device_test has not been built")
    done = run_program([*under, str(test), "--gtest_brief=1", *only])
    if done.returncode != 0:
        raise Failed((done.stdout + done.stderr)[-500:])
    return done.stdout.strip().splitlines()


def check_sanitizer(machine):
    """The kernel reads nothing that was never written."""
    tool = shutil.which("compute-sanitizer")
    if machine.device == "cpu" or tool is None:
        raise Skipped("needs a GPU and compute-sanitizer")
    only = ["--gtest_filter=-*LargeSum*"]
    return {name: check_sums(machine, [tool, "--tool", name, "--error-exitcode", "9"], only)
            for name in ("memcheck", "initcheck")}


def check_exchanges(machine):
    """A communicator of one rank, and every exchange in it."""
    return json.loads(machine.output("tandem-exchange-check", machine.device))


def check_repeats(machine, name, more=""):
    """Twice on one device, then on as many as there are: the same bits, for each number of logical ranks."""
    job, figures = jobs(SOURCE)[name], {}
    for logical_ranks in LOGICAL_RANKS:
        spec = job.spec(machine.device, logical_ranks, more)
        seen = {"1": machine.receipt(spec), "1 again": machine.receipt(spec)}
        if logical_ranks > 1 and machine.most_ranks > 1:
            seen["2"] = machine.receipt(spec, workers=2)
        if len(set(seen.values())) != 1:
            raise Failed(f"L = {logical_ranks}: {seen}")
        figures[f"L={logical_ranks}"] = {"digest": seen["1"][1], "runs": list(seen)}
    if len({figure["digest"] for figure in figures.values()}) == 1:
        raise Failed("the same digest for every L: the check cannot tell trainings apart")
    return figures


def check_speed(machine):
    """One rank beside the same model in Python, in turns: the steps after the tenth, and nothing else."""
    size, long, short, theirs = timed(machine.device), [], [], []
    for _ in range(2):
        # Both have the same start, first steps and end, so that their difference is the steps between.
        for steps, taken in ((size.steps, long), (WARM_STEPS, short)):
            job = machine.run_job(size.job(SOURCE, steps).spec(machine.device, 1))
            taken.append(seconds_after_first_step(job))
        theirs.append(python_steps_a_second(machine, size))
    ours = (size.steps - WARM_STEPS) / (min(long) - min(short))
    return {f"tandem_steps_a_second_after_{WARM_STEPS}": ours,
            f"python_steps_a_second_after_{WARM_STEPS}": max(theirs), "ratio": ours / max(theirs)}


def python_steps_a_second(machine, size):
    text = SOURCE / "examples/data/tinyshakespeare.txt"
    numbers = [size.layers, size.heads, size.width, size.window, size.batch, size.steps]
    peer = SOURCE / "tests/gpu/peer.py"
    done = run_program([sys.executable, str(peer), str(text), machine.device, *map(str, numbers)])
    if "No module named 'torch'" in done.stderr:
        raise Skipped("torch for Python is not installed")
    if done.returncode != 0:
        raise Failed(done.stderr[-500:])
    return json.loads(done.stdout)["steps_a_second"]


def check_memory(machine):
    """What the device has in use while the timed model trains: alone, and one rank of two."""
    if machine.device == "cpu" or shutil.which("nvidia-smi") is None:
        raise Skipped("needs a GPU and nvidia-smi")
    job, figures = timed(machine.device).job(SOURCE), {}
    for logical_ranks in LOGICAL_RANKS:
        for ranks in {1, min(2, machine.most_ranks, logical_ranks)}:
            with MemoryWatch() as watch:
                machine.receipt(job.spec(machine.device, logical_ranks), ranks)
            figures[f"L={logical_ranks} ranks={ranks}"] = {"MiB": watch.most}
    return figures


class MemoryWatch:
    """The most that any device has in use, in MiB, as nvidia-smi sees it."""

    def __enter__(self):
        self.most, self.over = 0, threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def look(self):
        while not self.over.wait(0.2):
            used = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
                                  capture_output=True, text=True, check=False, timeout=10).stdout.split()
            self.most = max([self.most, *(int(mib) for mib in used if mib.isdigit())])


def all_checks():
    yield "probe", check_probe
    yield "doctor", check_doctor
    yield "sums", check_sums
    yield "sums under the memory checker", check_sanitizer
    yield "exchanges", check_exchanges
    for name in jobs(SOURCE):
        yield f"repeats: {name}", lambda machine, name=name: check_repeats(machine, name)
    for precision in ("bf16", "fp16"):
        yield (f"repeats: gpt, {precision}",
               lambda machine, more=f"precision: {precision}\n": check_repeats(machine, "gpt", more))
    yield "speed", check_speed
    yield "memory", check_memory


def run(machine, name, check):
    began = time.monotonic()
    record = {"name": name, "outcome": "passed"}
    try:
        if began > BEGAN + LAST_BEGIN:
            raise Skipped("no time left")
        record["figures"] = check(machine)
    except Skipped as why:
        record.update(outcome="skipped", why=str(why))
    except Exception as why:  # whatever it is, the other checks go on
        record.update(outcome="failed", why=f"{type(why).__name__}: {why}")
    record["seconds"] = round(time.monotonic() - began, 1)
    print(f"{record['outcome']:8} {name} ({record['seconds']} s){': ' + record['why'] if 'why' in record else ''}", flush=True)
    return record


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binaries", type=pathlib.Path, required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            machine = Machine(options, folder)
        except Failed as why:
            sys.exit(f"checks.py: {why}")
        records = []
        try:
            for name, check in all_checks():
                records.append(run(machine, name, check))
                # After each, for whoever is stopped before the last.
                options.out.write_text(json.dumps({"device": options.device, "checks": records}, indent=1) + "\n")
        finally:
            machine.tandem.stop()
    print(f"the figures are in {options.out}")
    sys.exit(1 if any(record["outcome"] == "failed" for record in records) else 0)


main()
