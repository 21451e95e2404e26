#pragma once

#include "absl/time/time.h"
#include "google/protobuf/util/time_util.h"

namespace tandem {

// Abseil's instants and durations as protobuf's well-known types, to the nanosecond.
inline google::protobuf::Timestamp ToProto(absl::Time time) {
  return google::protobuf::util::TimeUtil::NanosecondsToTimestamp(absl::ToUnixNanos(time));
}
inline google::protobuf::Duration ToProto(absl::Duration duration) {
  return google::protobuf::util::TimeUtil::NanosecondsToDuration(
      absl::ToInt64Nanoseconds(duration));
}
inline absl::Time FromProto(const google::protobuf::Timestamp& time) {
  return absl::FromUnixNanos(google::protobuf::util::TimeUtil::TimestampToNanoseconds(time));
}
inline absl::Duration FromProto(const google::protobuf::Duration& duration) {
  return absl::Nanoseconds(google::protobuf::util::TimeUtil::DurationToNanoseconds(duration));
}

}  // namespace tandem
