#include "common/spec/spec.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "common/spec/sample_spec.h"

namespace tandem::spec {
namespace {

using google::protobuf::util::MessageDifferencer;
using ::testing::StartsWith;

TEST(Validate, SampleSpec_IsAcceptedWithAndWithoutDefaults) {
  v1::JobSpec spec = SampleSpec();
  EXPECT_EQ(Validate(spec), absl::OkStatus());
  FillDefaults(&spec);
  EXPECT_EQ(Validate(spec), absl::OkStatus());
}

struct BadSpec {
  std::string label;
  std::function<void(v1::JobSpec*)> breaks;
  std::string key;
};

void PrintTo(const BadSpec& bad, std::ostream* out) { *out << bad.label; }

class ValidateBadSpec : public testing::TestWithParam<BadSpec> {};

TEST_P(ValidateBadSpec, NamesTheKeyOnOneLine) {
  v1::JobSpec spec = SampleSpec();
  GetParam().breaks(&spec);
  const auto violation = FindViolation(spec);
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->key, GetParam().key);
  const absl::Status status = Validate(spec);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message().find('\n'), absl::string_view::npos);
}

v1::AdamW* AdamW(v1::JobSpec* spec) { return spec->mutable_optimizer()->mutable_adamw(); }
v1::Mlp* Mlp(v1::JobSpec* spec) { return spec->mutable_model()->mutable_mlp(); }

// By characters, unless told otherwise.
v1::Text* ReadText(v1::Data* data) {
  data->mutable_text()->set_path("/data/play.txt");
  data->mutable_text()->set_window(64);
  return data->mutable_text();
}

