// Files of tensors: .npy and onnx.TensorProto.
#include "runtime/io/ExternalData.h"
#include "runtime/io/Npy.h"
#include "runtime/io/TensorProto.h"
#include "test/Unit/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cstring>

namespace spillway {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytesOf(std::string_view text) {
  auto first = reinterpret_cast<const std::byte *>(text.data());
  return {first, first + text.size()};
}

Bytes join(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (std::string_view part : parts)
    text += part;
  return bytesOf(text);
}

template <typename T> Bytes raw(std::initializer_list<T> values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

Bytes npy(std::string_view dictionary, char version = 1) {
  std::string text("\x93NUMPY", 6);
  text += {version, '\0', static_cast<char>(dictionary.size()), '\0'};
  if (version > 1)
    text += std::string(2, '\0');
  text += dictionary;
  return bytesOf(text);
}

std::string messageOf(const Result<NpyHeader> &header) {
  return header.ok() ? "accepted" : header.error().message;
}

TEST(Npy, ReadsTheHeadersThatNumPyWrites) {
  Result<NpyHeader> header =
      parseNpyHeader(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n"));
  ASSERT_TRUE(header.ok()) << messageOf(header);
  EXPECT_EQ(header->type, DataType::f32);
  EXPECT_EQ(header->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(header->dataBytes, 24u);
  for (char version : {2, 3}) {
    header =
        parseNpyHeader(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (5,), }\n", version));
    ASSERT_TRUE(header.ok()) << messageOf(header);
    EXPECT_EQ(header->type, DataType::boolean);
    EXPECT_EQ(header->shape, std::vector<int64_t>{5});
  }
  header = parseNpyHeader(npy("{\"shape\": (), 'fortran_order': True, 'descr': '<i8'}"));
  ASSERT_TRUE(header.ok()) << messageOf(header);
  EXPECT_TRUE(header->shape.empty());
  EXPECT_EQ(header->dataBytes, 8u);
  header = parseNpyHeader(npy("{'descr': '<f2', 'fortran_order': False, 'shape': (3L, 0L)}"));
  ASSERT_TRUE(header.ok()) << messageOf(header);
  EXPECT_EQ(header->dataBytes, 0u);
}

TEST(Npy, RefusesByName) {
  auto refusal = [](std::string_view dictionary) {
    return messageOf(parseNpyHeader(npy(dictionary)));
  };
  EXPECT_NE(refusal("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}").find("big-endian"),
            std::string::npos);
  EXPECT_NE(refusal("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2)}").find("Fortran"),
            std::string::npos);
  EXPECT_NE(refusal("{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}").find("'<c8'"),
            std::string::npos);
  EXPECT_NE(refusal("{'descr': '<U3', 'fortran_order': False, 'shape': (2,)}").find("'<U3'"),
            std::string::npos);
}

TEST(Npy, RefusesDamage) {
  for (std::string_view dictionary :
       {"", "{", "{'descr'", "{'descr': '<f4'}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}"})
    EXPECT_FALSE(parseNpyHeader(npy(dictionary)).ok()) << dictionary;
  Bytes good = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n");
  ASSERT_TRUE(parseNpyHeader(good).ok());
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(parseNpyHeader(std::span(good).first(size)).ok()) << size;
  good[6] = std::byte(4);
  EXPECT_FALSE(parseNpyHeader(good).ok());
}

TEST(Npy, WritesWhatItReads) {
  test::TemporaryFolder folder;
  for (std::vector<int64_t> shape : {std::vector<int64_t>{}, {6}, {2, 3}, {1, 1}, {3, 0, 2}}) {
    uint64_t count = 1;
    for (int64_t size : shape)
      count *= static_cast<uint64_t>(size);
    Bytes data(count * 8);
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = std::byte(i + 1);
    std::filesystem::path path = folder.path() / "a.npy";
    ASSERT_TRUE(writeNpy(path, DataType::f64, shape, data).ok());
    Result<NpyHeader> header = readNpyHeader(path);
    ASSERT_TRUE(header.ok()) << messageOf(header);
    EXPECT_EQ(header->shape, shape);
    EXPECT_EQ(header->dataOffset % 64, 0u);
    Bytes back(header->dataBytes);
    ASSERT_TRUE(readNpyData(path, *header, back).ok());
    EXPECT_EQ(back, data);
  }
}

TEST(Npy, ChecksTheSizeOfTheFile) {
  test::TemporaryFolder folder;
  Bytes file = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}");
  file.resize(file.size() + 7);
  test::writeBytes(folder.path() / "short.npy", file);
  EXPECT_FALSE(readNpyHeader(folder.path() / "short.npy").ok());
  file.resize(file.size() + 1);
  test::writeBytes(folder.path() / "right.npy", file);
  EXPECT_TRUE(readNpyHeader(folder.path() / "right.npy").ok());
}

TEST(Npy, AnyByteButZeroIsTrue) {
  test::TemporaryFolder folder;
  Bytes file = npy("{'descr': '|b1', 'fortran_order': False, 'shape': (4,)}");
  for (int element : {0, 1, 2, 255})
    file.push_back(std::byte(element));
  std::filesystem::path path = folder.path() / "b.npy";
  test::writeBytes(path, file);
  Result<NpyHeader> header = readNpyHeader(path);
  ASSERT_TRUE(header.ok());
  Bytes expected = raw<uint8_t>({0, 1, 1, 1}), elements(4);
  ASSERT_TRUE(readNpyData(path, *header, elements).ok());
  EXPECT_EQ(elements, expected);
  Result<NpyFile> opened = NpyFile::open(path);
  ASSERT_TRUE(opened.ok());
  elements.assign(4, std::byte(9));
  ASSERT_TRUE(opened->read(0, elements).ok());
  EXPECT_EQ(elements, expected);
}

TEST(Npy, WritesBf16OnlyAsBits) {
  std::vector<int64_t> shape{2};
  EXPECT_FALSE(encodeNpyHeader(DataType::bf16, shape).ok());
  Result<Bytes> header = encodeNpyHeader(DataType::bf16, shape, true);
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(parseNpyHeader(*header)->type, DataType::u16);
}

TEST(ExternalData, IsAsLongAsItsTypeOrTheModelSaysOrTheFileIs) {
  test::TemporaryFolder folder;
  test::writeBytes(folder.path() / "w.bin", Bytes(100));
  std::filesystem::path model = folder.path() / "m.onnx";
  auto bytesOf = [&](std::optional<std::string_view> length, std::optional<uint64_t> known) {
    ExternalData data;
    EXPECT_TRUE(data.add("location", "w.bin").ok());
    EXPECT_TRUE(data.add("offset", "40").ok());
    EXPECT_TRUE(data.add("checksum", "x").ok());
    if (length)
      EXPECT_TRUE(data.add("length", *length).ok());
    Result<ExternalExtent> extent = resolveExternalData(model, data, known);
    return extent.ok() ? std::to_string(extent->bytes) : extent.error().message;
  };
  EXPECT_EQ(bytesOf(std::nullopt, std::nullopt), "60");
  EXPECT_EQ(bytesOf("0", std::nullopt), "0");
  EXPECT_EQ(bytesOf("20", std::nullopt), "20");
  EXPECT_EQ(bytesOf("20", 20), "20");
  EXPECT_EQ(bytesOf(std::nullopt, 20), "20");
  EXPECT_EQ(bytesOf("0", 20), "external data of 0 bytes, the type takes 20");
  EXPECT_EQ(bytesOf("61", std::nullopt), "external data at 'w.bin', bytes 40 to 101, but the file has 100");
  for (const char *number : {"", "-1", "1x", " 1", "99999999999999999999"}) {
    Status status = ExternalData().add("length", number);
    EXPECT_FALSE(status.ok()) << number;
  }
}

TEST(ExternalData, LiesBesideTheModelOrWhatItLinksTo) {
  test::TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "cache");
  test::writeBytes(folder.path() / "w.bin", Bytes(4));
  test::writeBytes(folder.path() / "m.onnx", Bytes(4));
  std::filesystem::path link = folder.path() / "cache" / "m.onnx";
  std::filesystem::create_symlink("../m.onnx", link);
  ExternalData data{.location = "w.bin", .length = {}};
  Result<ExternalExtent> extent = resolveExternalData(link, data, std::nullopt);
  ASSERT_TRUE(extent.ok()) << extent.error().message;
  EXPECT_TRUE(std::filesystem::equivalent(extent->path, folder.path() / "w.bin"));
  for (const char *location : {"", "../w.bin", "/etc/hostname", "none.bin", "cache"}) {
    data.location = location;
    extent = resolveExternalData(folder.path() / "m.onnx", data, std::nullopt);
    EXPECT_EQ(extent.ok() ? ErrorKind::bug : extent.error().kind, ErrorKind::user) << location;
  }
}

std::string messageOf(const Result<HostTensor> &tensor) {
  return tensor.ok() ? "accepted" : tensor.error().message;
}

TEST(TensorProto, ReadsRawElements) {
  // dims 2 (not packed), dims [3] (packed), data_type f32, name, raw_data.
  Bytes message =
      join({"\x08\x02", "\x0a\x01\x03", "\x10\x01", "\x42\x01x", "\x4a\x18",
            std::string_view("\0\0\x80\x3f\0\0\0\x40\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24)});
  Result<HostTensor> tensor = parseTensorProto(message);
  ASSERT_TRUE(tensor.ok()) << messageOf(tensor);
  EXPECT_EQ(tensor->name, "x");
  EXPECT_EQ(tensor->type, DataType::f32);
  EXPECT_EQ(tensor->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(tensor->bytes, raw<float>({1, 2, 0, 0, 0, 0}));
  for (size_t size = 0; size < message.size(); ++size)
    EXPECT_FALSE(parseTensorProto(std::span(message).first(size)).ok()) << size;
}

TEST(TensorProto, ReadsEveryTypedField) {
  struct Case {
    std::string_view message;
    DataType type;
    Bytes elements;
  };
  const Case cases[] = {
      // float_data, packed.
      {{"\x08\x01\x10\x01\x22\x04\0\0\x80\x3f", 10}, DataType::f32, raw<float>({1})},
      // float_data, not packed.
      {{"\x08\x01\x10\x01\x25\0\0\x80\x3f", 9}, DataType::f32, raw<float>({1})},
      // double_data.
      {{"\x08\x01\x10\x0b\x52\x08\0\0\0\0\0\0\xf0\x3f", 14}, DataType::f64, raw<double>({1})},
      // int64_data: -1, in front of the type.
      {"\x08\x01\x3a\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x07", DataType::i64,
       raw<int64_t>({-1})},
      // uint64_data as u32 and u64.
      {"\x08\x01\x10\x0c\x5a\x05\xff\xff\xff\xff\x0f", DataType::u32, raw<uint32_t>({0xffffffff})},
      {"\x08\x01\x10\x0d\x58\x07", DataType::u64, raw<uint64_t>({7})},
      // int32_data in its many meanings.
      {"\x08\x01\x10\x06\x2a\x0a\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", DataType::i32,
       raw<int32_t>({-2})},
      {"\x08\x01\x10\x05\x2a\x0a\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", DataType::i16,
       raw<int16_t>({-2})},
      {"\x08\x01\x10\x03\x2a\x0a\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", DataType::i8,
       raw<int8_t>({-2})},
      {"\x08\x01\x10\x04\x2a\x03\xff\xff\x03", DataType::u16, raw<uint16_t>({65535})},
      {"\x08\x01\x10\x02\x2a\x02\xc8\x01", DataType::u8, raw<uint8_t>({200})},
      {{"\x08\x02\x10\x09\x2a\x02\x01\0", 8}, DataType::boolean, raw<uint8_t>({1, 0})},
      {"\x08\x01\x10\x0a\x2a\x02\x80\x78", DataType::f16, raw<uint16_t>({0x3c00})},
      {"\x08\x01\x10\x10\x2a\x02\x80\x7f", DataType::bf16, raw<uint16_t>({0x3f80})},
  };
  for (const Case &test : cases) {
    Result<HostTensor> tensor = parseTensorProto(bytesOf(test.message));
    ASSERT_TRUE(tensor.ok()) << name(test.type) << ": " << messageOf(tensor);
    EXPECT_EQ(tensor->type, test.type);
    EXPECT_EQ(tensor->bytes, test.elements) << name(test.type);
  }
}

TEST(TensorProto, RefusesByName) {
  // A string, a 4-bit integer, elements elsewhere, a wrong count, a wrong field, a
  // negative dimension, a shape that overflows.
  EXPECT_NE(messageOf(parseTensorProto(bytesOf("\x08\x01\x10\x08"))).find("type 8"),
            std::string::npos);
  EXPECT_NE(messageOf(parseTensorProto(bytesOf("\x08\x01\x10\x16"))).find("type 22"),
            std::string::npos);
  EXPECT_NE(messageOf(parseTensorProto(bytesOf("\x08\x01\x10\x01\x70\x01"))).find("another file"),
            std::string::npos);
  EXPECT_FALSE(parseTensorProto(bytesOf("\x08\x02\x10\x02\x2a\x01\x01")).ok());
  EXPECT_FALSE(parseTensorProto(bytesOf("\x08\x01\x10\x01\x2a\x01\x01")).ok());
  EXPECT_FALSE(
      parseTensorProto(bytesOf("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x02")).ok());
  EXPECT_FALSE(parseTensorProto(bytesOf("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x40"
                                        "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x40\x10\x02"))
                   .ok());
}

} // namespace
} // namespace spillway
