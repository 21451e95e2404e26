#include "common/safetensors/header_reader.h"

#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace tandem::safetensors {
namespace {

using nlohmann::json;

// Called by the JSON parser piece by piece, so that nothing is kept which does not belong into a
// header, and a key that stands twice is seen. Each function returns whether to go on.
class HeaderReader : public nlohmann::json_sax<json> {
 public:
  absl::StatusOr<Header> Read(absl::string_view text) {
    json::sax_parse(text.begin(), text.end(), this);
    if (!status_.ok()) return status_;
    return std::move(header_);
  }

  bool start_object(size_t) override {
    if (place_ == Place::kStart) return Enter(Place::kHeader);
    if (place_ != Place::kHeader) return Misplaced("an object");
    if (key_ == kMetadataKey) return Enter(Place::kMetadata);
    tensor_ = TensorInfo();
    tensor_.name = key_;
    fields_.clear();
    return Enter(Place::kTensor);
  }

  bool end_object() override {
    if (place_ == Place::kHeader) return Enter(Place::kEnd);
    if (place_ == Place::kTensor && !FinishTensor()) return false;
    return Enter(Place::kHeader);
  }

  bool key(std::string& key) override {
    std::set<std::string>& keys = place_ == Place::kHeader ? keys_ : fields_;
    if (place_ == Place::kMetadata) {
      if (!header_.metadata.emplace(key, "").second) return Refuse("a key stands twice");
    } else if (!keys.insert(key).second) {
      return Refuse(absl::StrCat("the key '", absl::CHexEscape(key), "' stands twice"));
    }
    (place_ == Place::kHeader ? key_ : field_) = key;
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::kMetadata) {
      header_.metadata[field_] = value;
      return true;
    }
    if (place_ != Place::kTensor || field_ != "dtype") return Misplaced("text");
    tensor_.dtype = value;
    return true;
  }

  bool start_array(size_t) override {
    if (place_ != Place::kTensor || (field_ != "shape" && field_ != "data_offsets")) {
      return Misplaced("a list");
    }
    list_.clear();
    return Enter(Place::kList);
  }

  bool number_unsigned(uint64_t value) override {
    if (place_ != Place::kList) return Misplaced("a number");
    if (value > INT64_MAX) return Misplaced("a number beyond 2^63");
    list_.push_back(static_cast<int64_t>(value));
    return true;
  }

  bool end_array() override {
    if (field_ == "shape") {
      tensor_.shape = list_;
      return Enter(Place::kTensor);
    }
    if (list_.size() != 2) return Refuse("data_offsets are not two numbers");
    tensor_.begin = static_cast<uint64_t>(list_[0]);
    tensor_.end = static_cast<uint64_t>(list_[1]);
    return Enter(Place::kTensor);
  }

  bool null() override { return Misplaced("null"); }
  bool boolean(bool) override { return Misplaced("true or false"); }
  bool number_integer(int64_t) override { return Misplaced("a number below 0"); }
  bool number_float(double, const std::string& text) override {
    return Misplaced(absl::StrCat("a number that is not whole or too large, ", text));
  }
  bool binary(binary_t&) override { return Misplaced("binary data"); }
  bool parse_error(size_t position, const std::string&, const json::exception&) override {
    status_ = absl::DataLossError(absl::StrCat("the header is no JSON at its byte ", position));
    return false;
  }

 private:
  enum class Place { kStart, kHeader, kMetadata, kTensor, kList, kEnd };

  bool Enter(Place place) {
    place_ = place;
    return true;
  }

  bool FinishTensor() {
    for (const char* field : {"dtype", "shape", "data_offsets"}) {
      if (fields_.count(field) == 0) return Refuse(absl::StrCat("it has no ", field));
    }
    if (fields_.size() != 3) return Refuse("it has other keys than dtype, shape and data_offsets");
    if (!ElementBytes(tensor_.dtype)) {
      return Refuse(absl::StrCat("unknown dtype '", absl::CHexEscape(tensor_.dtype), "'"));
    }
    const std::optional<uint64_t> bytes = TensorBytes(tensor_.dtype, tensor_.shape);
    if (!bytes || tensor_.begin > tensor_.end || tensor_.end - tensor_.begin != *bytes) {
      return Refuse("its data_offsets do not fit its dtype and shape");
    }
    header_.tensors.push_back(std::move(tensor_));
    return true;
  }

  bool Misplaced(absl::string_view what) {
    return Refuse(absl::StrCat("there is ", what, " where the format has none"));
  }

  bool Refuse(absl::string_view why) {
    const std::string where =
        keys_.empty() ? "the header" : absl::StrCat("tensor '", absl::CHexEscape(key_), "'");
    status_ = absl::DataLossError(absl::StrCat(where, ": ", why));
    return false;
  }

  Place place_ = Place::kStart;
  std::string key_;    // of the header
  std::string field_;  // of what stands under it
  std::set<std::string> keys_;
  std::set<std::string> fields_;
  std::vector<int64_t> list_;
  TensorInfo tensor_;
  Header header_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<Header> ReadHeader(absl::string_view json) { return HeaderReader().Read(json); }

}  // namespace tandem::safetensors
