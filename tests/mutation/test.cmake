# The whole build once more, with faults, and then the tests of each; it has the machine for itself.
set_tests_properties(mutation/planted_soak_test PROPERTIES TIMEOUT 14400 RUN_SERIAL ON)
