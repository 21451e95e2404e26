#include "server/core/cause.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/core/join_few.h"
#include "server/core/traceback.h"

namespace tandem::core {
namespace {

v1::Cause CauseOf(v1::CauseCode code, const v1::RankStatus& rank, std::string message) {
  v1::Cause cause;
  cause.set_code(code);
  cause.set_message(std::move(message));
  cause.set_rank(rank.rank());
  cause.set_step(rank.step());
  cause.set_phase(rank.phase());
  return cause;
}

v1::Cause CauseOf(v1::CauseCode code, const v1::RankExited& exit, std::string message) {
  v1::Cause cause;
  cause.set_code(code);
  cause.set_message(std::move(message));
  cause.set_rank(exit.rank());
  cause.set_step(exit.step());
  cause.set_phase(exit.phase());
  cause.set_exit_code(exit.exit_code());
  cause.set_signal(exit.signal());
  *cause.mutable_last_lines() = exit.last_lines();
  return cause;
}

std::string HowItEnded(const v1::RankExited& exit) {
  if (exit.signal() != 0) return absl::StrCat("was killed by signal ", exit.signal());
  if (exit.exit_code() != 0) return absl::StrCat("exited with code ", exit.exit_code());
  return "exited with code 0 before it had finished";
}

v1::Cause CauseOfFailure(const v1::RankStatus& rank, const v1::RankFailure& failure) {
  const std::string who = absl::StrCat("rank ", rank.rank(), ": ");
  switch (failure.code()) {
    // The same on every rank, and its text names the place.
    case v1::CAUSE_CODE_BAD_INPUT:
    case v1::CAUSE_CODE_DIGEST_MISMATCH:
    case v1::CAUSE_CODE_FENCED:
      return CauseOf(failure.code(), rank, failure.message());
    case v1::CAUSE_CODE_PEER_LOST:
    case v1::CAUSE_CODE_PORT_TAKEN:
      return CauseOf(failure.code(), rank, who + failure.message());
    default:
      return CauseOf(SaysThatPeerIsGone(failure.message()) ? v1::CAUSE_CODE_PEER_LOST
                                                           : v1::CAUSE_CODE_RANK_ERROR,
                     rank, who + failure.message());
  }
}

}  // namespace

std::string Where(uint64_t step, v1::Phase phase) {
  const std::string& name = v1::Phase_Name(phase);
  if (name.empty() || phase == v1::PHASE_UNSPECIFIED) return absl::StrCat("at step ", step);
  return absl::StrCat("at step ", step, " (",
                      absl::AsciiStrToLower(absl::StripPrefix(name, "PHASE_")), ")");
}

bool MayHeal(v1::CauseCode code) {
  return code != v1::CAUSE_CODE_BAD_INPUT && code != v1::CAUSE_CODE_DIGEST_MISMATCH;
}

v1::Cause FailureReported(const v1::RankStatus& rank, const v1::RankFailure& failure) {
  v1::Cause cause = CauseOfFailure(rank, failure);
  *cause.mutable_last_lines() = failure.last_lines();
  return cause;
}

v1::Cause NoMasterPort(const v1::RankStatus& rank) {
  return CauseOf(v1::CAUSE_CODE_RANK_ERROR, rank,
                 absl::StrCat("rank ", rank.rank(), " announced no port to meet on (worker ",
                              rank.worker(), ")"));
}

v1::Cause BadNcclId(const v1::RankStatus& rank, absl::string_view problem) {
  return CauseOf(v1::CAUSE_CODE_RANK_ERROR, rank,
                 absl::StrCat("rank ", rank.rank(), " announced ", problem, " (worker ",
                              rank.worker(), ", ", rank.slot(), ")"));
}

v1::Cause RankDied(const v1::RankExited& exit) {
  const std::string exception = ExceptionIn(exit.last_lines());
  if (!exception.empty()) {
    return CauseOf(
        SaysThatPeerIsGone(exception) ? v1::CAUSE_CODE_PEER_LOST : v1::CAUSE_CODE_RANK_DIED, exit,
        absl::StrCat("rank ", exit.rank(), " ", HowItEnded(exit), " ",
                     Where(exit.step(), exit.phase()), ": ", exception));
  }
  return CauseOf(v1::CAUSE_CODE_RANK_DIED, exit,
                 absl::StrCat("rank ", exit.rank(), " ", HowItEnded(exit), " ",
                              Where(exit.step(), exit.phase())));
}

v1::Cause RankStopped(const v1::RankStatus& rank, const v1::RankExited& exit) {
  const std::string& why = exit.failure().message();
  return CauseOf(v1::CAUSE_CODE_WORKER_LOST, exit,
                 absl::StrCat("worker ", rank.worker(), " stopped rank ", rank.rank(), " ",
                              Where(exit.step(), exit.phase()), why.empty() ? "" : ": ", why));
}

v1::Cause WorkerLost(const v1::RankStatus& rank, absl::string_view why) {
  return CauseOf(v1::CAUSE_CODE_WORKER_LOST, rank,
                 absl::StrCat("worker ", rank.worker(), " was lost with rank ", rank.rank(), " ",
                              Where(rank.step(), rank.phase()), ": ", why));
}

v1::Cause BeginsElsewhere(const v1::RankStatus& rank, uint64_t steps_done,
                          uint64_t steps_of_rank_0) {
  return CauseOf(
      v1::CAUSE_CODE_RANK_ERROR, rank,
      absl::StrCat("rank ", rank.rank(), " (worker ", rank.worker(), ") would go on from step ",
                   steps_done, " and rank 0 from step ", steps_of_rank_0,
                   ": checkpoint.dir must be one folder that all workers share"));
}

v1::Cause PrepareTimedOut(const std::vector<const v1::RankStatus*>& missing, int world_size,
                          absl::Duration waited) {
  const std::string names = JoinFew(missing, [world_size](const v1::RankStatus* rank) {
    return absl::StrCat("rank ", rank->rank(), " of ", world_size, " is missing (worker ",
                        rank->worker(), ")");
  });
  return CauseOf(v1::CAUSE_CODE_PREPARE_TIMEOUT, *missing.front(),
                 absl::StrCat(names, ": not ready after ", absl::FormatDuration(waited)));
}

v1::Cause DigestsDiffer(const v1::RankStatus& rank) {
  return CauseOf(v1::CAUSE_CODE_DIGEST_MISMATCH, rank,
                 absl::StrCat("rank ", rank.rank(), " (worker ", rank.worker(),
                              ") ended with other parameters than rank 0"));
}

}  // namespace tandem::core