INSTANTIATE_TEST_SUITE_P(
    Rules, ValidateBadSpec,
    testing::Values(
        BadSpec{"NoName", [](auto* s) { s->clear_name(); }, "name"},
        BadSpec{"NameWithSpace", [](auto* s) { s->set_name("my job"); }, "name"},
        BadSpec{"NameWithNewline", [](auto* s) { s->set_name("a\nb"); }, "name"},
        BadSpec{"NameOf64", [](auto* s) { s->set_name(std::string(64, 'a')); }, "name"},
        BadSpec{"NoBatch", [](auto* s) { s->clear_global_batch_size(); }, "global_batch_size"},
        BadSpec{"HugeBatch", [](auto* s) { s->set_global_batch_size(1u << 31); },
                "global_batch_size"},
        BadSpec{"NoWorkers", [](auto* s) { s->set_workers(0); }, "workers"},
        BadSpec{"MaxWorkers", [](auto* s) { s->set_workers(4294967295u); }, "workers"},
        BadSpec{"NoFewestWorkers", [](auto* s) { s->set_min_workers(0); }, "workers.min"},
        BadSpec{"FewestAboveMost", [](auto* s) { s->set_min_workers(2); }, "workers.min"},
        BadSpec{"ElasticWithoutCheckpoint",
                [](auto* s) {
                  s->set_workers(2);
                  s->set_min_workers(1);
                },
                "checkpoint"},
        BadSpec{"BackoffBelowZero",
                [](auto* s) { s->mutable_restart()->mutable_backoff()->set_nanos(-1); },
                "restart.backoff"},
        BadSpec{"BackoffBeyondWhatNanosecondsCount",
                [](auto* s) {
                  s->mutable_restart()->mutable_backoff()->set_seconds(
                      std::numeric_limits<int64_t>::max());
                },
                "restart.backoff"},
        BadSpec{"HangTimeoutOfNothing", [](auto* s) { s->mutable_hang_timeout(); }, "hang_timeout"},
        BadSpec{"ThreeLogicalRanks", [](auto* s) { s->set_logical_ranks(3); }, "logical_ranks"},
        BadSpec{"MoreWorkersThanLogicalRanks",
                [](auto* s) {
                  s->set_workers(4);
                  s->set_logical_ranks(2);
                },
                "workers"},
        BadSpec{"BatchSmallerThanWorkers",
                [](auto* s) {
                  s->set_workers(2);
                  s->set_global_batch_size(1);
                },
                "global_batch_size"},
        BadSpec{"BatchSmallerThanRoundedUpWorkers",
                [](auto* s) {
                  s->set_workers(5);
                  s->set_global_batch_size(7);
                },
                "global_batch_size"},
        BadSpec{"NoLength", [](auto* s) { s->clear_epochs(); }, ""},
        BadSpec{"TwoLengths", [](auto* s) { s->set_steps(5); }, "epochs"},
        BadSpec{"NoData", [](auto* s) { s->clear_data(); }, "data"},
        BadSpec{"NoKindOfData", [](auto* s) { s->mutable_data()->clear_csv(); }, "data"},
        BadSpec{"NoPath", [](auto* s) { s->mutable_data()->mutable_csv()->clear_path(); },
                "data.csv.path"},
        BadSpec{"OneClass", [](auto* s) { s->mutable_data()->mutable_csv()->set_classes(1); },
                "data.csv.classes"},
        BadSpec{"LabelColumnMinusTwo",
                [](auto* s) { s->mutable_data()->mutable_csv()->set_label_column(-2); },
                "data.csv.label_column"},
        BadSpec{"ScaleInfinite",
                [](auto* s) { s->mutable_data()->mutable_csv()->set_scale(INFINITY); },
                "data.csv.scale"},
        BadSpec{"NoKindOfModel", [](auto* s) { s->mutable_model()->clear_mlp(); }, "model"},
        BadSpec{"EmptyLayer", [](auto* s) { Mlp(s)->add_hidden(0); }, "model.mlp.hidden[1]"},
        BadSpec{"DropoutOfOne", [](auto* s) { Mlp(s)->set_dropout(1); }, "model.mlp.dropout"},
        BadSpec{"ActivationOfNewerClient",
                [](auto* s) { Mlp(s)->set_activation(static_cast<v1::Activation>(77)); },
                "model.mlp.activation"},
        BadSpec{"LossUnspecified", [](auto* s) { s->set_loss(v1::LOSS_UNSPECIFIED); }, "loss"},
        BadSpec{"NoLearningRate", [](auto* s) { AdamW(s)->clear_lr(); }, "optimizer.adamw.lr"},
        BadSpec{"LearningRateNan",
                [](auto* s) { AdamW(s)->set_lr(std::numeric_limits<double>::quiet_NaN()); },
                "optimizer.adamw.lr"},
        BadSpec{"LearningRateNegative", [](auto* s) { AdamW(s)->set_lr(-1); },
                "optimizer.adamw.lr"},
        BadSpec{"EpsZero", [](auto* s) { AdamW(s)->set_eps(0); }, "optimizer.adamw.eps"},
        BadSpec{"HoldoutOfAll", [](auto* s) { s->mutable_evaluate()->set_holdout(1); },
                "evaluate.holdout"},
        BadSpec{"EvaluateWithoutHoldout", [](auto* s) { s->mutable_evaluate(); }, "evaluate"},
        BadSpec{"EvenKernel",
                [](auto* s) {
                  s->mutable_model()->mutable_convnet()->add_channels(8);
                  s->mutable_model()->mutable_convnet()->set_kernel(4);
                },
                "model.convnet.kernel"},
        BadSpec{"HeadsThatDoNotDivideWidth",
                [](auto* s) {
                  s->mutable_model()->mutable_gpt()->set_layers(1);
                  s->mutable_model()->mutable_gpt()->set_heads(3);
                  s->mutable_model()->mutable_gpt()->set_width(64);
                },
                "model.gpt.width"},
        BadSpec{"ScaledRateWithoutBase", [](auto* s) { s->set_scale_lr(v1::SCALE_LR_LINEAR); },
                "base_global_batch_size"},
        BadSpec{"SynchronizedTorchscript",
                [](auto* s) {
                  s->mutable_model()->mutable_torchscript()->set_path("/models/net.pt");
                  s->set_batch_norm(v1::BATCH_NORM_SYNCHRONIZED);
                },
                "batch_norm"},
        BadSpec{"MeasuredCharacters",
                [](auto* s) {
                  ReadText(s->mutable_data())->set_unit(v1::TEXT_UNIT_BYTES);
                  ReadText(s->mutable_evaluate()->mutable_data());
                },
                "evaluate.data.text.unit"},
        BadSpec{"MeasuredBytesOfATrainingByCharacters",
                [](auto* s) {
                  ReadText(s->mutable_data());
                  ReadText(s->mutable_evaluate()->mutable_data())->set_unit(v1::TEXT_UNIT_BYTES);
                },
                "data.text.unit"},
        BadSpec{"KeyOfNewerClient",
                [](auto* s) {
                  s->mutable_data()
                      ->GetReflection()
                      ->MutableUnknownFields(s->mutable_data())
                      ->AddVarint(999, 1);
                },
                "data"}),
    [](const auto& info) { return info.param.label; });

