#include "worker/trainer/self_test.h"

#include <google/protobuf/util/json_util.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/answer_output.h"
#include "common/helper_process.h"
#include "common/host/device_environment.h"
#include "tandem/v1/doctor.pb.h"
#include "worker/ddp/c10d_process.h"
#include "worker/trainer/probe.h"
#include "worker/trainer/self_test_devices.h"
#include "worker/trainer/self_test_link.h"
#include "worker/trainer/self_test_outcome.h"
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

absl::Status AnswerAsRank(const Words& words) {
  const auto output = AnswerOutput::Take();
  if (!output.ok()) return output.status();
  ddp::PrepareProcessForC10d();
  const char* meeting = std::getenv(kMeetingVariable);
  const auto link = SelfTestLink::Connect(
      words.devices, Rank(static_cast<uint32_t>(*words.rank)), meeting == nullptr ? "" : meeting,
      [&](const std::string& word) { (void)output->Say(word); });
  if (!link.ok()) return link.status();
  const auto report = RunSelfTestRank((*link)->transport(), (*link)->device());
  return report.ok() ? output->Say(ToJson(*report)) : report.status();
}

int RunRank(const Words& words) {
  const absl::Status status = AnswerAsRank(words);
  if (status.ok()) return 0;
  std::cerr << status.message() << std::endl;
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

struct Ranks {
  std::unique_ptr<HelperProcess> first, other;
};

absl::StatusOr<Ranks> StartBoth(const std::vector<SelfTestPlace>& places, absl::Time deadline) {
  auto first = StartRank(places[0], 0, "");
  if (!first.ok()) return first.status();
  const auto meeting = (*first)->ReadLine(deadline);
  if (!meeting.ok()) {
    return absl::Status(meeting.status().code(),
                        absl::StrCat("rank 0: ", meeting.status().message()));
  }
  auto other = StartRank(places[1], 1, *meeting);
  if (!other.ok()) return other.status();
  return Ranks{*std::move(first), *std::move(other)};
}

absl::StatusOr<v1::SelfTestReport> RunBoth(const Words& words) {
  const absl::Time deadline = absl::Now() + kPatience;
  const auto places =
      SelfTestPlaces(words.devices, words.devices == "cpu" ? v1::ProbeReport() : ProbeHost(),
                     host::IsInOwnEnvironment);
  if (!places.ok()) return places.status();
  const auto ranks = StartBoth(*places, deadline);
  if (!ranks.ok()) return ranks.status();
  // Both at once: with NCCL_DEBUG=INFO one fills its pipe, and waits with its peer for somebody to read.
  auto of_first = std::async(std::launch::async, ReportOf, std::ref(*ranks->first), deadline);
  const auto of_other = ReportOf(*ranks->other, deadline);
  return Outcome(of_first.get(), of_other);
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
