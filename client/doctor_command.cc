// `tandem doctor`: whether this host, and the workers of a coordinator, are fit to train.
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/commands.h"
#include "client/doctor/diagnose.h"
#include "client/doctor/report_text.h"
#include "client/local_cluster.h"
#include "client/self_tests.h"
#include "common/host/gather.h"

namespace tandem::client {
namespace {

struct DoctorOptions {
  bool json = false;
  bool no_self_test = false;
  std::string advertise_address;
};

void Append(std::vector<v1::HostFinding> more, v1::DoctorReport* report) {
  for (v1::HostFinding& finding : more) *report->add_findings() = std::move(finding);
}

void ExamineThisHost(const DoctorOptions& options, v1::DoctorReport* report) {
  const std::string trainer = LocalCluster::FolderOfThisProgram() + "/tandem-trainer";
  v1::HostFacts& facts = *report->mutable_host();
  facts = host::GatherHostFacts({.trainer = trainer,
                                 .advertise_address = options.advertise_address,
                                 .temporary = host::TemporaryPlace()});
  const std::string subject = absl::StrCat("this host (", facts.host(), ")");
  Append(doctor::DiagnoseHost(subject, facts), report);
  if (options.no_self_test || facts.trainer_missing()) return;
  doctor::Findings findings(subject);
  for (v1::SelfTestReport& test : RunSelfTests(trainer, facts.probe(), &findings)) {
    doctor::DiagnoseSelfTest(test, &findings);
    *report->add_self_tests() = std::move(test);
  }
  Append(findings.Take(), report);
}

absl::Status ExamineWorkers(const Context& context, v1::DoctorReport* report) {
  const auto connection = context.Connect();
  if (!connection.ok()) return connection.status();
  auto hosts = (*connection)->ListHosts();
  if (!hosts.ok()) return hosts.status();
  Append(doctor::DiagnoseWorkers(*hosts), report);
  report->mutable_workers()->Swap(hosts->mutable_hosts());
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> Doctor(Context* context, const DoctorOptions& options) {
  if (options.json) context->console.set_json(true);
  v1::DoctorReport report;
  // First, because it is quick and the rest is in vain without it.
  v1::DoctorReport of_workers;
  if (context->coordinator_is_given) {
    if (absl::Status status = ExamineWorkers(*context, &of_workers); !status.ok()) return status;
  }
  ExamineThisHost(options, &report);
  report.MergeFrom(of_workers);
  const std::vector<v1::HostFinding> findings(report.findings().begin(), report.findings().end());
  context->Answer(
      report, [&] { return doctor::FormatFindings(findings, context->console.color_output()); });
  return doctor::HasProblem(findings) ? ExitCode::kJobFailed : ExitCode::kSuccess;
}

}  // namespace

void AddDoctorCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* command = app->add_subcommand("doctor", "Say whether this host, or workers, can train");
  command->add_flag("--json", options->json, "As -o json");
  command->add_flag("--no-self-test", options->no_self_test,
                    "Leave out the two ranks that add up gradients and compare the bits");
  command
      ->add_option("--advertise-address", options->advertise_address,
                   "Also look whether ranks on other hosts could reach this one there")
      ->type_name("ADDRESS");
  command->footer("Exit codes: 0 no problem, 1 at least one, 3 the coordinator cannot be reached.");
  command->callback([=] { context->command = [=] { return Doctor(context, *options); }; });
}

}  // namespace tandem::client
