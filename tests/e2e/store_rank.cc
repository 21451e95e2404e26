// A program that meets its peers as torch.distributed does under torchrun, on the store that its environment names,
// and makes sure that they are of its own job.
//
//   store-rank [EXIT_CODE]   what it exits with before its last restart; 0 then
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <vector>

namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int Meet() {
  const std::string job = Variable("TANDEM_JOB_ID"),
                    restart = Variable("TORCHELASTIC_RESTART_COUNT");
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(std::stoi(Variable("MASTER_PORT")));
  options.timeout = std::chrono::seconds(120);
  c10d::PrefixStore store("/worker/attempt_" + restart,
                          c10::make_intrusive<c10d::TCPStore>(Variable("MASTER_ADDR"), options));
  store.set(Variable("RANK"), std::vector<uint8_t>(job.begin(), job.end()));
  const int world_size = std::stoi(Variable("WORLD_SIZE"));
  for (int rank = 0; rank < world_size; ++rank) {
    const std::vector<uint8_t> peer = store.get(std::to_string(rank));
    if (std::string(peer.begin(), peer.end()) != job) return 9;
  }
  // As many arrive as there are ranks, and nobody else.
  store.add("arrived", 1);
  while (store.add("arrived", 0) < world_size) continue;
  std::cout << "met " << store.add("arrived", 0) << " of " << world_size << std::endl;
  // Nobody leaves while another still counts.
  store.add("counted", 1);
  while (store.add("counted", 0) < world_size) continue;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (const int failed = Meet(); failed != 0) return failed;
  const bool is_last =
      Variable("TORCHELASTIC_RESTART_COUNT") == Variable("TORCHELASTIC_MAX_RESTARTS");
  std::_Exit(argc < 2 || is_last ? 0 : std::atoi(argv[1]));
}