TEST(Validate, BatchSmallerThanLogicalRanks_SaysBothNumbers) {
  v1::JobSpec spec = SampleSpec();
  spec.set_workers(2);
  spec.set_global_batch_size(1);
  EXPECT_EQ(
      Validate(spec).message(),
      "global_batch_size: 1 is less than logical_ranks (2): every logical rank needs a share");
}

TEST(Validate, BatchEqualToLogicalRanks_IsAccepted) {
  v1::JobSpec spec = SampleSpec();
  spec.set_workers(2);
  spec.set_global_batch_size(2);
  EXPECT_EQ(Validate(spec), absl::OkStatus());
}

TEST(Validate, MeasuredTextByBytes_IsAccepted) {
  v1::JobSpec spec = SampleSpec();
  ReadText(spec.mutable_data())->set_unit(v1::TEXT_UNIT_BYTES);
  ReadText(spec.mutable_evaluate()->mutable_data())->set_unit(v1::TEXT_UNIT_BYTES);
  EXPECT_EQ(Validate(spec), absl::OkStatus());
  spec.mutable_evaluate()->clear_data();
  spec.mutable_evaluate()->set_holdout(0.1);
  spec.mutable_data()->mutable_text()->set_unit(v1::TEXT_UNIT_CHARACTERS);
  EXPECT_EQ(Validate(spec), absl::OkStatus());
}

TEST(Validate, EmptySpec_IsRefused) {
  EXPECT_THAT(std::string(Validate(v1::JobSpec()).message()), StartsWith("name: required"));
}

TEST(FillDefaults, SampleSpec_GivesWhatSpecProtoSays) {
  v1::JobSpec spec = SampleSpec();
  FillDefaults(&spec);
  EXPECT_EQ(spec.workers(), 1u);
  EXPECT_EQ(spec.logical_ranks(), 1u);
  EXPECT_TRUE(spec.has_seed());
  EXPECT_EQ(spec.threads_per_rank(), 1u);
  EXPECT_FALSE(spec.has_loss()) << "it follows from the data";
  EXPECT_EQ(spec.reduction(), v1::REDUCTION_TREE);
  EXPECT_TRUE(spec.data().shuffle());
  EXPECT_EQ(spec.data().csv().label_column(), -1);
  EXPECT_EQ(spec.data().csv().scale(), 1.0);
  EXPECT_EQ(spec.model().mlp().activation(), v1::ACTIVATION_RELU);
  EXPECT_EQ(spec.optimizer().adamw().beta2(), 0.999);
  EXPECT_EQ(spec.optimizer().adamw().eps(), 1e-8);
  EXPECT_EQ(spec.restart().max(), 3u) << "also where the section is left out";
  EXPECT_EQ(spec.restart().backoff().nanos(), 500'000'000);
  EXPECT_FALSE(spec.has_min_workers());
  EXPECT_FALSE(spec.has_evaluate());
  EXPECT_FALSE(spec.has_steps());
}

TEST(FillDefaults, LogicalRanks_AreWorkersRoundedUp) {
  for (const auto& [workers, expected] :
       std::vector<std::pair<uint32_t, uint32_t>>{{1, 1}, {2, 2}, {3, 4}, {4, 4}, {5, 8}}) {
    v1::JobSpec spec = SampleSpec();
    spec.set_workers(workers);
    FillDefaults(&spec);
    EXPECT_EQ(spec.logical_ranks(), expected) << workers;
  }
}

TEST(FillDefaults, LogicalRanksOfAnElasticJob_AreTheMostWorkersRoundedUp) {
  v1::JobSpec spec = SampleSpec();
  spec.set_min_workers(1);
  spec.set_workers(3);
  spec.mutable_checkpoint()->set_dir("/checkpoints");
  EXPECT_EQ(Validate(spec), absl::OkStatus());
  FillDefaults(&spec);
  EXPECT_EQ(spec.logical_ranks(), 4u);
}

TEST(FillDefaults, GivenValues_Stay) {
  v1::JobSpec spec = SampleSpec();
  spec.set_workers(2);
  spec.set_logical_ranks(8);
  spec.mutable_data()->set_shuffle(false);
  spec.mutable_optimizer()->mutable_adamw()->set_weight_decay(0);
  FillDefaults(&spec);
  EXPECT_EQ(spec.logical_ranks(), 8u);
  EXPECT_FALSE(spec.data().shuffle());
  EXPECT_EQ(spec.optimizer().adamw().weight_decay(), 0);
}

