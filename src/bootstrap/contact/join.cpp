#include "bootstrap/contact/join.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "bootstrap/contact/card.hpp"
#include "bootstrap/contact/host_service.hpp"
#include "bootstrap/in_process/hub.hpp"
#include "bootstrap/job_id.hpp"
#include "bootstrap/launchers/environment/environment.hpp"
#include "bootstrap/launchers/job_secret.hpp"
#include "bootstrap/launchers/mpi/mpi.hpp"
#include "bootstrap/launchers/pmi1/pmi1.hpp"
#include "bootstrap/launchers/pmix/pmix.hpp"
#include "bootstrap/local/client.hpp"
#include "bootstrap/local/socket.hpp"
#include "bootstrap/single/single.hpp"
#include "sockets/tcp_socket.hpp"

namespace weft::bootstrap::contact {

namespace {

using base::Attribute;

constexpr double kToTell = 5.0;  // seconds in which a host that cannot join tells why

std::unique_ptr<Contact> make_contact(Method method, const base::Attributes& attributes) {
  const auto job_or = [&](auto job, const char* what) {
    if (!job.has_value()) throw Error(ErrorClass::job, std::string("WEFT_BOOTSTRAP: ") + what);
    job->interfaces = attributes.text(Attribute::interface);
    return join_environment(*std::move(job));
  };
  switch (method) {
    case Method::pmi1:
      return join_pmi1();
    case Method::pmix:
      return join_pmix();
    case Method::mpi:
      return join_mpi();
    case Method::environment:
      return job_or(job_of_torchrun(), "RANK and WORLD_SIZE are not set");
    case Method::srun:
      return job_or(job_of_srun(), "SLURM_PROCID and SLURM_NTASKS tell of no job step of several tasks");
    case Method::alone:
      break;
  }
  return nullptr;
}

/// Of this process in the job of its launcher.
class Membership {
 public:
  Membership(const Choice& choice, const base::Attributes& attributes)
      : contact_(make_contact(choice.method, attributes)),
        timeout_(attributes.seconds(Attribute::bootstrap_timeout)) {
    if (contact_ == nullptr || contact_->size() == 1) return;
    const base::Deadline deadline(timeout_);
    sockets::prepare_greetings();
    pair_ = sockets::make_key_pair();
    sockets::Listener listener;
    const std::vector<Card> cards = check_cards(contact_->exchange(own_card(attributes, listener), deadline));
    const std::vector<std::int32_t> hosts = hosts_of(cards);
    const std::int32_t host = hosts[static_cast<std::size_t>(contact_->rank())];
    const int leader = static_cast<int>(std::find(hosts.begin(), hosts.end(), host) - hosts.begin());
    job_.id = cards.front().job_id;
    job_.rank = contact_->rank();
    job_.size = contact_->size();
    job_.served_by = leader;
    // The id is random: nobody else has this name, and every host of one kernel has its own.
    job_.socket_name = "weft-" + job_.id + "-" + std::to_string(host);
    std::string fault;
    try {
      if (leader == job_.rank) service_ = make_service(attributes, cards, hosts, host, std::move(listener));
    } catch (const Error& error) {
      fault = error.what();
    }
    agree_on_hosts(hosts, fault);
    await_service(deadline, cards[static_cast<std::size_t>(leader)].host_name, leader);
  }

  [[nodiscard]] bool is_alone() const { return job_.size <= 1; }
  [[nodiscard]] std::unique_ptr<Bootstrap> join(std::string_view name) const {
    return join_local(job_, timeout_, name);
  }

 private:
  /// What this rank tells the others; when it cannot join, why.
  [[nodiscard]] std::vector<std::byte> own_card(const base::Attributes& attributes,
                                                sockets::Listener& listener) const try {
    Card card = make_card(pair_.known_to_all);
    if (contact_->rank() == 0) {
      const std::string_view filter = attributes.text(Attribute::interface);
      const auto interfaces = sockets::select_interfaces(sockets::list_interfaces(), filter);
      listener = sockets::listen_in(sockets::parse_ports(attributes.text(Attribute::ports)),
                                    sockets::addresses_to_listen_at(interfaces, filter));
      sockets::Endpoints own{listener.port, sockets::read_network_namespace(), {}};
      for (const sockets::Interface& each : interfaces) own.addresses.push_back(each.address);
      card.addresses = sockets::encode(own);
    }
    return encode(card);
  } catch (const Error& error) {
    return encode_fault(error.what());
  }

