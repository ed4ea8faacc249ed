# Applications: clients of the public interface only.

weft_find(CLI11 libcli11-dev WEFT_BUILD_APPS)
weft_find(fmt libfmt-dev WEFT_BUILD_APPS)
weft_find(nlohmann_json nlohmann-json3-dev WEFT_BUILD_APPS)
weft_find(ZLIB zlib1g-dev WEFT_BUILD_APPS)
weft_find(tsl-robin-map robin-map-dev WEFT_BUILD_APPS)

weft_add_program(weft-kmer weft-kmer kmer_core "${PROJECT_SOURCE_DIR}/apps/kmer")
get_target_property(weft_core_type kmer_core TYPE)
set(weft_core_scope PUBLIC)
if(weft_core_type STREQUAL "INTERFACE_LIBRARY")
  set(weft_core_scope INTERFACE)
endif()
target_link_libraries(kmer_core ${weft_core_scope} weft::weft CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json
  ZLIB::ZLIB tsl::robin_map)
target_include_directories(kmer_core ${weft_core_scope} "${PROJECT_SOURCE_DIR}/apps" "${PROJECT_SOURCE_DIR}/apps/kmer"
  "${PROJECT_SOURCE_DIR}/tools")
# What the applications share with the weft command.
file(GLOB_RECURSE weft_common_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/common/*.cpp")
target_sources(kmer_core PRIVATE ${weft_common_sources})
