#include "common/checkpoint/resumable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/checkpoint/testing_checkpoint.h"
#include "common/spec/field_rules.h"

namespace tandem::checkpoint {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr uint64_t kTotalSteps = 100;

// A job of all sections, and a checkpoint of it.
v1::JobSpec FullSpec() {
  v1::JobSpec spec = spec::SampleSpec();
  spec.set_logical_ranks(4);
  spec.mutable_data()->mutable_transforms()->set_scale(0.5);
  spec.mutable_schedule()->mutable_constant();
  spec.mutable_evaluate()->set_holdout(0.2);
  spec.mutable_checkpoint()->set_dir("/checkpoints");
  spec.mutable_trace()->set_dir("/trace");
  spec.mutable_unsafe();
  spec::FillDefaults(&spec);
  return spec;
}

TrainingIdentity IdentityOf(const v1::JobSpec& spec) {
  return {spec, "f1", "tandem 0.1.0", "a processor"};
}

v1::CheckpointManifest ManifestOf(const v1::JobSpec& spec) {
  v1::CheckpointManifest manifest = SampleManifest(50);
  *manifest.mutable_spec() = spec;
  return manifest;
}

using Change = std::function<void(v1::JobSpec*)>;

absl::Status Resume(const v1::JobSpec& saved, const Change& change) {
  v1::JobSpec now = saved;
  change(&now);
  return CheckResumable(ManifestOf(saved), IdentityOf(now), kTotalSteps);
}

struct Case {
  std::string key;  // as the message names it
  Change change;
  std::string before;
  std::string after;
};

std::string NameOf(const testing::TestParamInfo<Case>& info) {
  return absl::StrCat(info.index, "_",
                      absl::StrReplaceAll(info.param.key, {{".", "_"}, {" ", "_"}}));
}

class RefusedTest : public testing::TestWithParam<Case> {};

TEST_P(RefusedTest, Resume_DifferentKey_IsNamedWithBothValues) {
  const Case& changed = GetParam();
  const auto refused = Resume(FullSpec(), changed.change);
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              StartsWith(absl::StrCat(changed.key, ": the checkpoint has ", changed.before,
                                      " and this job ", changed.after)));
}

