#pragma once

#include <string>

#include "absl/time/time.h"
#include "client/table.h"
#include "tandem/v1/job.pb.h"

// Jobs as people read them. Pure functions: what differs from one terminal to the next is in View.
namespace tandem::client {

struct View {
  absl::Time now;
  absl::TimeZone zone = absl::UTCTimeZone();
  bool color = false;
};

// "RUNNING".
std::string StateText(v1::JobState state);
Color StateColor(v1::JobState state);

// Four significant digits.
std::string LossText(double loss);
// To the second, or finer below ten seconds: "2m5s", "1.24s".
std::string DurationText(absl::Duration duration);

// "812 steps/s", "7.3 steps/s".
std::string RateText(double steps_per_second);
// Counted from 1, as people do: "3/200" where the job trains for so many epochs, else "3".
std::string EpochText(const v1::Job& job);
// Whether that is to be shown: a program that reports steps need not report epochs.
bool EpochIsKnown(const v1::Job& job);
// The command line of a job's program, as it can be typed; empty where it has none.
std::string CommandText(const v1::Job& job, size_t most = 200);
std::string EvaluationText(const v1::Evaluation& evaluation);

// One line a job under a heading.
std::string FormatJobList(const v1::ListJobsResponse& jobs, const View& view);

// What the job does now, in a line, and why it waits or failed; with the last lines of the rank that failed it.
std::string FormatStatus(const v1::Job& job, const View& view);

// What came out of a job that has ended.
std::string FormatSummary(const v1::Job& job, const View& view);

// "2", "2 (3 wanted)" until its next attempt, or "2 (1 to 4)" of a job that takes what there is.
std::string WorldSizeText(const v1::Job& job);

// An end that was wanted, and no failure.
bool IsPlanned(v1::CauseCode code);
// "attempt 1 on 2 workers, steps 1 to 500, failed: rank 1 was killed ..."; of an attempt that has ended.
std::string AttemptText(const v1::AttemptStatus& attempt);

// The sentence, then the rank's last lines, indented; without one that only repeats the sentence, and without what the
// launcher of a program says.
std::string FormatCause(const v1::Cause& cause);

// Everything there is to know.
std::string FormatDescription(const v1::Job& job, const View& view);

}  // namespace tandem::client
