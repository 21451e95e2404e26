#include "worker/agent/offered_slots.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What a host has, in a few words.
class Host {
 public:
  Host& With(const std::string& kind, uint32_t devices, const std::string& problem = "") {
    v1::DeviceLibraryFacts& library = *report_.add_libraries();
    library.set_kind(kind);
    library.set_problem(problem);
    for (uint32_t i = 0; i < devices; ++i) {
      v1::DeviceFacts& device = *report_.add_devices();
      device.set_kind(kind);
      device.set_index(i);
    }
    return *this;
  }
  absl::StatusOr<OfferedSlots> Offer(const std::vector<std::string>& texts,
                                     uint32_t cores = 8) const {
    std::vector<SlotRequest> requests;
    for (const std::string& text : texts) requests.push_back(*ParseSlotRequest(text));
    return OfferSlots(requests, report_, cores);
  }
  std::string Refusal(const std::vector<std::string>& texts) const {
    return std::string(Offer(texts).status().message());
  }

 private:
  v1::ProbeReport report_;
};

TEST(OfferSlots, CpuAlone_NeedsNoLookAtTheDevices) {
  EXPECT_FALSE(NeedsProbe({*ParseSlotRequest("cpu:2")}));
  EXPECT_TRUE(NeedsProbe({*ParseSlotRequest("cpu:2"), *ParseSlotRequest("cuda:0")}));
  EXPECT_TRUE(NeedsProbe({*ParseSlotRequest("auto")}));
  EXPECT_THAT(Host().Offer({"cpu:2"})->names, ElementsAre("cpu:0", "cpu:1"));
}

TEST(OfferSlots, Indices_AreThoseInTheirOrder) {
  EXPECT_THAT(Host().With("cuda", 4).Offer({"cuda:2,0"})->names, ElementsAre("cuda:2", "cuda:0"));
}

TEST(OfferSlots, All_AreThoseOfThatKind) {
  EXPECT_THAT(Host().With("cuda", 2).With("xpu", 1).Offer({"cuda:all"})->names,
              ElementsAre("cuda:0", "cuda:1"));
}

TEST(OfferSlots, SeveralKinds_StandBesideEachOther) {
  EXPECT_THAT(Host().With("cuda", 1).Offer({"cuda:0", "cpu:1"})->names,
              ElementsAre("cuda:0", "cpu:0"));
}

TEST(OfferSlots, Auto_IsEveryDeviceThatWorks) {
  const auto offered =
      Host().With("cuda", 2).With("rocm", 0, "no driver").With("xpu", 1).Offer({"auto"});
  ASSERT_TRUE(offered.ok()) << offered.status();
  EXPECT_THAT(offered->names, ElementsAre("cuda:0", "cuda:1", "xpu:0"));
  EXPECT_THAT(offered->remark, IsEmpty());
}

TEST(OfferSlots, AutoWithoutDevice_IsTheCpuAndSaysWhy) {
  const auto offered = Host().With("cuda", 0, "this host has no driver").Offer({"auto"}, 8);
  ASSERT_TRUE(offered.ok()) << offered.status();
  EXPECT_THAT(offered->names, ElementsAre("cpu:0", "cpu:1", "cpu:2", "cpu:3"));
  EXPECT_THAT(offered->remark, HasSubstr("cuda: this host has no driver"));
  EXPECT_THAT(Host().Offer({"auto"}, 1)->names, ElementsAre("cpu:0"));
  EXPECT_THAT(Host().Offer({"auto"}, 1)->remark, HasSubstr("CPU alone"));
}

TEST(OfferSlots, KindDoesNotWork_IsRefusedInTheWordsOfItsLibrary) {
  const Host host = Host().With("cuda", 0, "this host has no NVIDIA driver");
  EXPECT_EQ(host.Refusal({"cuda:0"}), "cuda:0: this host has no NVIDIA driver");
  EXPECT_EQ(host.Refusal({"cuda:all"}), "cuda:all: this host has no NVIDIA driver");
}

TEST(OfferSlots, KindWithoutLibrary_IsRefusedWithThoseThatThereAre) {
  EXPECT_THAT(Host().With("cuda", 1).Refusal({"xpu:0"}), HasSubstr("only cpu and cuda"));
  EXPECT_THAT(Host().Refusal({"cuda:all"}), HasSubstr("kind cuda, only cpu"));
}

TEST(OfferSlots, IndexThatIsNotThere_IsNamedWithThoseThatAre) {
  EXPECT_EQ(Host().With("cuda", 2).Refusal({"cuda:0,7"}), "cuda:7: this host has cuda:0, cuda:1");
  EXPECT_EQ(Host().With("cuda", 0).Refusal({"cuda:all"}),
            "cuda:all: this host has none of that kind");
}

TEST(OfferSlots, SlotTwice_IsNamed) {
  EXPECT_EQ(Host().With("cuda", 2).Refusal({"cuda:all", "cuda:1"}), "cuda:1 is there twice");
  EXPECT_EQ(Host().Refusal({"cpu:1", "cpu:2"}), "cpu:0 is there twice");
}

TEST(OfferSlots, AutoBesideOthers_IsRefused) {
  EXPECT_THAT(Host().With("cuda", 2).Refusal({"auto", "cpu:1"}), HasSubstr("auto"));
}

}  // namespace
}  // namespace tandem::agent
