#include "worker/agent/testing/messages.h"

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

namespace tandem::agent {
namespace {

constexpr char kJob[] = "job-1";

bool IsRunning(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::stringstream text;
  text << file.rdbuf();
  // "PID (COMMAND) STATE ..."
  const size_t end_of_command = text.str().rfind(')');
  return end_of_command != std::string::npos && text.str()[end_of_command + 2] != 'Z';
}

}  // namespace

RankKey RankOf(uint32_t rank, uint32_t attempt) {
  return {JobId(kJob), AttemptNumber(attempt), Rank(rank)};
}

v1::CoordinatorToWorker Prepare(const std::string& behaviour, uint32_t count, uint32_t attempt) {
  v1::CoordinatorToWorker message;
  v1::PrepareRanks* prepare = message.mutable_prepare_ranks();
  prepare->set_job_id(kJob);
  prepare->set_attempt(attempt);
  prepare->set_world_size(count);
  prepare->mutable_spec()->set_name(behaviour);
  prepare->mutable_spec()->set_threads_per_rank(2);
  for (uint32_t rank = 0; rank < count; ++rank) {
    prepare->add_ranks()->set_rank(rank);
    prepare->mutable_ranks(static_cast<int>(rank))->set_slot("cpu:" + std::to_string(rank));
  }
  return message;
}

v1::CoordinatorToWorker StartRanks(uint32_t attempt) {
  v1::CoordinatorToWorker message;
  v1::Start* start = message.mutable_start_ranks()->mutable_start();
  start->set_job_id(kJob);
  start->set_attempt(attempt);
  start->set_master_port(4321);
  return message;
}

v1::CoordinatorToWorker PauseRanks(uint32_t attempt) {
  v1::CoordinatorToWorker message;
  message.mutable_pause_ranks()->set_job_id(kJob);
  message.mutable_pause_ranks()->set_attempt(attempt);
  return message;
}

v1::CoordinatorToWorker Abort(uint32_t attempt, bool print_stacks) {
  v1::CoordinatorToWorker message;
  message.mutable_abort()->set_job_id(kJob);
  message.mutable_abort()->set_attempt(attempt);
  message.mutable_abort()->set_print_stacks(print_stacks);
  return message;
}

std::optional<v1::RankExited> FindExit(const FakeCoordinator::Messages& messages,
                                       const RankKey& key) {
  for (const auto& message : messages) {
    if (message.has_rank_exited() && KeyOf(message.rank_exited()) == key)
      return message.rank_exited();
  }
  return std::nullopt;
}

std::optional<v1::RankPrepared> FindPrepared(const FakeCoordinator::Messages& messages,
                                             const RankKey& key) {
  for (const auto& message : messages) {
    if (message.has_rank_prepared() && KeyOf(message.rank_prepared()) == key)
      return message.rank_prepared();
  }
  return std::nullopt;
}

std::vector<v1::Register> FindRegistrations(const FakeCoordinator::Messages& messages) {
  std::vector<v1::Register> found;
  for (const auto& message : messages) {
    if (message.has_register_()) found.push_back(message.register_());
  }
  return found;
}

std::vector<std::string> FindLog(const FakeCoordinator::Messages& messages, v1::LogStream stream) {
  std::vector<std::string> lines;
  for (const auto& message : messages) {
    for (const v1::LogLine& line : message.rank_log().lines()) {
      if (line.stream() == stream) lines.push_back(line.text());
    }
  }
  return lines;
}

v1::RankExited AwaitExit(FakeCoordinator* coordinator, const RankKey& key) {
  coordinator->WaitUntil([&](const auto& messages) { return FindExit(messages, key).has_value(); });
  return FindExit(coordinator->messages(), key).value_or(v1::RankExited());
}

v1::RankPrepared AwaitPrepared(FakeCoordinator* coordinator, const RankKey& key) {
  coordinator->WaitUntil(
      [&](const auto& messages) { return FindPrepared(messages, key).has_value(); });
  return FindPrepared(coordinator->messages(), key).value_or(v1::RankPrepared());
}

bool AwaitRegistrations(FakeCoordinator* coordinator, size_t count) {
  return coordinator->WaitUntil(
      [&](const auto& messages) { return FindRegistrations(messages).size() >= count; });
}

bool EndsWithin(pid_t pid, int milliseconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  while (IsRunning(pid)) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace tandem::agent
