#include "worker/data/open_source.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/file_descriptor.h"
#include "common/read_file.h"
#include "common/safetensors/write_safetensors.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/data/fingerprint.h"

namespace tandem::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One small data set of each kind, and how it is described.
class Fixture {
 public:
  std::string Path(const std::string& name) const { return folder_.File(name); }
  std::string Write(const std::string& name, absl::string_view bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }

  void WriteGzip(const std::string& name, absl::string_view text) const {
    const gzFile file = gzopen(Path(name).c_str(), "wb");
    EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
              static_cast<int>(text.size()));
    EXPECT_EQ(gzclose(file), Z_OK);
  }

  v1::Data Csv() const {
    v1::Data data;
    data.mutable_csv()->set_path(Write("t.csv", "1,2,0\n3,4,1\n"));
    data.mutable_csv()->set_label_column(-1);
    data.mutable_csv()->set_scale(1);
    data.mutable_csv()->set_classes(2);
    return data;
  }

  v1::Data Npy() const {
    v1::Data data;
    data.mutable_npy()->set_inputs(absl::StrCat(TEST_DATA, "/f4.npy"));
    data.mutable_npy()->set_targets(absl::StrCat(TEST_DATA, "/f4.npy"));
    return data;
  }

  v1::Data Npz() const {
    v1::Data data;
    data.mutable_npz()->set_path(absl::StrCat(TEST_DATA, "/deflated.npz"));
    data.mutable_npz()->set_inputs("inputs");
    data.mutable_npz()->set_targets("targets");
    data.mutable_npz()->set_classes(2);
    return data;
  }

  v1::Data Idx() const {
    v1::Data data;
    const std::string images(
        "\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x03"
        "abcdef",
        22);
    data.mutable_idx()->set_images(Write("images", images));
    data.mutable_idx()->set_labels(
        Write("labels", std::string("\0\0\x08\x01\0\0\0\x02\x01\x00", 10)));
    data.mutable_idx()->set_classes(2);
    return data;
  }

  v1::Data Text() const {
    v1::Data data;
    data.mutable_text()->set_path(Write("t.txt", "abcdefghi"));
    data.mutable_text()->set_unit(v1::TEXT_UNIT_CHARACTERS);
    data.mutable_text()->set_window(2);
    return data;
  }

  v1::Data Safetensors() const {
    const FileDescriptor file(
        open(Path("t.safetensors").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
    EXPECT_TRUE(safetensors::WriteSafetensors(
                    file.get(), {{"x", "U8", {2, 2}, "abcd"}, {"y", "U8", {2}, "\x01\x02"}}, {})
                    .ok());
    v1::Data data;
    data.mutable_safetensors()->set_path(Path("t.safetensors"));
    data.mutable_safetensors()->set_inputs("x");
    data.mutable_safetensors()->set_targets("y");
    data.mutable_safetensors()->set_classes(3);
    return data;
  }

  v1::Data Synthetic() const {
    v1::Data data;
    data.mutable_synthetic()->set_samples(2);
    data.mutable_synthetic()->mutable_regression()->set_features(2);
    data.mutable_synthetic()->mutable_regression()->set_outputs(1);
    return data;
  }

 private:
  const TemporaryFolder folder_ = *TemporaryFolder::Create("open_source");
};

std::string FingerprintOf(const v1::Data& data, uint64_t seed = 0) {
  const auto opened = OpenSource(data, seed);
  EXPECT_TRUE(opened.ok()) << opened.status();
  return opened->fingerprint;
}

SampleShape ShapeOf(const v1::Data& data) { return OpenSource(data, 0)->source->shape(); }

TEST(OpenSource, EachKind_HasTheShapeOfItsSamples) {
  const Fixture fixture;
  EXPECT_EQ(ShapeOf(fixture.Csv()), (SampleShape{{2}, 0, {}, 2}));
  EXPECT_EQ(ShapeOf(fixture.Npy()), (SampleShape{{3}, 0, {3}, 0}));
  EXPECT_EQ(ShapeOf(fixture.Npz()), (SampleShape{{3}, 0, {}, 2}));
  EXPECT_EQ(ShapeOf(fixture.Idx()), (SampleShape{{1, 3}, 0, {}, 2}));
  EXPECT_EQ(ShapeOf(fixture.Text()), (SampleShape{{2}, 9, {2}, 9}));
  EXPECT_EQ(ShapeOf(fixture.Safetensors()), (SampleShape{{2}, 0, {}, 3}));
  EXPECT_EQ(ShapeOf(fixture.Synthetic()), (SampleShape{{2}, 0, {1}, 0}));
}

TEST(OpenSource, Samples_AreThoseOfTheFile) {
  const auto opened = OpenSource(Fixture().Idx(), 0);
  ASSERT_TRUE(opened.ok()) << opened.status();
  ASSERT_EQ(opened->source->size(), 2);
  std::vector<float> picture(3);
  std::vector<int64_t> label(1);
  opened->source->Copy(1, absl::MakeSpan(picture), absl::MakeSpan(label));
  EXPECT_THAT(picture, ElementsAre('d', 'e', 'f'));
  EXPECT_THAT(label, ElementsAre(0));
}

TEST(OpenSource, Stride_IsTheWindowUnlessGiven) {
  const Fixture fixture;
  v1::Data data = fixture.Text();
  EXPECT_EQ(OpenSource(data, 0)->source->size(), 4);
  data.mutable_text()->set_stride(1);
  EXPECT_EQ(OpenSource(data, 0)->source->size(), 7);
}

// What is wrong with a data set, and what the message must name beside it.
struct Mistake {
  const char* name;
  std::function<v1::Data(const Fixture&)> make;
  std::vector<std::string> named;
};

class MistakeTest : public ::testing::TestWithParam<Mistake> {};

TEST_P(MistakeTest, Open_NamesFilePlaceAndKeyInOneLine) {
  const Fixture fixture;
  const auto opened = OpenSource(GetParam().make(fixture), 0);
  ASSERT_TRUE(absl::IsInvalidArgument(opened.status())) << opened.status();
  const std::string message(opened.status().message());
  EXPECT_EQ(message.find('\n'), std::string::npos);
  for (const std::string& named : GetParam().named) EXPECT_THAT(message, HasSubstr(named));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, MistakeTest,
    ::testing::Values(
        Mistake{"CsvMissing",
                [](const Fixture& fixture) {
                  v1::Data data = fixture.Csv();
                  data.mutable_csv()->set_path(fixture.Path("absent.csv"));
                  return data;
                },
                {"absent.csv: ", "data.csv.path"}},
        Mistake{"CsvShape",
                [](const Fixture& fixture) {
                  v1::Data data = fixture.Csv();
                  data.mutable_csv()->add_shape(3);
                  return data;
                },
                {"t.csv: ", "data.csv.shape"}},
        Mistake{"NpyFolder",
                [](const Fixture& fixture) {
                  v1::Data data = fixture.Npy();
                  data.mutable_npy()->set_targets("/");
                  return data;
                },
                {"/: ", "data.npy.targets"}},
        Mistake{"NpyFraction",
                [](const Fixture& fixture) {
                  v1::Data data = fixture.Npy();
                  data.mutable_npy()->set_classes(10);
                  return data;
                },
                {"f4.npy", "data.npy.targets", "sample 1, number 2", "data.npy.classes"}},
        Mistake{"NpyFortran",
                [](const Fixture& fixture) {
                  v1::Data data = fixture.Npy();
                  data.mutable_npy()->set_inputs(absl::StrCat(TEST_DATA, "/fortran.npy"));
                  return data;
                },
                {"fortran.npy", "data.npy.inputs"}},
        Mistake{"NpzName",
                [](const Fixture& fixture) {
                  v1::Data data = fixture.Npz();
                  data.mutable_npz()->set_targets("labels");
                  return data;
                },
                {"deflated.npz", "data.npz.targets", "'labels'"}},
        Mistake{"NpzThatIsNone",
                [](const Fixture& fixture) {
                  v1::Data data = fixture.Npz();
                  data.mutable_npz()->set_path(fixture.Write("n.npz", "PK"));
                  return data;
                },
                {"n.npz", "data.npz"}},
        Mistake{"IdxLabel",
                [](const Fixture& fixture) {
                  v1::Data data = fixture.Idx();
                  fixture.Write("labels", std::string("\0\0\x08\x01\0\0\0\x02\x01\x02", 10));
                  return data;
                },
                {"labels", "data.idx.labels", "sample 1", "data.idx.classes"}},
        Mistake{"IdxLength",
                [](const Fixture& fixture) {
                  v1::Data data = fixture.Idx();
                  fixture.Write("labels", std::string("\0\0\x08\x01\0\0\0\x01\x01", 9));
                  return data;
                },
                {"labels", "images", "data.idx.labels"}},
        Mistake{"IdxGzip",
                [](const Fixture& fixture) {
                  v1::Data data = fixture.Idx();
                  fixture.Write("images", "\x1f\x8b and so on");
                  return data;
                },
                {"images", "data.idx.images", "gzip"}},
        Mistake{"TextShort",
                [](const Fixture& fixture) {
                  v1::Data data = fixture.Text();
                  data.mutable_text()->set_window(9);
                  return data;
                },
                {"t.txt", "data.text.path", "data.text.window"}},
        Mistake{"TextLatin1",
                [](const Fixture& fixture) {
                  v1::Data data = fixture.Text();
                  fixture.Write("t.txt", "abc\n\xE4\n");
                  return data;
                },
                {"t.txt", "line 2", "data.text.unit"}},
        Mistake{"SafetensorsName",
                [](const Fixture& fixture) {
                  v1::Data data = fixture.Safetensors();
                  data.mutable_safetensors()->set_inputs("inputs");
                  return data;
                },
                {"t.safetensors", "data.safetensors.inputs", "'inputs'"}},
        Mistake{"SafetensorsToken",
                [](const Fixture& fixture) {
                  v1::Data data = fixture.Safetensors();
                  data.mutable_safetensors()->set_vocabulary(100);
                  return data;
                },
                {"t.safetensors", "sample 1, number 1", "data.safetensors.vocabulary"}},
        Mistake{"SafetensorsCut",
                [](const Fixture& fixture) {
                  v1::Data data = fixture.Safetensors();
                  fixture.Write("t.safetensors", "cut");
                  return data;
                },
                {"t.safetensors", "data.safetensors.path"}},
        Mistake{"SyntheticNoise",
                [](const Fixture& fixture) {
                  v1::Data data = fixture.Synthetic();
                  data.mutable_synthetic()->mutable_regression()->set_noise(1e300);
                  return data;
                },
                {"data.synthetic.regression.noise"}},
        Mistake{"NoKind", [](const Fixture&) { return v1::Data(); }, {"data: "}}),
    [](const auto& info) { return info.param.name; });

TEST(OpenSource, GzipOfMoreThanItsHeaderSays_IsRefused) {
  const Fixture fixture;
  const v1::Data data = fixture.Idx();
  const std::string right = ReadFile(data.idx().images()).value();
  fixture.WriteGzip("images", right);
  EXPECT_TRUE(OpenSource(data, 0).ok());
  fixture.WriteGzip("images", right + std::string(50'000'000, '\0'));
  const absl::Status status = OpenSource(data, 0).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("has more than the 6 bytes"));
}

