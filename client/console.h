#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace tandem::client {

// Standard output for the answer, standard error for everything else that people may want to know.
// For the thread that runs the command.
class Console {
 public:
  // What the two streams are, and what the user asked for.
  struct Settings {
    bool json = false;
    bool color = true;
    bool output_is_terminal = false;
    bool remarks_are_terminal = false;
    int columns = 80;
  };

  // As this process was started.
  static Settings Detect();

  explicit Console(Settings settings) : settings_(settings) {}

  const Settings& settings() const { return settings_; }
  void set_json(bool json) { settings_.json = json; }
  void forbid_color() { settings_.color = false; }
  bool color_output() const { return settings_.color && settings_.output_is_terminal; }

  // Writes at once. Does nothing after a write has failed; see status().
  void Answer(absl::string_view text);
  // The protobuf JSON mapping, with fields that have their default value.
  void AnswerJson(const google::protobuf::Message& message);
  // A line; the newline is added.
  void Remark(absl::string_view line) const;
  // A line that answers Ctrl-C: not behind the "^C" that a terminal shows.
  void RemarkAfterInterrupt(absl::string_view line) const;
  // As it is, for a line that is drawn over.
  void RemarkRaw(absl::string_view text) const;

  // The reader of standard output has gone (`| head`), which is no mistake.
  bool output_closed() const { return failure_ != 0; }
  //   DataLoss  standard output could not be written, for any other reason than a reader that left.
  absl::Status status() const;

 private:
  Settings settings_;
  // errno of the first write that failed.
  int failure_ = 0;
};

}  // namespace tandem::client
