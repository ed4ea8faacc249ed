# cmake --install: library, public headers, programs, CMake package, pkg-config files, licence, documents and examples.

include(CMakePackageConfigHelpers)
set(weft_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/weft")

install(TARGETS weft weft-parcel EXPORT weftTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/weft" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
# The launcher is a component of its own, which weft-mpi is installed with (bindings/mpi/python).
foreach(program weft-command weft-perf weft-study weft-kmer)
  if(TARGET ${program} AND program STREQUAL "weft-command")
    install(TARGETS ${program} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT launcher)
  elseif(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endforeach()

# As in the source tree, so that the links between the documents lead somewhere. The folder of a project that has weft as a
# part is named after that project.
set(weft_doc_dir "${CMAKE_INSTALL_DOCDIR}")
if(NOT PROJECT_IS_TOP_LEVEL)
  set(weft_doc_dir "${CMAKE_INSTALL_DATADIR}/doc/weft")
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/CHANGELOG.md" "${PROJECT_SOURCE_DIR}/SECURITY.md"
  "${PROJECT_SOURCE_DIR}/CONTRIBUTING.md" DESTINATION "${weft_doc_dir}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION "${weft_doc_dir}"
  FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${weft_doc_dir}"
  FILES_MATCHING PATTERN "*.cpp" PATTERN "*.md" PATTERN "CMakeLists.txt")

install(EXPORT weftTargets NAMESPACE weft:: DESTINATION "${weft_package_dir}")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/weftConfig.cmake.in" "${PROJECT_BINARY_DIR}/package/weftConfig.cmake"
  INSTALL_DESTINATION "${weft_package_dir}")
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/weftConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/package/weftConfig.cmake"
  "${PROJECT_BINARY_DIR}/package/weftConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindHwloc.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindLibfabric.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindSodium.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindBoostContext.cmake"
  DESTINATION "${weft_package_dir}")

# A static library needs its dependencies at every link, a shared one only when somebody links it statically.
file(RELATIVE_PATH weft_pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" weft_pc_prefix "${weft_pc_prefix}")
set(weft_pc_system "${CMAKE_THREAD_LIBS_INIT}")
if(NOT weft_pc_system)
  set(weft_pc_system -pthread)
endif()
foreach(library IN LISTS CMAKE_DL_LIBS)
  string(APPEND weft_pc_system " -l${library}")
endforeach()
if(BUILD_SHARED_LIBS)
  set(weft_pc_libs "Libs: -L\${libdir} -lweft\nLibs.private: ${weft_pc_system}")
  set(weft_pc_requires "Requires.private:")
else()
  set(weft_pc_libs "Libs: -L\${libdir} -lweft ${weft_pc_system}")
  set(weft_pc_requires "Requires:")
endif()
if(WEFT_HAVE_HWLOC)
  string(APPEND weft_pc_requires " hwloc")
endif()
string(APPEND weft_pc_requires " libsodium")
# Boost has no files for pkg-config.
set(weft_parcel_pc_libs "Libs: -L\${libdir} -lweft-parcel -lboost_context")
if(BUILD_SHARED_LIBS)
  set(weft_parcel_pc_libs "Libs: -L\${libdir} -lweft-parcel\nLibs.private: -lboost_context")
endif()
foreach(name weft weft-parcel)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in" "${PROJECT_BINARY_DIR}/package/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/package/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()
