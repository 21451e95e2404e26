#include "worker/command/program.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/spawn.h"
#include "worker/command/environment.h"
#include "worker/command/error_file.h"
#include "worker/command/find_program.h"

namespace tandem::command {
namespace {

namespace fs = std::filesystem;

// As the program has it.
constexpr int kReportFd = 3;
// Of what torchelastic wrote: far more than it ever does.
constexpr size_t kMaxErrorBytes = size_t{1} << 20;

std::string EnvironmentOr(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

// Where the program's own environment looks for programs.
std::string PathOf(const std::vector<std::string>& environment) {
  for (absl::string_view variable : environment) {
    if (absl::ConsumePrefix(&variable, "PATH=")) return std::string(variable);
  }
  return EnvironmentOr("PATH", "/usr/local/bin:/usr/bin:/bin");
}

absl::Status MakeFolders(const v1::Prepare& prepare) {
  std::error_code error;
  const std::string& working_dir = prepare.spec().command().working_dir();
  if (!working_dir.empty() && !fs::is_directory(working_dir, error)) {
    return absl::NotFoundError(
        absl::StrCat("command.working_dir: there is no folder ", working_dir, " on this worker"));
  }
  const std::string checkpoints = CheckpointDir(prepare);
  if (!checkpoints.empty()) fs::create_directories(checkpoints, error);
  if (!checkpoints.empty() && error) {
    return absl::PermissionDeniedError(
        absl::StrCat("checkpoint.dir: cannot make ", checkpoints, ": ", error.message()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<StreamTap>> Tap(EventLoop* loop, int stream,
                                               StreamTap::LineCallback on_line) {
  if (!on_line) return nullptr;
  return StreamTap::Create(loop, stream, std::move(on_line));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Program>> Program::Start(EventLoop* loop, const v1::Prepare& prepare,
                                                        const v1::Start& start, Listeners listeners,
                                                        Place place) {
  if (absl::Status made = MakeFolders(prepare); !made.ok()) return made;
  std::unique_ptr<Program> program(new Program());
  absl::Status status = program->MakePlumbing(loop, std::move(listeners));
  if (status.ok()) status = program->Spawn(prepare, start, std::move(place));
  if (!status.ok()) return status;
  return program;
}

absl::Status Program::MakePlumbing(EventLoop* loop, Listeners listeners) {
  error_file_.Reset(memfd_create("tandem-error-file", MFD_CLOEXEC));
  if (!error_file_.valid()) return absl::ErrnoToStatus(errno, "memfd_create");
  auto reports = ReportReader::Create(loop, std::move(listeners.on_report));
  auto out = Tap(loop, STDOUT_FILENO, std::move(listeners.on_stdout_line));
  auto err = Tap(loop, STDERR_FILENO, std::move(listeners.on_stderr_line));
  for (const absl::Status& status : {reports.status(), out.status(), err.status()}) {
    if (!status.ok()) return status;
  }
  reports_ = *std::move(reports);
  stdout_tap_ = *std::move(out);
  stderr_tap_ = *std::move(err);
  return absl::OkStatus();
}

std::vector<std::string> Program::Environment(const v1::Prepare& prepare,
                                              const v1::Start& start) const {
  return ProgramEnvironment(
      prepare, start,
      {.report_fd = kReportFd,
       // Not "self": the program opens it.
       .error_file = absl::StrCat("/proc/", getpid(), "/fd/", error_file_.get())});
}

absl::Status Program::Spawn(const v1::Prepare& prepare, const v1::Start& start, Place place) {
  const v1::Command& spec = prepare.spec().command();
  std::vector<std::string> environment = Environment(prepare, start);
  absl::StatusOr<std::string> path = FindProgram(spec.argv(0), PathOf(environment));
  if (!path.ok()) return path.status();
  const int out = stdout_tap_ ? stdout_tap_->program_end() : STDOUT_FILENO;
  const int err = stderr_tap_ ? stderr_tap_->program_end() : STDERR_FILENO;
  const absl::StatusOr<pid_t> pid =
      tandem::Spawn({.path = *std::move(path),
                     .arguments = {spec.argv().begin() + 1, spec.argv().end()},
                     .environment = std::move(environment),
                     .descriptors = {STDIN_FILENO, out, err, reports_->program_end()},
                     .working_dir = spec.working_dir(),
                     .group = place.group},
                    std::move(place.held_until_exec));
  if (!pid.ok()) return pid.status();
  pid_ = *pid;
  reports_->CloseProgramEnd();
  if (stdout_tap_) stdout_tap_->CloseProgramEnd();
  if (stderr_tap_) stderr_tap_->CloseProgramEnd();
  return absl::OkStatus();
}

void Program::Drain() {
  reports_->Drain();
  if (stdout_tap_) stdout_tap_->Drain();
  if (stderr_tap_) stderr_tap_->Drain();
}

std::optional<v1::RankFailure> Program::WrittenError() const {
  std::string text(kMaxErrorBytes, '\0');
  const ssize_t size = pread(error_file_.get(), text.data(), text.size(), 0);
  if (size <= 0) return std::nullopt;
  return ParseErrorFile(absl::string_view(text).substr(0, static_cast<size_t>(size)));
}

}  // namespace tandem::command
