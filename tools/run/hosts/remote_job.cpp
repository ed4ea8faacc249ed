#include "run/hosts/remote_job.hpp"

#include <weft/error.hpp>
#include <weft/version.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/attributes.hpp"
#include "base/system_call.hpp"
#include "base/text/parse.hpp"
#include "run/hosts/frames.hpp"
#include "run/hosts/remote_agent.hpp"
#include "run/ranks/environment.hpp"
#include "sockets/tcp_socket.hpp"

namespace weft::tools::run {

using base::Attribute;
using bootstrap::relay::FrameHeader;
using bootstrap::relay::FrameLink;

namespace {

constexpr int kNotExecutable = 126;  // exit code

base::Attributes attributes_with(const Options& options) {
  // What --env sets for the ranks holds for the launcher's own connections as well.
  std::vector<AttributeSetting> settings;
  for (const auto& [name, value] : options.environment)
    for (const auto& [variable, attribute] : {std::pair{"WEFT_PORTS", "ports"},
                                              {"WEFT_INTERFACE", "interface"},
                                              {"WEFT_PEER_TIMEOUT", "peer_timeout"},
                                              {"WEFT_BOOTSTRAP_TIMEOUT", "bootstrap_timeout"}})
      if (name == variable) settings.push_back(AttributeSetting{attribute, value.c_str()});
  return base::Attributes::load(settings);
}

}  // namespace

RemoteJob::RemoteJob(const Options& options, bootstrap::local::Server& server)
    : server_(server),
      contact_seconds_(attributes_with(options).seconds(Attribute::bootstrap_timeout)),
      peer_timeout_(attributes_with(options).seconds(Attribute::peer_timeout)),
      interfaces_(sockets::select_interfaces(sockets::list_interfaces(),
                                             attributes_with(options).text(Attribute::interface))),
      acceptor_({server.job_id(), server.secret(), 0, static_cast<int>(options.hosts.size()), peer_timeout_,
                 sockets::Protection::encrypted, sockets::Purpose::hosts},
                sockets::listen_in(sockets::parse_ports(attributes_with(options).text(Attribute::ports)),
                                   sockets::addresses_to_listen_at(
                                       interfaces_, attributes_with(options).text(Attribute::interface))),
                base::Log()) {
  sockets::prepare_greetings();
  for (std::size_t inbox = 0; inbox < inboxes_.size(); ++inbox)
    acceptor_.open(static_cast<std::uint32_t>(inbox), inboxes_[inbox]);
}

RemoteJob::~RemoteJob() = default;

void RemoteJob::start(const Options& options, const SignalState& signals, pid_t front, Output& out,
                      Output& errors, Explanation* explanation) {
  explanation_ = explanation;
  outputs_ = {&out, &errors};
  input_.emplace(front);
  Description common;
  common.version = library_version();
  common.hosts = static_cast<int>(options.hosts.size());
  common.ranks = options.ranks;
  common.job_id = server_.job_id();
  common.secret = server_.secret();
  sockets::Endpoints own{acceptor_.port(), sockets::read_network_namespace(), {}};
  for (const sockets::Interface& each : interfaces_) own.addresses.push_back(each.address);
  common.root = sockets::encode(own);
  common.contact_seconds = contact_seconds_;
  common.peer_timeout = peer_timeout_;
  common.directory = std::filesystem::current_path().string();
  common.program = options.program;
  common.arguments = options.arguments;
  common.environment = variables_for_hosts();
  common.environment.insert(common.environment.end(), options.environment.begin(), options.environment.end());
  common.binding = options.binding;
  common.explains = explanation != nullptr;
  common.signals = signals;
  for (std::size_t number = 0; number < options.hosts.size(); ++number) {
    auto& agent = agents_.emplace_back(std::make_unique<Agent>());
    agent->host = options.hosts[number];
    agent->number = static_cast<int>(number);
    agent->first = static_cast<int>(agent_of_rank_.size());
    for (int local_rank = 0; local_rank < options.ranks_per_host[number]; ++local_rank) {
      const int rank = agent->first + local_rank;
      agent_of_rank_.push_back(agent->number);
      RemoteRank& added = agent->ranks.emplace_back();
      if (explanation != nullptr) added.explain = explanation->open(rank).descriptor;
    }
    common.host = agent->host.name;
    common.number = agent->number;
    common.first = agent->first;
    common.count = options.ranks_per_host[number];
    agent->unsent = to_line(common);
    agent->contact = base::Deadline(contact_seconds_);
    try {
      const std::vector<std::string> command = agent_command(agent->host.name, options.launcher_exec);
      agent->command = fmt::format("{}", fmt::join(command, " "));
      agent->started = start_agent(command);
    } catch (const Error& error) {
      give_up(*agent, kNotExecutable, error.what());
    }
  }
}

RemoteJob::Agent& RemoteJob::agent_of(int rank) {
  return *agents_[static_cast<std::size_t>(agent_of_rank_[static_cast<std::size_t>(rank)])];
}

const std::string& RemoteJob::host_of(int rank) const {
  return agents_[static_cast<std::size_t>(agent_of_rank_[static_cast<std::size_t>(rank)])]->host.name;
}

std::optional<RemoteEvent> RemoteJob::take_event() {
  if (events_.empty()) return std::nullopt;
  RemoteEvent next = std::move(events_.front());
  events_.pop_front();
  return next;
}

bool RemoteJob::may_read_input() const {
  return input_ && !input_is_stopped_ && may_send_input_ && !has_sent_all_input_ && !agents_.empty() &&
         agents_.front()->link != nullptr;
}

void RemoteJob::add_waits(std::vector<pollfd>& waits) {
  const auto events_of = [](const FrameLink& link) {
    return static_cast<short>(link.wants_room() ? POLLIN | POLLOUT : POLLIN);
  };
  waits.push_back({acceptor_.descriptor(), POLLIN, 0});
  for (const sockets::Inbox& inbox : inboxes_) waits.push_back({inbox.descriptor(), POLLIN, 0});
  for (const auto& agent : agents_) {
    if (agent->started.output) waits.push_back({agent->started.output.get(), POLLIN, 0});
    if (!agent->unsent.empty() && agent->started.input)
      waits.push_back({agent->started.input.get(), POLLOUT, 0});
    if (agent->bootstrap != nullptr && !agent->bootstrap->link().has_ended())
      waits.push_back({agent->bootstrap->link().descriptor(), events_of(agent->bootstrap->link()), 0});
    if (agent->link != nullptr && !agent->link->has_ended())
      waits.push_back({agent->link->descriptor(), events_of(*agent->link), 0});
    for (const RemoteRank& rank : agent->ranks)
      if (rank.explain && agent->link != nullptr) waits.push_back({rank.explain.get(), POLLIN, 0});
  }
  if (may_read_input()) waits.push_back({input_->descriptor(), POLLIN, 0});
}

void RemoteJob::signal_all(int signal) {
  const auto bytes = std::as_bytes(std::span(&signal, 1));
  for (const auto& agent : agents_)
    if (agent->link != nullptr)
      agent->link->send({static_cast<std::uint32_t>(JobFrame::signal), 0, 0, 0}, bytes);
}

void RemoteJob::signal_rank(int rank, int signal) {
  const auto bytes = std::as_bytes(std::span(&signal, 1));
  if (FrameLink* const link = agent_of(rank).link.get(); link != nullptr)
    link->send({static_cast<std::uint32_t>(JobFrame::signal), 1, rank, 0}, bytes);
}

void RemoteJob::finish() {
  for (const auto& agent : agents_) {
    if (agent->link != nullptr) agent->link->send({static_cast<std::uint32_t>(JobFrame::finish), 0, 0, 0});
    // Those that are not connected yet end when they find this closed.
    if (!agent->is_joined()) agent->started.input.close();
  }
}

bool RemoteJob::has_finished() const {
  return std::all_of(agents_.begin(), agents_.end(), [](const auto& each) {
    const bool has_output = std::any_of(each->arrived.begin(), each->arrived.end(),
                                        [](const Arrived& stream) { return !stream.pieces.empty(); });
    return !has_output && (each->is_lost || !each->is_joined() || each->link->has_ended());
  });
}

}  // namespace weft::tools::run
