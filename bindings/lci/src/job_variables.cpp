#include "job_variables.hpp"

#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>

namespace lci {

void use_job_variables() {
  static std::once_flag once;
  std::call_once(once, [] {
    const char* const backend = std::getenv("LCT_PMI_BACKEND");
    if (backend == nullptr || std::string_view(backend) != "tcp") return;
    for (const char* const prefix : {"LCT", "LCI"}) {
      const char* const host = std::getenv((std::string(prefix) + "_MASTER_ADDR").c_str());
      const char* const port = std::getenv((std::string(prefix) + "_MASTER_PORT").c_str());
      if (host == nullptr || port == nullptr) continue;
      setenv("MASTER_ADDR", host, 1);
      setenv("MASTER_PORT", port, 1);
      return;
    }
  });
}

}  // namespace lci
