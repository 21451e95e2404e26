#include "server/core/supply.h"

#include "gtest/gtest.h"

namespace tandem::core {
namespace {

WorkerSlots Host(const std::string& name, uint32_t free, uint32_t busy, bool allows_commands) {
  WorkerSlots slots{WorkerName(name), {}, free + busy, allows_commands};
  for (uint32_t i = 0; i < free; ++i) slots.free.push_back("cpu:" + std::to_string(i));
  return slots;
}

// Three of four slots are free where commands are allowed, and four of four elsewhere.
Supply Mixed() { return Supply({Host("a", 3, 1, true), Host("b", 4, 0, false)}); }

TEST(Supply, MixedCluster_CommandsCanHaveOnlyTheirWorkers) {
  const Supply supply = Mixed();
  EXPECT_TRUE(supply.IsMixed());
  EXPECT_EQ(supply.All(), 8U);
  EXPECT_EQ(supply.AllFor(true), 4U);
  EXPECT_EQ(supply.FreeFor(true), 3U);
  EXPECT_EQ(supply.FreeFor(false), 7U);
}

TEST(Supply, AllAllowCommands_NoDifference) {
  Supply supply({Host("a", 3, 1, true)});
  EXPECT_FALSE(supply.IsMixed());
  supply.Grant(false, 2);
  EXPECT_EQ(supply.FreeFor(true), 1U);
  EXPECT_EQ(supply.FreeFor(false), 1U);
}

TEST(Supply, KeptForACommand_IsForNoOtherCommand) {
  Supply supply = Mixed();
  supply.Keep(true, 3);
  EXPECT_EQ(supply.FreeFor(true), 0U);
  EXPECT_EQ(supply.FreeFor(false), 4U);
  EXPECT_EQ(supply.UngrantedFor(true), 3U);
  EXPECT_EQ(supply.KeptForCommands(), 3U);
}

TEST(Supply, GrantedToAnother_CommandsLoseOnlyWhatCannotBeElsewhere) {
  Supply supply = Mixed();
  supply.Grant(false, 4);
  EXPECT_EQ(supply.FreeFor(true), 3U);
  supply.Grant(false, 1);
  EXPECT_EQ(supply.FreeFor(true), 2U);
}

TEST(Supply, CommandsWish_OthersShareIsLess) {
  Supply supply = Mixed();
  supply.Wish(true, 1);
  EXPECT_EQ(supply.FreeBesideWishesFor(true), 2U);
  EXPECT_EQ(supply.FreeBesideWishesFor(false), 6U);
  // What another would like can be elsewhere.
  supply.Wish(false, 2);
  EXPECT_EQ(supply.FreeBesideWishesFor(true), 2U);
  EXPECT_EQ(supply.FreeBesideWishesFor(false), 4U);
}

TEST(Supply, ComingAreLeftToCommands_OthersHaveTheRest) {
  Supply supply = Mixed();
  supply.Expect({3, 2});
  EXPECT_EQ(supply.ComingFor(true), 2U);
  EXPECT_EQ(supply.ComingFor(false), 3U);
  supply.LeaveComingToCommands();
  EXPECT_EQ(supply.ComingFor(true), 0U);
  EXPECT_EQ(supply.ComingFor(false), 1U);
}

TEST(Supply, Settled_WhatComesGoesToWhomItIsOwed) {
  Supply supply = Mixed();
  supply.Expect({3, 1});
  supply.Owe(false, 2);
  EXPECT_TRUE(supply.Settle());
  EXPECT_EQ(supply.ComingFor(false), 1U);
  // A command is owed more than comes where it may be, though enough comes in all.
  supply.Expect({2, 0});
  supply.Owe(true, 2);
  EXPECT_FALSE(supply.Settle());
}

}  // namespace
}  // namespace tandem::core
