# Applications: clients of the public interface only.

weft_find(ZLIB zlib1g-dev WEFT_BUILD_APPS)
weft_find(tsl-robin-map robin-map-dev WEFT_BUILD_APPS)

weft_add_program(weft-kmer weft-kmer kmer_core "${PROJECT_SOURCE_DIR}/apps/kmer")
target_link_libraries(kmer_core PUBLIC weft_tools_common ZLIB::ZLIB tsl::robin_map)
target_include_directories(kmer_core PUBLIC "${PROJECT_SOURCE_DIR}/apps" "${PROJECT_SOURCE_DIR}/apps/kmer")
