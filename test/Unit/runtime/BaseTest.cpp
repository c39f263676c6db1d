#include "runtime/base/Checksum.h"
#include "runtime/base/File.h"
#include "runtime/base/Finite.h"
#include "runtime/base/MappedFile.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Near.h"
#include "runtime/base/Nearest.h"
#include "runtime/base/Size.h"
#include "runtime/base/Threefry.h"
#include "runtime/memory/Arena.h"
#include "test/Unit/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

using namespace spillway;

namespace {

uint64_t size(const char *text) {
  Result<uint64_t> parsed = parseSize(text);
  return parsed.ok() ? *parsed : UINT64_MAX;
}

TEST(Near, infinitiesAndNaNsAreNearThemselvesAlone) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(isNear(1, 1.5, 0.5));
  EXPECT_FALSE(isNear(1, 1.6, 0.5));
  for (double special : {infinity, -infinity, nan}) {
    EXPECT_TRUE(isNear(special, special, 0));
    for (double limit : {1.0, infinity, nan})
      for (double other : {0.0, 1e300, -special}) {
        bool same = std::isnan(special) && std::isnan(other);
        EXPECT_EQ(isNear(special, other, limit), same) << special << " " << other;
        EXPECT_EQ(isNear(other, special, limit), same) << other << " " << special;
      }
  }
}

// The known answers that Random123 ships.
TEST(Threefry, givesKnownAnswers) {
  EXPECT_EQ(threefry(0, 0), 0x99ba4efe6b200159);
  EXPECT_EQ(threefry(~uint64_t(0), ~uint64_t(0)), 0xbb002be71cb996fc);
  EXPECT_EQ(threefry(0x0370734413198a2e, 0x85a308d3243f6a88), 0x483df7a0c4923a9c);
}

TEST(MappedFile, isTheUsersToName) {
  test::TemporaryFolder folder;
  test::writeBytes(folder.path() / "f", std::vector<std::byte>(3, std::byte(7)));
  Result<MappedFile> mapped = MappedFile::open(folder.path() / "f");
  ASSERT_TRUE(mapped.ok());
  EXPECT_EQ(mapped->bytes().size(), 3u);
  for (std::filesystem::path path : {folder.path() / "none", folder.path()}) {
    mapped = MappedFile::open(path);
    ASSERT_FALSE(mapped.ok());
    EXPECT_EQ(mapped.error().kind, ErrorKind::user) << path;
  }
}

