"""Scripts with torch, run by Tandem and by torchrun, for the tests of this folder."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

ARGS = None
TIMEOUT = 240  # seconds, of one run


def source(path):
    return os.path.join(ARGS.source, path)


def torchrun(ranks, *program, **environment):
    """What the program printed."""
    return subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}",
                           *program], env=dict(os.environ, OMP_NUM_THREADS="1", **environment), check=True, text=True,
                          stdout=subprocess.PIPE, timeout=TIMEOUT).stdout


class Finished:
    """A `tandem run` as it ended."""

    def __init__(self, exit_code, out, err):
        self.exit_code = exit_code
        self.job = json.loads(out) if out else None
        # What the ranks printed.
        self.printed = err


class ScriptTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        # In the environment of every process of the test, so that one that is left behind is found.
        self.mark = str(uuid.uuid4())

    def write_script(self, text):
        path = self.folder / "script.py"
        path.write_text(text)
        return str(path)

    def start_tandem(self, ranks, *words, **environment):
        """`tandem run --local RANKS`, with these words behind it."""
        ours = {"PYTHONPATH": os.pathsep.join([source("python"), os.environ.get("PYTHONPATH", "")]), "MARK": self.mark}
        return subprocess.Popen([f"{ARGS.binaries}/tandem", "run", "-o", "json", "--local", str(ranks), *words],
                                env=dict(os.environ, **ours, **environment), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def finish(self, process):
        try:
            out, err = process.communicate(timeout=TIMEOUT)
        finally:
            process.kill()
        finished = Finished(process.returncode, out, err)
        self.assertEqual(self.left_behind(), [], finished.printed)
        return finished

    def run_tandem(self, ranks, *words, **environment):
        return self.finish(self.start_tandem(ranks, *words, **environment))

    def run_to_success(self, ranks, *words, **environment):
        finished = self.run_tandem(ranks, *words, **environment)
        self.assertEqual(finished.exit_code, 0, finished.printed)
        return finished

    def left_behind(self):
        return [path for path in pathlib.Path("/proc").glob("[0-9]*/environ") if self.has_mark(path)]

    def has_mark(self, path):
        try:
            return f"MARK={self.mark}".encode() in path.read_bytes().split(b"\0")
        except OSError:  # It has ended, or is another user's.
            return False


class Cluster:
    """A coordinator and a worker with so many slots, until the test ends."""

    def __init__(self, test, slots):
        self.test, self.folder = test, test.folder
        ports = self.folder / "ports"
        self.start("tandemd", "--state-dir", f"{self.folder}/state", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
                   "--port-file", str(ports))
        self.wait_until(ports.exists)
        self.address = dict(line.split() for line in ports.read_text().splitlines())["grpc"]
        self.start("tandem-worker", "--coordinator", self.address, "--slots", f"cpu:{slots}", "--log-dir",
                   f"{self.folder}/logs", "--allow-commands")

    def start(self, binary, *args):
        process = subprocess.Popen([f"{ARGS.binaries}/{binary}", *args], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.test.addCleanup(process.wait)
        self.test.addCleanup(process.terminate)

    def tandem(self, *words):
        return subprocess.run([f"{ARGS.binaries}/tandem", "--coordinator", self.address, *words], check=True,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=TIMEOUT).stdout

    def job(self, job_id):
        return json.loads(self.tandem("status", job_id, "-o", "json"))

    def history(self, job_id):
        return json.loads(self.tandem("loss", job_id, "-o", "json"))["samples"]

    @staticmethod
    def wait_until(condition):
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            assert time.monotonic() < deadline, "waited in vain"
            time.sleep(0.01)


def main():
    global ARGS
    parser = argparse.ArgumentParser()
    parser.add_argument("--binaries", required=True)
    parser.add_argument("--source", required=True)
    ARGS = parser.parse_args()
    unittest.main(module="__main__", argv=sys.argv[:1])