INSTANTIATE_TEST_SUITE_P(
    Keys, RefusedTest,
    testing::Values(
        Case{"logical_ranks", [](auto* s) { s->set_logical_ranks(8); }, "4", "8"},
        Case{"seed", [](auto* s) { s->set_seed(7); }, "0", "7"},
        Case{"global_batch_size", [](auto* s) { s->set_global_batch_size(32); }, "64", "32"},
        Case{"data", [](auto* s) { s->mutable_data()->mutable_npy(); }, "csv", "npy"},
        Case{"data.shuffle", [](auto* s) { s->mutable_data()->set_shuffle(false); }, "true",
             "false"},
        Case{"data.drop_last", [](auto* s) { s->mutable_data()->set_drop_last(true); }, "false",
             "true"},
        Case{"data.csv.label_column",
             [](auto* s) { s->mutable_data()->mutable_csv()->set_label_column(0); }, "-1", "0"},
        Case{"data.csv.scale", [](auto* s) { s->mutable_data()->mutable_csv()->set_scale(2); }, "1",
             "2"},
        Case{"data.csv.shape",
             [](auto* s) {
               s->mutable_data()->mutable_csv()->add_shape(8);
               s->mutable_data()->mutable_csv()->add_shape(8);
             },
             "[]", "[8, 8]"},
        Case{"data.transforms.scale",
             [](auto* s) { s->mutable_data()->mutable_transforms()->set_scale(0.25); }, "0.5",
             "0.25"},
        Case{"data.transforms.flip",
             [](auto* s) { s->mutable_data()->mutable_transforms()->mutable_flip(); }, "nothing",
             "a section"},
        Case{"model", [](auto* s) { s->mutable_model()->mutable_gpt(); }, "mlp", "gpt"},
        Case{"model.mlp.hidden", [](auto* s) { s->mutable_model()->mutable_mlp()->add_hidden(16); },
             "[32]", "[32, 16]"},
        Case{
            "model.mlp.activation",
            [](auto* s) { s->mutable_model()->mutable_mlp()->set_activation(v1::ACTIVATION_TANH); },
            "relu", "tanh"},
        Case{"model.mlp.dropout",
             [](auto* s) { s->mutable_model()->mutable_mlp()->set_dropout(0.5); }, "0", "0.5"},
        Case{"optimizer", [](auto* s) { s->mutable_optimizer()->mutable_sgd()->set_lr(0.001); },
             "adamw", "sgd"},
        Case{"optimizer.adamw.lr",
             [](auto* s) { s->mutable_optimizer()->mutable_adamw()->set_lr(0.01); }, "0.001",
             "0.01"},
        Case{"optimizer.adamw.weight_decay",
             [](auto* s) { s->mutable_optimizer()->mutable_adamw()->set_weight_decay(0); }, "0.01",
             "0"},
        Case{"loss", [](auto* s) { s->set_loss(v1::LOSS_SQUARED_ERROR); }, "nothing",
             "squared_error"},
        Case{"evaluate.holdout", [](auto* s) { s->mutable_evaluate()->set_holdout(0.1); }, "0.2",
             "0.1"},
        Case{"evaluate", [](auto* s) { s->clear_evaluate(); }, "a section", "nothing"},
        Case{"threads_per_rank", [](auto* s) { s->set_threads_per_rank(2); }, "1", "2"},
        Case{"reduction", [](auto* s) { s->set_reduction(v1::REDUCTION_ALLREDUCE); }, "tree",
             "allreduce"},
        Case{"schedule", [](auto* s) { s->mutable_schedule()->mutable_step()->set_every_steps(5); },
             "constant", "step"},
        Case{"schedule.warmup_steps", [](auto* s) { s->mutable_schedule()->set_warmup_steps(9); },
             "0", "9"},
        Case{"clip_norm", [](auto* s) { s->set_clip_norm(1); }, "nothing", "1"},
        Case{"precision", [](auto* s) { s->set_precision(v1::PRECISION_BF16); }, "fp32", "bf16"},
        Case{"scale_lr", [](auto* s) { s->set_scale_lr(v1::SCALE_LR_SQRT); }, "none", "sqrt"},
        Case{"base_global_batch_size", [](auto* s) { s->set_base_global_batch_size(16); },
             "nothing", "16"},
        Case{"batch_norm", [](auto* s) { s->set_batch_norm(v1::BATCH_NORM_SYNCHRONIZED); },
             "per_logical_rank", "synchronized"},
        Case{"unsafe.unseeded", [](auto* s) { s->mutable_unsafe()->set_unseeded(true); }, "false",
             "true"}),
    NameOf);

class AllowedTest : public testing::TestWithParam<Case> {};

TEST_P(AllowedTest, Resume_KeyThatCannotChangeABit_MayDiffer) {
  const auto resumed = Resume(FullSpec(), GetParam().change);
  EXPECT_TRUE(resumed.ok()) << resumed;
}

