# Libraries of actions, which library_rank loads; what they need of weft they find in the program.
foreach(answer one other)
  add_library(test-parcel-library-${answer} MODULE "${CMAKE_CURRENT_SOURCE_DIR}/multiprocess/parcel/libraries/action_library.cpp")
  weft_target_defaults(test-parcel-library-${answer})
  target_compile_definitions(test-parcel-library-${answer} PRIVATE "ACTION_ANSWER=\"${answer}\"")
  target_include_directories(test-parcel-library-${answer} PRIVATE "${PROJECT_SOURCE_DIR}/include")
  target_compile_features(test-parcel-library-${answer} PRIVATE cxx_std_20)
  set_target_properties(test-parcel-library-${answer} PROPERTIES PREFIX "" OUTPUT_NAME "parcel_library_${answer}"
    LIBRARY_OUTPUT_DIRECTORY "${WEFTDEV_TEST_BIN_DIR}")
endforeach()
set_target_properties(test-program-library_rank PROPERTIES ENABLE_EXPORTS ON)
target_link_libraries(test-program-parcel_rank PRIVATE weft_parcelports)
