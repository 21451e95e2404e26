#include "worker/agent/host_watch.h"

#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

namespace tandem::agent {
namespace {

// From its beginning; far more than any host has to say.
std::string ContentsOf(int fd) {
  constexpr size_t kMost = size_t{1} << 20;
  std::string text(kMost, '\0');
  const ssize_t got = pread(fd, text.data(), text.size(), 0);
  text.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return text;
}

}  // namespace

HostWatch::HostWatch(EventLoop* loop, Options options)
    : loop_(*loop), options_(std::move(options)) {}

void HostWatch::Start(const std::string& advertise_address) {
  if (options_.look.path.empty() || timer_.active()) return;
  options_.look.arguments.push_back("--advertise-address");
  options_.look.arguments.push_back(advertise_address);
  timer_ = loop_.After(options_.first_after, [this] { Look(); });
}

void HostWatch::Look() {
  const bool is_busy = options_.is_busy();
  timer_ = loop_.After(is_busy ? options_.while_busy : options_.interval, [this] { Look(); });
  if (looker_ != nullptr) return looker_->Terminate(absl::ZeroDuration());
  if (is_busy) return;
  const FileDescriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  printed_.Reset(memfd_create("host-facts", MFD_CLOEXEC));
  Command look = options_.look;
  look.descriptors = {nothing.get(), printed_.get(), nothing.get()};
  auto looker = ChildProcess::Start(&loop_, look, [this](ExitStatus) { OnLooked(); });
  // A host that cannot start a program now may be able to later, and is no reason to stop training.
  if (looker.ok()) looker_ = *std::move(looker);
}

void HostWatch::OnLooked() {
  v1::HostFacts facts;
  const auto parsed =
      google::protobuf::util::JsonStringToMessage(ContentsOf(printed_.get()), &facts);
  printed_.Reset();
  looker_.reset();
  if (!parsed.ok()) return;
  facts_ = std::move(facts);
  taken_ = false;
}

std::optional<v1::HostFacts> HostWatch::TakeNews() {
  if (std::exchange(taken_, true)) return std::nullopt;
  return facts_;
}

}  // namespace tandem::agent
