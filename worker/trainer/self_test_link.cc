#include "worker/trainer/self_test_link.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "worker/ddp/gloo_transport.h"
#include "worker/ddp/rendezvous.h"

namespace tandem::trainer {
namespace {

constexpr char kAddress[] = "127.0.0.1";
constexpr uint32_t kRanks = 2;
constexpr absl::Duration kPatience = absl::Seconds(30);

class GlooLink : public SelfTestLink {
 public:
  GlooLink(std::unique_ptr<ddp::Rendezvous> rendezvous, std::unique_ptr<ddp::Transport> transport)
      : rendezvous_(std::move(rendezvous)), transport_(std::move(transport)) {}

  ddp::Transport& transport() override { return *transport_; }
  std::string device() const override { return "cpu"; }

 private:
  // Rank 0 serves it for as long as the other is there.
  const std::unique_ptr<ddp::Rendezvous> rendezvous_;
  const std::unique_ptr<ddp::Transport> transport_;
};

absl::StatusOr<std::unique_ptr<ddp::Rendezvous>> Meet(
    Rank rank, const std::string& meeting,
    const std::function<void(const std::string&)>& announce) {
  const ddp::Membership self = {JobId("self-test"), AttemptNumber(1), rank, kRanks};
  if (rank == Rank(0)) {
    auto host = ddp::Rendezvous::Host(self, kAddress);
    if (host.ok()) announce(absl::StrCat((*host)->port()));
    return host;
  }
  int port = 0;
  if (!absl::SimpleAtoi(meeting, &port)) {
    return absl::InvalidArgumentError(absl::StrCat("'", meeting, "' is not the port of rank 0"));
  }
  return ddp::Rendezvous::Connect(self, kAddress, static_cast<uint16_t>(port), kPatience);
}

absl::StatusOr<std::unique_ptr<SelfTestLink>> ConnectByGloo(
    Rank rank, const std::string& meeting,
    const std::function<void(const std::string&)>& announce) {
  auto rendezvous = Meet(rank, meeting, announce);
  if (!rendezvous.ok()) return rendezvous.status();
  if (absl::Status met = (*rendezvous)->AwaitAll(kPatience); !met.ok()) return met;
  auto transport = ddp::ConnectGloo(
      **rendezvous,
      {.address = kAddress, .connect_timeout = kPatience, .exchange_timeout = kPatience});
  if (!transport.ok()) return transport.status();
  return std::make_unique<GlooLink>(*std::move(rendezvous), *std::move(transport));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SelfTestLink>> ConnectSelfTest(
    const std::string& devices, Rank rank, const std::string& meeting,
    const std::function<void(const std::string&)>& announce) {
  if (devices == "cpu") return ConnectByGloo(rank, meeting, announce);
  return absl::InvalidArgumentError(absl::StrCat("--devices: this build cannot test sums between '",
                                                 devices, "', only on the cpu"));
}

}  // namespace tandem::trainer