  /// All hosts are connected with that of rank 0, or all ranks learn which are not, and why.
  void agree_on_hosts(const std::vector<std::int32_t>& hosts, const std::string& fault) const {
    std::vector<int> leaders;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank)
      if (static_cast<std::size_t>(hosts[rank]) == leaders.size()) leaders.push_back(static_cast<int>(rank));
    std::string all;
    if (leaders.size() == 1) {
      all = fault;
      contact_->end_exchanges();
    } else {
      for (const std::string& each : contact_->report(leaders, fault, base::Deadline(timeout_ + kToTell)))
        if (!each.empty()) all += (all.empty() ? "" : "; ") + each;
    }
    if (all.empty()) return;
    if (service_ != nullptr) service_->give_up();
    throw Error(ErrorClass::job, all);
  }

  std::unique_ptr<HostService> make_service(const base::Attributes& attributes,
                                            const std::vector<Card>& cards,
                                            const std::vector<std::int32_t>& hosts, std::int32_t host,
                                            sockets::Listener listener) const {
    ServedJob served{job_.id,
                     {},
                     links_with(cards, hosts, host),
                     job_.size,
                     hosts,
                     {},
                     host,
                     job_.socket_name,
                     timeout_,
                     attributes.seconds(Attribute::peer_timeout)};
    for (std::size_t rank = 0; rank < cards.size(); ++rank)
      if (static_cast<std::size_t>(hosts[rank]) == served.host_names.size())
        served.host_names.push_back(cards[rank].host_name);
    if (host != 0) return serve_host(std::move(served), cards.front());
    served.secret = random_secret();
    return serve_job(std::move(served), std::move(listener));
  }

  /// The secrets between rank 0 and the lowest ranks of the other hosts, as far as this rank is one of them.
  std::vector<sockets::Key> links_with(const std::vector<Card>& cards, const std::vector<std::int32_t>& hosts,
                                       std::int32_t host) const {
    std::vector<sockets::Key> links(static_cast<std::size_t>(*std::max_element(hosts.begin(), hosts.end())) +
                                    1);
    links.front() = random_secret();  // nobody else comes for the host of rank 0
    if (host != 0) links[static_cast<std::size_t>(host)] = secret_of_host(pair_, cards[0].key, job_.id);
    std::size_t next = 1;
    for (std::size_t rank = 0; host == 0 && rank < cards.size(); ++rank)
      if (static_cast<std::size_t>(hosts[rank]) == next)
        links[next++] = secret_of_host(pair_, cards[rank].key, job_.id);
    return links;
  }

  /// The service begins a moment after the exchange.
  void await_service(const base::Deadline& deadline, const std::string& host, int leader) const {
    for (;;) {
      try {
        static_cast<void>(local::connect_abstract(job_.socket_name));
        return;
      } catch (const Error&) {
        if (deadline.passed())
          throw Error(ErrorClass::job, "rank " + std::to_string(leader) + " on " + host +
                                           ", which serves the ranks of its host, cannot be "
                                           "reached within the time limit (WEFT_BOOTSTRAP_TIMEOUT)");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  // Ends after the service: the launcher is told last.
  std::unique_ptr<Contact> contact_;
  const double timeout_;
  sockets::KeyPair pair_;
  LocalJob job_;
  std::unique_ptr<HostService> service_;
};

/// The first runtime joins; all later ones are of the same job. A failure is final.
const Membership& membership_of_process(const Choice& choice, const base::Attributes& attributes) {
  static std::mutex mutex;
  static std::unique_ptr<Membership> membership;
  static std::string failure;
  const std::lock_guard lock(mutex);
  if (membership == nullptr && failure.empty()) {
    try {
      membership = std::make_unique<Membership>(choice, attributes);
    } catch (const Error& error) {
      failure = std::string(error.what()) + " [" + name_of(choice.method) + ": " + choice.why + "]";
    }
  }
  if (!failure.empty()) throw Error(ErrorClass::job, failure);
  return *membership;
}

}  // namespace

std::unique_ptr<Bootstrap> join(const Choice& choice, const base::Attributes& attributes,
                                std::string_view name) {
  const double timeout = attributes.seconds(Attribute::bootstrap_timeout);
  if (choice.method != Method::alone) {
    const Membership& membership = membership_of_process(choice, attributes);
    if (!membership.is_alone()) return membership.join(name);
  }
  return join_alone(Hub{1, timeout}.join(0, name));
}

}  // namespace weft::bootstrap::contact
