// The bootstrap of a job that `weft run` has not started: the lowest rank of each host serves the ranks of
// its host, in a thread of its process, and rank 0 all of them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.hpp"
#include "bootstrap/contact/card.hpp"
#include "sockets/acceptor.hpp"

namespace weft::bootstrap::contact {

/// What the service of a host must know of the job.
struct ServedJob {
  std::string id;
  Secret secret{};                  // that its ranks are told; rank 0 makes it
  std::vector<sockets::Key> links;  // the secrets between rank 0 and the hosts, as far as this rank knows
  int size = 1;
  std::vector<std::int32_t> host_of;  // by rank
  std::vector<std::string> host_names;
  int host = 0;             // whose ranks are served
  std::string socket_name;  // by which they find the service
  double contact_seconds = 30;
  double peer_timeout = 20;
};

class HostService {
 public:
  virtual ~HostService() = default;
  /// The job has not come about: nobody is waited for.
  virtual void give_up() = 0;
};

/// Of rank 0. `listener`: where the services of other hosts connect; unused when there is one host. Throws
/// weft::Error. The destructor waits until all ranks have left.
std::unique_ptr<HostService> serve_job(ServedJob job, sockets::Listener listener);
/// Of the lowest rank of another host, which connects to rank 0. Throws weft::Error. The destructor waits
/// until the ranks of the host have left.
std::unique_ptr<HostService> serve_host(ServedJob job, const Card& root);

}  // namespace weft::bootstrap::contact
