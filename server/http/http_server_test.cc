#include "server/http/http_server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <httplib.h>

namespace tandem::http {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Knows one job, and says what it was asked.
class CannedJobs : public v1::JobService::Service {
 public:
  grpc::Status ListJobs(grpc::ServerContext*, const v1::ListJobsRequest*,
                        v1::ListJobsResponse* response) override {
    response->add_jobs()->set_id("digits-abc234");
    return grpc::Status::OK;
  }
  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest* request,
                      v1::GetJobResponse* response) override {
    if (request->job_id() != "digits-abc234") {
      return {grpc::StatusCode::NOT_FOUND, "there is no job \"" + request->job_id() + "\""};
    }
    response->mutable_job()->set_id(request->job_id());
    return grpc::Status::OK;
  }
  grpc::Status GetHistory(grpc::ServerContext*, const v1::GetHistoryRequest* request,
                          v1::GetHistoryResponse* response) override {
    response->add_samples()->set_step(request->from_step());
    response->set_next_step(request->page_size());
    return grpc::Status::OK;
  }
  grpc::Status ListWorkers(grpc::ServerContext*, const v1::ListWorkersRequest*,
                           v1::ListWorkersResponse* response) override {
    response->add_workers()->set_name("w1");
    return grpc::Status::OK;
  }
};

class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&jobs_);
    grpc_ = builder.BuildAndStart();
    server_ = *HttpServer::Start("127.0.0.1", 0, MakeSources());
    client_ = std::make_unique<httplib::Client>("127.0.0.1", server_->port());
  }
  ~HttpServerTest() override { server_.reset(); }

  Sources MakeSources() {
    return {v1::JobService::NewStub(grpc_->InProcessChannel({})),
            [this] { return healthy_ ? absl::OkStatus() : absl::InternalError("disk is full"); },
            [] { return std::string("tandem_up 1\n"); }};
  }

  CannedJobs jobs_;
  std::unique_ptr<grpc::Server> grpc_;
  std::atomic<bool> healthy_ = true;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<httplib::Client> client_;
};

TEST_F(HttpServerTest, Start_PortZero_GivesTheChosenPort) { EXPECT_GT(server_->port(), 0); }

TEST_F(HttpServerTest, Start_PortInUse_IsRefused) {
  const auto second = HttpServer::Start("127.0.0.1", server_->port(), MakeSources());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(HttpServerTest, Page_IsHtmlWithNothingFromElsewhere) {
  const auto page = client_->Get("/");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, 200);
  EXPECT_THAT(page->get_header_value("Content-Type"), StartsWith("text/html"));
  EXPECT_THAT(page->body, Not(HasSubstr("src=")));
  EXPECT_THAT(page->body, Not(HasSubstr("href=")));
}

TEST_F(HttpServerTest, Health_Good_SaysOk) {
  const auto health = client_->Get("/healthz");
  EXPECT_EQ(health->status, 200);
  EXPECT_EQ(health->body, "ok\n");
}

TEST_F(HttpServerTest, Health_Bad_Is503WithTheReason) {
  healthy_ = false;
  const auto health = client_->Get("/healthz");
  EXPECT_EQ(health->status, 503);
  EXPECT_EQ(health->body, "disk is full\n");
}

TEST_F(HttpServerTest, Metrics_ArePlainText) {
  const auto metrics = client_->Get("/metrics");
  EXPECT_EQ(metrics->body, "tandem_up 1\n");
  EXPECT_THAT(metrics->get_header_value("Content-Type"), StartsWith("text/plain; version=0.0.4"));
}

TEST_F(HttpServerTest, Jobs_AreProtobufJsonWithZeros) {
  const auto jobs = client_->Get("/api/v1/jobs");
  EXPECT_EQ(jobs->get_header_value("Content-Type"), "application/json");
  EXPECT_THAT(jobs->body, HasSubstr(R"("id":"digits-abc234")"));
  EXPECT_THAT(jobs->body, HasSubstr(R"("worldSize":0)"));
}

TEST_F(HttpServerTest, Job_ById_IsThatJob) {
  const auto job = client_->Get("/api/v1/jobs/digits-abc234");
  EXPECT_EQ(job->status, 200);
  EXPECT_THAT(job->body, HasSubstr(R"("id":"digits-abc234")"));
}

TEST_F(HttpServerTest, Job_Unknown_Is404WithAnEscapedReason) {
  const auto job = client_->Get("/api/v1/jobs/nope");
  EXPECT_EQ(job->status, 404);
  EXPECT_EQ(job->body, R"({"error":"there is no job \"nope\""})");
}

TEST_F(HttpServerTest, History_WithNumbers_PassesThemOn) {
  const auto history = client_->Get("/api/v1/jobs/digits-abc234/history?from_step=40&page_size=5");
  EXPECT_EQ(history->status, 200);
  EXPECT_THAT(history->body, HasSubstr(R"("step":"40")"));
  EXPECT_THAT(history->body, HasSubstr(R"("nextStep":"5")"));
}

TEST_F(HttpServerTest, History_NotANumber_Is400) {
  EXPECT_EQ(client_->Get("/api/v1/jobs/digits-abc234/history?from_step=x")->status, 400);
  EXPECT_EQ(client_->Get("/api/v1/jobs/digits-abc234/history?page_size=-1")->status, 400);
}

TEST_F(HttpServerTest, Workers_AreListed) {
  EXPECT_THAT(client_->Get("/api/v1/workers")->body, HasSubstr(R"("name":"w1")"));
}

TEST_F(HttpServerTest, UnknownPath_Is404) { EXPECT_EQ(client_->Get("/nope")->status, 404); }

TEST_F(HttpServerTest, OtherMethods_AreRefused) {
  for (const auto& response : {client_->Post("/api/v1/jobs", "{}", "application/json"),
                               client_->Put("/api/v1/jobs/digits-abc234", "{}", "application/json"),
                               client_->Delete("/api/v1/jobs/digits-abc234")}) {
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 405);
    EXPECT_EQ(response->get_header_value("Allow"), "GET, HEAD");
  }
}

TEST_F(HttpServerTest, Head_AnswersAsGetWithoutTheBody) {
  for (const char* path : {"/", "/healthz", "/api/v1/jobs", "/nope"}) {
    const auto get = client_->Get(path);
    const auto head = client_->Head(path);
    ASSERT_TRUE(get && head) << path;
    EXPECT_EQ(head->status, get->status) << path;
    EXPECT_EQ(head->get_header_value("Content-Length"), get->get_header_value("Content-Length"));
    EXPECT_EQ(head->body, "") << path;
  }
}

TEST_F(HttpServerTest, Stop_Twice_Returns) {
  server_->Stop();
  server_->Stop();
  EXPECT_FALSE(client_->Get("/healthz"));
}

}  // namespace
}  // namespace tandem::http
