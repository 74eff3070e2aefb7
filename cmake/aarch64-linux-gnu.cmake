# SPDX-License-Identifier: Apache-2.0
# Toolchain: 64-bit ARM by Debian's cross compiler. SELION_SYSROOT is a folder with that
# processor's Debian, and the packages of scripts/setup/apt-packages.txt in it; programs run under
# qemu. scripts/ci/other-processor makes and uses all of it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_SYSROOT ${SELION_SYSROOT})
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SELION_SYSROOT)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${SELION_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${SELION_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${SELION_SYSROOT}/usr/share/pkgconfig)
