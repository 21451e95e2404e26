#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "common/clock.h"
#include "tandem/v1/report.pb.h"
#include "worker/command/held_port.h"
#include "worker/command/progress_sender.h"
#include "worker/command/report_merger.h"
#include "worker/command/report_route.h"
#include "worker/process/frame_channel.h"

namespace tandem::command {

// At rank 0: its own reports and those of the other ranks, which connect to it, become the job's progress.
// Strangers are sent away.
class ReportCollector final : public ReportRoute {
 public:
  // Ranks that never connect are waited for no longer than this once rank 0 has ended.
  static constexpr absl::Duration kPatience = ReportMerger::kPatience;
  // A peer says who it is within this time, or is sent away.
  static constexpr absl::Duration kHelloPatience = absl::Seconds(5);
  // Peers that have not said yet who they are, at one time, at least. Beyond, the oldest is sent away.
  static constexpr size_t kMaxStrangers = 64;

  // `self` is rank 0's hello; `port` listens.
  ReportCollector(EventLoop* loop, v1::ReportHello self, uint32_t world_size, HeldPort port,
                  ProgressSender::Send send);

  uint16_t port() const { return listener_.port; }

  void Report(const v1::StepReport& report) override;
  // Waits for the ends of the other ranks: until then they may report, and they need the store.
  void Finish(std::function<void()> done) override;
  void Flush() override;

 private:
  struct Peer {
    std::unique_ptr<FrameChannel<v1::ToRankZero>> channel;
    // Set by its hello.
    std::optional<uint32_t> rank;
    // Runs until then.
    EventLoop::Registration hello_timer;
  };

  void WatchListener();
  void Accept();
  void AddPeer(FileDescriptor socket);
  void SendOldestStrangerAway();
  void OnMessage(uint64_t id, const v1::ToRankZero& message);
  void OnHello(uint64_t id, const v1::ReportHello& hello);
  void OnClosed(uint64_t id);
  // Once for each.
  void Drop(uint64_t id);

  void Add(uint32_t rank, const v1::StepReport& report);
  // Passes on what is complete.
  void Advance();
  // Says whose losses are not counted.
  void DescribeGivenUp();
  void CheckFinished();

  EventLoop& loop_;
  const SystemClock clock_;
  const v1::ReportHello self_;
  const uint32_t world_size_;
  const HeldPort listener_;
  ReportMerger merger_;
  ProgressSender sender_;
  uint64_t last_id_ = 0;
  // In the order in which they came.
  std::map<uint64_t, Peer> peers_;
  // Other ranks: whose program may still run, who has connected ever, of whom was complained.
  std::set<uint32_t> running_, connected_, complained_about_;
  bool complained_about_many_ = false;
  std::function<void()> done_;
  EventLoop::Registration accept_watch_, accept_timer_, silence_timer_, finish_timer_;
};

}  // namespace tandem::command
