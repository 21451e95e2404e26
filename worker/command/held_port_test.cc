#include "worker/command/held_port.h"

#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/command/port_holder.h"
#include "worker/command/tcp_address.h"

namespace tandem::command {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kLoopback[] = "127.0.0.1";

bool CanConnect(uint16_t port) {
  const auto address = ParseTcpAddress(kLoopback, port);
  const FileDescriptor connection(socket(address->family(), SOCK_STREAM, 0));
  return connect(connection.get(), address->get(), address->size) == 0;
}

TEST(HeldPort, ListenOn_AnyPort_ListensThere) {
  const auto held = ListenOn(kLoopback, 0);
  ASSERT_TRUE(held.ok());
  EXPECT_TRUE(CanConnect(held->port));
}

TEST(HeldPort, ListenOn_TakenPort_NamesTheHolder) {
  const auto first = ListenOn(kLoopback, 0);
  const auto second = ListenOn(kLoopback, first->port);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(absl::StrCat("pid ", getpid(), " (")));
}

TEST(HeldPort, ListenOn_PortOfClosedConnections_Succeeds) {
  const uint16_t port = ListenOn(kLoopback, 0)->port;
  auto held = ListenOn(kLoopback, port);
  ASSERT_TRUE(held.ok());
  {
    const auto address = ParseTcpAddress(kLoopback, port);
    FileDescriptor client(socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(connect(client.get(), address->get(), address->size), 0);
    // The side that closes first is the one that has to wait.
    FileDescriptor server(accept(held->socket.get(), nullptr, nullptr));
    server.Reset();
    char byte;
    ASSERT_EQ(read(client.get(), &byte, 1), 0);
  }
  held->socket.Reset();
  EXPECT_TRUE(ListenOn(kLoopback, port).ok());
}

TEST(HeldPort, ListenOn_WrongAddress_SaysWhatIsWrong) {
  EXPECT_EQ(ListenOn("localhost", 0).status().code(), absl::StatusCode::kInvalidArgument);
  // Of a block for documentation.
  EXPECT_EQ(ListenOn("192.0.2.1", 0).status().code(), absl::StatusCode::kUnavailable);
}

TEST(HeldPort, ReservePort_NobodyCanHaveItAndNobodyIsThere) {
  auto held = ReservePort(0);
  ASSERT_TRUE(held.ok());
  const uint16_t port = held->port;
  EXPECT_FALSE(CanConnect(port));
  EXPECT_EQ(ListenOn(kLoopback, port).status().code(), absl::StatusCode::kAlreadyExists);
  held->socket.Reset();
  EXPECT_TRUE(ListenOn(kLoopback, port).ok());
}

TEST(PortHolder, TableOfTheKernel_ListenersComeFirstAndClosedConnectionsNot) {
  const char* table =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode\n"
      "   0: 0100007F:1092 0100007F:A000 01 00000000:00000000 00:00000000 00000000  1000  0 111 1 "
      "0\n"
      "   1: 0100007F:1092 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000  0 222 1 "
      "0\n"
      "   2: 0100007F:1092 0100007F:A001 06 00000000:00000000 00:00000000 00000000     0  0 0 3 0\n"
      "   3: 0100007F:A000 0100007F:1092 01 00000000:00000000 00:00000000 00000000  1000  0 333 1 "
      "0\n";
  EXPECT_THAT(SocketsAtPort(table, 0x1092), ElementsAre(222, 111));
}

}  // namespace
}  // namespace tandem::command