// AddressSanitizer takes more addresses than the limit, and ends a process that has no memory.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Ends the process, with 0 where `data` was refused and the refusal is on stderr.
[[noreturn]] void OpenWithOneGigabyte(const v1::Data& data) {
  const rlimit limit{1 << 30, 1 << 30};
  setrlimit(RLIMIT_AS, &limit);
  const absl::Status status = OpenSource(data, 0).status();
  std::cerr << status.message() << std::endl;
  _exit(absl::IsInvalidArgument(status) ? 0 : 1);
}

TEST(OpenSourceDeathTest, FileTooLargeForTheMemory_IsRefusedByFileAndKey) {
  const Fixture fixture;
  const v1::Data csv = fixture.Csv();
  std::filesystem::resize_file(csv.csv().path(), uint64_t{1} << 40);
  EXPECT_EXIT(OpenWithOneGigabyte(csv), testing::ExitedWithCode(0), "t.csv: .*data.csv.path");
}

TEST(OpenSourceDeathTest, SamplesTooLargeForTheMemory_AreRefusedByFileAndKey) {
  const Fixture fixture;
  v1::Data text = fixture.Text();
  text.mutable_text()->set_unit(v1::TEXT_UNIT_BYTES);
  std::filesystem::resize_file(text.text().path(), 250'000'000);
  EXPECT_EXIT(OpenWithOneGigabyte(text), testing::ExitedWithCode(0),
              "t.txt .data.text.path.: too large");
}
#endif

