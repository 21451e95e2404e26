#include <limits>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/civil_time.h"
#include "client/doctor/amounts.h"
#include "client/doctor/diagnose.h"
#include "common/proto_time.h"

namespace tandem::client::doctor {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20, kGiB = uint64_t{1} << 30;

void DiagnoseBuild(const v1::HostFacts& facts, Findings* findings) {
  const std::string& trainer = facts.probe().build();
  const std::string system =
      absl::StrCat("Tandem ", facts.version(), ", ", facts.kernel(), ", ", facts.cores(), " cores",
                   facts.cpu_model().empty() ? "" : ", ", facts.cpu_model());
  findings->Ok("system", system);
  if (trainer.empty()) return;
  const std::string same = absl::StrCat("tandem-trainer ", facts.version(), " ");
  if (absl::StartsWith(trainer, same)) return findings->Ok("build", trainer);
  findings->Problem(
      "build",
      absl::StrCat("Tandem is ", facts.version(), ", and tandem-trainer beside it ", trainer),
      "install all programs of one build into one folder");
}

// Nothing in Tandem's order of events hangs on it, but certificates and logs do.
void DiagnoseClock(const v1::HostFacts& facts, Findings* findings) {
  const absl::Time clock = FromProto(facts.wall_clock());
  const std::string found = absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", clock, absl::UTCTimeZone());
  constexpr int kWrittenIn = 2026;
  if (absl::ToCivilYear(clock, absl::UTCTimeZone()).year() >= kWrittenIn)
    return findings->Ok("clock", found);
  findings->Problem("clock", absl::StrCat(found, " cannot be"),
                    "set it, best by NTP: timedatectl set-ntp true");
}

void DiagnoseSharedMemory(const v1::HostFacts& facts, Findings* findings) {
  const v1::FolderSpace& space = facts.shared_memory();
  const std::string remedy =
      "docker run --shm-size=1g (or --ipc=host); Kubernetes: an emptyDir of medium Memory at "
      "/dev/shm";
  if (!space.problem().empty()) return findings->Warning("/dev/shm", space.problem(), remedy);
  const std::string found = absl::StrCat(BytesText(space.free_bytes()), " of ",
                                         BytesText(space.total_bytes()), " are free");
  const bool is_dockers = space.total_bytes() <= 64 * kMiB;
  const bool is_full = space.free_bytes() < 64 * kMiB;
  if (!is_dockers && !is_full) return findings->Ok("/dev/shm", found);
  const std::string needed =
      absl::StrCat(found, ": too little for ranks on several devices, and for data loaders");
  const std::string what = is_dockers ? remedy : "remove what lies there";
  if (facts.probe().devices_size() > 1) return findings->Problem("/dev/shm", needed, what);
  findings->Warning("/dev/shm", needed, what);
}

void DiagnoseDisk(const v1::FolderSpace& space, Findings* findings) {
  if (!space.problem().empty()) {
    return findings->Problem("disk", space.problem(),
                             "make it, or set TMPDIR to a folder that is there");
  }
  const std::string found =
      absl::StrCat(BytesText(space.free_bytes()), " are free at ", space.path());
  const std::string remedy =
      "free some, or set TMPDIR (logs: tandem-worker --log-dir) to another disk";
  if (space.free_bytes() < 100 * kMiB) return findings->Problem("disk", found, remedy);
  if (space.free_bytes() < kGiB) return findings->Warning("disk", found, remedy);
  findings->Ok("disk", found);
}

void DiagnoseDescriptors(const v1::ProcessLimits& limits, Findings* findings) {
  const std::string found = absl::StrCat(limits.open_files(), " open files per process");
  const std::string remedy = "ulimit -n 65536, or LimitNOFILE=65536 in the unit of systemd";
  if (limits.open_files() < 256) return findings->Problem("files", found, remedy);
  if (limits.open_files() < 1024) return findings->Warning("files", found, remedy);
  findings->Ok("files", found);
}

void DiagnoseMemory(const v1::ProcessLimits& limits, Findings* findings) {
  if (limits.has_rdma() && limits.locked_bytes() < kGiB) {
    findings->Problem(
        "locked",
        absl::StrCat(BytesText(limits.locked_bytes()), " may be locked, and there is InfiniBand"),
        "ulimit -l unlimited, or LimitMEMLOCK=infinity; docker run --ulimit memlock=-1");
  } else if (limits.has_rdma()) {
    findings->Ok("locked", "enough memory may be locked for InfiniBand");
  }
  if (limits.memory_bytes() == 0) return;
  const std::string found = absl::StrCat("this cgroup may use ", BytesText(limits.memory_bytes()));
  if (limits.memory_bytes() >= 2 * kGiB) return findings->Ok("memory", found);
  findings->Warning("memory", absl::StrCat(found, ": a trainer that wants more ends by signal 9"),
                    "docker run --memory, resources.limits of Kubernetes, MemoryMax= of systemd");
}

void DiagnoseStale(const v1::HostFacts& facts, Findings* findings) {
  if (facts.stale().empty()) return findings->Ok("processes", "no trainer without an agent");
  std::vector<std::string> names, pids;
  for (const v1::StaleProcess& one : facts.stale()) {
    names.push_back(absl::StrCat(one.name(), " (pid ", one.pid(), ")"));
    pids.push_back(absl::StrCat(one.pid()));
  }
  findings->Problem(
      "processes",
      absl::StrCat("left behind by an agent that is gone: ", absl::StrJoin(names, ", ")),
      absl::StrCat("kill -9 ", absl::StrJoin(pids, " "),
                   "; one that stays waits for a driver: only a reboot ends it"));
}

}  // namespace

std::vector<v1::HostFinding> DiagnoseHost(const std::string& subject, const v1::HostFacts& facts) {
  Findings findings(subject);
  DiagnoseBuild(facts, &findings);
  DiagnoseClock(facts, &findings);
  DiagnoseDevices(facts, &findings);
  DiagnoseSharedMemory(facts, &findings);
  DiagnoseDisk(facts.temporary(), &findings);
  DiagnoseDescriptors(facts.limits(), &findings);
  DiagnoseMemory(facts.limits(), &findings);
  DiagnoseNetwork(facts.network(), &findings);
  DiagnoseStale(facts, &findings);
  return findings.Take();
}

bool HasProblem(const std::vector<v1::HostFinding>& findings) {
  return absl::c_any_of(findings, [](const v1::HostFinding& finding) {
    return finding.severity() == v1::SEVERITY_PROBLEM;
  });
}

}  // namespace tandem::client::doctor
