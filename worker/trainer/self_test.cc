#include "worker/trainer/self_test.h"

#include <google/protobuf/util/json_util.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/helper_process.h"
#include "tandem/v1/doctor.pb.h"
#include "worker/ddp/c10d_process.h"
#include "worker/trainer/probe.h"
#include "worker/trainer/self_test_devices.h"
#include "worker/trainer/self_test_link.h"
#include "worker/trainer/self_test_rank.h"

namespace tandem::trainer {
namespace {

constexpr int kDiffers = 1, kBadUsage = 2;
// Two programs that load LibTorch and add a few million values.
constexpr absl::Duration kPatience = absl::Seconds(120);

struct Words {
  std::string devices = "cpu";
  bool json = false;
  // Of one that runs as a rank; `devices` is its slot then.
  std::optional<int> rank;
};

std::optional<Words> Read(const std::vector<std::string>& arguments) {
  Words words;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--self-test") continue;
    if (word == "--json") {
      words.json = true;
      continue;
    }
    if (++i == arguments.size()) return std::nullopt;
    if (word == "--devices") {
      words.devices = arguments[i];
    } else if (word == "--self-test-rank" && (arguments[i] == "0" || arguments[i] == "1")) {
      words.rank = arguments[i] == "1";
    } else {
      return std::nullopt;
    }
  }
  return words;
}

std::string ToJson(const v1::SelfTestReport& report) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string json;
  (void)google::protobuf::util::MessageToJsonString(report, &json, options);
  return json;
}

// Of this user alone, unlike the command line: whoever has it could join.
constexpr char kMeetingVariable[] = "TANDEM_SELF_TEST_MEETING";

int RunRank(const Words& words) {
  ddp::PrepareProcessForC10d();
  const char* meeting = std::getenv(kMeetingVariable);
  const auto link = SelfTestLink::Connect(
      words.devices, Rank(static_cast<uint32_t>(*words.rank)), meeting == nullptr ? "" : meeting,
      [](const std::string& word) { std::cout << word << std::endl; });
  const auto report =
      link.ok() ? RunSelfTestRank((*link)->transport(), (*link)->device()) : link.status();
  if (report.ok()) std::cout << ToJson(*report) << std::endl;
  if (report.ok()) return 0;
  std::cerr << report.status().message() << std::endl;
  return kDiffers;
}

absl::StatusOr<std::unique_ptr<HelperProcess>> StartRank(const SelfTestPlace& place, int rank,
                                                         const std::string& meeting) {
  std::error_code error;
  Command command = {.path = std::filesystem::read_symlink("/proc/self/exe", error),
                     .arguments = {"--self-test-rank", absl::StrCat(rank), "--devices", place.slot},
                     .environment = place.environment};
  command.environment.push_back(absl::StrCat(kMeetingVariable, "=", meeting));
  return HelperProcess::Start(std::move(command));
}

absl::StatusOr<v1::SelfTestReport> ReportOf(HelperProcess& rank, absl::Time deadline) {
  const auto printed = rank.ReadRest(deadline);
  if (!printed.ok()) return printed.status();
  v1::SelfTestReport report;
  if (google::protobuf::util::JsonStringToMessage(*printed, &report).ok()) return report;
  return absl::InternalError("it printed something else than a report");
}

absl::Status OfRank(int rank, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("rank ", rank, ": ", status.message()));
}

// What both have found, as one.
v1::SelfTestReport Together(v1::SelfTestReport first, const v1::SelfTestReport& other) {
  for (int i = 0; i < first.cases_size() && i < other.cases_size(); ++i) {
    v1::SelfTestCase& one = *first.mutable_cases(i);
    one.set_values(one.values() + other.cases(i).values());
    one.set_different(one.different() + other.cases(i).different());
    if (one.first_difference().empty()) one.set_first_difference(other.cases(i).first_difference());
  }
  return first;
}

absl::StatusOr<v1::SelfTestReport> RunBoth(const Words& words) {
  const absl::Time deadline = absl::Now() + kPatience;
  const auto places =
      SelfTestPlaces(words.devices, words.devices == "cpu" ? v1::ProbeReport() : ProbeHost());
  if (!places.ok()) return places.status();
  auto first = StartRank((*places)[0], 0, "");
  if (!first.ok()) return OfRank(0, first.status());
  const auto meeting = (*first)->ReadLine(deadline);
  if (!meeting.ok()) return OfRank(0, meeting.status());
  auto other = StartRank((*places)[1], 1, *meeting);
  if (!other.ok()) return OfRank(1, other.status());
  // A rank whose peer is gone says that only; so both are asked, and the one without a peer last.
  const auto of_other = ReportOf(**other, deadline);
  if (!of_other.ok() && !absl::IsUnavailable(of_other.status()))
    return OfRank(1, of_other.status());
  const auto of_first = ReportOf(**first, deadline);
  if (!of_first.ok() && of_other.ok()) return OfRank(0, of_first.status());
  if (!of_first.ok()) {
    return absl::UnavailableError(absl::StrCat("rank 0: ", of_first.status().message(),
                                               "; rank 1: ", of_other.status().message()));
  }
  if (!of_other.ok()) return OfRank(1, of_other.status());
  return Together(*of_first, *of_other);
}

int Print(const v1::SelfTestReport& report) {
  bool is_good = report.problem().empty();
  for (const v1::SelfTestCase& one : report.cases()) {
    std::cout << one.name() << " (" << report.devices() << "): " << one.values()
              << " values compared, " << one.different() << " differ";
    if (!one.first_difference().empty()) std::cout << ": " << one.first_difference();
    std::cout << "\n";
    is_good = is_good && one.different() == 0;
  }
  std::cout << std::flush;
  if (!report.problem().empty())
    std::cerr << "tandem-trainer: --self-test: " << report.problem() << std::endl;
  return is_good ? 0 : kDiffers;
}

}  // namespace

int SelfTestMain(const std::vector<std::string>& arguments) {
  const std::optional<Words> words = Read(arguments);
  if (!words) {
    std::cerr << "tandem-trainer: --self-test takes [--devices cpu|KIND:0,1] [--json]" << std::endl;
    return kBadUsage;
  }
  if (words->rank) return RunRank(*words);
  auto found = RunBoth(*words);
  v1::SelfTestReport report = found.ok() ? *std::move(found) : v1::SelfTestReport();
  report.set_devices(words->devices);
  if (!found.ok()) report.set_problem(std::string(found.status().message()));
  if (!words->json) return Print(report);
  std::cout << ToJson(report) << std::endl;
  return 0;
}

}  // namespace tandem::trainer