TEST(Fingerprint, Place_DoesNotCount) {
  const Fixture here, there;
  EXPECT_EQ(FingerprintOf(here.Csv()), FingerprintOf(there.Csv()));
  EXPECT_EQ(FingerprintOf(here.Idx()), FingerprintOf(there.Idx()));
}

TEST(Fingerprint, OrderAndSpeedOfLoading_DoNotCount) {
  const Fixture fixture;
  v1::Data data = fixture.Text();
  const std::string before = FingerprintOf(data);
  data.set_shuffle(true);
  data.set_drop_last(true);
  data.set_loader_threads(3);
  data.set_prefetch(7);
  EXPECT_EQ(FingerprintOf(data), before);
}

TEST(Fingerprint, EveryFileCounts) {
  const Fixture fixture;
  const v1::Data data = fixture.Idx();
  const std::string before = FingerprintOf(data);
  fixture.Write("labels", std::string("\0\0\x08\x01\0\0\0\x02\x01\x01", 10));
  EXPECT_NE(FingerprintOf(data), before);
}

TEST(Fingerprint, KeysThatShapeSamples_Count) {
  const Fixture fixture;
  v1::Data data = fixture.Csv();
  const std::string before = FingerprintOf(data);
  data.mutable_csv()->set_scale(2);
  EXPECT_NE(FingerprintOf(data), before);
  data = fixture.Csv();
  data.mutable_transforms()->set_scale(2);
  EXPECT_NE(FingerprintOf(data), before);
}

