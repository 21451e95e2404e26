#include "server/core/traceback.h"

#include <initializer_list>

#include "gtest/gtest.h"

namespace tandem::core {
namespace {

google::protobuf::RepeatedPtrField<std::string> Lines(std::initializer_list<const char*> lines) {
  return {lines.begin(), lines.end()};
}

TEST(ExceptionIn, Traceback_IsTheLineAfterTheCalls) {
  EXPECT_EQ(ExceptionIn(Lines({"epoch 1", "Traceback (most recent call last):",
                               "  File \"train.py\", line 3, in <module>", "    main()",
                               "ValueError: no such column", "sys:1: a warning"})),
            "ValueError: no such column");
}

TEST(ExceptionIn, SeveralTracebacks_IsTheLast) {
  EXPECT_EQ(
      ExceptionIn(Lines(
          {"Traceback (most recent call last):", "  File \"a.py\", line 3", "KeyError: 'x'", "",
           "During handling of the above exception, another exception occurred:", "",
           "Traceback (most recent call last):", "  File \"a.py\", line 5", "RuntimeError: no x"})),
      "RuntimeError: no x");
}

TEST(ExceptionIn, LinesMarkedWithTheirRank_AreUnderstood) {
  EXPECT_EQ(ExceptionIn(Lines({"[rank1]: Traceback (most recent call last):",
                               "[rank1]:   File \"train.py\", line 9", "[rank1]:     main()",
                               "[rank1]: IndexError: list index out of range"})),
            "IndexError: list index out of range");
}

TEST(ExceptionIn, NoTraceback_IsEmpty) {
  EXPECT_EQ(ExceptionIn(Lines({})), "");
  EXPECT_EQ(ExceptionIn(Lines({"ValueError: said by a program that goes on"})), "");
  EXPECT_EQ(ExceptionIn(Lines({"Traceback (most recent call last):", "  File \"cut off"})), "");
}

TEST(ExceptionIn, LongTraceback_IsKnownByItsCalls) {
  EXPECT_EQ(ExceptionIn(Lines({"    self.fit()", "    ^^^^^^^^^^", "  File \"trainer.py\", line 3",
                               "    raise ValueError(name)", "ValueError: no such column"})),
            "ValueError: no such column");
}

TEST(SaysThatPeerIsGone, KnowsGlooAndNccl) {
  EXPECT_TRUE(SaysThatPeerIsGone(
      "RuntimeError: [gloo/transport/tcp/pair.cc:525] Connection closed by peer [127.0.0.1]:4711"));
  EXPECT_TRUE(SaysThatPeerIsGone(
      "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a "
      "network error"));
  EXPECT_TRUE(SaysThatPeerIsGone("torch.distributed.DistNetworkError: Broken pipe"));
  EXPECT_FALSE(SaysThatPeerIsGone("ValueError: no such column"));
  EXPECT_FALSE(SaysThatPeerIsGone("ConnectionResetError: [Errno 104] Connection reset by peer"));
}

}  // namespace
}  // namespace tandem::core
