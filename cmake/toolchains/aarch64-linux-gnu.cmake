# A cross build for aarch64 with Debian's g++-aarch64-linux-gnu, whose programs qemu-user runs here. The libraries that are
# linked are those of Debian packages for arm64, unpacked in WEFT_CROSS_PACKAGES (cmake/toolchains/fetch_packages.sh).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

set(WEFT_CROSS_PACKAGES "${CMAKE_CURRENT_LIST_DIR}/../../build/packages-arm64" CACHE PATH "Debian packages for arm64, unpacked")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WEFT_CROSS_PACKAGES)
set(CMAKE_FIND_ROOT_PATH "${WEFT_CROSS_PACKAGES}" /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
