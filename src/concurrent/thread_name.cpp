#include "concurrent/thread_name.hpp"

#include <pthread.h>

#include <array>
#include <cstdio>

namespace weft::concurrent {

std::string name_of_thread(std::uintptr_t mark) {
  std::array<char, 32> name{};
  if (pthread_getname_np(static_cast<pthread_t>(mark), name.data(), name.size()) != 0) name[0] = '\0';
  std::array<char, 64> text{};
  static_cast<void>(std::snprintf(text.data(), text.size(), "'%s' (0x%llx)", name.data(),
                                  static_cast<unsigned long long>(mark)));
  return text.data();
}

}  // namespace weft::concurrent
