// What the process has of a kind.
#pragma once

#include <mutex>
#include <vector>

namespace lci {

/// All objects of a type, and the mutex under which they enter and leave. Never destroyed: threads and
/// objects of the program may end after everything else.
template <class Type>
struct ProcessList {
  std::mutex mutex;
  std::vector<Type*> all;
  [[nodiscard]] static ProcessList& get() {
    static ProcessList& only = *new ProcessList;
    return only;
  }
};

}  // namespace lci
