#pragma once

#include "server/service/controller.h"
#include "server/service/event_loop.h"
#include "server/store/log_store.h"
#include "tandem/v1/job.grpc.pb.h"

namespace tandem::service {

// Translates between clients and the controller, and does nothing else. Any thread.
class JobService : public v1::JobService::CallbackService {
 public:
  // Keeps a page well below the 4 MiB that a client accepts by default.
  static constexpr uint32_t kMaxHistoryPage = 20000;
  static constexpr uint32_t kMaxJobsPage = 1000;

  // All outlive the service and its calls.
  JobService(EventLoop& loop, Controller& controller, const store::LogStore& logs)
      : loop_(loop), controller_(controller), logs_(logs) {}

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context,
                                      const v1::SubmitJobRequest* request,
                                      v1::SubmitJobResponse* response) override;
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const v1::GetJobRequest* request,
                                   v1::GetJobResponse* response) override;
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const v1::ListJobsRequest* request,
                                     v1::ListJobsResponse* response) override;
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const v1::CancelJobRequest* request,
                                      v1::CancelJobResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchJobResponse>* WatchJob(
      grpc::CallbackServerContext* context, const v1::WatchJobRequest* request) override;
  grpc::ServerWriteReactor<v1::StreamLogsResponse>* StreamLogs(
      grpc::CallbackServerContext* context, const v1::StreamLogsRequest* request) override;
  grpc::ServerUnaryReactor* GetHistory(grpc::CallbackServerContext* context,
                                       const v1::GetHistoryRequest* request,
                                       v1::GetHistoryResponse* response) override;
  grpc::ServerUnaryReactor* ResizeJob(grpc::CallbackServerContext* context,
                                      const v1::ResizeJobRequest* request,
                                      v1::ResizeJobResponse* response) override;
  grpc::ServerUnaryReactor* DrainWorker(grpc::CallbackServerContext* context,
                                        const v1::DrainWorkerRequest* request,
                                        v1::DrainWorkerResponse* response) override;
  grpc::ServerUnaryReactor* ListWorkers(grpc::CallbackServerContext* context,
                                        const v1::ListWorkersRequest* request,
                                        v1::ListWorkersResponse* response) override;
  grpc::ServerUnaryReactor* ListHosts(grpc::CallbackServerContext* context,
                                      const v1::ListHostsRequest* request,
                                      v1::ListHostsResponse* response) override;

 private:
  EventLoop& loop_;
  Controller& controller_;
  const store::LogStore& logs_;
};

}  // namespace tandem::service
