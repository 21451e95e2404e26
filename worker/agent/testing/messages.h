#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tandem/v1/worker.pb.h"
#include "worker/agent/rank_key.h"
#include "worker/agent/testing/fake_coordinator.h"

// What tests say to an agent, and how they look at what it answers. The job is always "job-1".
namespace tandem::agent {

RankKey RankOf(uint32_t rank, uint32_t attempt = 1);

// Ranks 0..count-1 of an attempt on cpu:0..; the fake trainer behaves as `behaviour` says.
v1::CoordinatorToWorker Prepare(const std::string& behaviour, uint32_t count = 1,
                                uint32_t attempt = 1);
v1::CoordinatorToWorker StartRanks(uint32_t attempt = 1);
v1::CoordinatorToWorker PauseRanks(uint32_t attempt = 1);
v1::CoordinatorToWorker Abort(uint32_t attempt = 1, bool print_stacks = false);

std::optional<v1::RankExited> FindExit(const FakeCoordinator::Messages& messages,
                                       const RankKey& key);
std::optional<v1::RankPrepared> FindPrepared(const FakeCoordinator::Messages& messages,
                                             const RankKey& key);
std::vector<v1::Register> FindRegistrations(const FakeCoordinator::Messages& messages);
std::vector<std::string> FindLog(const FakeCoordinator::Messages& messages, v1::LogStream stream);

// Waits; an empty message after a generous time.
v1::RankExited AwaitExit(FakeCoordinator* coordinator, const RankKey& key);
v1::RankPrepared AwaitPrepared(FakeCoordinator* coordinator, const RankKey& key);
// Waits until so many registrations were heard; false after a generous time.
bool AwaitRegistrations(FakeCoordinator* coordinator, size_t count);

// Polls until the process is gone or a zombie; false after `milliseconds`.
bool EndsWithin(pid_t pid, int milliseconds);

}  // namespace tandem::agent
