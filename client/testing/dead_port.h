#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/file_descriptor.h"

namespace tandem::client {

// A port that nobody else gets by chance: bound here, and at most half alive. A server that shares ports,
// as gRPC's do, can come to life on it.
class DeadPort {
 public:
  explicit DeadPort(bool accepts_connections)
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    const int on = 1;
    setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    if (accepts_connections) listen(socket_.get(), 8);
    port_ = ntohs(address.sin_port);
  }

  int port() const { return port_; }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  FileDescriptor socket_;
  int port_ = 0;
};

}  // namespace tandem::client