INSTANTIATE_TEST_SUITE_P(
    Keys, AllowedTest,
    testing::Values(
        Case{"nothing", [](auto*) {}, "", ""},
        Case{"name", [](auto* s) { s->set_name("again"); }, "", ""},
        Case{"workers", [](auto* s) { s->set_workers(3); }, "", ""},
        Case{"epochs", [](auto* s) { s->set_epochs(9); }, "", ""},
        Case{"steps instead of epochs",
             [](auto* s) {
               s->clear_epochs();
               s->set_steps(kTotalSteps);
             },
             "", ""},
        Case{"evaluate.every_epochs", [](auto* s) { s->mutable_evaluate()->set_every_epochs(5); },
             "", ""},
        Case{"evaluate.every_steps", [](auto* s) { s->mutable_evaluate()->set_every_steps(5); }, "",
             ""},
        Case{"checkpoint", [](auto* s) { s->clear_checkpoint(); }, "", ""},
        Case{"checkpoint.keep", [](auto* s) { s->mutable_checkpoint()->set_keep(1); }, "", ""},
        Case{"resume_from", [](auto* s) { s->set_resume_from("/checkpoints"); }, "", ""},
        Case{"device that is asked for", [](auto* s) { s->set_device("cpu"); }, "", ""},
        Case{"trace", [](auto* s) { s->clear_trace(); }, "", ""},
        Case{"verify_every", [](auto* s) { s->set_verify_every(1); }, "", ""},
        Case{"data.loader_threads", [](auto* s) { s->mutable_data()->set_loader_threads(8); }, "",
             ""},
        Case{"data.prefetch", [](auto* s) { s->mutable_data()->set_prefetch(8); }, "", ""},
        Case{"data.csv.path",
             [](auto* s) { s->mutable_data()->mutable_csv()->set_path("/elsewhere.csv"); }, "", ""},
        Case{"a default left out", [](auto* s) { s->clear_seed(); }, "", ""}),
    NameOf);

// Everybody who adds a key to a specification decides here whether it may change on resuming.
TEST(Resumable, EveryKeyOfASpecification_IsComparedUnlessItIsListed) {
  const std::set<std::string> listed = {
      "name",       "workers",      "min_workers",         "steps",        "epochs",
      "checkpoint", "trace",        "resume_from",         "verify_every", "restart",
      "priority",   "hang_timeout", "on_coordinator_loss", "device"};
  const auto& type = *v1::JobSpec::descriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const auto& field = *type.field(i);
    v1::JobSpec before = FullSpec(), after = before;
    before.GetReflection()->ClearField(&before, &field);
    // What is left out gets its default: any other value differs from that.
    spec::FillDefaults(&before);
    after = before;
    using Field = google::protobuf::FieldDescriptor;
    if (spec::IsSection(field)) {
      after.GetReflection()->MutableMessage(&after, &field);
      if (field.name() == "evaluate") after.mutable_evaluate()->set_holdout(0.5);
      if (field.name() == "data") after.mutable_data()->mutable_csv();
      if (field.name() == "model") after.mutable_model()->mutable_mlp();
      if (field.name() == "optimizer") after.mutable_optimizer()->mutable_sgd();
    } else if (field.cpp_type() == Field::CPPTYPE_ENUM) {
      const int now = after.GetReflection()->GetEnumValue(after, &field);
      after.GetReflection()->SetEnumValue(&after, &field, now == 1 ? 2 : 1);
    } else {
      const bool is_duration = field.cpp_type() == Field::CPPTYPE_MESSAGE;
      const std::string text = is_duration                                 ? "3s"
                               : field.cpp_type() == Field::CPPTYPE_STRING ? "/x"
                                                                           : "3";
      ASSERT_TRUE(spec::SetFromText(text, field, &after).ok()) << field.name();
    }
    const auto status = CheckResumable(ManifestOf(before), IdentityOf(after), kTotalSteps);
    EXPECT_EQ(status.ok(), listed.count(field.name()) == 1) << field.name() << status;
  }
}

TEST(Resumable, EvaluationDataOfItsOwn_MayComeGoAndChange) {
  v1::JobSpec spec = FullSpec();
  spec.clear_evaluate();
  v1::JobSpec measured = spec;
  measured.mutable_evaluate()->mutable_data()->mutable_csv()->set_path("/held-out.csv");
  EXPECT_TRUE(CheckResumable(ManifestOf(spec), IdentityOf(measured), kTotalSteps).ok());
  EXPECT_TRUE(CheckResumable(ManifestOf(measured), IdentityOf(spec), kTotalSteps).ok());
}

