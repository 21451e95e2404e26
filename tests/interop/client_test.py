"""An independent client: stubs made from the protos by grpcio-tools, no code of Tandem's.

Submits a job, watches it to its end, reads its logs and its history, and checks the errors that the protos
promise. Needs the packages that `./dev setup` puts into TANDEM_PYTHON_CLIENT.
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


class IndependentClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        make_stubs(cls.folder.name)
        ports = pathlib.Path(cls.folder.name) / "ports"
        cls.start("tandemd", "--state-dir", f"{cls.folder.name}/state", "--listen", "127.0.0.1:0",
                                   "--http", "127.0.0.1:0", "--port-file", str(ports))
        deadline = time.monotonic() + 20
        while not ports.exists():
            assert time.monotonic() < deadline, "tandemd did not start"
            time.sleep(0.01)
        cls.address = dict(line.split() for line in ports.read_text().splitlines())["grpc"]
        cls.start("tandem-worker", "--coordinator", cls.address, "--slots", "cpu:2",
                  "--log-dir", f"{cls.folder.name}/logs")
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

    def spec(self):
        spec = self.spec_pb2.JobSpec(name="from-python", workers=2, global_batch_size=32, steps=20)
        spec.data.csv.path = f"{ARGS.source}/examples/data/digits.csv"
        spec.data.csv.classes = 10
        spec.model.mlp.hidden.append(16)
        spec.optimizer.sgd.lr = 0.01
        return spec

    def test_submit_watch_logs_history(self):
        pb = self.job_pb2
        submitted = self.stub.SubmitJob(pb.SubmitJobRequest(spec=self.spec(), request_id="once"), timeout=10).job
        again = self.stub.SubmitJob(pb.SubmitJobRequest(spec=self.spec(), request_id="once"), timeout=10).job
        self.assertEqual(submitted.id, again.id)

        last = None
        for update in self.stub.WatchJob(pb.WatchJobRequest(job_id=submitted.id), timeout=60):
            last = update.job
        self.assertEqual(last.state, pb.JOB_STATE_SUCCEEDED, last)
        self.assertEqual(last.step, 20)
        self.assertEqual(len(last.parameter_digest), 64)

        lines = [line for chunk in self.stub.StreamLogs(
            pb.StreamLogsRequest(job_id=submitted.id, follow=True), timeout=30) for line in chunk.lines]
        self.assertEqual({line.rank for line in lines}, {0, 1})
        history = self.stub.GetHistory(pb.GetHistoryRequest(job_id=submitted.id), timeout=10)
        self.assertEqual([s.step for s in history.samples], list(range(1, 21)))

    def test_promised_errors(self):
        pb = self.job_pb2
        bad = self.spec()
        bad.global_batch_size = 1
        for call, request, code in [
            (self.stub.SubmitJob, pb.SubmitJobRequest(spec=bad), grpc.StatusCode.INVALID_ARGUMENT),
            (self.stub.SubmitJob, pb.SubmitJobRequest(), grpc.StatusCode.INVALID_ARGUMENT),
            (self.stub.GetJob, pb.GetJobRequest(job_id="nobody"), grpc.StatusCode.NOT_FOUND),
            (self.stub.CancelJob, pb.CancelJobRequest(job_id="nobody"), grpc.StatusCode.NOT_FOUND),
        ]:
            with self.assertRaises(grpc.RpcError) as raised:
                call(request, timeout=10)
            self.assertEqual(raised.exception.code(), code)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--binaries", required=True)
    parser.add_argument("--source", required=True)
    ARGS = parser.parse_args()
    unittest.main(argv=sys.argv[:1])
