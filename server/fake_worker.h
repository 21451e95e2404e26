#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "tandem/v1/worker.grpc.pb.h"

namespace tandem {

// For tests: an agent without trainers that says what the test tells it to. Every wait ends after
// half a minute at the latest.
class FakeWorker {
 public:
  FakeWorker(const std::shared_ptr<grpc::Channel>& channel, std::string name,
             std::string incarnation = "1");
  ~FakeWorker();

  // Register with these many slots, "cpu:0" and so on.
  void Register(int slots);
  // The same after a connection that broke: it still runs rank 0 of this attempt, on "cpu:0".
  void RegisterAgain(int slots, const v1::PrepareRanks& attempt);
  // Numbers what has to have a number.
  void Write(v1::WorkerToCoordinator message);
  // The next message that is no acknowledgement; kind_case() is KIND_NOT_SET at the end of the stream.
  v1::CoordinatorToWorker Read();
  // Ends the stream and returns its status. Once.
  grpc::Status Finish();
  // Goes away without a word, as a killed process does.
  void Vanish() { context_.TryCancel(); }

  // What an agent says about rank `rank` of an attempt that it was told to prepare.
  void Prepared(const v1::PrepareRanks& attempt, uint32_t rank);
  void Logged(const v1::PrepareRanks& attempt, uint32_t rank, const std::string& text);
  // Steps first..last, each with this loss.
  void Progressed(const v1::PrepareRanks& attempt, uint64_t first, uint64_t last, double loss);
  void Saved(const v1::PrepareRanks& attempt, uint64_t step, const std::string& path);
  void Finished(const v1::PrepareRanks& attempt, uint32_t rank, const std::string& digest);
  void Exited(const v1::PrepareRanks& attempt, uint32_t rank, int exit_code, bool aborted);

 private:
  v1::WorkerToCoordinator Registration(int slots) const;

  const std::string name_;
  const std::string incarnation_;
  grpc::ClientContext context_;
  std::unique_ptr<v1::WorkerService::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WorkerToCoordinator, v1::CoordinatorToWorker>>
      stream_;
  bool finished_ = false;
  uint64_t sequence_ = 0;
};

}  // namespace tandem
