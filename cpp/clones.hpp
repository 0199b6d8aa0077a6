// SPDX-License-Identifier: Apache-2.0
#pragma once

// One copy of each function for each instruction set, chosen when the library is loaded. Not under
// sanitizers: the choice runs before their run-time is ready. Nor where TADABOOST_ONE_COPY says so, to count
// instructions that do not depend on the processor.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__gnu_linux__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(TADABOOST_ONE_COPY)
#define TADA_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define TADA_CLONES
#endif

// Whether code with AVX2 instructions by name may stand beside plain code, for machines that have them.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(TADABOOST_ONE_COPY)
#define TADA_AVX2 1
#endif

#if defined(__GNUC__)
#define TADA_NOINLINE __attribute__((noinline))
#else
#define TADA_NOINLINE
#endif
