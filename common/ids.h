#pragma once

#include <compare>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>

namespace tandem {

// A value with a name of its own: two ids of different kinds do not compare, convert or mix.
template <typename Tag, typename Value>
class Id {
 public:
  Id() = default;
  explicit constexpr Id(Value value) : value_(std::move(value)) {}

  constexpr const Value& value() const { return value_; }

  friend bool operator==(const Id&, const Id&) = default;
  friend auto operator<=>(const Id&, const Id&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Id& id) { return out << id.value_; }
  template <typename H>
  friend H AbslHashValue(H state, const Id& id) {
    return H::combine(std::move(state), id.value_);
  }

 private:
  Value value_{};
};

using JobId = Id<struct JobIdTag, std::string>;
using WorkerName = Id<struct WorkerNameTag, std::string>;
// Chosen at random when an agent process starts; tells a restarted agent from a reconnecting one.
using Incarnation = Id<struct IncarnationTag, std::string>;
// Numbered from 1 within a job; only ever rises. Fences everything an older attempt still says.
using AttemptNumber = Id<struct AttemptNumberTag, uint32_t>;
using Rank = Id<struct RankTag, uint32_t>;
using LogicalRank = Id<struct LogicalRankTag, uint32_t>;

}  // namespace tandem
