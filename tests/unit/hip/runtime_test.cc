// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Which runtime is taken: the one that is there, by whatever name.
#include "providers/hip/runtime.h"

#include <dlfcn.h>

#include <filesystem>

#include "hipbroker/hipbroker.h"
#include "providers/hip/loaded_objects.h"
#include "support/role.h"
#include "support/temp_dir.h"
#include "unit/hip/fixture.h"

namespace hb::test {
namespace {

// Lines of /proc/self/maps that name a libamdhip64 of that folder.
bool is_mapped(const std::string& folder) {
  return read_file("/proc/self/maps").find(folder) != std::string::npos;
}

// "PATH\nVERSION" or "STATUS MESSAGE", told by a process of its own.
std::string found(const Env& env, const std::string& preload = "") {
  const RoleResult result = run_role(env, "find_runtime", preload);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  return result.output;
}

// The fake under another name, in a folder of the test's own.
std::string renamed(const TempDir& folder, const std::string& name) {
  const std::string path = folder / name;
  std::filesystem::copy_file(FAKE_HIP_PATH_7, path);
  return path;
}

TEST(HipRuntime, TheLoadedOneIsTakenUnderAnyNameAndNoOtherIsOpened) {
  const TempDir folder;
  const std::string path = renamed(folder, "libwheel-3f2a.so");
  // Found although private (RTLD_LOCAL) and although another copy stands on the search path.
  EXPECT_EQ(found({{"LD_LIBRARY_PATH", FAKE_HIP_DIR_6}, {"FAKE_HIP_NO_HSA", "1"}}, path),
            path + "\n7.2.0\nno other\n");
}

TEST(HipRuntime, SonameSevenThenSix) {
  EXPECT_EQ(found({{"LD_LIBRARY_PATH", std::string(FAKE_HIP_DIR_6) + ":" + FAKE_HIP_DIR_7}}),
            std::string(FAKE_HIP_PATH_7) + "\n7.2.0\nno other\n");
  EXPECT_EQ(found({{"LD_LIBRARY_PATH", FAKE_HIP_DIR_6}}), std::string(FAKE_HIP_PATH_6) + "\n6.2.0\n");
}

TEST(HipRuntime, TwoLoadedOnesAreRefusedByName) {
  const TempDir folder;
  const std::string path = renamed(folder, "libsecond.so");
  for (const std::string& text : {found({{"FAKE_HIP_NO_HSA", "1"}}, path + "," + FAKE_HIP_PATH_7),
                                  found({{"FAKE_HIP_NO_HSA", "1"}}, "late:" + path + "," + FAKE_HIP_PATH_7),
                                  found({{"HIPBROKER_HIP_RUNTIME", FAKE_HIP_PATH_7}}, path)}) {
    EXPECT_TRUE(text.starts_with(std::to_string(HB_UNSUPPORTED))) << text;
    EXPECT_NE(text.find(path), std::string::npos) << text;
    EXPECT_NE(text.find(FAKE_HIP_PATH_7), std::string::npos) << text;
  }
}

TEST(HipRuntime, ThePathCanBeOverridden) {
  const TempDir folder;
  const std::string path = renamed(folder, "libmine.so");
  EXPECT_EQ(
      found({{"HIPBROKER_HIP_RUNTIME", path}, {"LD_LIBRARY_PATH", FAKE_HIP_DIR_6}, {"FAKE_HIP_NO_HSA", "1"}}),
      path + "\n7.2.0\nno other\n");
  // Of the one that is loaded it may be another name.
  EXPECT_TRUE(
      found({{"HIPBROKER_HIP_RUNTIME", FAKE_HIP_PATH_7}}, FAKE_HIP_PATH_7).starts_with(FAKE_HIP_PATH_7));
  const std::string missing = found({{"HIPBROKER_HIP_RUNTIME", "/nonexistent/libamdhip64.so"}});
  for (const char* words : {"HIPBROKER_HIP_RUNTIME", "/nonexistent/libamdhip64.so", "No such file"})
    EXPECT_NE(missing.find(words), std::string::npos) << missing;
}

TEST(HipRuntime, WhatItLacksIsNamed) {
  const std::string text = found({}, HIP_STUB);
  EXPECT_TRUE(text.starts_with(std::to_string(HB_UNSUPPORTED))) << text;
  for (const char* words : {HIP_STUB, "lacks", "hipMemMap", "hipMemImportFromShareableHandle"})
    EXPECT_NE(text.find(words), std::string::npos) << text;
  EXPECT_EQ(text.find("hipMemCreate"), std::string::npos) << text;
}

TEST(HipRuntime, ALibraryThatOnlyDependsOnItIsNotIt) {
  const std::string text = found({{"LD_LIBRARY_PATH", FAKE_HIP_DIR_7}}, HIP_DEPENDENT);
  EXPECT_TRUE(text.starts_with(FAKE_HIP_PATH_7)) << text;
}

TEST(HipRuntime, HsaIsTakenWhereItIsLoaded) {
  for (const bool there : {true, false})
    expect_clean(there ? Env{} : Env{{"FAKE_HIP_NO_HSA", "1"}}, [there](const Hip&) {
      const auto runtime = hc::Runtime::get();
      ASSERT_TRUE(runtime) << text_of(runtime);
      EXPECT_EQ((*runtime)->hsa().hsa_amd_pointer_info != nullptr, there);
      EXPECT_EQ((*runtime)->hsa().hsa_amd_portable_export_dmabuf != nullptr, there);
      EXPECT_EQ(!(*runtime)->hsa_path().empty(), there);
    });
}

TEST(HipRuntime, AskedTwiceItIsTheSame) {
  expect_clean({}, [](const Hip&) {
    const auto first = hc::Runtime::get();
    const auto second = hc::Runtime::get();
    ASSERT_TRUE(first && second);
    EXPECT_EQ(*first, *second);
    EXPECT_EQ((*first)->build_id().size() % 2, 0u);
    EXPECT_GE((*first)->build_id().size(), 16u);
  });
}

}  // namespace

// Loads the libraries of the argument ("late:A,B": B only after the runtime was asked for once).
HB_ROLE(find_runtime) {
  std::string list = args.empty() ? "" : args[0];
  const bool late = list.starts_with("late:");
  if (late) list = list.substr(5);
  std::string last;
  for (std::size_t start = 0; start < list.size();) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    last = list.substr(start, end - start);
    if (late && start > 0 && !hc::Runtime::get()) return 2;
    if (::dlopen(last.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
      std::printf("%s\n", ::dlerror());
      return 1;
    }
    start = end + 1;
  }
  const auto runtime = hc::Runtime::get();
  if (runtime)
    std::printf("%s\n%s\n%s", (*runtime)->path().c_str(), hc::version_text((*runtime)->version()).c_str(),
                is_mapped(FAKE_HIP_DIR_6) ? "" : "no other\n");
  else
    std::printf("%s", text_of(runtime).c_str());
  std::fflush(stdout);
  return 0;
}

}  // namespace hb::test
