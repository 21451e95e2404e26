#include "worker/ddp/rendezvous.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/file_descriptor.h"
#include "worker/ddp/c10d_process.h"

namespace tandem::ddp {
namespace {

using ::testing::HasSubstr;

// As in main, for all tests of this binary.
const bool prepared = (PrepareProcessForC10d(), true);

constexpr absl::Duration kPatience = absl::Seconds(30);
constexpr absl::Duration kImpatience = absl::Milliseconds(50);

Membership RankOf(uint32_t rank, uint32_t world_size, uint32_t attempt = 1) {
  return {JobId("job"), AttemptNumber(attempt), Rank(rank), world_size};
}

std::unique_ptr<Rendezvous> HostOf(uint32_t world_size) {
  auto host = Rendezvous::Host(RankOf(0, world_size), "127.0.0.1");
  EXPECT_TRUE(host.ok()) << host.status();
  return *std::move(host);
}

absl::StatusOr<std::unique_ptr<Rendezvous>> ConnectTo(const Rendezvous& host, Membership self) {
  return Rendezvous::Connect(std::move(self), "127.0.0.1", host.port(), kPatience);
}

sockaddr_in Ipv4(const char* address, uint16_t port) {
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  inet_pton(AF_INET, address, &name.sin_addr);
  return name;
}

// A port that nobody listens on, nor can while it lives.
struct DeafPort {
  DeafPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in name = Ipv4("127.0.0.1", 0);
    socklen_t size = sizeof(name);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&name), size), 0);
    EXPECT_EQ(getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&name), &size), 0);
    port = ntohs(name.sin_port);
  }
  uint16_t port = 0;

 private:
  FileDescriptor socket_;
};

bool CanConnect(const char* address, uint16_t port) {
  const FileDescriptor client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in name = Ipv4(address, port);
  return connect(client.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0;
}

TEST(RendezvousTest, AllRanksCome_AllMeet) {
  const auto host = HostOf(3);
  std::vector<std::thread> others;
  for (uint32_t rank = 1; rank < 3; ++rank) {
    others.emplace_back([&, rank] {
      auto client = ConnectTo(*host, RankOf(rank, 3));
      ASSERT_TRUE(client.ok()) << client.status();
      EXPECT_TRUE((*client)->AwaitAll(kPatience).ok());
    });
  }
  EXPECT_TRUE(host->AwaitAll(kPatience).ok());
  for (std::thread& other : others) other.join();
}

TEST(RendezvousTest, TwentyStoresAtOnce_AllOnPortsOfTheirOwn) {
  std::vector<std::unique_ptr<Rendezvous>> hosts(20);
  std::vector<std::thread> starting;
  for (auto& host : hosts) {
    starting.emplace_back([&host] { host = HostOf(2); });
  }
  for (std::thread& thread : starting) thread.join();
  std::set<uint16_t> ports;
  for (const auto& host : hosts) {
    ports.insert(host->port());
    EXPECT_TRUE(ConnectTo(*host, RankOf(1, 2)).ok());
  }
  EXPECT_EQ(ports.size(), hosts.size());
}

TEST(RendezvousTest, Host_ListensOnTheGivenAddressOnly) {
  const auto host = HostOf(2);
  EXPECT_TRUE(CanConnect("127.0.0.1", host->port()));
  EXPECT_FALSE(CanConnect("127.0.0.2", host->port()));
}

TEST(RendezvousTest, EnvironmentOfAnotherLauncher_Ignored) {
  setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
  setenv("MASTER_ADDR", "192.0.2.1", 1);
  setenv("MASTER_PORT", "1", 1);
  setenv("RANK", "1", 1);
  const auto host = HostOf(1);
  EXPECT_TRUE(host->AwaitAll(kPatience).ok());
}

TEST(RendezvousTest, StrangerOfAnotherAttemptJobOrWorldSize_Refused) {
  const auto host = HostOf(2);
  Membership other_job = RankOf(1, 2);
  other_job.job = JobId("another");
  for (const Membership& stranger : {RankOf(1, 2, 2), RankOf(1, 3), other_job}) {
    const absl::Status status = ConnectTo(*host, stranger).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  }
  EXPECT_TRUE(ConnectTo(*host, RankOf(1, 2)).ok());
}

TEST(RendezvousTest, SecondProcessWithTheSameRank_Refused) {
  const auto host = HostOf(3);
  const auto first = *ConnectTo(*host, RankOf(1, 3));
  const auto second = *ConnectTo(*host, RankOf(1, 3));
  EXPECT_EQ(first->AwaitAll(kImpatience).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(second->AwaitAll(kImpatience).code(), absl::StatusCode::kAlreadyExists);
}

TEST(RendezvousTest, RankMissing_Named) {
  const absl::Status status = HostOf(2)->AwaitAll(kImpatience);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1 of 2"));
}

TEST(RendezvousTest, ManyRanksMissing_ThreeNamed) {
  const std::string message(HostOf(9)->AwaitAll(kImpatience).message());
  EXPECT_THAT(message, HasSubstr("rank 3"));
  EXPECT_THAT(message, Not(HasSubstr("rank 4")));
}

TEST(RendezvousTest, HostGone_Unavailable) {
  auto host = HostOf(2);
  const auto client = *ConnectTo(*host, RankOf(1, 2));
  host.reset();
  EXPECT_EQ(client->AwaitAll(kPatience).code(), absl::StatusCode::kUnavailable);
}

TEST(RendezvousTest, NobodyListens_DeadlineExceeded) {
  const DeafPort deaf;
  const auto client = Rendezvous::Connect(RankOf(1, 2), "127.0.0.1", deaf.port, absl::Seconds(1));
  EXPECT_EQ(client.status().code(), absl::StatusCode::kDeadlineExceeded) << client.status();
}

TEST(RendezvousTest, AddressNotNumericOrNotOurs_Refused) {
  EXPECT_EQ(Rendezvous::Host(RankOf(0, 1), "localhost").status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Rendezvous::Host(RankOf(0, 1), "192.0.2.1").status().code(),
            absl::StatusCode::kUnavailable);
}

TEST(RendezvousTest, RolesMixedUp_Refused) {
  EXPECT_EQ(Rendezvous::Host(RankOf(1, 2), "127.0.0.1").status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Rendezvous::Connect(RankOf(0, 2), "127.0.0.1", 1, kImpatience).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tandem::ddp
