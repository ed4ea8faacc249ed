# Sanitizers apply to all targets of the tree at once: a mixture would report nonsense.

if(WEFT_SANITIZE STREQUAL "asan")
  set(weft_sanitizer_flags -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(WEFT_SANITIZE STREQUAL "tsan")
  set(weft_sanitizer_flags -fsanitize=thread)
elseif(WEFT_SANITIZE STREQUAL "ubsan")
  set(weft_sanitizer_flags -fsanitize=undefined -fno-sanitize-recover=all)
elseif(WEFT_SANITIZE)
  message(FATAL_ERROR "WEFT_SANITIZE is '${WEFT_SANITIZE}'; it must be empty, asan, tsan or ubsan")
endif()

# A build for fuzzing instruments every target, too: libFuzzer sees which ways its inputs take through the library itself.
if(WEFT_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "WEFT_FUZZ needs clang, and the compiler is ${CMAKE_CXX_COMPILER}: ./dev fuzz builds, or configure with -DCMAKE_CXX_COMPILER=clang++-16")
  endif()
  if(WEFT_SANITIZE)
    message(FATAL_ERROR "WEFT_FUZZ brings AddressSanitizer and UBSan along; WEFT_SANITIZE is '${WEFT_SANITIZE}' and must be empty then")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()

if(WEFT_SANITIZE)
  add_compile_options(${weft_sanitizer_flags})
  add_link_options(${weft_sanitizer_flags})
endif()
if(WEFT_SANITIZE STREQUAL "tsan" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-tsan)  # GCC warns of every fence; the tests say where one matters
endif()
# What flow-based warnings of GCC 12 say of instrumented or little optimised code is misleading; the library's release build
# keeps them.
set(weft_misled_warnings)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(weft_misled_warnings
    -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(WEFT_SANITIZE)
  add_compile_options(${weft_misled_warnings})
endif()
