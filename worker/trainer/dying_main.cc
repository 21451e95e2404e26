// A trainer that comes to harm where the environment says, for tests:
//
//   TANDEM_DIE_AT    "PHASE_REDUCE:3": on entering that phase with three steps done;
//                    "RENAME:3": when the checkpoint of step 3 is written and has not got its name yet
//                    "SYNC": when a checkpoint is brought to the disk
//   TANDEM_DIE_RANK  only on this rank (otherwise on all)
//   TANDEM_DIE_HOW   "kill" (the default), "stop", "loop" or "sleep"; of SYNC and RENAME also the disk's: "full",
//                    "refused", and "slow", which is always and not once
//   TANDEM_DIE_ONCE  a file that is made by then: where it is there already, nothing happens
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "worker/trainer/command_line.h"

namespace tandem::trainer {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsFirstTime() {
  const std::string marker = Variable("TANDEM_DIE_ONCE");
  if (marker.empty()) return true;
  const int file = open(marker.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file >= 0) close(file);
  return file >= 0;
}

void ComeToHarm() {
  const std::string rank = Variable("TANDEM_DIE_RANK");
  if ((!rank.empty() && rank != Variable("TANDEM_RANK")) || !IsFirstTime()) return;
  const std::string how = Variable("TANDEM_DIE_HOW");
  if (how == "stop") raise(SIGSTOP);
  if (how == "sleep") {
    for (;;) pause();
  }
  if (how == "loop") {
    std::atomic<uint64_t> turns{0};
    for (;;) ++turns;
  }
  if (how.empty() || how == "kill") raise(SIGKILL);
}

class DyingFileCalls : public FileCalls {
 public:
  explicit DyingFileCalls(std::string place) : place_(std::move(place)) {}

  int Sync(int fd) override {
    if (place_ == "SYNC" && Variable("TANDEM_DIE_HOW") == "slow") usleep(kSlowMicroseconds);
    if (place_ == "SYNC" && Refuses()) return -1;
    return FileCalls::Sync(fd);
  }

  int Rename(const std::string& from, const std::string& to) override {
    uint64_t step = 0;
    absl::string_view rest = place_;
    const checkpoint::CheckpointFolder folder(to.substr(0, to.rfind('/')));
    if (absl::ConsumePrefix(&rest, "RENAME:") && absl::SimpleAtoi(rest, &step) &&
        to == folder.FileOf(step)) {
      if (Refuses()) return -1;
      ComeToHarm();
    }
    return FileCalls::Rename(from, to);
  }

 private:
  static constexpr useconds_t kSlowMicroseconds = 100'000;

  // As a disk that is full, or does not let itself be written; once.
  static bool Refuses() {
    const std::string how = Variable("TANDEM_DIE_HOW");
    if ((how != "full" && how != "refused") || !IsFirstTime()) return false;
    errno = how == "full" ? ENOSPC : EROFS;
    return true;
  }

  const std::string place_;
};

int Main(int argc, char** argv) {
  const std::string place = Variable("TANDEM_DIE_AT");
  DyingFileCalls files(place);
  Hooks hooks;
  hooks.files = &files;
  hooks.on_position = [place](ProgressPage::Position position) {
    if (absl::StrCat(v1::Phase_Name(position.phase), ":", position.step) == place) ComeToHarm();
  };
  return TrainerMain(argc, argv, hooks);
}

}  // namespace
}  // namespace tandem::trainer

int main(int argc, char** argv) { return tandem::trainer::Main(argc, argv); }
