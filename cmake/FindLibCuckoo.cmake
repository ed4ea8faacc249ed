# libcuckoo is header-only: LibCuckoo::libcuckoo.

find_path(LibCuckoo_INCLUDE_DIR libcuckoo/cuckoohash_map.hh)
mark_as_advanced(LibCuckoo_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibCuckoo REQUIRED_VARS LibCuckoo_INCLUDE_DIR)

if(LibCuckoo_FOUND AND NOT TARGET LibCuckoo::libcuckoo)
  add_library(LibCuckoo::libcuckoo INTERFACE IMPORTED)
  set_target_properties(LibCuckoo::libcuckoo PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${LibCuckoo_INCLUDE_DIR}")
endif()
