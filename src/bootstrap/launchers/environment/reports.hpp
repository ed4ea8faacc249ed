// The second exchange of ranks that know nothing but where rank 0 is, over the connections of the first.
//
//   rank                               rank 0
//   Report (text), sealed         -->       of the ranks that report
//                                 <--  the reports of all of them, sealed
#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "sockets/key_derivation.hpp"

namespace weft::bootstrap::contact {

/// A connection whose first exchange has proved who is at its ends, and from whose key those of the second
/// come.
struct Met {
  base::Descriptor socket;
  sockets::Key key{};
};
using Connections = std::vector<Met>;

/// Rank 0. A rank that does not report in time, or that ends before all have reported, has a report that says
/// so. `connections`: by rank.
std::vector<std::string> gather_reports(const Connections& connections, const std::vector<int>& from,
                                        const std::string& own, const base::Deadline& deadline);
/// The others. Throws weft::Error when rank 0 ends meanwhile, or tells nothing in time.
std::vector<std::string> bring_report(const Met& connection, int rank, const std::vector<int>& from,
                                      const std::string& own, const base::Deadline& deadline);

}  // namespace weft::bootstrap::contact
