#pragma once

#include <fstream>
#include <map>
#include <string>
#include <tuple>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tandem/v1/job.pb.h"

namespace tandem::client {

// What each rank of each attempt prints, in files of its own as torchrun's --log-dir has them:
// FOLDER/JOB/attempt_A/RANK/stdout.log and stderr.log, with A counted from 1. For one thread.
class RankLogFiles {
 public:
  //   InvalidArgument  the folder cannot be made.
  static absl::StatusOr<RankLogFiles> In(const std::string& folder);

  // To be called before the first line.
  void SetJob(const std::string& id) { job_folder_ = folder_ + "/" + id; }

  // A file that is there already is begun anew.
  void Write(const v1::LogLine& line);
  // Makes what was written visible to others.
  void Flush();

  //   DataLoss  something could not be written; the first such file is named.
  const absl::Status& status() const { return status_; }

 private:
  explicit RankLogFiles(std::string folder) : folder_(std::move(folder)) {}
  std::ofstream& FileOf(const v1::LogLine& line);

  std::string folder_, job_folder_;
  // By attempt, rank and stream.
  std::map<std::tuple<uint32_t, uint32_t, v1::LogStream>, std::ofstream> files_;
  absl::Status status_;
};

}  // namespace tandem::client
