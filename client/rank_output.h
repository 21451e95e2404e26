#pragma once

#include <optional>

#include "client/console.h"
#include "client/launcher_header.h"
#include "client/program/shown_output.h"
#include "client/progress.h"
#include "client/rank_log_files.h"
#include "tandem/v1/job.pb.h"

namespace tandem::client {

// Where `tandem run` puts what the ranks of a job print: on the terminal beside the progress, with the
// rank in front, and into files. What a rank prints on stdout goes to standard output, unless that is
// for a JSON document. For one thread.
class RankOutput {
 public:
  struct Options {
    // Nothing on the terminal.
    bool quiet = false;
    ShownOutput shown;
    std::optional<RankLogFiles> files;
  };

  // Both outlive it.
  RankOutput(Options options, Console* console, Progress* progress)
      : options_(std::move(options)), console_(*console), progress_(*progress) {}

  // Whether anything becomes of the lines.
  bool IsWanted() const { return !options_.quiet || options_.files.has_value(); }
  // Whose lines they are. To be called before the first.
  void SetJob(const std::string& id) {
    if (options_.files.has_value()) options_.files->SetJob(id);
  }
  void Take(const v1::StreamLogsResponse& all);
  // Errors as for RankLogFiles.
  absl::Status status() const;

 private:
  void Show(const v1::StreamLogsResponse& lines);

  Options options_;
  Console& console_;
  Progress& progress_;
  LauncherHeader header_;
};

}  // namespace tandem::client
