#include "worker/command/thread_states.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace tandem::command {
namespace {

namespace fs = std::filesystem;

std::string Contents(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// "SigCgt" of a text with lines such as "SigCgt:\t0000000180004202".
absl::string_view Field(absl::string_view status, absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(status, '\n')) {
    if (absl::ConsumePrefix(&line, name) && absl::ConsumePrefix(&line, ":")) {
      return absl::StripAsciiWhitespace(line);
    }
  }
  return "";
}

std::string DescribeThread(const fs::path& thread) {
  const std::string status = Contents(thread / "status");
  const std::string place = Contents(thread / "wchan");
  const bool waits = !place.empty() && place != "0";
  return absl::StrCat("thread ", thread.filename().string(), " (", Field(status, "Name"),
                      "): ", Field(status, "State"), waits ? absl::StrCat(" in ", place) : "",
                      "\n");
}

}  // namespace

bool CatchesSignal(absl::string_view status, int signal) {
  uint64_t caught = 0;
  return absl::SimpleHexAtoi(Field(status, "SigCgt"), &caught) && (caught >> (signal - 1) & 1) != 0;
}

bool CatchesSignal(pid_t process, int signal) {
  return CatchesSignal(Contents(absl::StrCat("/proc/", process, "/status")), signal);
}

std::string DescribeThreads(pid_t process) {
  std::string text;
  std::error_code ignored;
  for (const auto& thread :
       fs::directory_iterator(absl::StrCat("/proc/", process, "/task"), ignored)) {
    text += DescribeThread(thread.path());
  }
  return text;
}

}  // namespace tandem::command
