# Finds libfabric through pkg-config where there is one, else in the usual places: Libfabric::libfabric.

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(Libfabric_PC QUIET libfabric)
endif()
find_path(Libfabric_INCLUDE_DIR rdma/fabric.h HINTS ${Libfabric_PC_INCLUDE_DIRS})
find_library(Libfabric_LIBRARY fabric HINTS ${Libfabric_PC_LIBRARY_DIRS})
mark_as_advanced(Libfabric_INCLUDE_DIR Libfabric_LIBRARY)
set(Libfabric_VERSION "${Libfabric_PC_VERSION}")

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libfabric REQUIRED_VARS Libfabric_LIBRARY Libfabric_INCLUDE_DIR VERSION_VAR Libfabric_VERSION)

if(Libfabric_FOUND AND NOT TARGET Libfabric::libfabric)
  add_library(Libfabric::libfabric UNKNOWN IMPORTED)
  set_target_properties(Libfabric::libfabric PROPERTIES
    IMPORTED_LOCATION "${Libfabric_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${Libfabric_INCLUDE_DIR}")
endif()