TEST(Fingerprint, Seed_CountsWhereSamplesComeFromIt) {
  const Fixture fixture;
  EXPECT_NE(FingerprintOf(fixture.Synthetic(), 1), FingerprintOf(fixture.Synthetic(), 2));
  EXPECT_EQ(FingerprintOf(fixture.Csv(), 1), FingerprintOf(fixture.Csv(), 2));
}

TEST(Sha256Hex, KnownText_HasThePublishedDigest) {
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Examples, ShippedData_IsRead) {
  v1::Data digits;
  digits.mutable_csv()->set_path(absl::StrCat(EXAMPLE_DATA, "/digits.csv"));
  digits.mutable_csv()->set_label_column(-1);
  digits.mutable_csv()->set_scale(1);
  digits.mutable_csv()->set_classes(10);
  EXPECT_EQ(OpenSource(digits, 0)->source->size(), 1797);
  v1::Data text;
  text.mutable_text()->set_path(absl::StrCat(EXAMPLE_DATA, "/tinyshakespeare.txt"));
  text.mutable_text()->set_unit(v1::TEXT_UNIT_CHARACTERS);
  text.mutable_text()->set_window(64);
  EXPECT_EQ(ShapeOf(text), (SampleShape{{64}, 65, {64}, 65}));
  EXPECT_EQ(OpenSource(text, 0)->source->size(), (1115394 - 65) / 64 + 1);
}

}  // namespace
}  // namespace tandem::data
