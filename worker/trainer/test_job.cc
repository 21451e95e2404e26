#include "worker/trainer/test_job.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/spec/spec.h"
#include "common/temporary_folder.h"
#include "gtest/gtest.h"

namespace tandem::trainer {
namespace {

std::string FiftySamples() {
  std::string text;
  for (int sample = 0; sample < 50; ++sample) {
    for (int feature = 0; feature < 5; ++feature) {
      absl::StrAppend(&text, (sample * (feature + 3) * 7) % 11, ".25,");
    }
    absl::StrAppend(&text, sample % 3, "\n");
  }
  return text;
}

// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, version 1.0
template <typename T>
std::string NpyBytes(const char* type, const std::vector<int64_t>& shape,
                     const std::vector<T>& values) {
  std::string header = absl::StrCat("{'descr': '", type, "', 'fortran_order': False, 'shape': (",
                                    absl::StrJoin(shape, ", "), ",), }");
  constexpr size_t kPreamble = 10, kAlignment = 64;
  header.resize((kPreamble + header.size()) / kAlignment * kAlignment + kAlignment - kPreamble,
                ' ');
  header.back() = '\n';
  const char length[] = {static_cast<char>(header.size() & 0xff),
                         static_cast<char>(header.size() >> 8)};
  return absl::StrCat(
      absl::string_view("\x93NUMPY\x01\x00", 8), absl::string_view(length, 2), header,
      absl::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
}

}  // namespace

std::string WriteTestFile(const std::string& name, const std::string& text) {
  // One per process, because test cases run as processes of their own, several at a time.
  static const TemporaryFolder folder = *TemporaryFolder::Create("tandem-test");
  const std::string path = folder.path() + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string NpyFile(const std::vector<int64_t>& shape, const std::vector<int64_t>& values) {
  return NpyBytes("<i8", shape, values);
}

std::string NpyFile(const std::vector<int64_t>& shape, const std::vector<float>& values) {
  return NpyBytes("<f4", shape, values);
}

v1::JobSpec SmallJob() {
  v1::JobSpec spec;
  spec.set_name("small");
  spec.set_workers(1);
  spec.set_logical_ranks(4);
  spec.set_seed(5);
  spec.set_global_batch_size(8);
  spec.set_epochs(2);
  spec.mutable_data()->mutable_csv()->set_path(WriteTestFile("small.csv", FiftySamples()));
  spec.mutable_data()->mutable_csv()->set_classes(3);
  v1::Mlp& mlp = *spec.mutable_model()->mutable_mlp();
  mlp.add_hidden(33);
  mlp.add_hidden(17);
  mlp.set_dropout(0.3);
  spec.mutable_optimizer()->mutable_adamw()->set_lr(0.01);
  spec.mutable_evaluate()->set_holdout(0.16);
  spec::FillDefaults(&spec);
  return spec;
}

}  // namespace tandem::trainer
