#include "worker/agent/outbox.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace tandem::agent {
namespace {

// All lines of one RankLog are from one rank.
RankKey KeyOfLog(const v1::RankLog& log) {
  return {JobId(log.job_id()), AttemptNumber(log.attempt()), Rank(log.lines(0).rank())};
}

size_t LogBytes(const v1::WorkerToCoordinator& message) {
  return message.has_rank_log() ? message.rank_log().ByteSizeLong() : 0;
}

v1::LogLine Notice(const RankKey& key, uint64_t left_out) {
  v1::LogLine line;
  line.set_attempt(key.attempt.value());
  line.set_rank(key.rank.value());
  line.set_stream(v1::LOG_STREAM_STDERR);
  line.set_text(
      absl::StrCat("[tandem-worker: ", left_out,
                   " lines are left out here, because the coordinator did not take them in time; "
                   "they are in the log folder of the worker]"));
  return line;
}

}  // namespace

void Outbox::Add(v1::WorkerToCoordinator message) {
  if (message.has_rank_log()) return AddLog(std::move(message));
  if (message.has_rank_exited()) AddEnd(KeyOf(message.rank_exited()));
  Append(std::move(message));
}

void Outbox::Append(v1::WorkerToCoordinator message) {
  message.set_sequence(++last_sequence_);
  messages_.push_back(std::move(message));
}

const v1::WorkerToCoordinator* Outbox::Next() const {
  return sent_ < messages_.size() ? &messages_[sent_] : nullptr;
}

void Outbox::AddLog(v1::WorkerToCoordinator message) {
  const RankKey key = KeyOfLog(message.rank_log());
  const size_t bytes = LogBytes(message);
  if (log_bytes_ + bytes > log_bytes_limit_) {
    LeftOut& left_out = left_out_.try_emplace(key, kTailBytes).first->second;
    for (const v1::LogLine& line : message.rank_log().lines()) {
      left_out.Add(line, line.ByteSizeLong());
    }
    return;
  }
  AddEnd(key);
  log_bytes_ += bytes;
  Append(std::move(message));
}

void Outbox::AddEnd(const RankKey& key) {
  auto left_out = left_out_.extract(key);
  if (left_out.empty()) return;
  const auto end = left_out.mapped().Take();
  v1::WorkerToCoordinator message;
  v1::RankLog* log = message.mutable_rank_log();
  log->set_job_id(key.job.value());
  log->set_attempt(key.attempt.value());
  if (end.given_up > 0) *log->add_lines() = Notice(key, end.given_up);
  for (const v1::LogLine& line : end.lines) *log->add_lines() = line;
  log_bytes_ += LogBytes(message);
  Append(std::move(message));
}

void Outbox::Acknowledge(uint64_t sequence,
                         const std::function<void(const v1::WorkerToCoordinator&)>& taken) {
  while (!messages_.empty() && messages_.front().sequence() <= sequence) {
    log_bytes_ -= LogBytes(messages_.front());
    taken(messages_.front());
    messages_.pop_front();
    if (sent_ > 0) --sent_;
  }
}

}  // namespace tandem::agent