TEST(FillDefaults, Twice_ChangesNothing) {
  v1::JobSpec once = SampleSpec();
  FillDefaults(&once);
  v1::JobSpec twice = once;
  FillDefaults(&twice);
  EXPECT_TRUE(MessageDifferencer::Equals(once, twice));
}

TEST(FillDefaults, EmptyOrAbsurdSpec_DoesNotCrash) {
  v1::JobSpec empty;
  FillDefaults(&empty);
  v1::JobSpec absurd;
  absurd.set_workers(4294967295u);
  FillDefaults(&absurd);
  EXPECT_FALSE(Validate(absurd).ok());
}

v1::JobSpec CommandSpec() {
  v1::JobSpec spec;
  spec.set_name("train");
  spec.mutable_command()->add_argv("python3");
  spec.mutable_command()->add_argv("train.py");
  return spec;
}

TEST(Validate, Command_NeedsNoModelAndGetsNoneOfItsDefaults) {
  v1::JobSpec spec = CommandSpec();
  EXPECT_EQ(Validate(spec), absl::OkStatus());
  FillDefaults(&spec);
  EXPECT_EQ(Validate(spec), absl::OkStatus());
  EXPECT_EQ(spec.threads_per_rank(), 1u);
  EXPECT_EQ(spec.logical_ranks(), 1u);
  EXPECT_EQ(spec.command().store(), v1::RENDEZVOUS_STORE_HOSTED);
  EXPECT_FALSE(spec.has_verify_every());
  EXPECT_FALSE(spec.has_reduction());
}

class ValidateBadCommand : public testing::TestWithParam<BadSpec> {};

TEST_P(ValidateBadCommand, NamesTheKeyOnOneLine) {
  v1::JobSpec spec = CommandSpec();
  GetParam().breaks(&spec);
  const auto violation = FindViolation(spec);
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->key, GetParam().key);
  EXPECT_EQ(violation->message.find('\n'), std::string::npos);
}

v1::Command* CommandOf(v1::JobSpec* spec) { return spec->mutable_command(); }

INSTANTIATE_TEST_SUITE_P(
    Rules, ValidateBadCommand,
    testing::Values(
        BadSpec{"NoProgram", [](auto* s) { CommandOf(s)->clear_argv(); }, "command.argv"},
        BadSpec{"EmptyProgram", [](auto* s) { CommandOf(s)->set_argv(0, ""); }, "command.argv[0]"},
        BadSpec{"ZeroByte", [](auto* s) { CommandOf(s)->add_argv(std::string("a\0b", 3)); },
                "command.argv[2]"},
        BadSpec{"NoText", [](auto* s) { CommandOf(s)->add_argv("a\xff"); }, "command.argv[2]"},
        BadSpec{"VariableWithoutText", [](auto* s) { CommandOf(s)->add_env("A=\xff"); },
                "command.env[0]"},
        BadSpec{"Model", [](auto* s) { s->mutable_model()->mutable_mlp(); }, "model"},
        BadSpec{"Steps", [](auto* s) { s->set_steps(7); }, "steps"},
        BadSpec{"NoName", [](auto* s) { CommandOf(s)->add_env("=1"); }, "command.env[0]"},
        BadSpec{"NoValue", [](auto* s) { CommandOf(s)->add_env("HOME"); }, "command.env[0]"},
        BadSpec{"Reserved", [](auto* s) { CommandOf(s)->add_env("RANK=0"); }, "command.env[0]"},
        BadSpec{"OfTorchelastic", [](auto* s) { CommandOf(s)->add_env("TORCHELASTIC_RUN_ID=1"); },
                "command.env[0]"},
        BadSpec{"TwiceGiven",
                [](auto* s) {
                  CommandOf(s)->add_env("A=1");
                  CommandOf(s)->add_env("A=2");
                },
                "command.env[1]"},
        BadSpec{"NoExpression", [](auto* s) { CommandOf(s)->mutable_parse()->set_loss("(["); },
                "command.parse.loss"},
        BadSpec{"NoGroup", [](auto* s) { CommandOf(s)->mutable_parse()->set_loss("loss"); },
                "command.parse.loss"},
        BadSpec{"StepWithoutGroup",
                [](auto* s) {
                  CommandOf(s)->mutable_parse()->set_loss("(1)");
                  CommandOf(s)->mutable_parse()->set_step("step");
                },
                "command.parse.step"},
        BadSpec{"NoPort", [](auto* s) { CommandOf(s)->set_master_port(65536); },
                "command.master_port"}),
    [](const auto& info) { return info.param.label; });

}  // namespace
}  // namespace tandem::spec
