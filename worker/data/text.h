#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tandem/v1/spec.pb.h"
#include "worker/data/sample_source.h"

namespace tandem::data {

struct Tokens {
  std::vector<uint32_t> tokens;  // each below `vocabulary`
  int64_t vocabulary = 0;
};

// By characters, a token is the place of its code point among those of the text, in order of their
// numbers; by bytes, it is the byte.
//   InvalidArgument  the text is to be read by characters and is not UTF-8; starts with `place` and
//                    names the line.
absl::StatusOr<Tokens> Tokenize(absl::string_view text, v1::TextUnit unit, absl::string_view place);

// Windows of `window` tokens, `stride` apart; the target of each token is the one after it. As many
// as fit together with their targets; what remains at the end is left out.
class TextSource : public SampleSource {
 public:
  //   InvalidArgument  not one window fits; starts with `place` and names the key.
  static absl::StatusOr<TextSource> Create(Tokens tokens, int64_t window, int64_t stride,
                                           absl::string_view place);

  int64_t size() const override { return size_; }
  const SampleShape& shape() const override { return shape_; }
  void Copy(int64_t index, NumberSpan input, NumberSpan target) const override;

 private:
  TextSource(Tokens tokens, int64_t window, int64_t stride);

  std::vector<uint32_t> tokens_;
  int64_t stride_;
  int64_t size_;
  SampleShape shape_;
};

}  // namespace tandem::data
