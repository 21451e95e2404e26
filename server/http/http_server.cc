#include "server/http/http_server.h"

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/wrappers.pb.h>
#include <httplib.h>

#include <chrono>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/http/page.h"

namespace tandem::http {
namespace {

constexpr char kJson[] = "application/json";
constexpr std::chrono::seconds kDeadline(5);
constexpr std::chrono::seconds kIdle(1);

std::string ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  return status.ok() ? json : "{}";
}

int HttpStatus(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK:
      return 200;
    case grpc::StatusCode::INVALID_ARGUMENT:
      return 400;
    case grpc::StatusCode::NOT_FOUND:
      return 404;
    case grpc::StatusCode::UNAVAILABLE:
      return 503;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return 504;
    default:
      return 500;
  }
}

void Refuse(int status, const std::string& message, httplib::Response& response) {
  google::protobuf::StringValue text;
  text.set_value(message);
  response.status = status;
  response.set_content(absl::StrCat("{\"error\":", ToJson(text), "}"), kJson);
}

// Calls one method of the stub and answers with what it answered.
template <typename Request, typename Response>
void Forward(v1::JobService::StubInterface& stub,
             grpc::Status (v1::JobService::StubInterface::*method)(grpc::ClientContext*,
                                                                   const Request&, Response*),
             const Request& request, httplib::Response& out) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  Response response;
  const grpc::Status status = (stub.*method)(&context, request, &response);
  if (status.ok()) {
    out.set_content(ToJson(response), kJson);
  } else {
    Refuse(HttpStatus(status.error_code()), status.error_message(), out);
  }
}

// The named number of the query; left alone where it is not given. False: it is not a number.
template <typename Number>
bool ReadNumber(const httplib::Request& request, const char* name, Number* number) {
  return !request.has_param(name) || absl::SimpleAtoi(request.get_param_value(name), number);
}

bool ReadHistoryRequest(const httplib::Request& http, v1::GetHistoryRequest* request) {
  uint64_t from_step = 0;
  uint32_t page_size = 0;
  if (!ReadNumber(http, "from_step", &from_step)) return false;
  if (!ReadNumber(http, "page_size", &page_size)) return false;
  request->set_job_id(http.matches[1]);
  request->set_from_step(from_step);
  request->set_page_size(page_size);
  return true;
}

// Only one process may listen on an address: no SO_REUSEPORT, which the library would set.
void SetSocketOptions(int socket) {
  const int on = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
}

httplib::Server::HandlerResponse OnlyReads(const httplib::Request& request,
                                           httplib::Response& response) {
  if (request.method == "GET" || request.method == "HEAD") {
    return httplib::Server::HandlerResponse::Unhandled;
  }
  response.set_header("Allow", "GET, HEAD");
  response.set_header("Connection", "close");
  Refuse(405, absl::StrCat(request.method, " is not answered here, only GET and HEAD"), response);
  return httplib::Server::HandlerResponse::Handled;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& host, int port,
                                                              Sources sources) {
  auto server = absl::WrapUnique(new HttpServer(std::move(sources)));
  if (!server->Bind(host, port)) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", host, ":", port));
  }
  server->thread_ = std::thread([http = server.get()] {
    http->server_->listen_after_bind();
    http->ended_ = true;
  });
  return server;
}

HttpServer::HttpServer(Sources sources)
    : sources_(std::move(sources)), server_(std::make_unique<httplib::Server>()) {
  server_->set_socket_options(SetSocketOptions);
  // An idle connection must not hold up Stop().
  server_->set_keep_alive_timeout(kIdle.count());
  server_->set_read_timeout(kIdle);
  server_->set_write_timeout(kIdle);
  server_->set_default_headers(
      {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}});
  server_->set_pre_routing_handler(OnlyReads);
  AddRoutes();
}

HttpServer::~HttpServer() { Stop(); }

void HttpServer::Stop() {
  if (!thread_.joinable()) return;
  // stop() does nothing until the thread listens.
  while (!server_->is_running() && !ended_) std::this_thread::yield();
  server_->stop();
  thread_.join();
}

bool HttpServer::Bind(const std::string& host, int port) {
  port_ = port == 0 ? server_->bind_to_any_port(host) : port;
  return port == 0 ? port_ > 0 : server_->bind_to_port(host, port);
}

void HttpServer::AddRoutes() {
  using Stub = v1::JobService::StubInterface;
  using httplib::Request;
  using httplib::Response;
  server_->Get("/", [](const Request&, Response& out) { out.set_content(kPage, "text/html"); });
  server_->Get("/metrics", [this](const Request&, Response& out) {
    out.set_content(sources_.metrics(), "text/plain; version=0.0.4; charset=utf-8");
  });
  server_->Get("/healthz", [this](const Request&, Response& out) {
    const absl::Status health = sources_.health();
    out.status = health.ok() ? 200 : 503;
    out.set_content(health.ok() ? "ok\n" : absl::StrCat(health.message(), "\n"), "text/plain");
  });
  server_->Get("/api/v1/jobs", [this](const Request&, Response& out) {
    Forward(*sources_.jobs, &Stub::ListJobs, v1::ListJobsRequest(), out);
  });
  server_->Get("/api/v1/workers", [this](const Request&, Response& out) {
    Forward(*sources_.jobs, &Stub::ListWorkers, v1::ListWorkersRequest(), out);
  });
  server_->Get("/api/v1/jobs/([^/]+)", [this](const Request& in, Response& out) {
    v1::GetJobRequest request;
    request.set_job_id(in.matches[1]);
    Forward(*sources_.jobs, &Stub::GetJob, request, out);
  });
  server_->Get("/api/v1/jobs/([^/]+)/history", [this](const Request& in, Response& out) {
    v1::GetHistoryRequest request;
    if (!ReadHistoryRequest(in, &request)) {
      return Refuse(400, "from_step and page_size are whole numbers", out);
    }
    Forward(*sources_.jobs, &Stub::GetHistory, request, out);
  });
  server_->set_error_handler([](const Request& in, Response& out) {
    if (out.body.empty()) Refuse(out.status, absl::StrCat("there is nothing at ", in.path), out);
  });
}

}  // namespace tandem::http
