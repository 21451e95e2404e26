#pragma once

#include <string>
#include <vector>

#include "client/doctor/findings.h"
#include "tandem/v1/doctor.pb.h"
#include "tandem/v1/host.pb.h"
#include "tandem/v1/job.pb.h"

// Judgements over facts. Nothing is looked at here: equal facts, equal findings.
namespace tandem::client::doctor {

// The whole of one host. `subject`: "this host (gpu-3)", or the name of a worker there.
std::vector<v1::HostFinding> DiagnoseHost(const std::string& subject, const v1::HostFacts& facts);

// Its parts.
void DiagnoseDevices(const v1::HostFacts& facts, Findings* findings);
void DiagnoseNetwork(const v1::NetworkFacts& facts, Findings* findings);

// Each worker by itself, and what only shows between them: builds, clocks, models, addresses.
std::vector<v1::HostFinding> DiagnoseWorkers(const v1::ListHostsResponse& hosts);

void DiagnoseSelfTest(const v1::SelfTestReport& report, Findings* findings);

bool HasProblem(const std::vector<v1::HostFinding>& findings);

// What helps against exchanges between devices that hang, differ or are slow, with its price.
inline constexpr char kExchangeRemedy[] =
    "NCCL_DEBUG=INFO shows which way exchanges take (price: long logs); NCCL_P2P_DISABLE=1 takes "
    "them through main "
    "memory (price: several times slower)";

}  // namespace tandem::client::doctor
