#include "worker/command/report_line.h"

#include <re2/re2.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/keyed_hash.h"

namespace tandem::command {
namespace {

using Json = nlohmann::json;

absl::Status Wrong(absl::string_view key, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("\"", key, "\" ", what));
}

// What doubles hold exactly, and sums of it over all ranks stay far from overflowing.
constexpr uint64_t kMostCounted = uint64_t{1} << 53;

// What Python writes for numbers that JSON has no word for, as a string.
std::string QuoteNonFinite(absl::string_view line) {
  static const RE2 kNonFinite(R"re(("(?:loss_sum|lr)"\s*:\s*)(NaN|-?Infinity)\b)re");
  std::string quoted(line);
  RE2::GlobalReplace(&quoted, kNonFinite, R"(\1"\2")");
  return quoted;
}

absl::Status ReadCount(const Json& object, const char* key, bool required, uint64_t* value) {
  const auto found = object.find(key);
  if (found == object.end()) return required ? Wrong(key, "is missing") : absl::OkStatus();
  if (!found->is_number_unsigned()) return Wrong(key, "must be a whole number from 0");
  *value = found->get<uint64_t>();
  if (*value > kMostCounted) return Wrong(key, "is too large");
  return absl::OkStatus();
}

absl::Status ReadNumber(const Json& value, const char* key, double* number) {
  if (value.is_number()) {
    *number = value.get<double>();
    return absl::OkStatus();
  }
  if (value == "NaN" || value == "Infinity" || value == "-Infinity") {
    *number = value == "NaN" ? NAN : value == "Infinity" ? INFINITY : -INFINITY;
    return absl::OkStatus();
  }
  return Wrong(key, "must be a number");
}

// Does not depend on the order of the samples, nor on which rank has which: the digests of all ranks add
// up to that of the batch.
absl::StatusOr<uint64_t> DigestOf(const Json& samples) {
  if (!samples.is_array()) return Wrong("samples", "must be a list of whole numbers from 0");
  uint64_t digest = 0;
  for (const Json& id : samples) {
    if (!id.is_number_unsigned()) return Wrong("samples", "must be a list of whole numbers from 0");
    digest += MixKeys(RandomUse::kReceipt, id.get<uint64_t>());
  }
  return digest;
}

absl::StatusOr<uint64_t> HexDigest(const Json& value) {
  uint64_t digest = 0;
  if (!value.is_string() || !absl::SimpleHexAtoi(value.get<std::string>(), &digest)) {
    return Wrong("samples_digest", "must be a string of at most 16 hexadecimal digits");
  }
  return digest;
}

absl::Status ReadSamples(const Json& object, v1::StepReport* report) {
  const auto samples = object.find("samples");
  const auto hex = object.find("samples_digest");
  if (samples == object.end() && hex == object.end()) return absl::OkStatus();
  const auto digest = samples != object.end() ? DigestOf(*samples) : HexDigest(*hex);
  if (!digest.ok()) return digest.status();
  report->set_samples_digest(*digest);
  return absl::OkStatus();
}

absl::Status ReadCounts(const Json& object, v1::StepReport* report) {
  uint64_t step = 0, count = 0, epoch = 0;
  if (auto read = ReadCount(object, "step", /*required=*/true, &step); !read.ok()) return read;
  if (auto read = ReadCount(object, "count", /*required=*/true, &count); !read.ok()) return read;
  if (auto read = ReadCount(object, "epoch", /*required=*/false, &epoch); !read.ok()) return read;
  if (step == 0) return Wrong("step", "is counted from 1");
  report->set_step(step);
  report->set_count(count);
  report->set_epoch(epoch);
  return absl::OkStatus();
}

absl::Status ReadNumbers(const Json& object, v1::StepReport* report) {
  double loss_sum = 0, learning_rate = 0;
  if (!object.contains("loss_sum")) return Wrong("loss_sum", "is missing");
  auto read = ReadNumber(object["loss_sum"], "loss_sum", &loss_sum);
  if (!read.ok()) return read;
  report->set_loss_sum(loss_sum);
  if (!object.contains("lr")) return absl::OkStatus();
  read = ReadNumber(object["lr"], "lr", &learning_rate);
  report->set_learning_rate(learning_rate);
  return read;
}

absl::Status ReadCombined(const Json& object, v1::StepReport* report) {
  const auto combined = object.find("combined");
  if (combined == object.end()) return absl::OkStatus();
  if (!combined->is_boolean()) return Wrong("combined", "must be true or false");
  report->set_combined(combined->get<bool>());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::StepReport> ParseReport(absl::string_view line) {
  const Json object = Json::parse(QuoteNonFinite(line), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return absl::InvalidArgumentError("it is not one JSON object");
  v1::StepReport report;
  for (const auto read : {ReadCounts, ReadNumbers, ReadCombined, ReadSamples}) {
    if (absl::Status status = read(object, &report); !status.ok()) return status;
  }
  return report;
}

}  // namespace tandem::command
