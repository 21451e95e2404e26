#include "server/service/log_reactor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "common/temporary_folder.h"
#include "tandem/v1/job.grpc.pb.h"

namespace tandem::service {
namespace {

using ::testing::ElementsAre;

const JobId kJob("digits-abc234");

google::protobuf::RepeatedPtrField<v1::LogLine> Line(uint32_t rank, const std::string& text) {
  google::protobuf::RepeatedPtrField<v1::LogLine> lines;
  v1::LogLine& line = *lines.Add();
  line.set_attempt(1);
  line.set_rank(rank);
  line.set_text(text);
  return lines;
}

// Has something else to do as soon as the call is known to the loop.
class BusyService : public v1::JobService::CallbackService {
 public:
  BusyService(EventLoop& loop, JobBoard& board, store::LogStore& logs)
      : loop_(loop), board_(board), logs_(logs) {}

  grpc::ServerWriteReactor<v1::StreamLogsResponse>* StreamLogs(
      grpc::CallbackServerContext*, const v1::StreamLogsRequest* request) override {
    // The loop is held until both are in its queue, so that their order is certain.
    auto queued = std::make_shared<absl::Notification>();
    loop_.Post([queued] { queued->WaitForNotification(); });
    auto* reactor = new LogReactor(loop_, board_, logs_, *request);
    loop_.Post([this] { logs_.Append(kJob, Line(1, "meanwhile")); });
    queued->Notify();
    return reactor;
  }

 private:
  EventLoop& loop_;
  JobBoard& board_;
  store::LogStore& logs_;
};

TEST(LogReactor, OtherRankFillsManyPages_TheLoopHasTurnsInBetween) {
  const TemporaryFolder root = *TemporaryFolder::Create("tandem-test");
  const auto logs = *store::LogStore::Open(root.path());
  for (int page = 0; page < 4; ++page) {
    logs->Append(kJob, Line(0, std::string(store::LogStore::kPageBytes, 'x')));
  }
  JobBoard board;
  v1::Job job;
  job.set_id(kJob.value());
  job.set_state(v1::JOB_STATE_SUCCEEDED);
  board.Publish(job);
  EventLoop loop(absl::Hours(1), [] {});
  loop.Start();
  BusyService service(loop, board, *logs);
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  const auto stub = v1::JobService::NewStub(server->InProcessChannel({}));

  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  v1::StreamLogsRequest request;
  request.set_job_id(kJob.value());
  request.set_rank(1);
  const auto stream = stub->StreamLogs(&context, request);
  std::vector<std::string> texts;
  v1::StreamLogsResponse response;
  while (stream->Read(&response)) {
    for (const v1::LogLine& line : response.lines()) texts.push_back(line.text());
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_THAT(texts, ElementsAre("meanwhile"));
  server->Shutdown();
}

}  // namespace
}  // namespace tandem::service
