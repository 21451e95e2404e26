#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/interrupts.h"
#include "client/local_cluster.h"
#include "tandem/v1/job.pb.h"
#include "tandem/v1/spec.pb.h"

namespace tandem::client {

// Slots of a cluster of our own.
struct LocalSlots {
  // As tandem-worker --slots takes it; "2" of --local is "cpu:2".
  std::string text;
  // "cpu" of those; empty: the worker has yet to find out.
  std::string kind;
  // 0: the worker has yet to find out.
  uint32_t count = 0;

  static LocalSlots OnCpu(uint32_t count);
  // Of the devices that a job names, all.
  static LocalSlots AllOf(const std::string& kind);
};

//   InvalidArgument  neither a number from 1 to 1024 nor what --slots takes.
absl::StatusOr<LocalSlots> ParseLocalSlots(const std::string& text);

// Waits until the worker of the cluster has found its slots, and returns those of them that a job with this specification
// gets: of the kind that it names, else of that which the coordinator would choose.
//   InvalidArgument  there are none of the kind that it names.
//   Unavailable      the worker does not offer what was asked for; the message has its last lines.
//   Cancelled        interrupted.
absl::StatusOr<LocalSlots> FindLocalSlots(const LocalCluster& cluster, const v1::JobSpec& spec,
                                          const Interrupts& interrupts);

// Whether a job that names a kind of device would find it there, where that is known already.
//   InvalidArgument  it would not.
absl::Status CheckKind(const LocalSlots& slots, const v1::JobSpec& spec);

// Exposed for tests: the slots of the first worker for this job; count 0: none of its kind.
LocalSlots SlotsFor(const v1::JobSpec& spec, const v1::Worker& worker);

}  // namespace tandem::client
