#pragma once

#include <compare>
#include <string>

#include "common/ids.h"

namespace tandem::agent {

// One trainer process, past or present.
struct RankKey {
  JobId job;
  AttemptNumber attempt;
  Rank rank;

  friend auto operator<=>(const RankKey&, const RankKey&) = default;
};

// Writes or reads the three fields by which every message about a rank is addressed.
template <typename Message>
void SetKey(const RankKey& key, Message* message) {
  message->set_job_id(key.job.value());
  message->set_attempt(key.attempt.value());
  message->set_rank(key.rank.value());
}
template <typename Message>
RankKey KeyOf(const Message& message) {
  return {JobId(message.job_id()), AttemptNumber(message.attempt()), Rank(message.rank())};
}

}  // namespace tandem::agent
