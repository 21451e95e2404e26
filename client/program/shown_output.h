#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "tandem/v1/job.pb.h"

namespace tandem::client {

// Which streams of which ranks are shown on the terminal: all of them, unless torchrun's options say
// otherwise.
class ShownOutput {
 public:
  ShownOutput() = default;
  // Each as torchrun has it: "0" to "3", the sum of 1 for stdout and 2 for stderr; or "RANK:N,...",
  // where other ranks have 0. Empty: 0.
  //   InvalidArgument  neither; the message begins with the option.
  static absl::StatusOr<ShownOutput> Parse(const std::string& redirects, const std::string& tee);

  // A stream that is redirected is not shown, unless tee has it too.
  bool Shows(uint32_t rank, v1::LogStream stream) const;

 private:
  struct Streams {
    uint32_t of_all = 0;
    std::map<uint32_t, uint32_t> by_rank;
  };
  static absl::StatusOr<Streams> ParseStreams(const std::string& option, const std::string& text);
  static uint32_t Of(const Streams& streams, uint32_t rank);

  Streams redirected_;
  Streams teed_;
};

}  // namespace tandem::client
