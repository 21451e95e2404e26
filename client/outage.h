#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/follow.h"
#include "common/backoff.h"

namespace tandem::client {

// Since when the coordinator has been away, and what the user was told about it.
class Outage {
 public:
  // All outlive it. `on_trouble` is told what to tell people.
  Outage(const FollowOptions& options, const std::string& address,
         const std::function<void(const std::string&)>& on_trouble)
      : options_(options), address_(address), on_trouble_(on_trouble), backoff_(options.backoff) {}

  // The coordinator has answered.
  void End();

  // Waits for the time of the next try.
  //   Unavailable, DeadlineExceeded, Cancelled  there is to be none.
  absl::Status WaitForNextTry(const absl::Status& failure);

 private:
  const FollowOptions& options_;
  const std::string& address_;
  const std::function<void(const std::string&)>& on_trouble_;
  Backoff backoff_;
  std::optional<absl::Time> began_;
};

}  // namespace tandem::client