TEST(Resumable, PathOfAModel_IsNotThatOfData) {
  v1::JobSpec spec = FullSpec();
  spec.mutable_model()->mutable_torchscript()->set_path("/a.pt");
  EXPECT_THAT(std::string(Resume(spec,
                                 [](auto* now) {
                                   now->mutable_model()->mutable_torchscript()->set_path("/b.pt");
                                 })
                              .message()),
              StartsWith("model.torchscript.path: the checkpoint has /a.pt and this job /b.pt"));
}

TEST(Resumable, CosineOfAnotherLength_IsRefused) {
  v1::JobSpec spec = FullSpec();
  spec.mutable_schedule()->mutable_cosine();
  const auto refused = Resume(spec, [](auto* now) { now->set_epochs(9); });
  EXPECT_THAT(std::string(refused.message()),
              StartsWith("epochs: the checkpoint has 2 and this job 9"));
  EXPECT_TRUE(Resume(spec, [](auto*) {}).ok());
}

TEST(Resumable, CosineInsteadOfConstant_IsRefusedForTheSchedule) {
  const auto refused = Resume(FullSpec(), [](auto* now) {
    now->mutable_schedule()->mutable_cosine();
    now->set_epochs(9);
  });
  EXPECT_THAT(std::string(refused.message()), StartsWith("schedule: "));
}

TEST(Resumable, FirstOfSeveralDifferences_IsNamed) {
  const auto refused = Resume(FullSpec(), [](auto* now) {
    now->set_precision(v1::PRECISION_BF16);
    now->set_seed(3);
  });
  EXPECT_THAT(std::string(refused.message()), StartsWith("seed: "));
}

TEST(Resumable, NumbersThatPrintAlmostAlike_Differ) {
  v1::JobSpec spec = FullSpec();
  spec.mutable_optimizer()->mutable_adamw()->set_lr(0.1);
  const auto refused = Resume(
      spec, [](auto* now) { now->mutable_optimizer()->mutable_adamw()->set_lr(0.1 + 1.4e-17); });
  EXPECT_FALSE(refused.ok());
}

class IdentityTest : public testing::Test {
 protected:
  std::string Refusal(const TrainingIdentity& now) {
    return std::string(CheckResumable(ManifestOf(FullSpec()), now, kTotalSteps).message());
  }

  TrainingIdentity now_ = IdentityOf(FullSpec());
};

TEST_F(IdentityTest, OtherSamples_AreRefused) {
  now_.data_fingerprint = "f2";
  EXPECT_THAT(Refusal(now_), StartsWith("data: "));
  EXPECT_THAT(Refusal(now_), HasSubstr("f1 and this job f2"));
}

TEST_F(IdentityTest, OtherBuild_IsRefused) {
  now_.build = "tandem 0.2.0";
  EXPECT_THAT(Refusal(now_),
              StartsWith("build: the checkpoint has tandem 0.1.0 and this job tandem"));
}

TEST_F(IdentityTest, OtherDevice_IsRefused) {
  now_.device = "another processor";
  EXPECT_THAT(Refusal(now_),
              StartsWith("device: the checkpoint has a processor and this job another"));
}

TEST_F(IdentityTest, OtherSeedAndSoOtherSyntheticSamples_NamesTheSeed) {
  now_.spec.set_seed(5);
  now_.data_fingerprint = "f2";
  EXPECT_THAT(Refusal(now_), StartsWith("seed: "));
}

TEST(Resumable, StepsBeyondTheEnd_AreRefused) {
  const v1::JobSpec spec = FullSpec();
  EXPECT_TRUE(CheckResumable(ManifestOf(spec), IdentityOf(spec), 50).ok());
  const auto refused = CheckResumable(ManifestOf(spec), IdentityOf(spec), 49);
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(std::string(refused.message()), StartsWith("epochs: the checkpoint is of step 50"));
}

}  // namespace
}  // namespace tandem::checkpoint
