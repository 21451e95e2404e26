#include "common/progress_page.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "absl/status/status.h"

namespace tandem {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr int kPhaseBits = 8;

using Word = std::atomic<uint64_t>;
static_assert(Word::is_always_lock_free, "shared between processes");

constexpr int kPositionWord = 0;
constexpr int kProcessWord = 1;
constexpr int kFailureWord = 2;

Word* WordAt(void* memory, int index) { return static_cast<Word*>(memory) + index; }

}  // namespace

absl::StatusOr<ProgressPage> ProgressPage::Create() {
  FileDescriptor file(memfd_create("tandem-progress", MFD_CLOEXEC));
  if (!file.valid()) return absl::ErrnoToStatus(errno, "memfd_create");
  if (ftruncate(file.get(), kPageBytes) != 0) return absl::ErrnoToStatus(errno, "ftruncate");
  return Open(std::move(file));
}

absl::StatusOr<ProgressPage> ProgressPage::Open(FileDescriptor file) {
  struct stat info {};
  if (fstat(file.get(), &info) != 0 || info.st_size != kPageBytes) {
    return absl::InvalidArgumentError("the inherited descriptor is not a progress page");
  }
  void* memory = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return absl::ErrnoToStatus(errno, "mmap of the progress page");
  return ProgressPage(std::move(file), memory);
}

ProgressPage::ProgressPage(FileDescriptor file, void* memory)
    : file_(std::move(file)), memory_(memory) {}

ProgressPage::ProgressPage(ProgressPage&& other) noexcept
    : file_(std::move(other.file_)), memory_(std::exchange(other.memory_, nullptr)) {}

ProgressPage::~ProgressPage() {
  if (memory_ != nullptr) munmap(memory_, kPageBytes);
}

void ProgressPage::SetProcess(pid_t process) {
  WordAt(memory_, kProcessWord)->store(static_cast<uint64_t>(process), std::memory_order_relaxed);
}

pid_t ProgressPage::process() const {
  return static_cast<pid_t>(WordAt(memory_, kProcessWord)->load(std::memory_order_relaxed));
}

void ProgressPage::NoteFailure() {
  WordAt(memory_, kFailureWord)->store(1, std::memory_order_relaxed);
}

bool ProgressPage::has_failed() const {
  return WordAt(memory_, kFailureWord)->load(std::memory_order_relaxed) != 0;
}

void ProgressPage::Set(Position position) {
  WordAt(memory_, kPositionWord)
      ->store(position.step << kPhaseBits | static_cast<uint64_t>(position.phase),
              std::memory_order_relaxed);
}

ProgressPage::Position ProgressPage::Get() const {
  const uint64_t word = WordAt(memory_, kPositionWord)->load(std::memory_order_relaxed);
  return {word >> kPhaseBits, static_cast<v1::Phase>(word & ((1U << kPhaseBits) - 1))};
}

}  // namespace tandem
