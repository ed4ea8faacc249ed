# The parcelports that exist to compare with (tools/study/parcelports): over plain sockets, over MPI, and over weft in the forms of the
# paper. Built where something links it: `weft study`, Task Bench, tests.

file(GLOB_RECURSE weft_parcelport_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/study/parcelports/*.cpp")
find_path(WEFT_ASIO_INCLUDE_DIR asio.hpp)
if(WEFT_ASIO_INCLUDE_DIR)
  list(FILTER weft_parcelport_sources EXCLUDE REGEX "/tcp/tcp_none\\.cpp$")
else()
  list(FILTER weft_parcelport_sources EXCLUDE REGEX "/tcp/tcp_(port|reader|writer|sockets|connector)\\.cpp$")
endif()
# A shared libweft hides what its network tcp and the port tcp have in common: then both have it.
set(weft_parcelport_shares)
if(BUILD_SHARED_LIBS)
  foreach(name sockets/addresses sockets/tcp_socket base/descriptor base/text/parse base/system_call base/host/host)
    list(APPEND weft_parcelport_shares "${PROJECT_SOURCE_DIR}/src/${name}.cpp")
  endforeach()
endif()
add_library(weft_parcelports STATIC EXCLUDE_FROM_ALL ${weft_parcelport_sources} ${weft_parcelport_shares})
weft_target_defaults(weft_parcelports)
target_include_directories(weft_parcelports PUBLIC "${PROJECT_SOURCE_DIR}/tools" PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(weft_parcelports PUBLIC weft-parcel PRIVATE Sodium::sodium ${CMAKE_DL_LIBS})
