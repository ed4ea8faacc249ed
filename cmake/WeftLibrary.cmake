# The library (weft, alias weft::weft), and weft_internal: the same code with its private headers, for tests and tools.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

file(GLOB_RECURSE weft_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.cpp")
list(FILTER weft_sources EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/src/parcel/")
file(GLOB_RECURSE weft_parcel_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/parcel/*.cpp")
file(GLOB_RECURSE weft_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/*.hpp")

# An absent feature is a stub file: one of the two sources implements read_topology().
set(WEFT_HAVE_HWLOC OFF)
if(NOT WEFT_WITH_HWLOC MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "WEFT_WITH_HWLOC is '${WEFT_WITH_HWLOC}'; it must be AUTO, ON or OFF")
endif()
if(NOT WEFT_WITH_HWLOC STREQUAL "OFF")
  find_package(Hwloc QUIET)
  if(Hwloc_FOUND)  # which is empty where the package is disabled
    set(WEFT_HAVE_HWLOC ON)
  endif()
endif()
if(WEFT_WITH_HWLOC STREQUAL "ON" AND NOT WEFT_HAVE_HWLOC)
  message(FATAL_ERROR "hwloc was not found: install libhwloc-dev, or configure with -DWEFT_WITH_HWLOC=OFF")
endif()
if(WEFT_HAVE_HWLOC)
  list(FILTER weft_sources EXCLUDE REGEX "/base/host/topology_none\\.cpp$")
else()
  list(FILTER weft_sources EXCLUDE REGEX "/base/host/topology_hwloc\\.cpp$")
endif()

# Likewise the kind of processor.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  list(FILTER weft_sources EXCLUDE REGEX "/base/host/processor_none\\.cpp$")
else()
  list(FILTER weft_sources EXCLUDE REGEX "/base/host/processor_x86_64\\.cpp$")
endif()

# Likewise everything in src/network/ofi but ofi_none.cpp.
set(WEFT_HAVE_OFI OFF)
if(NOT WEFT_WITH_OFI MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "WEFT_WITH_OFI is '${WEFT_WITH_OFI}'; it must be AUTO, ON or OFF")
endif()
if(NOT WEFT_WITH_OFI STREQUAL "OFF")
  find_package(Libfabric 1.17 QUIET)
  if(Libfabric_FOUND)
    set(WEFT_HAVE_OFI ON)
  endif()
endif()
if(WEFT_WITH_OFI STREQUAL "ON" AND NOT WEFT_HAVE_OFI)
  message(FATAL_ERROR "libfabric 1.17 or later was not found: install libfabric-dev, or configure with -DWEFT_WITH_OFI=OFF")
endif()
if(WEFT_HAVE_OFI)
  list(FILTER weft_sources EXCLUDE REGEX "/network/ofi/ofi_none\\.cpp$")
else()
  set(weft_ofi_none "${PROJECT_SOURCE_DIR}/src/network/ofi/ofi_none.cpp")
  list(FILTER weft_sources EXCLUDE REGEX "/network/ofi/")
  list(APPEND weft_sources "${weft_ofi_none}")
endif()

# Likewise everything in src/network/ibv but ibv_none.cpp.
set(WEFT_HAVE_IBV OFF)
if(NOT WEFT_WITH_IBV MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "WEFT_WITH_IBV is '${WEFT_WITH_IBV}'; it must be AUTO, ON or OFF")
endif()
if(NOT WEFT_WITH_IBV STREQUAL "OFF")
  find_package(Verbs QUIET)
  if(Verbs_FOUND)
    set(WEFT_HAVE_IBV ON)
  endif()
endif()
if(WEFT_WITH_IBV STREQUAL "ON" AND NOT WEFT_HAVE_IBV)
  message(FATAL_ERROR "libibverbs was not found: install libibverbs-dev, or configure with -DWEFT_WITH_IBV=OFF")
endif()
if(WEFT_HAVE_IBV)
  list(FILTER weft_sources EXCLUDE REGEX "/network/ibv/ibv_none\\.cpp$")
else()
  set(weft_ibv_none "${PROJECT_SOURCE_DIR}/src/network/ibv/ibv_none.cpp")
  list(FILTER weft_sources EXCLUDE REGEX "/network/ibv/")
  list(APPEND weft_sources "${weft_ibv_none}")
endif()

find_package(Sodium QUIET)
if(NOT Sodium_FOUND)
  message(FATAL_ERROR "libsodium was not found, with which ranks prove to each other that they belong to a job: install libsodium-dev")
endif()

# The kernel's header of TCP, which it reads, and the C library's exclude each other.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/sockets/silence.cpp" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

function(weft_configure_library target)
  weft_target_defaults(${target})
  weft_compile_together(${target} 16)
  weft_precompile(${target})
  # What is inlined depends on callers and callees alone, not on what else is compiled together with them: g++ stops when a
  # large unit has grown by 40 %, and then takes up to a fifth more instructions for a message (tests/budget counts them).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE "SHELL:--param inline-unit-growth=10000")
  endif()
  # Its headers are C++20. What links it PRIVATE keeps that from its own clients (docs/decisions/029-*.md).
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE "${PROJECT_SOURCE_DIR}/src")
  # The data path reads thread-local lane and magazine indices; initial-exec makes that one instruction in a shared
  # library too, and the few words fit the reserve that glibc keeps for libraries opened later.
  target_compile_options(${target} PRIVATE -ftls-model=initial-exec)
  target_link_libraries(${target} PUBLIC Threads::Threads)
  if(WEFT_HAVE_HWLOC)
    target_link_libraries(${target} PRIVATE Hwloc::hwloc)
  endif()
  target_link_libraries(${target} PRIVATE Sodium::sodium)
  if(WEFT_HAVE_OFI)
    # Only its headers: it is opened when it is first used.
    target_include_directories(${target} PRIVATE "${Libfabric_INCLUDE_DIR}")
    target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
  endif()
  if(WEFT_HAVE_IBV)
    target_include_directories(${target} SYSTEM PRIVATE "${Verbs_INCLUDE_DIR}")
    target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
  endif()
endfunction()

add_library(weft ${weft_sources} ${weft_headers})
add_library(weft::weft ALIAS weft)
weft_configure_library(weft)
set_target_properties(weft PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# A shared libweft hides what is not public, so tests and tools link a static twin of it.
if(BUILD_SHARED_LIBS)
  add_library(weft_internal STATIC EXCLUDE_FROM_ALL ${weft_sources})
  weft_configure_library(weft_internal)
  target_include_directories(weft_internal PUBLIC "${PROJECT_SOURCE_DIR}/src")
else()
  add_library(weft_internal INTERFACE)
  target_link_libraries(weft_internal INTERFACE weft)
  target_include_directories(weft_internal INTERFACE "${PROJECT_SOURCE_DIR}/src")
endif()

# The task-runtime layer, a client of the library's public interface: weft-parcel, alias weft::parcel.
add_library(weft-parcel ${weft_parcel_sources})
add_library(weft::parcel ALIAS weft-parcel)
weft_target_defaults(weft-parcel)
weft_precompile(weft-parcel)
target_include_directories(weft-parcel PRIVATE "${PROJECT_SOURCE_DIR}/src")
find_package(BoostContext QUIET)
if(NOT BoostContext_FOUND)
  message(FATAL_ERROR "Boost.Context was not found, which switches between the stacks of tasks: install libboost-context-dev")
endif()
target_link_libraries(weft-parcel PUBLIC weft PRIVATE BoostContext::context)
set_target_properties(weft-parcel PROPERTIES EXPORT_NAME parcel
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
