#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace tandem::sim {

// The folder that all workers share: the newest checkpoint of each job, behind its fence.
class Checkpoints {
 public:
  // The step to go on from. Ranks of older attempts cannot save any more.
  uint64_t Begin(const std::string& job, uint32_t attempt) {
    Folder& folder = folders_[job];
    if (attempt > folder.attempt) folder.attempt = attempt;
    return folder.step;
  }

  // False: a newer attempt has begun.
  bool Save(const std::string& job, uint32_t attempt, uint64_t step) {
    Folder& folder = folders_[job];
    if (attempt < folder.attempt) return false;
    folder.step = step;
    return true;
  }

 private:
  struct Folder {
    uint32_t attempt = 0;
    uint64_t step = 0;
  };
  std::map<std::string, Folder> folders_;
};

// Of a job that did every step up to this one, whatever attempts it took.
inline uint64_t ReceiptAt(uint64_t step) { return step == 0 ? 0 : 1000 + step; }

}  // namespace tandem::sim
