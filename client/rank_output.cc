#include "client/rank_output.h"

#include <string>

#include "client/log_text.h"

namespace tandem::client {

void RankOutput::Take(const v1::StreamLogsResponse& all) {
  v1::StreamLogsResponse lines;
  for (const v1::LogLine& line : all.lines()) {
    if (!header_.Has(line)) *lines.add_lines() = line;
  }
  if (options_.files) {
    for (const v1::LogLine& line : lines.lines()) options_.files->Write(line);
    options_.files->Flush();
  }
  if (!options_.quiet) Show(lines);
}

void RankOutput::Show(const v1::StreamLogsResponse& lines) {
  // In the order in which they came, with one write for all lines of a stream that follow each other.
  std::string text;
  v1::LogStream stream = v1::LOG_STREAM_UNSPECIFIED;
  const auto write = [&] {
    if (text.empty()) return;
    const bool as_remark = stream == v1::LOG_STREAM_STDERR || console_.settings().json;
    progress_.Aside([&] { as_remark ? console_.RemarkRaw(text) : console_.Answer(text); });
    text.clear();
  };
  for (const v1::LogLine& line : lines.lines()) {
    if (!options_.shown.Shows(line.rank(), line.stream())) continue;
    if (line.stream() != stream) write();
    stream = line.stream();
    text += FormatLogLine(line, true);
  }
  write();
}

absl::Status RankOutput::status() const {
  return options_.files ? options_.files->status() : absl::OkStatus();
}

}  // namespace tandem::client
