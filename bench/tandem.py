"""A running Tandem for the measurements of this folder."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
from datetime import datetime

TIMED_OUT = 124  # of `tandem wait --timeout`

class JobFailed(Exception):
    """A job did not succeed, or not in time."""


class Tandem:
    """A daemon and slots that are already there, as they are for somebody who submits a job."""

    def __init__(self, binaries, folder, slots="cpu:2"):
        self.binaries, self.folder = binaries, pathlib.Path(folder)
        ports = self.folder / "ports"
        self.processes = [self.start("tandemd", "--state-dir", str(self.folder / "state"), "--listen", "127.0.0.1:0",
                                     "--http", "127.0.0.1:0", "--port-file", str(ports))]
        while not ports.exists():
            if self.processes[0].poll() is not None:
                raise RuntimeError("tandemd has not started")
            time.sleep(0.01)
        self.address = dict(line.split() for line in ports.read_text().splitlines())["grpc"]
        self.processes.append(self.start("tandem-worker", "--coordinator", self.address, "--slots", slots,
                                         "--log-dir", str(self.folder / "logs"), "--allow-commands"))

    def start(self, binary, *args):
        return subprocess.Popen([f"{self.binaries}/{binary}", *args], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def tandem(self, *args, check=True):
        return subprocess.run([f"{self.binaries}/tandem", "--coordinator", self.address, *args], check=check,
                              capture_output=True, text=True)

    def command(self, *args):
        return self.tandem(*args).stdout

    def run_job(self, spec, workers, patience=None):
        """Runs the text of a spec to its end: the job, as `status` has it. One that does not succeed, or takes longer
        than `patience` seconds and is cancelled then, is a JobFailed."""
        path = self.folder / "spec.yaml"
        path.write_text(spec)
        job_id = self.command("submit", str(path), "--workers", str(workers)).strip()
        limit = () if patience is None else ("--timeout", f"{patience:.0f}s")
        if self.tandem("wait", job_id, *limit, check=False).returncode == TIMED_OUT:
            self.command("cancel", job_id)
            raise JobFailed(f"{job_id} on {workers}: has not ended after {patience:.0f} s")
        job = json.loads(self.command("status", job_id, "-o", "json"))
        if job["state"] != "JOB_STATE_SUCCEEDED":
            raise JobFailed(f"{job_id} on {workers}: {job.get('cause', {}).get('message', job['state'])}")
        return job

    def train(self, spec, workers):
        """Runs the text of a spec; seconds from the submission to the first step, and steps a second after it."""
        begin = time.time()
        job = self.run_job(spec, workers)
        return first_step_at(job) - begin, steps_a_second(job)

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def run(report, repeats):
    """A measurement's main program: `report` gets a Tandem, and how often to repeat, `repeats` unless it is told."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--binaries", required=True)
    parser.add_argument("--repeats", type=int, default=repeats)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tandem = Tandem(args.binaries, folder)
        try:
            report(tandem, args.repeats)
        finally:
            tandem.stop()


def first_step_at(job):
    return seconds(job["submittedAt"]) + float(job["timeToFirstStep"].rstrip("s"))


def seconds_after_first_step(job):
    """With the end: the last checkpoint, where there is one, and the exit of the ranks."""
    return seconds(job["endedAt"]) - first_step_at(job)


def steps_a_second(job):
    """After the first step."""
    return (int(job["totalSteps"]) - 1) / seconds_after_first_step(job)


def seconds(timestamp):
    return datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()


def show_progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
