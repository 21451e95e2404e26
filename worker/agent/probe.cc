#include "worker/agent/probe.h"

#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/file_descriptor.h"
#include "worker/process/child_process.h"
#include "worker/process/event_loop.h"

namespace tandem::agent {
namespace {

constexpr size_t kMostBytes = size_t{4} << 20;
constexpr size_t kReadBytes = size_t{64} << 10;

// What a process writes into one pipe.
struct Output {
  FileDescriptor read, write;
  std::string text;
  EventLoop::Registration watch;

  absl::Status Open(EventLoop* loop) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe2");
    read = FileDescriptor(ends[0]);
    write = FileDescriptor(ends[1]);
    fcntl(read.get(), F_SETFL, O_NONBLOCK);
    watch = loop->Watch(read.get(), EPOLLIN, [this](uint32_t) { ReadSome(); });
    return absl::OkStatus();
  }

  // Beyond the most, nothing is kept. False: there is no more now.
  bool ReadSome() {
    char bytes[kReadBytes];
    const ssize_t n = ::read(read.get(), bytes, sizeof(bytes));
    if (n > 0 && text.size() < kMostBytes) text.append(bytes, static_cast<size_t>(n));
    if (n == 0) watch.Reset();
    return n > 0;
  }
};

std::string LastLine(absl::string_view text) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n', absl::SkipWhitespace());
  return lines.empty() ? "" : std::string(absl::StripAsciiWhitespace(lines.back()));
}

// One run of the helper.
class Probe {
 public:
  Probe(EventLoop* loop, const std::string& trainer) : loop_(*loop), trainer_(trainer) {}

  absl::StatusOr<v1::ProbeReport> Run(absl::Duration patience) {
    FileDescriptor null_input(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null_input.valid()) return absl::ErrnoToStatus(errno, "open /dev/null");
    for (Output* output : {&out_, &err_}) {
      if (absl::Status opened = output->Open(&loop_); !opened.ok()) return opened;
    }
    auto process =
        ChildProcess::Start(&loop_,
                            {.path = trainer_,
                             .arguments = {"--probe"},
                             .descriptors = {null_input.get(), out_.write.get(), err_.write.get()}},
                            [this](ExitStatus status) {
                              ended_ = status;
                              loop_.Stop();
                            });
    if (!process.ok()) return Failed(process.status().message());
    out_.write.Reset();
    err_.write.Reset();
    const auto deadline = loop_.After(patience, [this] { loop_.Stop(); });
    loop_.Run();
    if (!ended_)
      return Failed(absl::StrCat("has not answered within ", absl::FormatDuration(patience)));
    return Read(*ended_);
  }

 private:
  absl::StatusOr<v1::ProbeReport> Read(ExitStatus status) {
    while (out_.ReadSome()) {
    }
    while (err_.ReadSome()) {
    }
    if (status.signal != 0) return Failed(absl::StrCat("was killed by signal ", status.signal));
    if (status.code != 0) return Failed(absl::StrCat("exited with code ", status.code));
    v1::ProbeReport report;
    google::protobuf::util::JsonParseOptions options;
    options.ignore_unknown_fields = true;
    const auto parsed = google::protobuf::util::JsonStringToMessage(out_.text, &report, options);
    if (parsed.ok()) return report;
    return Failed("printed something else than a report of devices");
  }

  absl::Status Failed(absl::string_view how) const {
    const std::string last = LastLine(err_.text.empty() ? out_.text : err_.text);
    return absl::UnavailableError(absl::StrCat("the devices of this host are not known: ", trainer_,
                                               " --probe ", how, last.empty() ? "" : ": ",
                                               last.substr(0, kLongestLine)));
  }

  static constexpr size_t kLongestLine = 300;

  EventLoop& loop_;
  const std::string trainer_;
  Output out_, err_;
  std::optional<ExitStatus> ended_;
};

}  // namespace

absl::StatusOr<v1::ProbeReport> ProbeDevices(const std::string& trainer, absl::Duration patience) {
  auto loop = EventLoop::Create();
  if (!loop.ok()) return loop.status();
  return Probe(loop->get(), trainer).Run(patience);
}

}  // namespace tandem::agent
