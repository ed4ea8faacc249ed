#include "bindings/mpi/check/finding.hpp"

#include "bindings/mpi/callers/place.hpp"
#include "bindings/mpi/communicators/report.hpp"

#include <cstdarg>
#include <cstdio>

namespace weft::mpi {

bool is_checked = false;

std::string described(const CallSite& site) {
  const std::string place = described(place_of(site.caller));
  return site.call + (place.empty() ? "" : " at " + place);
}

void end_with_finding(const CallSite& site, const Communicator* communicator, int code, const char* format,
                      ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  end_job(code, "weft-mpi: rank " + std::to_string(own_world_rank) + ": " + described(site) +
                    (communicator != nullptr ? " on " + communicator->described() : "") + ": " + text + " (" +
                    name_of_class(code) + ", found by WEFT_MPI_CHECK)");
}

}  // namespace weft::mpi
