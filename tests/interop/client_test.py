"""An independent client: submits a job, watches it to its end, reads its logs and its history, and checks the
errors that the protos promise."""

import cluster
import grpc


class IndependentClient(cluster.ClusterTest):
    def spec(self):
        spec = self.spec_pb2.JobSpec(name="from-python", workers=2, global_batch_size=32, steps=20)
        spec.data.csv.path = f"{cluster.ARGS.source}/examples/data/digits.csv"
        spec.data.csv.classes = 10
        spec.model.mlp.hidden.append(16)
        spec.optimizer.sgd.lr = 0.01
        return spec

    def test_submit_watch_logs_history(self):
        pb = self.job_pb2
        submitted = self.submit(self.spec(), request_id="once")
        again = self.submit(self.spec(), request_id="once")
        self.assertEqual(submitted.id, again.id)

        last = self.await_success(submitted)
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
    cluster.main()
