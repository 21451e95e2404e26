#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "common/file_descriptor.h"
#include "tandem/v1/host.pb.h"
#include "worker/process/child_process.h"
#include "worker/process/event_loop.h"

namespace tandem::agent {

// What the host has, for the coordinator. A program of its own looks (`tandem-worker --host-facts`), because
// that may take long: a driver wakes up, a name is not known; the loop waits for none of it. Loop only.
class HostWatch {
 public:
  struct Options {
    // Prints v1::HostFacts as JSON, and nothing else. Without a path nobody looks.
    Command look = {};
    // Until the first look: jobs that wait for this worker begin meanwhile.
    absl::Duration first_after = absl::Seconds(5);
    // Until it is tried again while a rank runs.
    absl::Duration while_busy = absl::Seconds(30);
    // Between two looks. One that has not ended by then is given up.
    absl::Duration interval = absl::Minutes(10);
    // No look begins while a rank runs: it would wake up devices that are in use.
    std::function<bool()> is_busy = [] { return false; };
  };

  HostWatch(EventLoop* loop, Options options);

  // Looks after a while, and again after each interval. Later calls change nothing. `advertise_address`: as
  // --advertise-address.
  void Start(const std::string& advertise_address);
  // Whoever takes the facts next has not heard of them yet.
  void Renew() { taken_ = false; }
  // What was seen last, unless it has been taken already.
  std::optional<v1::HostFacts> TakeNews();

 private:
  void Look();
  void OnLooked();

  EventLoop& loop_;
  Options options_;
  // The file that the program prints into; it has no name.
  FileDescriptor printed_;
  std::unique_ptr<ChildProcess> looker_;
  std::optional<v1::HostFacts> facts_;
  bool taken_ = false;
  EventLoop::Registration timer_;
};

}  // namespace tandem::agent
