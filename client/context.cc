#include "client/context.h"

namespace tandem::client {

absl::StatusOr<std::unique_ptr<Connection>> Context::Connect() const {
  Connection::Options options;
  options.address = coordinator;
  options.retry_for = retry_for;
  options.on_retry = [this](const std::string& line) { console.Remark(line); };
  return Connection::Open(options);
}

View Context::ViewOfNow() const {
  return {absl::Now(), absl::LocalTimeZone(), console.color_output()};
}

void Context::Answer(const google::protobuf::Message& message,
                     const std::function<std::string()>& text) {
  if (console.settings().json) {
    console.AnswerJson(message);
  } else {
    console.Answer(text());
  }
}

}  // namespace tandem::client
