"""A coordinator and a worker for the tests of one class, and the stubs to talk to them.

The stubs are made from the protos by grpcio-tools, without any code of Tandem's. Needs the packages that
`./dev setup` puts into TANDEM_PYTHON_CLIENT.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.environ["TANDEM_PYTHON_CLIENT"])

import grpc  # noqa: E402
from grpc_tools import protoc  # noqa: E402
from importlib import resources  # noqa: E402

ARGS = None


def make_stubs(folder):
    protos = pathlib.Path(ARGS.source) / "proto"
    well_known = resources.files("grpc_tools") / "_proto"
    files = [str(p) for p in sorted(protos.glob("tandem/v1/*.proto"))]
    code = protoc.main(
        ["protoc", f"-I{protos}", f"-I{well_known}", f"--python_out={folder}", f"--grpc_python_out={folder}"] + files
    )
    assert code == 0, "protoc failed"
    sys.path.insert(0, folder)


class ClusterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        make_stubs(cls.folder)
        ports = pathlib.Path(cls.folder) / "ports"
        cls.start("tandemd", "--state-dir", f"{cls.folder}/state", "--listen", "127.0.0.1:0",
                  "--http", "127.0.0.1:0", "--port-file", str(ports))
        deadline = time.monotonic() + 20
        while not ports.exists():
            assert time.monotonic() < deadline, "tandemd did not start"
            time.sleep(0.01)
        cls.address = dict(line.split() for line in ports.read_text().splitlines())["grpc"]
        cls.start("tandem-worker", "--coordinator", cls.address, "--slots", "cpu:2",
                  "--log-dir", f"{cls.folder}/logs")
        from tandem.v1 import job_pb2, job_pb2_grpc, spec_pb2
        cls.job_pb2, cls.spec_pb2 = job_pb2, spec_pb2
        cls.channel = grpc.insecure_channel(cls.address)
        cls.addClassCleanup(cls.channel.close)
        cls.stub = job_pb2_grpc.JobServiceStub(cls.channel)

    @classmethod
    def start(cls, binary, *args):
        process = subprocess.Popen([f"{ARGS.binaries}/{binary}", *args], stdout=subprocess.DEVNULL)
        cls.addClassCleanup(cls.stop, process)

    @staticmethod
    def stop(process):
        process.terminate()
        assert process.wait(timeout=10) == 0

    def submit(self, spec, request_id=""):
        return self.stub.SubmitJob(self.job_pb2.SubmitJobRequest(spec=spec, request_id=request_id), timeout=10).job

    def await_success(self, job):
        """The job as it ended."""
        for update in self.stub.WatchJob(self.job_pb2.WatchJobRequest(job_id=job.id), timeout=60):
            job = update.job
        self.assertEqual(job.state, self.job_pb2.JOB_STATE_SUCCEEDED, job)
        return job


def main():
    global ARGS
    parser = argparse.ArgumentParser()
    parser.add_argument("--binaries", required=True)
    parser.add_argument("--source", required=True)
    ARGS = parser.parse_args()
    unittest.main(module="__main__", argv=sys.argv[:1])
