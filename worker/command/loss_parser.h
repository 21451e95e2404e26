#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "tandem/v1/report.pb.h"
#include "tandem/v1/spec.pb.h"

namespace re2 {
class RE2;
}

namespace tandem::command {

// Finds the losses in what a program prints that does not report them.
class LossParser {
 public:
  //   InvalidArgument  an expression is not one that RE2 knows, or has no group; the message names the key.
  static absl::StatusOr<LossParser> Create(const v1::Parse& parse);
  LossParser(LossParser&&) noexcept;
  ~LossParser();

  // What the next line says of a step; most say nothing.
  //   InvalidArgument  what the expression found there is not a number.
  absl::StatusOr<std::optional<v1::StepReport>> Add(const std::string& line);
  // Whether there was a loss in any line.
  bool has_found() const { return lines_ > 0; }

 private:
  LossParser(std::unique_ptr<re2::RE2> loss, std::unique_ptr<re2::RE2> step);

  std::unique_ptr<re2::RE2> loss_;
  // Null: lines are counted.
  std::unique_ptr<re2::RE2> step_;
  uint64_t lines_ = 0;
};

}  // namespace tandem::command
