#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/doctor/diagnose.h"

namespace tandem::client::doctor {
namespace {

bool IsLoopback(const std::string& address) {
  return address == "::1" || absl::StartsWith(address, "127.");
}

void DiagnoseName(const v1::NetworkFacts& facts, Findings* findings) {
  if (!facts.name_problem().empty()) {
    return findings->Warning(
        "name", absl::StrCat("the host's own name is not known: ", facts.name_problem()),
        "add it to /etc/hosts; programs that look it up (torchrun, Gloo) fail or wait");
  }
  const std::string found =
      absl::StrCat("the host's own name is ", absl::StrJoin(facts.addresses(), ", "));
  if (!absl::c_all_of(facts.addresses(), IsLoopback)) return findings->Ok("name", found);
  findings->Note("name", absl::StrCat(found, ", which means nothing to other hosts"),
                 "none for Tandem; for programs that look it up, GLOO_SOCKET_IFNAME and "
                 "NCCL_SOCKET_IFNAME name the interface");
}

}  // namespace

void DiagnoseNetwork(const v1::NetworkFacts& facts, Findings* findings) {
  if (facts.loopback_problem().empty()) {
    findings->Ok("loopback", "a connection to 127.0.0.1 works");
  } else {
    findings->Problem("loopback", facts.loopback_problem(),
                      "bring the interface up: ip link set lo up");
  }
  DiagnoseName(facts, findings);
  if (facts.advertise_address().empty()) return;
  if (facts.advertise_problem().empty()) {
    return findings->Ok("address",
                        absl::StrCat("ranks reach this host at ", facts.advertise_address()));
  }
  findings->Problem("address",
                    absl::StrCat(facts.advertise_problem(), ": no rank could be reached there"),
                    "give tandem-worker an --advertise-address that `ip addr` shows on this host");
}

}  // namespace tandem::client::doctor
