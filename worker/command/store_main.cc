// tandem-store: hosts the c10d store of an attempt on a socket that listens already, until it is killed.
// Started by tandem-command, which does not link LibTorch and so need not wait for it.
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "absl/strings/numbers.h"
#include "worker/ddp/c10d_process.h"

namespace {

constexpr int kUsageExitCode = 2;

struct Place {
  std::string address;
  uint16_t port = 0;
};

Place PlaceOf(int listening_socket) {
  sockaddr_storage name = {};
  socklen_t size = sizeof(name);
  char address[NI_MAXHOST] = "", port[NI_MAXSERV] = "0";
  getsockname(listening_socket, reinterpret_cast<sockaddr*>(&name), &size);
  getnameinfo(reinterpret_cast<sockaddr*>(&name), size, address, sizeof(address), port,
              sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
  return {address, static_cast<uint16_t>(std::stoi(port))};
}

void HostUntilKilled(int listening_socket) {
  const Place place = PlaceOf(listening_socket);
  c10d::TCPStoreOptions options;
  options.isServer = true;
  options.waitWorkers = false;
  options.port = place.port;
  options.masterListenFd = listening_socket;
  const auto store = c10::make_intrusive<c10d::TCPStore>(place.address, options);
  while (true) pause();
}

}  // namespace

int main(int argc, char** argv) {
  int listening_socket = -1;
  if (argc != 3 || std::string(argv[1]) != "--listen-fd" ||
      !absl::SimpleAtoi(argv[2], &listening_socket)) {
    std::cerr << "tandem-store: this program is started by tandem-command" << std::endl;
    return kUsageExitCode;
  }
  tandem::ddp::PrepareProcessForC10d();
  try {
    HostUntilKilled(listening_socket);
  } catch (const std::exception& error) {
    std::cerr << "tandem-store: cannot host the store: " << error.what() << std::endl;
  }
  return 1;
}
