// The second exchange of ranks that know nothing but where rank 0 is, over the connections of the first.
//
//   rank                               rank 0
//   Report (text)                 -->       of the ranks that report
//                                 <--  the reports of all of them
#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"

namespace weft::bootstrap::contact {

using Connections = std::vector<base::Descriptor>;

/// Rank 0. A rank that does not report in time, or that ends before all have reported, has a report that says
/// so. `connections`: by rank.
std::vector<std::string> gather_reports(const Connections& connections, const std::vector<int>& from,
                                        const std::string& own, const base::Deadline& deadline);
/// The others. Throws weft::Error when rank 0 ends meanwhile, or tells nothing in time.
std::vector<std::string> bring_report(const base::Descriptor& connection, int rank,
                                      const std::vector<int>& from, const std::string& own,
                                      const base::Deadline& deadline);

}  // namespace weft::bootstrap::contact
