#include "server/daemon.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/frame.h"
#include "server/cannot_listen.h"

namespace tandem {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(100);
// How long the loop may take before it counts as stuck.
constexpr absl::Duration kPatience = absl::Seconds(2);
constexpr std::chrono::milliseconds kDrain(500);

// Finds connections whose other end has gone without a word, and lets agents look for us likewise.
void SetKeepalive(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
}

absl::StatusOr<HostPort> ParseAddressFlag(absl::string_view flag, const std::string& text) {
  absl::StatusOr<HostPort> address = ParseHostPort(text);
  if (address.ok()) return address;
  return absl::InvalidArgumentError(absl::StrCat(flag, ": ", address.status().message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(const DaemonOptions& options,
                                                      const Clock& clock, service::LogSink log) {
  const auto listen = ParseAddressFlag("--listen", options.listen);
  if (!listen.ok()) return listen.status();
  const auto http = ParseAddressFlag("--http", options.http);
  if (!http.ok()) return http.status();
  absl::StatusOr<State> state = OpenState(options.state_dir);
  if (!state.ok()) return state.status();

  auto daemon =
      absl::WrapUnique(new Daemon(*std::move(state), options.core, clock, std::move(log)));
  if (absl::Status status = daemon->controller_.Restore(); !status.ok()) return status;
  daemon->loop_.Start();
  if (absl::Status status = daemon->StartGrpc(*listen); !status.ok()) return status;
  if (absl::Status status = daemon->StartHttp(*http); !status.ok()) return status;
  return daemon;
}

absl::StatusOr<Daemon::State> Daemon::OpenState(const std::string& state_dir) {
  absl::StatusOr<store::StateLock> lock = store::StateLock::Acquire(state_dir);
  if (!lock.ok()) return lock.status();
  auto journal = store::SqliteJournal::Open(state_dir + "/tandem.db");
  if (!journal.ok()) return journal.status();
  auto logs = store::LogStore::Open(state_dir + "/logs");
  if (!logs.ok()) return logs.status();
  return State{*std::move(lock), *std::move(journal), *std::move(logs)};
}

Daemon::Daemon(State state, const core::Options& options, const Clock& clock, service::LogSink log)
    : state_(std::move(state)),
      metrics_(registry_),
      controller_(options, {*state_.journal, *state_.logs, metrics_, clock, std::move(log)}),
      loop_(kTick, [this] { controller_.Tick(); }),
      job_service_(loop_, controller_, *state_.logs),
      worker_service_(loop_, controller_) {}

Daemon::~Daemon() { Stop(); }

absl::Status Daemon::StartGrpc(const HostPort& address) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  // Otherwise a second coordinator would share the port silently.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  SetKeepalive(builder);
  // More than an agent ever sends at once, so that no printed line can break its connection.
  builder.SetMaxReceiveMessageSize(kMaxFrameBytes);
  int port = 0;
  builder.AddListeningPort(address.ToString(), grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&job_service_);
  builder.RegisterService(&worker_service_);
  grpc_server_ = builder.BuildAndStart();
  if (grpc_server_ == nullptr) return CannotListen("--listen", address);
  grpc_address_ = {address.host, port};
  return absl::OkStatus();
}

absl::Status Daemon::StartHttp(const HostPort& address) {
  http::Sources sources{v1::JobService::NewStub(InProcessChannel()), [this] { return Health(); },
                        [this] { return MetricsText(); }};
  auto server = http::HttpServer::Start(address.host, address.port, std::move(sources));
  if (!server.ok()) return CannotListen("--http", address);
  http_server_ = *std::move(server);
  http_address_ = {address.host, http_server_->port()};
  return absl::OkStatus();
}

std::shared_ptr<grpc::Channel> Daemon::InProcessChannel() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);  // From ourselves: a list of jobs may be long.
  return grpc_server_->InProcessChannel(arguments);
}

absl::Status Daemon::Health() {
  auto status = std::make_shared<absl::Status>();
  const bool answered =
      loop_.Run([this, status] { *status = controller_.journal_status(); }, kPatience);
  return answered ? *status : absl::UnavailableError("the coordinator's loop does not answer");
}

// Where the loop does not answer, the gauges are as old as the last scrape.
std::string Daemon::MetricsText() {
  loop_.Run([this] { controller_.MirrorMetrics(); }, kPatience);
  return prometheus::TextSerializer().Serialize(registry_.Collect());
}

// From the outside to the inside: whoever still answers finds what it needs alive.
void Daemon::Stop() {
  loop_.Run([this] { controller_.Shutdown(); }, kPatience);
  if (http_server_ != nullptr) http_server_->Stop();
  if (grpc_server_ != nullptr) grpc_server_->Shutdown(std::chrono::system_clock::now() + kDrain);
  http_server_.reset();
  grpc_server_.reset();
  loop_.Stop();
}

}  // namespace tandem