TEST(Size, takesUnitsOfBothKinds) {
  EXPECT_EQ(size("4096"), 4096u);
  EXPECT_EQ(size("256MiB"), 256u << 20);
  EXPECT_EQ(size("1.5 GB"), 1'500'000'000u);
  EXPECT_EQ(size("0.5kib"), 512u);
  EXPECT_EQ(size("2tib"), uint64_t(2) << 40);
  EXPECT_EQ(size("7B"), 7u);
}

TEST(Size, refusesWhatIsNoSize) {
  for (const char *text :
       {"", "MiB", "-1", "12XB", "1e5", "nan", "1MiB2", "1e30", "99999999999999GiB"})
    EXPECT_FALSE(parseSize(text).ok()) << text;
  EXPECT_EQ(parseSize("fast").error().kind, ErrorKind::user);
}

TEST(Size, printsTheUnitThatFits) {
  EXPECT_EQ(formatSize(0), "0 B");
  EXPECT_EQ(formatSize(1023), "1023 B");
  EXPECT_EQ(formatSize(96u << 20), "96 MiB");
  EXPECT_EQ(formatSize(3u << 29), "1.50 GiB");
}

TEST(Nearest, findsWhatWasMeant) {
  const std::string names[] = {"input_ids", "attention_mask", "logits"};
  EXPECT_EQ(nearest("inputs_id", names), "input_ids");
  EXPECT_EQ(nearest("attention-mask", names), "attention_mask");
  EXPECT_EQ(nearest("xyz", names), "");
  EXPECT_EQ(didYouMean("logit", names), "; did you mean 'logits'?");
  EXPECT_EQ(didYouMean("logit", {}), "");
}

template <typename T> Content contentWith(DataType type, T bits) {
  T elements[] = {0, bits, 0};
  return contentOf(type, std::as_bytes(std::span(elements)));
}

TEST(Content, isTheGravestOfEachType) {
  EXPECT_EQ(contentWith<uint32_t>(DataType::f32, 0xff7f'ffff), Content::finite);
  EXPECT_EQ(contentWith<uint32_t>(DataType::f32, 0xff80'0000), Content::infinite);
  EXPECT_EQ(contentWith<uint32_t>(DataType::f32, 0x7f80'0001), Content::notANumber);
  EXPECT_EQ(contentWith<uint64_t>(DataType::f64, 0xffef'ffff'ffff'ffff), Content::finite);
  EXPECT_EQ(contentWith<uint64_t>(DataType::f64, 0x7ff0'0000'0000'0000), Content::infinite);
  EXPECT_EQ(contentWith<uint64_t>(DataType::f64, 0xfff0'0000'0000'0001), Content::notANumber);
  EXPECT_EQ(contentWith<uint16_t>(DataType::bf16, 0x7f7f), Content::finite);
  EXPECT_EQ(contentWith<uint16_t>(DataType::bf16, 0xff80), Content::infinite);
  EXPECT_EQ(contentWith<uint16_t>(DataType::bf16, 0x7fc0), Content::notANumber);
  EXPECT_EQ(contentWith<uint16_t>(DataType::f16, 0x7bff), Content::finite);
  EXPECT_EQ(contentWith<uint16_t>(DataType::f16, 0x7c00), Content::infinite);
  EXPECT_EQ(contentWith<uint16_t>(DataType::f16, 0xfc01), Content::notANumber);
  EXPECT_EQ(contentWith<uint32_t>(DataType::i32, 0x7f80'0000), Content::finite);
  uint32_t both[] = {0x7f80'0000, 0x7fc0'0000, 0x7f80'0000};
  EXPECT_EQ(contentOf(DataType::f32, std::as_bytes(std::span(both))), Content::notANumber);
}

TEST(Checksum, ofPiecesEqualsThatOfTheWhole) {
  std::vector<std::byte> bytes(10'000);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = std::byte(i * 131);
  Checksum pieces;
  std::span<const std::byte> all(bytes);
  pieces.update(all.first(1));
  pieces.update(all.subspan(1, 4999));
  pieces.update(all.subspan(5000));
  EXPECT_EQ(pieces.value(), checksum(all));
  bytes[7777] ^= std::byte{1};
  EXPECT_NE(pieces.value(), checksum(all));
  // The published value of XXH3-64 of nothing: the format depends on it.
  EXPECT_EQ(checksum({}), 0x2d06800538d394c2u);
}

TEST(File, aFolderReplacesAnother) {
  test::TemporaryFolder folder;
  std::filesystem::path from = folder.path() / "new", to = folder.path() / "place";
  for (const char *content : {"first", "second"}) {
    std::filesystem::create_directory(from);
    ASSERT_TRUE(writeFileAtomically(from / "f", std::as_bytes(std::span(content, 5))).ok());
    Status status = replaceFolder(from, to);
    ASSERT_TRUE(status.ok()) << status.error().message;
    Result<std::vector<std::byte>> bytes = readFile(to / "f", 100);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    EXPECT_EQ(std::memcmp(bytes->data(), content, 5), 0);
    EXPECT_FALSE(std::filesystem::exists(from));
  }
}

TEST(File, spaceThatIsNotThereIsNamed) {
  test::TemporaryFolder folder;
  EXPECT_TRUE(requireSpace(folder.path(), 1, "the outputs").ok());
  Status status = requireSpace(folder.path(), uint64_t(1) << 60, "the outputs");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::machine);
  EXPECT_TRUE(status.error().message.starts_with("the outputs need 1048576 TiB"))
      << status.error().message;
}

uint64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * 4096;
}

TEST(Arena, isAlignedZeroAndResidentOnlyWhereTouched) {
  uint64_t before = residentBytes();
  Result<Arena> arena = Arena::allocate((64 << 20) + 5, {});
  ASSERT_TRUE(arena.ok());
  EXPECT_EQ(arena->size(), (64u << 20) + 5);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena->data()) % 4096, 0u);
  EXPECT_EQ(arena->data()[arena->size() - 1], std::byte{0});
  EXPECT_LT(residentBytes() - before, 8u << 20);
}

TEST(Memory, isThatOfTheGroupThatLeavesLeast) {
  test::TemporaryFolder folder;
  std::filesystem::path proc = folder.path() / "proc", groups = folder.path() / "groups";
  auto write = [](const std::filesystem::path &file, std::string_view text) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  };
  EXPECT_EQ(machineMemory(proc, groups).total, uint64_t(1) << 63);
  write(proc / "meminfo", "MemTotal:        1000 kB\nMemFree:  1 kB\nMemAvailable:     500 kB\n");
  EXPECT_EQ(machineMemory(proc, groups).total, 1000u * 1024);
  EXPECT_EQ(machineMemory(proc, groups).available, 500u * 1024);
  EXPECT_EQ(machineMemory(proc, groups).own, 0u);
  write(proc / "self/statm", "100 40 15 3 0 20 0\n");
  EXPECT_EQ(machineMemory(proc, groups).own, 25u * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  write(proc / "self/cgroup", "4:memory:/old\n0::/a/b\n");
  write(groups / "a/b/memory.max", "max\n");
  EXPECT_EQ(machineMemory(proc, groups).total, 1000u * 1024);
  write(groups / "a/memory.max", "400000\n");
  write(groups / "a/memory.current", "300000\n");
  write(groups / "a/memory.stat", "anon 1\ninactive_file 50000\nactive_file 30000\n");
  EXPECT_EQ(machineMemory(proc, groups).total, 400000u);
  EXPECT_EQ(machineMemory(proc, groups).available, 180000u);
  write(groups / "memory/old/memory.limit_in_bytes", "200000\n");
  write(groups / "memory/old/memory.usage_in_bytes", "250000\n");
  EXPECT_EQ(machineMemory(proc, groups).total, 200000u);
  EXPECT_EQ(machineMemory(proc, groups).available, 0u);
}

TEST(File, copiesAreTheirOwn) {
  test::TemporaryFolder folder;
  std::vector<std::byte> bytes(3 << 20, std::byte(7));
  ASSERT_TRUE(writeFileAtomically(folder.path() / "a", bytes).ok());
  ASSERT_TRUE(copyFile(folder.path() / "a", folder.path() / "b").ok());
  EXPECT_EQ(*readFile(folder.path() / "b", 1 << 30), bytes);
  std::vector<std::byte> other(10, std::byte(9));
  std::fstream(folder.path() / "b", std::ios::in | std::ios::out | std::ios::binary)
      .write(reinterpret_cast<const char *>(other.data()), 10);
  EXPECT_EQ(*readFile(folder.path() / "a", 1 << 30), bytes);
  EXPECT_EQ(copyFile(folder.path() / "none", folder.path() / "c").error().kind, ErrorKind::machine);
}

TEST(File, copiesGoFromOneFileSystemToAnother) {
  // The second file system that needs no mount; containers may lack it, and then there is nothing to copy between.
  if (!std::filesystem::is_directory("/dev/shm"))
    GTEST_SKIP() << "there is no /dev/shm";
  test::TemporaryFolder here(std::filesystem::current_path()), memory("/dev/shm");
  for (size_t size : {size_t(0), size_t(1), size_t(5) << 19}) {
    std::vector<std::byte> bytes(size);
    for (size_t i = 0; i < size; ++i)
      bytes[i] = std::byte(i * 2654435761u >> 13);
    ASSERT_TRUE(writeFileAtomically(here.path() / "a", bytes).ok());
    Status there = copyFile(here.path() / "a", memory.path() / "a");
    ASSERT_TRUE(there.ok()) << there.error().message;
    EXPECT_EQ(*readFile(memory.path() / "a", 1 << 30), bytes);
    Status back = copyFile(memory.path() / "a", here.path() / "b");
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(*readFile(here.path() / "b", 1 << 30), bytes);
  }
}

TEST(File, placesForOutputsAreFoundOrRefused) {
  test::TemporaryFolder folder;
  EXPECT_TRUE(requireWritable(folder.path() / "new").ok());
  for (std::filesystem::path place : {folder.path() / "none" / "x", folder.path(), folder.path() / ""}) {
    Status status = requireWritable(place);
    ASSERT_FALSE(status.ok()) << place;
    EXPECT_EQ(status.error().kind, ErrorKind::user);
  }
}

TEST(Arena, prefaultMakesItResident) {
  uint64_t before = residentBytes();
  Result<Arena> arena = Arena::allocate(32 << 20, {.prefault = true});
  ASSERT_TRUE(arena.ok());
  EXPECT_GE(residentBytes() - before, 30u << 20);
}

TEST(Arena, refusesAnAbsurdSize) {
  Result<Arena> arena = Arena::allocate(uint64_t(1) << 50, {});
  ASSERT_FALSE(arena.ok());
  EXPECT_EQ(arena.error().kind, ErrorKind::user);
}

TEST(Arena, ofNothingIsNoMapping) {
  Result<Arena> arena = Arena::allocate(0, {});
  ASSERT_TRUE(arena.ok());
  EXPECT_EQ(arena->data(), nullptr);
}

} // namespace
